"""Operators from a library written for LibTorch. They stay in the process, so each story is told in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import stator

BUILD = Path(os.environ.get("STATOR_BUILD_DIR", Path(__file__).resolve().parents[3] / "build"))
LIBRARY = BUILD / "tests" / "operators" / "liblibrary.so"


def run_alone(story: str) -> None:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(story), str(LIBRARY)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_model_that_torch_scripts_with_the_library_runs_once_it_is_loaded(tmp_path: Path) -> None:
    model = tmp_path / "outer.pt"
    run_alone(f"""
        import sys, torch
        torch.ops.load_library(sys.argv[1])
        class Outer(torch.nn.Module):
            def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
                return torch.ops.stator_library.outer(x + 1, y, power=2).sum(0)
        torch.jit.script(Outer()).save({str(model)!r})
    """)
    run_alone(f"""
        import sys, numpy, stator
        x, y = numpy.arange(3, dtype="float32"), numpy.arange(4, dtype="float32")
        try:
            stator.load({str(model)!r})
            raise SystemExit("the model was loaded without its operator")
        except stator.UnsupportedError as error:
            assert "stator_library::outer" in str(error) and "load its library first" in str(error), error
            assert error.operator == "stator_library::outer"
        stator.load_op_library(sys.argv[1])
        stator.load_op_library(sys.argv[1])
        with stator.load({str(model)!r}) as module:
            for _ in range(3):
                numpy.testing.assert_allclose(module(x, y).numpy(), (numpy.outer(x + 1, y) ** 2).sum(0), rtol=1.3e-6)
    """)


def test_torch_and_stator_share_a_library_in_one_process(tmp_path: Path) -> None:
    run_alone(f"""
        import sys, torch, stator
        torch.ops.load_library(sys.argv[1])
        stator.load_op_library(sys.argv[1])
        def outer(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.ops.stator_library.outer(x, y)
        scripted = torch.jit.script(outer)
        class Model(torch.nn.Module):
            def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
                return torch.ops.stator_library.outer(x, y)
        torch.jit.script(Model()).save({str(tmp_path / "m.pt")!r})
        x, y = torch.randn(3), torch.randn(4)
        with stator.load({str(tmp_path / "m.pt")!r}) as module:
            torch.testing.assert_close(torch.from_dlpack(module(x, y)), scripted(x, y))
    """)


def test_a_library_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(stator.MissingFileError, match=r"nothing\.so"):
        stator.load_op_library(tmp_path / "nothing.so")
    with pytest.raises(stator.FileError, match="there_is_no_such_function"):
        stator.load_op_library(BUILD / "tests" / "operators" / "libneedy.so")
