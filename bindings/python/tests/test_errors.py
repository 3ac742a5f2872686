"""Bad input: a clear error, a living process, nothing leaked."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import stator
from stator._stator import ffi, lib


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("there_is_no_such_file.pt", FileNotFoundError),
        ("truncated.pt", stator.BadModelError),
        ("not_a_model.zip", stator.BadModelError),
        ("text.pt", stator.BadModelError),
        ("empty.pt", stator.BadModelError),
    ],
)
def test_a_file_that_is_no_model_is_refused_by_name(models, file, kind):
    with pytest.raises(kind, match=file) as raised:
        stator.load(models / file)
    assert isinstance(raised.value, stator.Error)


def test_bytes_that_are_no_model_are_refused(models):
    for data in (b"", b"This is a text", (models / "truncated.pt").read_bytes()):
        with pytest.raises(stator.BadModelError):
            stator.load(data)


def test_unknown_option_names_the_nearest(load):
    with pytest.raises(ValueError, match="weights"):
        load("linear", weigths="copy")
    with pytest.raises(stator.InvalidArgumentError, match="intra_op_threads"):
        load("linear").runtime(intra_op_thread=1)


def test_wrong_dtype_rank_and_count(load):
    linear, add_mul = load("linear"), load("add_mul")
    with pytest.raises((stator.OperatorError, stator.DTypeMismatchError)) as raised:
        linear(np.zeros((2, 8)))
    assert raised.value.operator == "aten::linear"
    with pytest.raises((stator.OperatorError, stator.ShapeMismatchError)):
        linear(np.zeros((2, 7), np.float32))
    with pytest.raises(stator.InputMissingError, match="y"):
        add_mul(np.zeros(2, np.float32))
    with pytest.raises(stator.InvalidArgumentError):
        add_mul(*[np.zeros(2, np.float32)] * 3)
    with pytest.raises(stator.InvalidArgumentError, match="zz"):
        add_mul(np.zeros(2, np.float32), zz=1)
    assert linear(np.zeros((2, 8), np.float32)).shape == (2, 4)


def test_signature_mismatch_says_what_was_expected_and_what_came(load):
    model = load("linear", signature="x: float32[?, 8]")
    with pytest.raises(ValueError, match=r"expected float32\[\?, 8\], got float32\[2, 7\]") as raised:
        model(np.zeros((2, 7), np.float32))
    assert raised.value.code_name == "SHAPE_MISMATCH"
    assert 'input "x" (argument 1)' in str(raised.value)
    runtime, arena = model.runtime(), model.arena()
    with pytest.raises(stator.DTypeMismatchError):
        runtime.bind(np.zeros((2, 8)))
        runtime.run(arena)


def test_model_error_carries_its_message_and_source(load, x):
    with pytest.raises(stator.ModelError, match="n must be positive, got -1") as raised:
        load("raises")(x, -1)
    assert "raise ValueError" in raised.value.source


def test_python_objects_that_no_tensor_can_hold_are_refused(load, x):
    add_mul = load("add_mul")
    for given in (object(), np.array(["text"]), np.array([object()]), x.astype(">f4")):
        with pytest.raises(TypeError):
            add_mul(given, x)


def test_int_beyond_64_bits_is_refused(load, x):
    with pytest.raises(OverflowError):
        load("raises")(x, 2**64)


def test_unknown_method_lists_the_methods(load):
    with pytest.raises(LookupError, match="score"):
        load("two_methods").method("scroe")


def test_null_handles_are_a_status():
    null = ffi.NULL
    out = ffi.new("void *[1]")
    for call, args in [
        (lib.stator_runtime_run, (null, null, null)),
        (lib.stator_runtime_create, (null, null, ffi.cast("stator_runtime **", out))),
        (lib.stator_module_load, (null, null, ffi.cast("stator_module **", out))),
        (lib.stator_arena_reset, (null,)),
        (lib.stator_value_item, (null, 0, ffi.cast("stator_value **", out))),
    ]:
        status = call(*args)
        assert lib.stator_status_code(status) == lib.STATOR_INVALID_ARGUMENT
        lib.stator_status_release(status)
    assert out[0] == null
    for kind in ("status", "bytes", "options", "module", "runtime", "arena", "pool", "value"):
        getattr(lib, f"stator_{kind}_release")(null)


def test_closing_twice_does_nothing_and_use_after_close_is_an_error(load, x):
    module = load("two_methods")
    runtime, arena, pool, method = module.runtime(), module.arena(), module.pool(), module.method("score")
    module.close()
    module.close()
    assert module.closed
    for use in (lambda: module(x), module.arena, module.runtime, module.describe, lambda: method(x, x), lambda: method.graph):
        with pytest.raises(stator.ClosedError, match="Module is closed"):
            use()
    runtime.bind(x)
    runtime.run(arena)  # what was made from the module goes on
    for handle, use in [(runtime, lambda: runtime.run(arena)), (arena, arena.reset), (pool, lambda: pool.call(x))]:
        handle.close()
        handle.close()
        with pytest.raises(ValueError, match="closed"):
            use()


def test_closing_in_a_with_block(load, x):
    with load("two_methods") as module, module.runtime() as runtime, module.arena() as arena:
        runtime.bind(x)
        runtime.run(arena)
        result = arena.output(0)
    assert runtime.closed and arena.closed and module.closed
    assert result.shape == (2, 3)


def slow_run(module, seconds=0.4):
    """A runtime and an arena, and a thread that runs in them for about that long."""
    matrix = np.eye(64, dtype=np.float32)
    runtime, arena = module.runtime(intra_op_threads=1), module.arena()
    runtime.bind(matrix, 50)
    runtime.run(arena)  # the first of all takes longer
    start = time.perf_counter()
    runtime.run(arena)
    each = (time.perf_counter() - start) / 50
    runtime.bind(matrix, max(50, int(seconds / each)))
    errors = []

    def work():
        try:
            runtime.run(arena)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.05)
    assert thread.is_alive()
    return runtime, arena, thread, errors


def test_closing_while_another_thread_runs_returns_at_once(load):
    module = load("slow")
    runtime, arena, thread, errors = slow_run(module)
    runtime.close()
    arena.close()
    module.close()
    assert thread.is_alive()
    thread.join()
    assert errors == []


def test_second_thread_on_a_runtime_gets_busy(load):
    module = load("slow")
    runtime, arena, thread, errors = slow_run(module)
    with pytest.raises(stator.BusyError):
        runtime.run(module.arena())
    with pytest.raises(stator.BusyError):
        runtime.bind(np.eye(2, dtype=np.float32))
    with pytest.raises(stator.BusyError):
        arena.reset()
    thread.join()
    assert errors == []
    assert arena.output(0).shape == (64, 64)


def test_other_threads_run_while_one_is_in_the_library(load):
    _, _, thread, _ = slow_run(load("slow"))
    count = 0
    while thread.is_alive():
        count += 1
    assert count > 1000


def test_read_only_array_is_refused_where_the_model_writes(load):
    writes = load("writes")
    array = np.zeros(3, np.float32)
    assert writes(array).item() == 3
    assert array.tolist() == [1, 1, 1]
    array.flags.writeable = False
    for use in (lambda: writes(array), lambda: writes(x=array), lambda: writes.runtime().bind(array)):
        with pytest.raises(ValueError, match=r'input "x" \(argument 1\) is read-only'):
            use()
    assert array.tolist() == [1, 1, 1]


def test_read_only_array_is_taken_where_the_model_reads(load, x):
    x.flags.writeable = False
    assert load("add_mul")(x, x).shape == (2, 3)


def python(source, **environment):
    """Runs a program in a process of its own that has this one's stator, and says what it printed."""
    merged = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, env=merged, timeout=120, check=False)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
    return done.stdout


