"""Runtimes, arenas and pools."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from stator._async import call_async
from stator._errors import InvalidArgumentError
from stator._native import Handle, Option, check, made, options_of, raise_status, text, text_of_bytes
from stator._profile import Profile
from stator._stator import ffi, lib
from stator._tensor import CPU, Taken, Tensor, aligned_zeros, numpy_layout
from stator._values import as_array, dict_value, from_value, list_value, to_value

_run = lib.stator_py_run


class Entry:
    """What the binding knows of a method: its place in the library, the names of its inputs, and which of them it writes."""

    __slots__ = ("index", "name", "names", "ptr", "written")

    def __init__(self, pointer: Any) -> None:
        self.ptr = pointer
        self.name = text(lib.stator_method_name(pointer))
        self.names = [text(lib.stator_method_input_name(pointer, index)) for index in range(lib.stator_method_input_count(pointer))]
        self.index = {name: index for index, name in enumerate(self.names)}
        self.written = {index for index in range(len(self.names)) if lib.stator_method_input_written(pointer, index)}

    def place(self, key: int | str) -> int:
        if isinstance(key, int):
            return key
        if key not in self.index:
            raise _refused(f'{self.name} has no input "{key}"; it has: {", ".join(self.names)}')
        return self.index[key]

    def refuse_read_only(self, place: int, given: Any) -> None:
        """NumPy's flag; the library sees that of DLPack itself."""
        if place in self.written and isinstance(given, np.ndarray) and not given.flags.writeable:
            raise _refused(f'input "{self.names[place]}" (argument {place + 1}) is read-only, and {self.name} writes it')

    def check_arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        if not self.written:
            return
        for place, given in enumerate(args):
            self.refuse_read_only(place, given)
        for name, given in kwargs.items():
            self.refuse_read_only(self.index.get(name, -1), given)


def _refused(message: str) -> InvalidArgumentError:
    error = InvalidArgumentError(message)
    error.code, error.code_name, error.message = lib.STATOR_INVALID_ARGUMENT, "INVALID_ARGUMENT", message
    return error


class Entries:
    """The methods of a module, looked up once each."""

    __slots__ = ("_found", "_module")

    def __init__(self, module: Any) -> None:
        self._module = module
        self._found: dict[str, Entry] = {}

    def __getitem__(self, name: str) -> Entry:
        entry = self._found.get(name)
        if entry is None:
            out = ffi.new("const stator_method **")
            check(lib.stator_module_find_method(self._module, name.encode(), out))
            entry = self._found[name] = Entry(out[0])
        return entry

    def __iter__(self) -> Any:
        count = lib.stator_module_method_count(self._module)
        return iter([text(lib.stator_method_name(lib.stator_module_get_method(self._module, index))) for index in range(count)])


def invoke(call: Callable[..., Any], entry: Entry, args: tuple[Any, ...], kwargs: Mapping[str, Any], arena: Any, keep: object) -> Any:
    """Calls a method on Python objects: `call` is a function of the library that lacks (method, args, kwargs, arena, out)."""
    entry.check_arguments(args, kwargs)
    given = list_value(args) if args else ffi.NULL
    named = dict_value(kwargs) if kwargs else ffi.NULL
    return from_value(made("value", lib.stator_value_release, call, entry.ptr, given, named, arena), keep)


# ------------------------------------------------------------------------------------------------------------- arena


class Arena(Handle):
    """The place for the outputs of one run. Tensors and views taken from it keep its memory; while one lives, no run may go into it."""

    __slots__ = ()

    def __init__(self, module: Any) -> None:
        self._ptr = new_arena(module)

    def output(self, index: int) -> Tensor:
        """An output tensor, counted depth first through the result."""
        out = ffi.new("struct DLManagedTensorVersioned **")
        check(lib.stator_arena_export(self._ptr, index, out))
        return Tensor(made("value", lib.stator_value_release, lib.stator_value_from_dlpack, out[0]))

    @property
    def outputs(self) -> list[Tensor]:
        """All output tensors, depth first."""
        return [self.output(index) for index in range(lib.stator_arena_output_count(self._ptr))]

    def result(self) -> Any:
        """The whole result with its structure."""
        return from_value(made("value", lib.stator_value_release, lib.stator_arena_result, self._ptr))

    def reset(self) -> None:
        """Empties the arena and keeps its memory for the next run."""
        check(lib.stator_arena_reset(self._ptr))

    def trim(self) -> None:
        """Empties the arena and gives its memory back to the system."""
        check(lib.stator_arena_trim(self._ptr))

    @property
    def generation(self) -> int:
        """Counts runs and resets."""
        return int(lib.stator_arena_generation(self._ptr))

    @property
    def bytes(self) -> int:
        return int(lib.stator_arena_bytes(self._ptr))


