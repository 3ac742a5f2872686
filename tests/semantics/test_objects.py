"""Objects of the model's own classes, and of LibTorch's: as attributes, in containers, in `with`, across exceptions."""

import warnings
from typing import Any, Dict, List, Tuple

import pytest
import torch
from torch import Tensor, nn

import stator

T = torch.arange(6.0).reshape(2, 3)
RUNS = [(T, 0), (torch.rand(4, 3), 1), (T.double(), 2)]


@torch.jit.script
class Tally:
    def __init__(self) -> None:
        self.count = 0
        self.seen: List[Tensor] = []
        self.names: Dict[str, int] = {}

    def add(self, x: Tensor) -> Tensor:
        self.count += 1
        self.seen.append(x * self.count)
        self.names[str(self.count)] = x.dim()
        return self.seen[-1]


@torch.jit.script
class Holder:
    """An object that holds others, one of them twice."""

    def __init__(self, tally: Tally) -> None:
        self.first = tally
        self.second = tally
        self.own = Tally()

    def add(self, x: Tensor) -> Tensor:
        return self.first.add(x) + self.own.add(x * 2)


@torch.jit.script
class Guard:
    """Counts how often it is entered and left."""

    def __init__(self) -> None:
        self.entered = 0
        self.left = 0

    def __enter__(self) -> int:
        self.entered += 1
        return self.entered

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.left += 1


@torch.jit.script
class ReadOnly:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def apply(self, x: Tensor) -> Tensor:
        return x * self.scale


class Attribute(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tally = Tally()
        self.holder = Holder(Tally())

    def forward(self, x: Tensor, n: int) -> Tuple[Tensor, int, List[Tensor], Tensor, int, Dict[str, int]]:
        y = self.tally.add(x)
        if n > 0:
            for _ in range(n):
                self.tally.add(y + n)
        self.holder.second.count += 5
        z = self.holder.add(x)
        return y, self.tally.count, self.tally.seen, z, self.holder.first.count, self.tally.names


class Replaced(nn.Module):
    """The attribute becomes another object, and old names keep the old one."""

    def __init__(self) -> None:
        super().__init__()
        self.tally = Tally()

    def forward(self, x: Tensor, n: int) -> Tuple[Tensor, int, int]:
        old = self.tally
        old.add(x)
        if n == 1:
            self.tally = Tally()
        self.tally.add(x * 2)
        return old.seen[-1], old.count, self.tally.count


class LeftByAnException(nn.Module):
    """What `with` has entered is left, innermost first, when an exception goes through it."""

    def __init__(self) -> None:
        super().__init__()
        self.outer = Guard()
        self.inner = Guard()
        self.after = Guard()

    def forward(self, x: Tensor, n: int) -> Tuple[Tensor, List[int]]:
        with self.outer as times:
            x = x + times
            with self.inner:
                for i in range(3):
                    with self.inner:
                        if n == 1 and i == 1:
                            raise ValueError("left by an exception")
                        x = x * 2
                if n == 2:
                    x = x.view(100, 100)
            with self.after:
                x = x + 1
        return x, [self.outer.entered, self.outer.left, self.inner.entered, self.inner.left, self.after.entered, self.after.left]


class RaisedInAMethod(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tally = Tally()

    def check(self, x: Tensor, n: int) -> Tensor:
        self.tally.add(x)
        if n == 1:
            raise ValueError("n is one, and " + str(self.tally.count) + " were added")
        return x

    def forward(self, x: Tensor, n: int) -> Tuple[Tensor, int]:
        return self.check(x, n) * 2, self.tally.count


MODULES = [Attribute, Replaced, LeftByAnException, RaisedInAMethod]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_module(module, compare):
    compare(module(), *RUNS)


def test_an_object_that_is_only_read_is_no_state(archive, compare):
    class Reads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = ReadOnly(2.5)

        def forward(self, x: Tensor) -> Tensor:
            return self.scale.apply(x) + 1

    compare(Reads(), (T,), (torch.rand(4),))
    assert stator.load(archive(Reads())).describe()["state"] == []


def test_an_object_that_is_returned_is_not_shared_by_runs(archive):
    """A class object may leave the model as an opaque value."""

    def model(x: Tensor) -> Tally:
        tally = Tally()
        tally.add(x)
        return tally

    runtime = stator.load(archive(model)).runtime()
    first, second = runtime.call(T), runtime.call(T * 2)
    assert first is not second


def quantized() -> torch.jit.ScriptModule:
    """Its weights are objects of a class of LibTorch's own (TorchBind)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4)).eval()
        return torch.jit.script(torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8))


def test_packed_weights_are_objects_and_no_state(archive, compare):
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        pytest.skip("this build of LibTorch has no quantized linear layers")
    model = quantized()
    compare(model, (torch.rand(2, 16),), (torch.rand(5, 16),))
    assert stator.load(archive(model)).describe()["state"] == []


def test_python_methods_cannot_be_in_a_file(archive):
    class Ignores(nn.Module):
        @torch.jit.ignore
        def python(self, x: Tensor) -> Tensor:
            return x

        def forward(self, x: Tensor) -> Tensor:
            return self.python(x)

    with pytest.raises(RuntimeError, match="Could not export Python function"):
        archive(Ignores())


def test_unused_methods_are_refused_only_when_they_are_called(compare):
    class Unused(nn.Module):
        @torch.jit.unused
        def python(self, x: Tensor) -> Tensor:
            return torch.from_numpy(x.numpy())

        def forward(self, x: Tensor, n: int) -> Tensor:
            if n > 1:
                x = self.python(x)
            return x + n

    compare(Unused(), (T, 0), (T, 2), (T, 1))