LOAD_TWICE = """
import stator
for _ in range(2):
    try:
        stator.load("model.pt")
    except stator.Error as error:
        print(type(error).__name__, error)
print(sum(stator.live_handles().values()))
"""


def test_without_libtorch_the_error_says_so(tmp_path):
    printed = python(LOAD_TWICE, STATOR_TORCH_HOME=str(tmp_path), LD_LIBRARY_PATH="")
    first, second, handles = printed.strip().rsplit("\n", 2)
    assert first.startswith("TorchNotFoundError")
    assert str(tmp_path) in first
    assert second.startswith("TorchNotFoundError")
    assert handles == "0"


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler for a LibTorch of another version")
def test_wrong_libtorch_is_named_with_both_versions(tmp_path):
    (tmp_path / "lib").mkdir()
    source = tmp_path / "fake.c"
    source.write_text("#include <stdint.h>\nuint64_t aoti_torch_abi_version(void) { return (2ull << 56) | (10ull << 48); }\n")
    for name in ("libtorch_cpu.so", "libc10.so"):
        subprocess.run(["cc", "-shared", "-fPIC", str(source), f"-Wl,-soname,{name}", "-o", str(tmp_path / "lib" / name)], check=True)
    printed = python(LOAD_TWICE, STATOR_TORCH_HOME=str(tmp_path), LD_LIBRARY_PATH="")
    assert printed.startswith("TorchVersionError")
    for part in ("2.10", "2.15", str(tmp_path)):
        assert part in printed


