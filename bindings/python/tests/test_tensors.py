"""Tensors in and out: NumPy, DLPack, buffers; who keeps which memory."""

from __future__ import annotations

import array
import gc
import weakref

import numpy as np
import pytest
import torch

import stator


def expected(x, y):
    x, y = torch.as_tensor(np.asarray(x)), torch.as_tensor(np.asarray(y))
    return torch.sigmoid(x * y + x)


def test_numpy_goes_in_and_comes_out(load, x):
    result = load("add_mul")(x, x)
    assert (result.shape, result.dtype, result.strides, result.ndim, len(result)) == ((2, 3), "float32", (3, 1), 2, 2)
    np.testing.assert_allclose(result.numpy(), expected(x, x).numpy(), rtol=1.3e-6, atol=1e-5)
    assert result.tolist() == result.numpy().tolist()
    assert repr(result) == "stator.Tensor(float32[2, 3])"


def test_views_and_exports_share_one_memory(load, x):
    result = load("add_mul")(x, x)
    first, second, third = result.numpy(), np.asarray(result), torch.from_dlpack(result)
    first[0, 0] = 42
    assert second[0, 0] == 42
    assert third[0, 0] == 42
    assert np.array(result, dtype=np.float64).dtype == np.float64
    assert np.array(result, copy=True) is not first


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "int64", "uint8", "int8", "int16", "complex64", "bool"])
def test_every_dtype_of_numpy_passes(load, dtype):
    given = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    if dtype == "bool":
        result, wanted = load("alias")(given)[0], given
    else:
        result, wanted = load("two_methods").method("score")(given, given), (given * given).sum(-1)
    torch_wanted = torch.from_numpy(given) if dtype == "bool" else (torch.from_numpy(given) * torch.from_numpy(given)).sum(-1)
    assert result.dtype == str(torch_wanted.dtype).removeprefix("torch.")
    np.testing.assert_array_equal(result.numpy(), wanted)


def test_strided_and_empty_arrays(load, x):
    model = load("add_mul")
    for given in (x.T, x[:, ::2], np.broadcast_to(x[:1], (4, 3)), x[:0], np.zeros((2, 0), np.float32), np.array(0.5, np.float32)):
        result = model(given, given).numpy()
        wanted = expected(given.copy(), given.copy()).numpy()
        assert result.shape == wanted.shape
        np.testing.assert_allclose(result, wanted, rtol=1.3e-6, atol=1e-5)


def test_torch_tensors_go_in_without_a_copy(load):
    tensor = torch.zeros(3)
    load("writes")(tensor)
    assert tensor.tolist() == [1, 1, 1]
    module = load("writes")
    runtime, arena = module.runtime(), module.arena()
    runtime.bind(tensor)
    runtime.run(arena)
    runtime.run(arena)
    assert tensor.tolist() == [3, 3, 3]


def test_bfloat16_passes_by_dlpack_and_numpy_says_so(load):
    given = torch.linspace(-1, 1, 4, dtype=torch.bfloat16)
    result = load("add_mul")(given, given)
    assert result.dtype == "bfloat16"
    with pytest.raises(TypeError, match="__dlpack__"):
        result.numpy()
    torch.testing.assert_close(torch.from_dlpack(result), torch.sigmoid(given * given + given))


