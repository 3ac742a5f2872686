"""Published models: Stator gives what TorchScript's interpreter gives, at every size, and what was recorded; hardly a node falls back."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

import stator

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from summary import summary  # noqa: E402

MODELS = Path(os.environ.get("STATOR_BUILD_DIR", HERE.parents[1] / "build")) / "real_models"
EXPECTED = json.loads((HERE / "expected.json").read_text())

# Two threads that wait for each other cost more than they save on models this small.
torch.set_num_threads(1)

names = pytest.mark.parametrize("name", list(EXPECTED))


def archive(name: str) -> Path:
    path = MODELS / f"{name}.pt"
    assert path.exists(), f"{path} is missing: `make real-models` writes it"
    return path


def input_sets(name: str) -> list[tuple[Any, ...]]:
    return torch.load(MODELS / f"{name}.inputs.pt")


def tensors(result: Any) -> list[torch.Tensor]:
    return [torch.from_dlpack(item) for item in (result if isinstance(result, tuple) else (result,))]


def assert_same(got: torch.Tensor, wanted: torch.Tensor, exact: torch.Tensor | None) -> None:
    """Equal to the interpreter's, or at most twice as far from what double precision gives."""
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    for size, mine, theirs in zip(got.shape, got.stride(), wanted.stride(), strict=True):
        assert size <= 1 or mine == theirs
    try:
        torch.testing.assert_close(got, wanted)
    except AssertionError:
        if exact is None or (got - exact).abs().max() > 2 * (wanted - exact).abs().max():
            raise


@names
@pytest.mark.parametrize("plans", ["dynamic", "signature"])
def test_equals_the_interpreter_at_every_size(name: str, plans: str) -> None:
    interpreter = torch.jit.load(archive(name)).eval()
    sets = input_sets(name)
    exact = torch.load(MODELS / f"{name}.exact.pt")
    with stator.load(archive(name), plans=plans) as module, module.runtime(intra_op_threads=1) as runtime, torch.inference_mode():
        for which in (0, 1, 2, 0, 0):
            got, wanted = tensors(runtime.call(*sets[which])), tensors(interpreter(*sets[which]))
            for mine, theirs, known in zip(got, wanted, exact[which] if exact else [None], strict=True):
                assert_same(mine, theirs, known)


@names
def test_gives_what_was_recorded(name: str) -> None:
    with stator.load(archive(name)) as module, module.runtime(intra_op_threads=1) as runtime:
        for args, recorded in zip(input_sets(name), EXPECTED[name], strict=True):
            for got, wanted in zip(summary(tensors(runtime.call(*args))), recorded, strict=True):
                assert got["shape"] == wanted["shape"]
                assert got["norm"] == pytest.approx(wanted["norm"], rel=1e-3)
                assert got["spread"] == pytest.approx(wanted["spread"], rel=1e-2, abs=1e-3 * wanted["norm"])


@names
def test_one_executed_node_in_twenty_falls_back_at_most(name: str) -> None:
    with stator.load(archive(name)) as module, module.runtime(intra_op_threads=1) as runtime, runtime.profile() as profile:
        for args in input_sets(name):
            runtime.call(*args)
        calls = Counter()
        for node in profile.data()["methods"][0]["nodes"]:
            calls[node["kind"]] += node["calls"]
    assert calls["fallback"] <= 0.05 * (calls.total() - calls["control"]), calls