def test_importing_stator_loads_neither_torch_nor_libtorch():
    source = "import stator, sys; print('torch' in sys.modules, 'libtorch_cpu' in open('/proc/self/maps').read())"
    assert python(source).split() == ["False", "False"]


def test_torch_may_be_imported_before_or_after(models):
    for order in ("import torch, stator", "import stator"):
        source = f"""
{order}
import numpy
model = stator.load({str(models / "add_mul.pt")!r})
ones = numpy.ones(2, numpy.float32)
import torch
print(torch.from_dlpack(model(ones, torch.ones(2))).shape)
print(len({{line.split()[-1] for line in open('/proc/self/maps') if 'libtorch_cpu.so' in line}}))
"""
        assert python(source).splitlines() == ["torch.Size([2])", "1"]


def test_forked_child_gets_an_error_and_exits_cleanly(models):
    source = f"""
import os, sys, warnings
warnings.simplefilter("ignore")
import numpy, stator
model = stator.load({str(models / "add_mul.pt")!r})
ones = numpy.ones(2, numpy.float32)
held = model(ones, ones)
child = os.fork()
if child == 0:
    try:
        model(ones, ones)
    except stator.ForkedError as error:
        print(type(error).__name__, flush=True)
    model.close()
    del held
    sys.exit(7)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), model(ones, ones).shape)
"""
    assert python(source).splitlines() == ["ForkedError", "7 (2,)"]


def test_fork_before_the_first_use_is_free(models):
    source = f"""
import os, sys
import numpy, stator
child = os.fork()
ones = numpy.ones(2, numpy.float32)
shape = stator.load({str(models / "add_mul.pt")!r})(ones, ones).shape
if child == 0:
    sys.exit(0 if shape == (2,) else 1)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), shape)
"""
    assert python(source).splitlines() == ["0 (2,)"]


def test_no_finalizer_trips_at_exit(models):
    source = f"""
import numpy, stator
model = stator.load({str(models / "add_mul.pt")!r})
ones = numpy.ones(2, numpy.float32)
results = [model(ones, ones) for _ in range(3)]
views = [result.numpy() for result in results]
runtime, arena = model.runtime(), model.arena()
runtime.bind(ones, ones)
runtime.run(arena)
capsule = arena.output(0).__dlpack__()
print("end")
"""
    assert python(source).strip() == "end"


def test_errors_are_picklable_by_their_text(models):
    with pytest.raises(stator.Error) as raised:
        stator.load(models / "text.pt")
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_path_kinds(models):
    path = models / "add_mul.pt"
    for source in (path, str(path), path.read_bytes(), bytearray(path.read_bytes()), memoryview(path.read_bytes())):
        assert list(stator.load(source).methods) == ["forward"]
    assert Path(path).exists()
