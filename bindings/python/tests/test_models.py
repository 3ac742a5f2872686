"""Models through the binding's surface: types, state, threads, and upstream's silent wrong results beside TorchScript's interpreter."""

from __future__ import annotations

import asyncio
import gc
import pathlib
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import stator

warnings.filterwarnings("ignore", category=FutureWarning)


def test_types_come_back(load, x):
    t, i, f, b, s, o = load("kinds")(x, 1, 0.5, True, "zürich\0", None)
    assert isinstance(t, stator.Tensor)
    assert (i, f, b, s, o) == (2, 1.0, False, "zürich\0!", None)
    named, listed = load("containers")(x, x)
    assert list(named) == ["sum", "product"]
    assert len(listed) == 3
    np.testing.assert_array_equal(named["sum"], x + x)
    point = load("named")(x, x)
    assert point._fields == ("x", "y")
    np.testing.assert_array_equal(point.y, x - x)


def test_containers_go_in(load, x):
    result = load("nested")([x, torch.from_numpy(x)], {"a": x}, pair=(x, 2))
    np.testing.assert_allclose(result.numpy(), x * 5, rtol=1e-6)


def test_keywords_and_defaults(load, x):
    model = load("defaults")
    np.testing.assert_array_equal(model(x).numpy(), x * 2)
    np.testing.assert_array_equal(model(x=x, shift=x, scale=np.float32(3)).numpy(), x * 3 + x)
    runtime, arena = model.runtime(), model.arena()
    runtime.bind(x, shift=x)
    runtime.run(arena)
    np.testing.assert_array_equal(arena.result().numpy(), x * 2 + x)
    runtime.bind(x, 1, None)
    runtime.run(arena)
    np.testing.assert_array_equal(arena.result().numpy(), x)


def test_module_tells_what_it_is(load):
    model = load("kinds")
    method = model.method("forward")
    assert method.inputs[:2] == [("t", "Tensor"), ("i", "int")]
    assert method.inputs[5] == ("o", "Optional[Tensor]")
    assert (method.name, method.output_count, method.written) == ("forward", -1, [])
    assert load("writes").method("forward").written == ["x"]
    assert list(load("two_methods").methods) == ["forward", "score"]
    assert isinstance(model.describe(), dict)
    assert isinstance(model.plan(), dict)
    assert "aten::mul" in model.graph
    assert stator.build_info()["torch_loaded"].startswith("2.15")


def test_methods_share_a_runtime(load, x):
    module = load("two_methods")
    score = module.method("score")
    np.testing.assert_allclose(score(x, x).numpy(), (x * x).sum(-1), rtol=1e-5)
    runtime, arena = module.runtime(), module.arena()
    bound = runtime.method("score")
    bound.bind(x, y=x)
    bound.run(arena)
    np.testing.assert_allclose(arena.output(0), (x * x).sum(-1), rtol=1e-5)
    assert bound.call_into(arena, x, x).shape == (2,)
    assert runtime.call(x).shape == (2, 3)


def test_plain_calls_share_one_state(load):
    model = load("counter")
    ones = np.ones(3, np.float32)
    assert [model(ones)[1] for _ in range(3)] == [1, 2, 3]
    assert model(ones)[0].tolist() == [4, 4, 4]
    model.method("reset")()
    assert model(ones)[1] == 1
    model(ones)
    model.reset_state()
    assert model(ones)[1] == 1


def test_runtimes_have_a_state_each(load):
    model = load("counter")
    ones = np.ones(3, np.float32)
    first, second = model.runtime(), model.runtime()
    assert [first.call(ones)[1] for _ in range(2)] == [1, 2]
    assert second.call(ones)[1] == 1
    copy = first.clone()
    assert (first.call(ones)[1], copy.call(ones)[1], copy.call(ones)[1]) == (3, 3, 4)
    first.reset_state()
    assert first.call(ones)[1] == 1
    assert model(ones)[1] == 1


def test_shared_state(load):
    model = load("counter")
    ones = np.ones(3, np.float32)
    first, second = model.runtime(state="shared"), model.runtime(state="shared")
    assert (first.call(ones)[1], second.call(ones)[1]) == (1, 2)


def test_pool_refuses_a_model_with_state_unless_told(load):
    model = load("counter")
    with pytest.raises(stator.InvalidArgumentError, match="state"):
        model.pool()
    pool = model.pool(state="shared")
    ones = np.ones(3, np.float32)
    assert [pool.call(ones)[1] for _ in range(2)] == [1, 2]


def test_pool_lends_and_waits(load, x):
    module = load("add_mul")
    pool = module.pool(max_runtimes=1)
    arena = module.arena()
    with pool.acquire() as runtime:
        runtime.bind(x, x)
        runtime.run(arena)
        with pytest.raises(stator.BusyError):
            pool.acquire(timeout=0)
        start = time.perf_counter()
        with pytest.raises(TimeoutError):
            pool.acquire(timeout=0.1)
        assert 0.09 < time.perf_counter() - start < 1
        with pytest.raises(TimeoutError):
            pool.call_within(0.01, "forward", x, x)
    with pool.acquire(timeout=0) as runtime, pytest.raises(stator.InputMissingError):
        runtime.run(arena)  # nothing is bound any more
    assert pool.runtime_count == 1


def test_lent_runtime_outlives_its_pool(load, x):
    module = load("add_mul")
    pool = module.pool()
    runtime = pool.acquire()
    pool.close()
    assert runtime.call(x, x).shape == (2, 3)
    runtime.close()


