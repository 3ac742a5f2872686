"""torch.jit.fork and wait, and asynchronous runs: what TorchScript's interpreter gives, with any number of threads."""

from __future__ import annotations

import asyncio
import functools
import io
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import stator

Arguments = tuple[Any, ...]


@functools.cache
def archive(module: nn.Module) -> bytes:
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(module.eval()), buffer)
    return buffer.getvalue()


def same(expected: Any, got: Any) -> None:
    if isinstance(expected, Tensor):
        torch.testing.assert_close(torch.from_dlpack(got), expected)
    elif isinstance(expected, (tuple, list)):
        assert type(expected) is type(got)
        assert len(expected) == len(got)
        for one, other in zip(expected, got, strict=True):
            same(one, other)
    elif isinstance(expected, dict):
        assert expected.keys() == got.keys()
        for key, one in expected.items():
            same(one, got[key])
    else:
        assert expected == got


def add(x: Tensor, y: Tensor) -> Tensor:
    return x + y


def sum_and_parts(x: Tensor, n: int) -> tuple[Tensor, list[Tensor], dict[str, int]]:
    parts = [x * i for i in range(n)]
    return torch.stack(parts).sum(0), parts, {"n": n}


def fail(x: Tensor, really: bool) -> Tensor:
    if really:
        raise ValueError("no such luck")
    return x


def nested(x: Tensor, depth: int) -> Tensor:
    future = torch.jit.fork(add, x, x)
    if depth > 0:
        x = x.tanh()
    inner = torch.jit.fork(add, x, torch.jit.wait(future))
    return torch.jit.wait(inner)