def new_arena(module: Any) -> Any:
    return made("arena", lib.stator_arena_release, lib.stator_arena_create, module, ffi.NULL)


# ----------------------------------------------------------------------------------------------------------- runtime


class Runtime(Handle):
    """A workspace, bound inputs and one copy of the module's state, for one caller at a time. It serves all methods of its module.

    The calls here are those of `forward`; `method(name)` gives the others.
    """

    __slots__ = ("_entries", "_forward", "_held", "_module")

    def __init__(
        self, module: Any, entries: Entries, make: Callable[..., Any], release: Callable[[Any], Any] = lib.stator_runtime_release
    ) -> None:
        # What is bound must live while a run may read it, and such a run holds the pointer; so the memory goes with the pointer.
        held: dict[tuple[str, str, int], object] = {}
        out = ffi.new("stator_runtime **")
        check(make(out))

        def let_go(pointer: Any) -> None:
            release(pointer)
            held.clear()

        self._ptr = ffi.gc(out[0], let_go)
        self._held = held
        self._module = module
        self._entries = entries
        self._forward: Any = None

    def method(self, name: str) -> BoundMethod:
        """A method to bind, run and call in this runtime."""
        return BoundMethod(self, self._entries[name])

    def bind(self, /, *args: Any, **kwargs: Any) -> None:
        """Binds inputs of `forward`, by place or name; each run reads them anew. Arrays and tensors are not copied."""
        self.method("forward").bind(*args, **kwargs)

    def input(self, key: int | str, shape: tuple[int, ...], dtype: str = "float32") -> npt.NDArray[Any]:
        """Binds an input of `forward` to a new array: write there, then run."""
        return self.method("forward").input(key, shape, dtype)

    def bind_output(self, index: int, array: npt.NDArray[Any]) -> None:
        """Has each run of `forward` write an output into `array`."""
        self.method("forward").bind_output(index, array)

    def unbind(self) -> None:
        """Forgets what is bound, for all methods."""
        check(lib.stator_runtime_unbind(self._ptr, ffi.NULL))
        self._held.clear()

    def run(self, arena: Arena) -> None:
        """Runs `forward` once on what is bound and puts the outputs into `arena`."""
        if self._forward is None:
            self._forward = self._entries["forward"].ptr
        failed = _run(self._ptr, self._forward, arena._ptr)
        if failed:
            raise_status(failed)

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Runs `forward` on any Python objects, in an arena of the result's own. What is bound is not read."""
        return self.method("forward").call(*args, **kwargs)

    def call_into(self, arena: Arena, /, *args: Any, **kwargs: Any) -> Any:
        """The same with the tensors of the result in `arena`."""
        return self.method("forward").call_into(arena, *args, **kwargs)

    async def call_async(self, /, *args: Any, **kwargs: Any) -> Any:
        """As `call`, in a thread of the library's, while the event loop goes on. The runtime is in use until then."""
        return await self.method("forward").call_async(*args, **kwargs)

    def clone(self) -> Runtime:
        """A runtime with a copy of this one's state; nothing is bound in it."""
        return Runtime(self._module, self._entries, partial(lib.stator_runtime_clone, self._ptr))

    def reset_state(self) -> None:
        """Sets the state back to the file's."""
        check(lib.stator_runtime_reset_state(self._ptr))

    def trim(self) -> None:
        """Gives back to the system what is kept between runs; state and what is bound stay."""
        check(lib.stator_runtime_trim(self._ptr))

    def profile(self, *, events: int = 0) -> Profile:
        """Profiles the runs from here on, afresh. The first `events` executions of nodes are kept for a trace."""
        return Profile(self, events)

    @property
    def workspace_bytes(self) -> int:
        return int(lib.stator_runtime_workspace_bytes(self._ptr))


