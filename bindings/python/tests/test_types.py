"""Values that only TorchScript has: class objects and enumerations. The table of tests/conformance has all others."""

from __future__ import annotations

import enum
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import stator


@torch.jit.script
class Tally:
    def __init__(self, total: torch.Tensor, count: int) -> None:
        self.total = total
        self.count = count

    def add(self, x: torch.Tensor) -> None:
        self.total = self.total + x
        self.count += 1


class Tallying(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> Tally:
        return Tally(x * 2, 1)

    @torch.jit.export
    def add(self, tally: Tally, x: torch.Tensor) -> tuple[Tally, torch.Tensor]:
        tally.add(x)
        return tally, tally.total * tally.count

    @torch.jit.export
    def several(self, x: torch.Tensor) -> dict[str, list[Tally]]:
        return {"one": [Tally(x, 1)], "more": [Tally(x + 1, 2), Tally(x + 2, 3)]}


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Painting(torch.nn.Module):
    def forward(self, x: torch.Tensor, color: Color) -> torch.Tensor:
        return x * 2 if color == Color.RED else x * 3

    @torch.jit.export
    def other(self, color: Color) -> Color:
        return Color.GREEN if color == Color.RED else Color.RED

    @torch.jit.export
    def value(self, color: Color) -> int:
        return color.value


Load = Callable[[torch.nn.Module], stator.Module]
X = np.arange(3, dtype=np.float32)


@pytest.fixture
def scripted(tmp_path: Path) -> Load:
    def load(module: torch.nn.Module) -> stator.Module:
        path = tmp_path / "model.pt"
        torch.jit.script(module).save(path)
        return stator.load(path)

    return load


def test_objects_come_out_and_go_in_again(scripted: Load) -> None:
    with scripted(Tallying()) as module:
        tally = module(X)
        assert isinstance(tally, stator.Opaque)
        add = module.method("add")
        for count in (2, 3, 4):
            tally, total = add(tally, X)
            np.testing.assert_allclose(total.numpy(), X * (1 + count) * count)


def test_an_object_that_goes_in_is_copied(scripted: Load) -> None:
    with scripted(Tallying()) as module:
        tally = module(X)
        for _ in range(3):
            np.testing.assert_allclose(module.method("add")(tally, X)[1].numpy(), X * 3 * 2)


def test_objects_outlive_the_runs_that_made_them(scripted: Load) -> None:
    with scripted(Tallying()) as module, module.runtime() as runtime, module.arena() as arena:
        make, add = runtime.method("forward"), runtime.method("add")
        tallies = [make.call_into(arena, X * k) for k in range(4)]
        for k, tally in enumerate(tallies):
            total = add.call_into(arena, tally, X)[1].numpy().copy()
            np.testing.assert_allclose(total, (X * k * 2 + X) * 2)


def test_objects_in_containers(scripted: Load) -> None:
    with scripted(Tallying()) as module:
        several = module.method("several")(X)
        totals = [module.method("add")(tally, X)[1].numpy() for tally in [*several["one"], *several["more"]]]
        for total, expected in zip(totals, [X * 2 * 2, (X * 2 + 1) * 3, (X * 2 + 2) * 4], strict=True):
            np.testing.assert_allclose(total, expected)


def test_an_object_of_another_class_is_refused(scripted: Load) -> None:
    with scripted(Tallying()) as module, pytest.raises(stator.TypeMismatchError, match="tally"):
        module.method("add")(X, X)


def test_members_of_enumerations_are_named_or_passed_on(scripted: Load) -> None:
    with scripted(Painting()) as module:
        np.testing.assert_allclose(module(X, "RED").numpy(), X * 2)
        np.testing.assert_allclose(module(X, "GREEN").numpy(), X * 3)
        green = module.method("other")("RED")
        np.testing.assert_allclose(module(X, green).numpy(), X * 3)
        assert module.method("value")(module.method("other")(green)) == 1
        with pytest.raises(stator.TypeMismatchError, match=r"BLUE") as raised:
            module(X, "BLUE")
        assert "RED, GREEN" in str(raised.value)
        with pytest.raises(stator.TypeMismatchError, match="color"):
            module(X, 1)


def test_files_with_tensors_that_cannot_cross_are_refused(tmp_path: Path) -> None:
    for name, tensor in {
        "sparse": torch.eye(3).to_sparse(),
        "quantized": torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.quint8),
    }.items():
        torch.save([torch.ones(1), tensor], tmp_path / name)
        with pytest.raises((stator.UnsupportedError, stator.BadModelError)):
            stator.read(tmp_path / name)