def check_in_threads(work, threads=8, turns=50):
    errors = []

    def loop(seed):
        try:
            for turn in range(turns):
                work(seed, turn)
        except Exception as error:
            errors.append(error)

    started = [threading.Thread(target=loop, args=(seed,)) for seed in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert errors == []


def test_threads_on_one_module(load, models):
    model = load("deep_and_wide")
    reference = torch.jit.load(models / "deep_and_wide.pt")

    def work(seed, turn):
        generator = np.random.default_rng(seed * 1000 + turn)
        inputs = [generator.random(shape, np.float32) for shape in [(1 + turn % 3, 1, 32), (1 + turn % 3, 1, 32), (1 + turn % 3, 50)]]
        with torch.inference_mode():
            wanted = reference(*map(torch.from_numpy, inputs))
        np.testing.assert_allclose(model(*inputs).numpy(), wanted.numpy(), rtol=1.3e-6, atol=1e-5)

    check_in_threads(work)


def test_threads_on_one_pool(load):
    module = load("add_mul")
    pool = module.pool(max_runtimes=3)

    def work(seed, turn):
        x = np.full(1 + turn % 5, seed + turn / 100, np.float32)
        wanted = 1 / (1 + np.exp(-(x * x + x)))
        np.testing.assert_allclose(pool.call(x, x).numpy(), wanted, rtol=1e-5)
        with pool.acquire() as runtime:
            np.testing.assert_allclose(runtime.call(x, x).numpy(), wanted, rtol=1e-5)

    check_in_threads(work)
    assert pool.runtime_count <= 3


def test_threads_on_one_state_are_counted_once_each(load):
    model = load("counter")
    ones = np.ones(3, np.float32)
    check_in_threads(lambda seed, turn: model(ones))
    assert model(ones)[1] == 8 * 50 + 1


def test_results_freed_in_other_threads(load, x):
    model = load("add_mul")
    with ThreadPoolExecutor(4) as executor:
        for result in executor.map(lambda turn: model(x + turn, x), range(100)):
            assert result.shape == (2, 3)


def test_a_result_in_a_cycle_gives_its_arena_back_whole(load, x):
    model = load("linear")
    expected = model(np.ones((1, 8), np.float32)).numpy().copy()
    for _ in range(3):
        cycle = [model(np.ones((1, 8), np.float32))]
        cycle.append(cycle)
        del cycle
        gc.collect()
        before = stator.live_handles()["arena"]
        np.testing.assert_allclose(model(np.ones((1, 8), np.float32)).numpy(), expected, rtol=1e-5)
        assert stator.live_handles()["arena"] == before == 1


def test_asyncio(load, x):
    model = load("add_mul")

    async def several():
        return await asyncio.gather(*[model.call_async(x, y=x) for _ in range(5)])

    assert [result.shape for result in asyncio.run(several())] == [(2, 3)] * 5


def floats(*shapes):
    return [
        [(torch.arange(2 * size) * 0.37 + turn).sin().reshape(2, *shape)[row] for row in (0, 1)]
        for turn, (shape, size) in enumerate(shapes)
    ]


SHAPES = [((2, 2), 4), ((2, 2), 4), ((3, 2), 6), ((1, 4), 4), ((2, 2), 4)]
LINES = [((size,), size) for size in (3, 3, 5, 2, 3)]
KINDS = [torch.float32, torch.int64, torch.float64, torch.float32, torch.int32]
TYPED = [[torch.arange(1, 7).reshape(2, 3).to(kind), torch.arange(2, 8).reshape(2, 3).to(kind)] for kind in KINDS]

DEFECTS = [
    ("defect_a_view", [(*pair, turn % 2 == 0) for turn, pair in enumerate(floats(*LINES))]),
    ("defect_a_nested", [(*pair, turn % 2 == 0) for turn, pair in enumerate(floats(*LINES))]),
    ("defect_a_loop", [(*pair, turn) for turn, pair in enumerate(floats(*LINES))]),
    ("defect_b_list", floats(*SHAPES)),
    ("defect_d_mul", TYPED),
    ("defect_d_mul", TYPED[::-1]),
    ("defect_d_cat", TYPED),
    ("defect_d_cat", TYPED[::-1]),
]


@pytest.mark.parametrize(("name", "calls"), DEFECTS)
@pytest.mark.parametrize("way", ["call", "bind"])
def test_upstream_defects_stay_right(load, models, name, calls, way):
    model = load(name)
    reference = torch.jit.load(models / f"{name}.pt")
    runtime, arena = model.runtime(), model.arena()
    for arguments in calls:
        with torch.inference_mode():
            wanted = reference(*arguments)
        if way == "call":
            got = torch.from_dlpack(model(*arguments))
        else:
            runtime.bind(*arguments)
            runtime.run(arena)
            got = torch.from_dlpack(arena.result()).clone()
        torch.testing.assert_close(got, wanted)


def test_weights_may_be_mapped(load, models):
    def mapped():
        return "linear.pt" in pathlib.Path("/proc/self/maps").read_text()

    with load("linear", weights="copy"):
        assert not mapped()
    with load("linear", weights="map"):
        assert mapped()
    assert not mapped()
    given = np.ones((3, 8), np.float32)
    np.testing.assert_array_equal(load("linear", weights="map")(given).numpy(), load("linear")(given).numpy())
    with pytest.raises(stator.InvalidArgumentError):
        stator.load((models / "linear.pt").read_bytes(), weights="map")