class BoundMethod:
    """One method in one runtime."""

    __slots__ = ("_entry", "_method", "_runtime")

    def __init__(self, runtime: Runtime, entry: Entry) -> None:
        self._runtime = runtime
        self._entry = entry
        self._method = entry.ptr

    @property
    def name(self) -> str:
        return self._entry.name

    def bind(self, /, *args: Any, **kwargs: Any) -> None:
        """Binds inputs by place or name; each run reads them anew. Arrays and tensors are not copied."""
        for place, given in enumerate(args):
            self._bind(place, given)
        for name, given in kwargs.items():
            self._bind(self._entry.place(name), given)

    def _bind(self, place: int, given: Any) -> None:
        runtime = self._runtime._ptr
        if isinstance(given, (bytes, bytearray, memoryview)):
            given = as_array(given)
        held: object = None
        if isinstance(given, np.ndarray):
            self._entry.refuse_read_only(place, given)
            data, code, shape, strides = numpy_layout(given)
            check(lib.stator_runtime_bind(runtime, self._method, place, data, code, CPU, given.ndim, shape, strides))
            held = given
        elif not isinstance(given, Tensor) and hasattr(given, "__dlpack__") and (taken := Taken(given)).versioned:
            with taken:
                check(lib.stator_runtime_bind_dlpack(runtime, self._method, place, taken.managed))
        else:
            check(lib.stator_runtime_bind_value(runtime, self._method, place, to_value(given)))
        self._runtime._held[self._entry.name, "input", place] = held

    def input(self, key: int | str, shape: tuple[int, ...], dtype: str = "float32") -> npt.NDArray[Any]:
        """Binds an input to a new array, zeroed and aligned: write there, then run. Nothing is copied."""
        array = aligned_zeros(tuple(shape), dtype)
        self._bind(self._entry.place(key), array)
        return array

    def bind_output(self, index: int, array: npt.NDArray[Any]) -> None:
        """Has each run write an output into `array`; outputs are counted as in `Arena.output`."""
        if not array.flags.writeable:
            raise _refused(f"the array for output {index} is read-only")
        data, code, shape, strides = numpy_layout(array)
        check(lib.stator_runtime_bind_output(self._runtime._ptr, self._method, index, data, code, CPU, array.ndim, shape, strides))
        self._runtime._held[self._entry.name, "output", index] = array

    def unbind(self) -> None:
        """Forgets what is bound to this method."""
        check(lib.stator_runtime_unbind(self._runtime._ptr, self._method))
        held = self._runtime._held
        for key in [key for key in held if key[0] == self._entry.name]:
            held.pop(key, None)

    def run(self, arena: Arena) -> None:
        """Runs once on what is bound and puts the outputs into `arena`."""
        failed = _run(self._runtime._ptr, self._method, arena._ptr)
        if failed:
            raise_status(failed)

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Runs on any Python objects, in an arena of the result's own."""
        return self._call(new_arena(self._runtime._module), args, kwargs)

    def call_into(self, arena: Arena, /, *args: Any, **kwargs: Any) -> Any:
        """The same with the tensors of the result in `arena`."""
        return self._call(arena._ptr, args, kwargs)

    async def call_async(self, /, *args: Any, **kwargs: Any) -> Any:
        """As `call`, in a thread of the library's, while the event loop goes on. The runtime is in use until then."""
        return await call_async(self._runtime._ptr, self._entry, args, kwargs, new_arena(self._runtime._module))

    def _call(self, arena: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return invoke(partial(lib.stator_runtime_call, self._runtime._ptr), self._entry, args, kwargs, arena, None)


# -------------------------------------------------------------------------------------------------------------- pool


class Pool(Handle):
    """Runtimes that callers share: `with pool.acquire(timeout=1.0) as runtime`, or `pool.call(...)`."""

    __slots__ = ("_entries", "_module")

    def __init__(self, module: Any, entries: Entries, options: Mapping[str, Option | None]) -> None:
        self._ptr = new_pool(module, options)
        self._module = module
        self._entries = entries

    def acquire(self, timeout: float | None = None) -> Runtime:
        """Lends a runtime, which goes back when it is closed. `timeout` in seconds; None waits without end, 0 not at all."""
        pool = self._ptr

        def give_back(runtime: Any) -> None:
            status = lib.stator_pool_return(pool, runtime)
            if status:
                lib.stator_status_release(status)

        return Runtime(self._module, self._entries, partial(lib.stator_pool_acquire, pool, _nanoseconds(timeout)), give_back)

    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        """Runs `forward` on any Python objects in a runtime of the pool."""
        return self.call_within(None, "forward", *args, **kwargs)

    def call_within(self, timeout: float | None, method: str, /, *args: Any, **kwargs: Any) -> Any:
        """Runs a method likewise, waiting for a runtime for at most `timeout` seconds."""
        call = partial(lib.stator_pool_call, self._ptr, _nanoseconds(timeout))
        return invoke(call, self._entries[method], args, kwargs, new_arena(self._module), None)

    def trim(self) -> None:
        """Gives back what the runtimes that are not lent keep between runs."""
        check(lib.stator_pool_trim(self._ptr))

    def metrics(self) -> dict[str, Any]:
        """Runs, failures, latencies and bytes of its runtimes; how many are lent, and how many calls got none."""
        return json.loads(text_of_bytes(lib.stator_pool_metrics, self._ptr))  # type: ignore[no-any-return]

    @property
    def runtime_count(self) -> int:
        """How many runtimes the pool has made."""
        return int(lib.stator_pool_runtime_count(self._ptr))


def new_pool(module: Any, options: Mapping[str, Option | None]) -> Any:
    return made("pool", lib.stator_pool_release, lib.stator_pool_create, module, options_of(options))


def _nanoseconds(timeout: float | None) -> int:
    return -1 if timeout is None else max(0, round(timeout * 1e9))
