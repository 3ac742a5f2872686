"""Modules as values: submodules picked at run time, interfaces, containers, and the state they write."""

from typing import Dict, Final, List, Optional, Tuple

import pytest
import torch
from torch import Tensor, nn

import stator

T = torch.arange(6.0).reshape(2, 3)
LONGS = torch.arange(6).reshape(2, 3)
RUNS = [(T, 0), (torch.rand(4, 3), 1), (T.double(), 2)]


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass


@torch.jit.interface
class Two(nn.Module):
    def one(self, x: Tensor) -> Tensor:
        pass

    def two(self, x: Tensor, y: Tensor) -> Tensor:
        pass


class Scale(nn.Module):
    def __init__(self, by: float):
        super().__init__()
        self.weight = nn.Parameter(torch.full((3,), float(by)))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


class Count(nn.Module):
    calls: int

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.register_buffer("total", torch.zeros(3, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.total += x.sum(0)
        return x + self.calls


class Nested(nn.Module):
    """A layer that picks among layers itself."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.ModuleList([Scale(0.5), Count()])
        self.turn = 0

    def forward(self, x: Tensor) -> Tensor:
        self.turn = 1 - self.turn
        layer: Layer = self.inner[self.turn]
        return layer.forward(x) + 1


class PickedByIndex(nn.Module):
    def __init__(self, *layers: nn.Module):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor, n: int) -> Tensor:
        layer: Layer = self.layers[n]
        return layer.forward(x)


class PickedInALoop(PickedByIndex):
    def forward(self, x: Tensor, n: int) -> Tensor:
        for i in range(n + 2):
            layer: Layer = self.layers[i % len(self.layers)]
            x = layer.forward(x)
        return x


class PickedByName(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({"a": Scale(2), "b": Count(), "c": Nested()})

    def forward(self, x: Tensor, n: int) -> Tensor:
        layer: Layer = self.layers["abc"[n]]
        return layer.forward(x)


class PickedInABranch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = Count(), Scale(3)

    def pick(self, a: Layer, b: Layer, n: int) -> Layer:
        layer = a
        if n > 0:
            layer = b
        return layer

    def forward(self, x: Tensor, n: int) -> Tuple[Tensor, bool]:
        layer = self.pick(self.a, self.b, n)
        return layer.forward(x), layer is self.pick(self.a, self.b, 1)


class CarriedByALoop(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Scale(2), Count(), Scale(0.5)])

    def forward(self, x: Tensor, n: int) -> Tensor:
        last: Layer = self.layers[n]
        for i in range(n + 1):
            x = last.forward(x)
            layer: Layer = self.layers[i]
            last = layer
        return last.forward(x)


class MaybeNone(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Count(), Scale(2)])

    def forward(self, x: Tensor, n: int) -> Tensor:
        picked: Layer = self.layers[n % 2]
        layer: Optional[Layer] = None
        if n > 0:
            layer = picked
        if layer is not None:
            x = layer.forward(x)
        pair = (picked, n)
        named: Dict[str, Layer] = {"picked": picked}
        return pair[0].forward(x) + named["picked"].forward(x)


class Proxy(nn.Module):
    """An attribute of an interface's type."""

    layer: Layer

    def __init__(self) -> None:
        super().__init__()
        self.layer = Count()

    def forward(self, x: Tensor, n: int) -> Tensor:
        for _ in range(n + 1):
            x = self.layer.forward(x)
        return x


class Swapped(nn.Module):
    """The model itself changes which layer its attribute is."""

    layer: Layer
    first: Layer
    second: Layer

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Count(), Scale(2)
        self.layer = self.first

    def forward(self, x: Tensor, n: int) -> Tensor:
        x = self.layer.forward(x)
        if n == 1:
            self.layer = self.second
        elif n == 2:
            self.layer = self.first
        return x + self.layer.forward(x)


class PassedToAMethod(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Scale(2), Count()])

    def apply_twice(self, layer: Layer, x: Tensor) -> Tensor:
        return layer.forward(layer.forward(x))

    def forward(self, x: Tensor, n: int) -> Tensor:
        layer: Layer = self.layers[n % 2]
        return self.apply_twice(layer, x)


class InAList(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = Count(), Scale(2)

    def forward(self, x: Tensor, n: int) -> Tensor:
        layers: List[Layer] = [self.a, self.b, self.a]
        layers.append(self.b)
        for layer in layers[n:]:
            x = layer.forward(x)
        return x


class First(nn.Module):
    @torch.jit.export
    def one(self, x: Tensor) -> Tensor:
        return x + 1

    @torch.jit.export
    def two(self, x: Tensor, y: Tensor) -> Tensor:
        return self.one(x) * y


class Second(nn.Module):
    seen: List[int]

    def __init__(self) -> None:
        super().__init__()
        self.seen = []

    @torch.jit.export
    def one(self, x: Tensor) -> Tensor:
        self.seen.append(x.dim())
        return x - len(self.seen)

    @torch.jit.export
    def two(self, x: Tensor, y: Tensor) -> Tensor:
        if x.size(0) > 3:
            raise ValueError("too many rows")
        return x - y


class SeveralMethods(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([First(), Second()])

    def forward(self, x: Tensor, n: int) -> Tensor:
        part: Two = self.parts[n % 2]
        return part.two(part.one(x), x)


class SharedByTwoPaths(nn.Module):
    """One submodule under two names is one state."""

    def __init__(self) -> None:
        super().__init__()
        shared = Count()
        self.layers = nn.ModuleList([shared, Scale(2)])
        self.alias = shared

    def forward(self, x: Tensor, n: int) -> Tuple[Tensor, int, Tensor]:
        layer: Layer = self.layers[n % 2]
        x = layer.forward(x)
        return self.alias(x), self.alias.calls, self.alias.total


class IteratedStatically(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Scale(2), Count(), nn.Linear(3, 3)])
        self.named = nn.ModuleDict({"a": Scale(1), "b": Count()})
        self.sequence = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        self.parameters_ = nn.ParameterList([nn.Parameter(torch.ones(3))])

    def forward(self, x: Tensor, n: int) -> Tuple[Tensor, int]:
        x = x.float()
        for layer in self.layers:
            x = layer(x)
        for name, layer in self.named.items():
            x = layer(x) + len(name)
        for i, layer in enumerate(self.layers[1:]):
            x = layer(x) + i
        for parameter in self.parameters_:
            x = x + parameter
        return self.sequence(x), len(self.layers)


class Attributes(nn.Module):
    """Attributes of every type, changed in branches, loops and submodules."""

    number: int
    real: float
    flag: bool
    text: str
    maybe: Optional[Tensor]
    names: Dict[str, Tensor]
    items: List[int]
    pair: Tuple[int, Tensor]
    rows: List[Tensor]
    limit: Final[int]

    def __init__(self) -> None:
        super().__init__()
        self.number, self.real, self.flag, self.text, self.maybe, self.limit = 0, 0.5, False, "", None, 3
        self.names, self.items, self.pair, self.rows = {"t": torch.zeros(2)}, [], (0, torch.ones(1)), [torch.zeros(1)]
        self.register_buffer("buffer", torch.zeros(3))
        self.child = Count()

    def forward(self, x: Tensor, n: int) -> Tuple[int, float, bool, str, Optional[Tensor], List[int], Tuple[int, Tensor], Tensor, int]:
        if n > 0:
            self.number += n
            self.maybe = x
        else:
            self.maybe = None
        for i in range(n):
            self.items.append(i + self.limit)
            self.real *= 2
            self.text += str(i)
            self.rows.append(x[i] * 2)
        self.flag = not self.flag
        self.names["t"] = self.names["t"] + 1
        self.names["x" + str(n)] = x
        self.pair = (self.pair[0] + 1, self.pair[1] * 2)
        self.buffer.add_(n)
        self.buffer[0] = 7
        self.child.calls += 2
        self.rows[0] += 1
        total = self.buffer + self.names["t"].sum() + len(self.names) + len(self.rows)
        return self.number, self.real, self.flag, self.text, self.maybe, self.items, self.pair, self.child(total[None, :]), self.child.calls


class ChangedThenRaised(nn.Module):
    """What was changed before the exception stays changed."""

    seen: List[int]

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.seen = []
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Tensor, n: int) -> Tuple[Tensor, int]:
        self.calls += 1
        self.total += 1
        self.seen.append(n)
        x.add_(self.calls)
        y = torch.cat([x, x])
        if n == 1:
            raise RuntimeError("asked to fail at call " + str(self.calls))
        y = y.view(3, -1) if n == 2 else y
        self.total *= 2
        return y + self.total.sum() + len(self.seen), self.calls


class PropertiesAndHooks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.base = 2.0
        self.linear = nn.Linear(3, 3)
        self.child = Count()

        def doubled(module, inputs: Tuple[Tensor], output: Tensor) -> Tensor:
            return output * 2

        def shifted(module, inputs: Tuple[Tensor]) -> Tuple[Tensor]:
            return (inputs[0] + 1,)

        self.child.register_forward_hook(doubled)
        self.child.register_forward_pre_hook(shifted)

    @property
    def scale(self) -> float:
        return self.base * 2

    @scale.setter
    def scale(self, value: float) -> None:
        self.base = value

    @torch.jit.export
    def other(self, x: Tensor, n: int) -> Tensor:
        return self.forward(x, n) - 1

    @torch.jit.unused
    def never(self, x: Tensor) -> Tensor:
        return x.numpy()

    def forward(self, x: Tensor, n: int) -> Tensor:
        self.scale = self.scale / 4 + n
        if n > 100:
            x = self.never(x)
        return self.child(x) * self.scale


MODULES = [
    (PickedByIndex(Scale(2), Count(), Scale(3)), RUNS),
    (PickedByIndex(Nested(), Nested(), Count()), RUNS),
    (PickedInALoop(Scale(2), Count(), Scale(3)), RUNS),
    (PickedByName(), RUNS),
    (PickedInABranch(), RUNS),
    (MaybeNone(), RUNS),
    (CarriedByALoop(), RUNS),
    (Proxy(), RUNS),
    (Swapped(), RUNS),
    (PassedToAMethod(), RUNS),
    (InAList(), RUNS),
    (SeveralMethods(), RUNS),
    (SharedByTwoPaths(), RUNS),
    (IteratedStatically(), RUNS),
    (Attributes(), [*RUNS[:2], (torch.rand(3, 3), 2)]),
    (ChangedThenRaised(), RUNS),
    (PropertiesAndHooks(), RUNS),
]


@pytest.mark.parametrize(("module", "runs"), MODULES, ids=lambda value: type(value).__name__)
def test_module(module, runs, compare):
    compare(module, *runs)


def test_any_method(compare):
    compare(PropertiesAndHooks(), *RUNS, method="other")


def test_index_out_of_range(archive):
    runtime = stator.load(archive(PickedByIndex(Scale(2), Count()))).runtime()
    for index in (2, -1):
        with pytest.raises(stator.ModelError, match=f'module container "layers" has no module {index}'):
            runtime.call(T, index)
    assert torch.equal(torch.from_dlpack(runtime.call(T, 0)), T * 2)


def test_state_of_picked_modules_is_frozen_unless_written(archive):
    def slots(module: nn.Module) -> List[str]:
        return [slot["name"] for slot in stator.load(archive(module)).describe()["state"]]

    assert slots(PickedByIndex(Scale(2), Scale(3))) == []
    assert slots(PickedByIndex(Scale(2), Count())) == ["layers.1.calls", "layers.1.total"]
    assert "layer" in slots(Swapped())