class Simple(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        future = torch.jit.fork(add, x, y)
        z = x * y
        return torch.jit.wait(future) + z


class ManyInALoop(nn.Module):
    def forward(self, x: Tensor, n: int) -> Tensor:
        futures: list[torch.jit.Future[Tensor]] = []
        for i in range(n):
            futures.append(torch.jit.fork(add, x, x * i))
        total = torch.zeros_like(x)
        for future in futures:
            total = total + torch.jit.wait(future)
        return total


class Containers(nn.Module):
    def forward(self, x: Tensor, n: int) -> tuple[tuple[Tensor, list[Tensor], dict[str, int]], Tensor]:
        future = torch.jit.fork(sum_and_parts, x, n)
        total, parts, sizes = torch.jit.wait(future)
        parts.append(total)
        return torch.jit.wait(future), parts[-1] * sizes["n"]


class Nested(nn.Module):
    def forward(self, x: Tensor, n: int) -> Tensor:
        futures = [torch.jit.fork(nested, x * i, i) for i in range(n)]
        return torch.stack([torch.jit.wait(future) for future in futures])


class ReturnedFromABranch(nn.Module):
    def forward(self, x: Tensor, flag: bool) -> Tensor:
        if flag:  # noqa: SIM108 - a block each
            future = torch.jit.fork(add, x, x)
        else:
            future = torch.jit.fork(torch.neg, x)
        return torch.jit.wait(future)


class Submodules(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.left = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Linear(8, 3))
        self.right = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        left = torch.jit.fork(self.left, x)
        right = torch.jit.fork(self.right, x)
        return torch.jit.wait(left) + torch.jit.wait(right)


class ViewsAndInPlace(nn.Module):
    def change(self, x: Tensor) -> Tensor:
        x.mul_(2)
        return x[0]

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a = x + 1
        view = a.view(-1)
        row = torch.jit.wait(torch.jit.fork(self.change, a))
        b = torch.exp(view)
        row.add_(1)
        return a + 0, b


class FutureAsArgument(nn.Module):
    def after(self, future: torch.jit.Future[Tensor], x: Tensor) -> Tensor:
        return torch.jit.wait(future) - x

    def forward(self, x: Tensor) -> Tensor:
        first = torch.jit.fork(add, x, x)
        second = torch.jit.fork(self.after, first, x)
        third = torch.jit.fork(self.after, second, x)
        return torch.jit.wait(third)


def rows(n: int, width: int = 4) -> Tensor:
    return torch.linspace(-1, 1, n * width).reshape(n, width)


MODELS: list[tuple[nn.Module, list[Arguments]]] = [
    (Simple(), [(rows(2), rows(2)), (rows(5), rows(5)), (rows(2).double(), rows(2))]),
    (ManyInALoop(), [(rows(2), 3), (rows(3), 40), (rows(1), 0)]),
    (Containers(), [(rows(2), 2), (rows(3), 5)]),
    (Nested(), [(rows(2), 3), (rows(3), 17)]),
    (ReturnedFromABranch(), [(rows(2), True), (rows(3), False)]),
    (Submodules(), [(rows(2),), (rows(9),)]),
    (ViewsAndInPlace(), [(rows(2),), (rows(3),)]),
    (FutureAsArgument(), [(rows(2),), (rows(3),)]),
]


@pytest.mark.parametrize("helpers", [0, 1, 4])
@pytest.mark.parametrize("options", [{}, {"memory_planner": "naive"}, {"plans": "signature"}], ids=["standard", "naive", "signature"])
@pytest.mark.parametrize(("model", "inputs"), MODELS, ids=[type(model).__name__ for model, _ in MODELS])
def test_forks_give_what_the_interpreter_gives(model: nn.Module, inputs: list[Arguments], options: dict[str, str], helpers: int) -> None:
    oracle = torch.jit.load(io.BytesIO(archive(model)))
    runtime = stator.load(archive(model), **options).runtime(inter_op_threads=helpers, intra_op_threads=1)
    with torch.inference_mode():
        for given in inputs + inputs[:1] * 3:
            same(oracle(*given), runtime.call(*given))


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))
        self.register_buffer("constant", torch.ones(2))
        self.calls = 0

    def count(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.seen.add_(x)
        return self.constant * 2

    def forward(self, x: Tensor) -> tuple[Tensor, int, Tensor]:
        result = torch.jit.wait(torch.jit.fork(self.count, x))
        return self.seen.clone(), self.calls, result


@pytest.mark.parametrize("helpers", [0, 1])
def test_what_a_fork_changes_is_state_and_nothing_else_is(helpers: int) -> None:
    counter = Counter()
    oracle = torch.jit.load(io.BytesIO(archive(counter)))
    module = stator.load(archive(counter))
    first, second = module.runtime(inter_op_threads=helpers), module.runtime(inter_op_threads=helpers)
    for _ in range(3):
        same(oracle(torch.ones(2)), first.call(torch.ones(2)))
    assert second.call(torch.ones(2))[1] == 1
    assert {entry["name"] for entry in module.describe()["state"]} == {"seen", "calls"}


class Failing(nn.Module):
    def forward(self, x: Tensor, really: bool, wait: bool) -> Tensor:
        future = torch.jit.fork(fail, x, really)
        other = torch.jit.fork(add, x, x)
        if wait:
            x = torch.jit.wait(future)
        return x + torch.jit.wait(other)


@pytest.mark.parametrize("helpers", [0, 1, 4])
def test_an_exception_in_a_fork_comes_out_of_wait_and_only_there(helpers: int) -> None:
    module = stator.load(archive(Failing()))
    runtime = module.runtime(inter_op_threads=helpers)
    x = rows(2)
    for _ in range(5):
        same(x * 3, runtime.call(x, False, True))
        with pytest.raises(stator.ModelError, match="no such luck") as raised:
            runtime.call(x, True, True)
        assert "test_forks.py" in raised.value.source
        same(x * 3, runtime.call(x, True, False))


class ReturnsAFuture(nn.Module):
    def forward(self, x: Tensor) -> torch.jit.Future[Tensor]:
        return torch.jit.fork(add, x, x)


def test_a_future_cannot_leave_a_model() -> None:
    with pytest.raises(stator.UnsupportedError, match="Future"):
        stator.load(archive(ReturnsAFuture())).runtime().call(rows(2))


def test_threads_that_share_a_module_each_fork() -> None:
    nest = Nested()
    module = stator.load(archive(nest))
    expected = torch.jit.load(io.BytesIO(archive(nest)))(rows(2), 9)
    failures: list[Exception] = []

    def work() -> None:
        try:
            runtime = module.runtime(inter_op_threads=2, intra_op_threads=1)
            for _ in range(20):
                same(expected, runtime.call(rows(2), 9))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


# ---------------------------------------------------------------------------------------------------- asynchronous


def settled() -> None:
    """A thread of the library's may still be letting go of the last future."""
    for _ in range(200):
        if stator.live_handles()["future"] == 0:
            return
        time.sleep(0.005)


@pytest.fixture(autouse=True)
def futures_settle() -> Any:
    yield
    settled()


def test_the_event_loop_goes_on_while_runs_are_under_way(load: Callable[..., stator.Module]) -> None:
    module = load("slow")
    matrix = np.eye(64, dtype=np.float32) / 2

    async def main() -> tuple[list[Any], int]:
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                beats += 1
                await asyncio.sleep(0.001)

        heart = asyncio.create_task(beat())
        runtimes = [module.runtime(intra_op_threads=1) for _ in range(4)]
        results = await asyncio.gather(*(runtime.call_async(matrix, 2000) for runtime in runtimes))
        heart.cancel()
        return results, beats

    results, beats = asyncio.run(main())
    expected = module.runtime().call(matrix, 2000).numpy()
    assert len(results) == 4
    assert beats > 1
    for result in results:
        np.testing.assert_allclose(result.numpy(), expected)


def test_errors_of_an_asynchronous_run_are_raised_by_await(load: Callable[..., stator.Module], x: Any) -> None:
    runtime = load("raises").runtime()

    async def main() -> Any:
        for _ in range(3):
            with pytest.raises(stator.ModelError, match="n must be positive"):
                await runtime.call_async(x, 0)
            with pytest.raises(stator.InputMissingError):
                await runtime.call_async(x)
        return await runtime.call_async(x, n=2)

    np.testing.assert_allclose(asyncio.run(main()).numpy(), x * 2)


def test_a_runtime_is_busy_until_its_asynchronous_run_has_ended_and_may_be_closed_before(load: Callable[..., stator.Module]) -> None:
    matrix = np.eye(64, dtype=np.float32) / 2

    async def main() -> Any:
        module = load("slow")
        pool = module.pool(max_runtimes=1)
        runtime = pool.acquire()
        task = asyncio.create_task(runtime.call_async(matrix, 3000))
        await asyncio.sleep(0)
        if not task.done():
            with pytest.raises(stator.BusyError):
                runtime.call(matrix, 1)
        runtime.close()
        del runtime
        result = await task
        assert pool.call(matrix, 1) is not None, "the runtime went back"
        module.close()
        return result

    assert asyncio.run(main()).numpy().shape == (64, 64)


def test_a_cancelled_task_leaves_the_runtime_usable(load: Callable[..., stator.Module]) -> None:
    matrix = np.eye(64, dtype=np.float32) / 2
    runtime = load("slow").runtime()

    async def main() -> None:
        task = asyncio.create_task(runtime.call_async(matrix, 500))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        for _ in range(1000):
            try:
                await runtime.call_async(matrix, 1)
                return
            except stator.BusyError:
                await asyncio.sleep(0.005)
        pytest.fail("the run never ended")

    asyncio.run(main())