class Legacy:
    """A producer that knows the older form of DLPack only."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_older_dlpack_both_ways(load):
    ones = torch.ones(3)
    module = load("add_mul")
    result = module(Legacy(ones), Legacy(ones))
    torch.testing.assert_close(torch.from_dlpack(Legacy(result)), torch.sigmoid(ones * 2))
    runtime, arena = module.runtime(), module.arena()
    runtime.bind(Legacy(ones), y=Legacy(ones))
    runtime.run(arena)
    torch.testing.assert_close(torch.from_dlpack(arena.output(0)), torch.sigmoid(ones * 2))


def test_capsules(load, x):
    result = load("add_mul")(x, x)
    assert "dltensor_versioned" in repr(result.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(result.__dlpack__())
    assert result.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        result.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        result.__dlpack__(dl_device=(2, 0))


def test_tensors_of_torch_go_in_by_the_exchange_interface(load):
    x = torch.ones(3)
    model = load("add_mul")
    released = weakref.ref(x.untyped_storage())
    for _ in range(3):
        model(x, x)
    runtime = model.runtime()
    runtime.bind(x, x)
    with pytest.raises(stator.InvalidArgumentError):
        runtime.method("forward")._bind(9, x)
    runtime.unbind()
    assert released() is not None
    del x
    gc.collect()
    assert released() is None


def test_what_dlpack_refuses_stays_refused(load):
    x = torch.ones(3)
    model = load("add_mul")
    conjugate, negative = torch.ones(3, dtype=torch.complex64).conj(), torch.ones(3, dtype=torch.complex64).conj().imag
    for refused, says in ((x.clone().requires_grad_(), "gradient"), (conjugate, "conjugate"), (negative, "negative")):
        with pytest.raises(BufferError, match=says):
            model(refused, x)
    with pytest.raises((BufferError, RuntimeError)):
        model(x.to_sparse(), x)


def test_results_and_buffers_go_in(load, x):
    model = load("add_mul")
    result = model(x, x)
    again = model(result, result).numpy()
    np.testing.assert_allclose(again, expected(result, result).numpy(), rtol=1.3e-6, atol=1e-5)
    numbers = array.array("f", [1, 2, 3])
    np.testing.assert_allclose(model(numbers, memoryview(numbers)).numpy(), expected(numbers, numbers).numpy(), rtol=1.3e-6)


def test_views_outlive_everything(load, x):
    module = load("add_mul")
    runtime, arena = module.runtime(), module.arena()
    runtime.bind(x, x)
    runtime.run(arena)
    view, export = arena.output(0).numpy(), torch.from_dlpack(arena.output(0))
    plain = module(x, x).numpy()
    module.close()
    runtime.close()
    arena.close()
    del module, runtime, arena
    gc.collect()
    junk = [np.random.rand(2, 3) for _ in range(1000)]
    for held in (view, export.numpy(), plain):
        np.testing.assert_allclose(held, expected(x, x).numpy(), rtol=1.3e-6, atol=1e-5)
    assert len(junk) == 1000


def test_results_held_across_further_calls_do_not_change(load, x):
    model = load("add_mul")
    held = [model(x + turn, x) for turn in range(20)]
    before = [result.numpy().copy() for result in held]
    for turn in range(200):
        model(x - turn, x)
    for result, copy in zip(held, before, strict=True):
        np.testing.assert_array_equal(result.numpy(), copy)


def test_arena_is_busy_while_a_view_lives(load, x):
    module = load("add_mul")
    runtime, arena = module.runtime(), module.arena()
    runtime.bind(x, x)
    runtime.run(arena)
    generation = arena.generation
    view = arena.output(0).numpy()
    for use in (lambda: runtime.run(arena), arena.reset):
        with pytest.raises(stator.BusyError):
            use()
    del view
    runtime.run(arena)
    arena.reset()
    assert arena.generation > generation
    assert arena.outputs == []


def test_arrays_bound_or_passed_are_let_go(load):
    module = load("add_mul")
    runtime, arena = module.runtime(), module.arena()
    passed, bound, kept = (np.ones(3, np.float32) for _ in range(3))
    watched = [weakref.ref(passed), weakref.ref(bound)]
    module(passed, passed)
    runtime.bind(bound, kept)
    runtime.run(arena)
    del passed, bound
    assert watched[0]() is None
    assert watched[1]() is not None
    runtime.bind(kept)
    assert watched[1]() is None
    last = weakref.ref(kept)
    del kept
    runtime.close()
    assert last() is None


def test_bound_inputs_are_read_anew(load):
    module = load("add_mul")
    with module.runtime(intra_op_threads=1) as runtime, module.arena() as arena:
        x, y = runtime.input("x", (2, 3)), runtime.input(1, (2, 3))
        assert not x.any()
        assert x.ctypes.data % 64 == 0
        for turn in range(5):
            x[:] = turn
            y[:] = turn / 2
            runtime.run(arena)
            np.testing.assert_allclose(arena.output(0), expected(x, y).numpy(), rtol=1.3e-6, atol=1e-5)
        runtime.unbind()
        with pytest.raises(stator.InputMissingError):
            runtime.run(arena)


def test_bound_output_is_written(load, x):
    module = load("add_mul")
    runtime, arena, out = module.runtime(), module.arena(), np.zeros((2, 3), np.float32)
    runtime.bind(x, x)
    runtime.bind_output(0, out)
    runtime.run(arena)
    np.testing.assert_allclose(out, expected(x, x).numpy(), rtol=1.3e-6, atol=1e-5)
    runtime.bind_output(0, np.zeros((3, 3), np.float32))
    with pytest.raises(stator.ShapeMismatchError):
        runtime.run(arena)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        runtime.bind_output(0, out)


def test_a_run_makes_no_python_objects(load, x):
    import sys

    module = load("add_mul")
    runtime, arena = module.runtime(), module.arena()
    runtime.bind(x, x)
    runtime.run(arena)
    before = sys.getallocatedblocks()
    for _ in range(1000):
        runtime.run(arena)
    assert sys.getallocatedblocks() - before < 50


def test_files(tmp_path, x):
    value = {"x": x, "y": torch.arange(3), "z": [1, 2.5, "text", None, True, (x,)]}
    torch.save({"x": torch.from_numpy(x), "y": torch.arange(3)}, tmp_path / "saved.pt")
    read = stator.read(tmp_path / "saved.pt")
    np.testing.assert_array_equal(read["x"].numpy(), x)
    assert read["y"].tolist() == [0, 1, 2]
    stator.write(tmp_path / "written.pt", value)
    loaded = torch.load(tmp_path / "written.pt", weights_only=True)
    torch.testing.assert_close(loaded["x"], torch.from_numpy(x))
    assert loaded["z"][:5] == [1, 2.5, "text", None, True]
    stator.write(tmp_path / "arrays.npz", {"a": x, "b": np.arange(4)})
    with np.load(tmp_path / "arrays.npz") as archive:
        assert list(archive) == ["a", "b"]
        np.testing.assert_array_equal(archive["a"], x)
    np.savez(tmp_path / "numpy.npz", first=x, second=np.arange(2))
    assert list(stator.read(tmp_path / "numpy.npz")) == ["first", "second"]
    with pytest.raises(FileNotFoundError):
        stator.read(tmp_path / "missing.npz")
    (tmp_path / "damaged.npz").write_bytes((tmp_path / "numpy.npz").read_bytes()[:100])
    with pytest.raises(stator.BadModelError):
        stator.read(tmp_path / "damaged.npz")
