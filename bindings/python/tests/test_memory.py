"""Limits on memory, and giving it back."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import stator

KIB = 1024


class Pointwise(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.tanh(x)
        return torch.relu(y * x) + y


class Hoarder(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        kept = [x]
        for _ in range(n):
            kept.append(kept[-1] + 1)
        return torch.stack(kept).sum()


class Passing(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        for _ in range(n):
            x = torch.cumsum(x, 0) * 0.5
        return x.sum()


class Layers(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = torch.nn.Linear(width, width)
        self.second = torch.nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


class MadeAnew(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: int) -> torch.Tensor:
        y = torch.relu(x)
        for _ in range(n):
            y = torch.relu(torch.cummax(y, 0)[0] + x)
        return y


class Remembers(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last = torch.zeros(3)
        self.seen = torch.jit.Attribute([], list[torch.Tensor])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = self.last + 0
        self.last = x
        self.seen.append(x[1:])
        self.last.add_(1)
        total = before
        for tensor in self.seen:
            total = total + tensor.sum()
        return total


def load(model: torch.nn.Module, **options: Any) -> stator.Module:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(model), buffer)
    return stator.load(buffer.getvalue(), **options)


def floats(kib: int) -> Any:
    return np.linspace(-1, 1, kib * KIB // 4, dtype=np.float32)


@pytest.mark.parametrize("planner", ["standard", "naive", "none"])
@pytest.mark.parametrize("plans", ["dynamic", "signature"])
def test_a_module_over_its_limit_fails_and_goes_on(planner: str, plans: str) -> None:
    module = load(Pointwise(), memory_limit_bytes=256 * KIB, memory_planner=planner, plans=plans)
    runtime, arena = module.runtime(), module.arena()
    for _ in range(3):
        for kib in (4, 16, 8):
            runtime.bind(floats(kib))
            runtime.run(arena)
            assert arena.output(0).shape == (kib * KIB // 4,)
        runtime.bind(floats(512))
        with pytest.raises(stator.MemoryLimitError, match=r"limit of the module is 262144 bytes.*asked for"):
            for _ in range(3):
                runtime.run(arena)
    runtime.trim()
    arena.trim()
    module.trim()
    assert module.describe()["memory_bytes"] == 0


def runs_on_plans(module: stator.Module) -> int:
    return int(module.metrics()["plan_cache"]["hits"])


@pytest.mark.parametrize("of", ["module", "runtime"])
def test_under_a_limit_signature_plans_run(of: str) -> None:
    limit = {"memory_limit_bytes": 2**20}
    model = Layers(64)
    module = load(model, **(limit if of == "module" else {}))
    runtime, arena = module.runtime(**({} if of == "module" else limit)), module.arena()
    x = torch.rand(3, 64)
    runtime.bind(x.numpy())
    for _ in range(6):
        runtime.run(arena)
        with torch.no_grad():
            np.testing.assert_allclose(arena.output(0).numpy(), model(x).numpy(), rtol=1e-5, atol=1e-6)
    assert runs_on_plans(module) >= 3


def test_plans_take_a_quarter_of_the_limit_at_most() -> None:
    weights = 2 * 4 * 256 * 256
    module = load(Layers(256), memory_limit_bytes=2 * weights)
    runtime = module.runtime()
    x = np.ones((2, 256), np.float32)
    for _ in range(6):
        runtime.call(x)
    assert runs_on_plans(module) == 0
    runtime.trim()
    module.trim()
    assert module.describe()["memory_bytes"] == 0


def test_repacked_weights_are_shared_by_plans_and_given_back() -> None:
    module = load(Layers(256), memory_limit_bytes=2**24)
    runtime = module.runtime()
    repacked = []
    for rows in (8, 16, 24):
        x = np.ones((rows, 256), np.float32)
        for _ in range(6):
            runtime.call(x)
        repacked.append(module.metrics()["weight_bytes"])
    assert runs_on_plans(module) >= 9
    assert repacked[0] == repacked[1] == repacked[2] > module.describe()["weights_bytes"]
    runtime.trim()
    module.trim()
    assert module.describe()["memory_bytes"] == 0


def test_what_operators_return_in_a_signature_plan_counts() -> None:
    module = load(MadeAnew(), memory_limit_bytes=2**20)
    runtime = module.runtime()
    for _ in range(6):
        runtime.call(floats(64), 2)
    assert runs_on_plans(module) >= 3
    small = module.runtime(memory_limit_bytes=128 * KIB)
    for _ in range(4):
        with pytest.raises(stator.MemoryLimitError, match="limit of the runtime"):
            small.call(floats(64), 2)


def test_a_runtime_has_a_limit_of_its_own() -> None:
    module = load(Pointwise())
    small, large = module.runtime(memory_limit_bytes=64 * KIB), module.runtime()
    with pytest.raises(stator.MemoryLimitError, match="limit of the runtime"):
        small.call(floats(128))
    large.call(floats(128))


def test_tensors_in_lists_count() -> None:
    module = load(Hoarder(), memory_limit_bytes=256 * KIB)
    module(floats(16), 4)
    with pytest.raises(stator.MemoryLimitError, match="limit of the module"):
        module(floats(16), 100)
    module(floats(16), 4)


def test_tensors_that_are_gone_do_not_count() -> None:
    module = load(Passing(), memory_limit_bytes=256 * KIB, memory_planner="none")
    module(floats(16), 200)


def test_an_error_under_a_limit_names_the_operator() -> None:
    module = load(Hoarder(), memory_limit_bytes=128 * KIB, memory_planner="none")
    with pytest.raises(stator.MemoryLimitError) as caught:
        module(floats(64), 10)
    assert caught.value.operator.startswith("aten::")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_is_at_least_one_byte(limit: int) -> None:
    with pytest.raises(stator.InvalidArgumentError, match="memory_limit_bytes"):
        load(Pointwise(), memory_limit_bytes=limit)


def test_trim_gives_back_and_changes_nothing_else() -> None:
    module = load(Pointwise())
    runtime, arena = module.runtime(), module.arena()
    x = floats(64)
    runtime.bind(x)
    for _ in range(3):
        runtime.run(arena)
    wanted = arena.output(0).numpy().copy()
    assert runtime.workspace_bytes > 0
    assert arena.bytes > 0
    runtime.trim()
    arena.trim()
    assert (runtime.workspace_bytes, arena.bytes, arena.outputs) == (0, 0, [])
    for _ in range(3):
        runtime.run(arena)
        np.testing.assert_array_equal(arena.output(0).numpy(), wanted)


def test_an_arena_with_exports_is_not_trimmed() -> None:
    module = load(Pointwise())
    runtime, arena = module.runtime(), module.arena()
    runtime.bind(floats(4))
    runtime.run(arena)
    held = arena.output(0)
    with pytest.raises(stator.BusyError):
        arena.trim()
    assert held.numpy().shape == (KIB,)


def test_a_pool_trims_what_is_not_lent() -> None:
    module = load(Pointwise())
    pool = module.pool(max_runtimes=2)
    with pool.acquire() as lent:
        for _ in range(3):
            pool.call(floats(64))
            lent.call(floats(64))
        pool.trim()
        assert lent.workspace_bytes > 0
    pool.trim()
    assert module.metrics()["workspace_bytes"] == 0


def test_state_does_not_keep_the_callers_memory() -> None:
    module = load(Remembers())
    runtime = module.runtime()
    x = np.array([1, 2, 3], dtype=np.float32)
    assert runtime.call(x).numpy().tolist() == [7.0, 7.0, 7.0]
    np.testing.assert_array_equal(x, [2, 3, 4])  # the model wrote it, through state
    x[:] = 100
    assert runtime.call(np.zeros(3, dtype=np.float32)).numpy().tolist() == [11.0, 12.0, 13.0]
