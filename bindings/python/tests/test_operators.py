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


def run_alone(folder: Path, story: str) -> None:
    script = folder / "story.py"  # a file, because torch.jit.script reads the source
    script.write_text(textwrap.dedent(story))
    done = subprocess.run([sys.executable, str(script), str(LIBRARY)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_model_that_torch_scripts_with_the_library_runs_once_it_is_loaded(tmp_path: Path) -> None:
    model = tmp_path / "outer.pt"
    run_alone(
        tmp_path,
        f"""
        import sys, torch
        torch.ops.load_library(sys.argv[1])
        class Outer(torch.nn.Module):
            def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
                return torch.ops.stator_library.outer(x + 1, y, power=2).sum(0)
        torch.jit.script(Outer()).save({str(model)!r})
    """,
    )
    run_alone(
        tmp_path,
        f"""
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
    """,
    )


def test_torch_and_stator_share_a_library_in_one_process(tmp_path: Path) -> None:
    run_alone(
        tmp_path,
        f"""
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
    """,
    )


def test_an_operator_without_a_schema_may_write_what_it_reaches(tmp_path: Path) -> None:
    run_alone(
        tmp_path,
        f"""
        import sys, torch, stator
        torch.ops.load_library(sys.argv[1])

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("seen", torch.zeros(3))

            def forward(self, x: torch.Tensor):
                a = x * 2
                b = torch.ops.stator_library.bump(a)
                b.mul_(3)
                c = torch.ops.stator_library.bump([x.view(-1) * 1][0])
                torch.ops.stator_library.bump(self.seen)
                torch.ops.stator_library.bump(x)
                d = x * 5
                e = d * d
                return a * 1, b * 1, c + e, self.seen * 1

        scripted = torch.jit.script(Model())
        scripted.save({str(tmp_path / "m.pt")!r})
        with stator.load({str(tmp_path / "m.pt")!r}) as module, torch.inference_mode():
            for _ in range(4):
                x = torch.randn(3)
                mine, theirs = x.clone(), x.clone()
                for got, expected in zip(module(mine), scripted(theirs), strict=True):
                    torch.testing.assert_close(torch.from_dlpack(got), expected)
                torch.testing.assert_close(mine, theirs)
    """,
    )


def test_torch_runs_a_kernel_of_the_c_interface_as_stator_does(tmp_path: Path) -> None:
    run_alone(
        tmp_path,
        f"""
        import torch, stator
        from stator._stator import ffi, lib
        from stator._native import check, need_torch
        need_torch()

        def shaped(call):
            dtype, ndim, shape = ffi.new("int32_t *"), ffi.new("int32_t *"), ffi.new("int64_t **")
            check(lib.stator_op_call_tensor(call, 0, ffi.NULL, dtype, ndim, shape, ffi.NULL))
            return dtype[0], ndim[0], shape[0]

        @ffi.callback("stator_status *(void *, stator_op_call *)")
        def shape(context, call):
            dtype, ndim, sizes = shaped(call)
            if ndim != 1:
                return lib.stator_status_create(lib.STATOR_SHAPE_MISMATCH, b"scaled: expected one dimension")
            return lib.stator_op_call_set_output(call, 0, dtype, ndim, sizes)

        @ffi.callback("stator_status *(void *, stator_op_call *)")
        def scale(context, call):
            data, out, factor = ffi.new("void **"), ffi.new("void **"), ffi.new("double *")
            check(lib.stator_op_call_tensor(call, 0, data, ffi.NULL, ffi.NULL, ffi.NULL, ffi.NULL))
            check(lib.stator_op_call_output(call, 0, out, ffi.NULL, ffi.NULL, ffi.NULL))
            check(lib.stator_op_call_float(call, 1, factor))
            for i in range(shaped(call)[2][0]):
                ffi.cast("float *", out[0])[i] = ffi.cast("float *", data[0])[i] * factor[0]
            return ffi.NULL

        check(lib.stator_op_register(b"stator_python::scaled(Tensor x, float factor=2.0) -> Tensor", shape, scale, ffi.NULL))

        class Model(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return torch.ops.stator_python.scaled(x) + torch.ops.stator_python.scaled(x, factor=0.5)

        scripted = torch.jit.script(Model())
        scripted.save({str(tmp_path / "m.pt")!r})
        with stator.load({str(tmp_path / "m.pt")!r}) as module, torch.inference_mode():
            for size in (3, 5, 0, 3):
                x = torch.randn(size)
                torch.testing.assert_close(torch.from_dlpack(module(x)), scripted(x))
            lazy = torch.randn(4, dtype=torch.complex64).conj().imag
            assert lazy.is_neg()
            torch.testing.assert_close(scripted(lazy), lazy * 2.5)
            for call in (module, scripted):
                try:
                    call(torch.ones(2, 2))
                    raise SystemExit("a matrix was taken")
                except Exception as error:
                    assert "expected one dimension" in str(error), error
    """,
    )


def test_a_library_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(stator.MissingFileError, match=r"nothing\.so"):
        stator.load_op_library(tmp_path / "nothing.so")
    with pytest.raises(stator.FileError, match="there_is_no_such_function"):
        stator.load_op_library(BUILD / "tests" / "operators" / "libneedy.so")
