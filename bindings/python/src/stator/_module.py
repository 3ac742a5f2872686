"""Modules: loading, and calling without ceremony."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any

from stator._errors import InvalidArgumentError
from stator._native import Handle, Option, check, made, need_torch, options_of, text, text_of_bytes
from stator._runtime import Arena, Entries, Entry, Pool, Runtime, invoke, new_arena, new_pool
from stator._stator import ffi, lib


def load(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview,
    *,
    weights: str | None = None,
    signature: str | None = None,
    memory_planner: str | None = None,
    plans: str | None = None,
    strict: bool = False,
    name: str | None = None,
    **options: Option,
) -> Module:
    """Loads an archive of torch.jit.save or torch.export.save from a path or from bytes.

    weights: "copy" (the default) or "map": mapped from the file, which must then be replaced by rename only.
    signature: what the inputs of `forward` must be, as in "x: float32[?, 1, 32], mask: bool[?], steps = 3".
    strict: `forward` runs only on `signature`, then without any size in it left open, and bound runs allocate nothing; a model that cannot
        is refused with a list of the nodes in the way.
    name: what metrics call the module, by default the file's name.
    The other options are those that stator.h lists at stator_options_create().
    """
    given = {"weights": weights, "signature": signature, "memory_planner": memory_planner, "plans": plans, "name": name, **options}
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Module(load_bytes(source, strict=strict, **given))
    need_torch()
    make = lib.stator_module_load
    return Module(made("module", lib.stator_module_release, make, os.fsencode(source), _load_options(strict, given), about_file=True))


def load_bytes(source: bytes | bytearray | memoryview, *, strict: bool = False, **options: Option | None) -> Any:
    """The library's module of an archive in memory, whose bytes are not needed any longer then."""
    need_torch()
    data = ffi.from_buffer(source)
    make = lib.stator_module_load_bytes
    return made("module", lib.stator_module_release, make, data, len(data), _load_options(strict, options))


def _load_options(strict: bool, given: Mapping[str, Option | None]) -> Any:
    return options_of({"strict": "on" if strict else None, **given})


class Module(Handle):
    """A loaded model. Any thread may use it.

    Calling it runs `forward` on Python objects: in a runtime from a pool, or, if the model has state, in one runtime that all such calls
    share one after the other.
    """

    __slots__ = ("_callers", "_entries")

    def __init__(self, pointer: Any) -> None:
        self._ptr = pointer
        self._entries = Entries(pointer)
        self._callers = _Callers(pointer)

    def close(self) -> None:
        super().close()
        # They hold the module too.
        with contextlib.suppress(AttributeError):
            del self._entries, self._callers

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._call("forward", args, kwargs)

    async def call_async(self, /, *args: Any, **kwargs: Any) -> Any:
        """The same, in a thread, for asyncio."""
        return await asyncio.to_thread(self, *args, **kwargs)

    def _call(self, method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return self._callers.call(self._entries[method], args, kwargs)

    def method(self, name: str) -> Method:
        """A method by its name; NotFoundError lists those there are."""
        return Method(self, self._entries[name])

    @property
    def methods(self) -> dict[str, Method]:
        """All methods, by name, in the order of the file."""
        return {name: self.method(name) for name in self._entries}

    def runtime(
        self, *, intra_op_threads: int | None = None, inter_op_threads: int | None = None, state: str | None = None, **options: Option
    ) -> Runtime:
        """A runtime: for binding inputs once and running many times, with a state of its own unless `state` is "shared"."""
        module = self._ptr
        chosen = options_of({"intra_op_threads": intra_op_threads, "inter_op_threads": inter_op_threads, "state": state, **options})
        return Runtime(module, self._entries, partial(lib.stator_runtime_create, module, chosen))

    def pool(
        self, *, max_runtimes: int | None = None, intra_op_threads: int | None = None, state: str | None = None, **options: Option
    ) -> Pool:
        """A pool of runtimes that threads share."""
        module = self._ptr
        return Pool(module, self._entries, {"max_runtimes": max_runtimes, "intra_op_threads": intra_op_threads, "state": state, **options})

    def arena(self) -> Arena:
        """An arena: the place for the outputs of one run."""
        return Arena(self._ptr)

    def reset_state(self) -> None:
        """Sets the state that plain calls share back to the file's."""
        self._callers.reset_state()

    def warm_up(self, signature: str, **options: Option) -> None:
        """`warm_up()` of `forward`."""
        self.method("forward").warm_up(signature, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the module with the plans that it has to a planned file, which loads faster; processes that load it share its pages."""
        check(lib.stator_module_save(self._ptr, os.fsencode(path), ffi.NULL))

    def trim(self) -> None:
        """Forgets the sizes and signatures of earlier runs, so that one on large inputs does not prepare the next ones for another."""
        check(lib.stator_module_trim(self._ptr))

    def describe(self) -> dict[str, Any]:
        """Format, methods with inputs and outputs, state, bytes of weights."""
        return json.loads(text_of_bytes(lib.stator_module_describe, self._ptr))  # type: ignore[no-any-return]

    def metrics(self) -> dict[str, Any]:
        """Runs, failures by code, latencies, bytes, and what the cache of plans did, of all the module's runtimes."""
        return json.loads(text_of_bytes(lib.stator_module_metrics, self._ptr))  # type: ignore[no-any-return]

    @property
    def graph(self) -> str:
        """The graph of `forward` after all passes."""
        return self.method("forward").graph

    def plan(self) -> dict[str, Any]:
        """The plan of `forward`: every node with the implementation chosen, buffers, bytes."""
        return self.method("forward").plan()


class Method:
    """A method of a module. Calling it is like calling the module."""

    __slots__ = ("_entry", "_module")

    def __init__(self, module: Module, entry: Entry) -> None:
        self._module = module
        self._entry = entry

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._module._call(self._entry.name, args, kwargs)

    @property
    def name(self) -> str:
        return self._entry.name

    @property
    def inputs(self) -> list[tuple[str, str]]:
        """Name and type of each input, as TorchScript spells it."""
        pointer = self._pointer()
        return [(name, text(lib.stator_method_input_type(pointer, index))) for index, name in enumerate(self._entry.names)]

    @property
    def written(self) -> list[str]:
        """The inputs whose memory the method writes."""
        return [self._entry.names[index] for index in sorted(self._entry.written)]

    @property
    def output_count(self) -> int:
        """How many tensors the result holds; -1 if that depends on the run."""
        return int(lib.stator_method_output_count(self._pointer()))

    @property
    def graph(self) -> str:
        """The graph after all passes."""
        return text_of_bytes(lib.stator_method_graph, self._pointer())

    def warm_up(self, signature: str, **options: Option) -> None:
        """Makes the plan for inputs of these shapes before anybody runs on them, by one run on zeros and a copy of the state.

        signature: dtype and all sizes of each tensor, as in "x: float32[8, 128], steps = 3, mask = none".
        options: those of the runtimes that will run, as `intra_op_threads`; by default those of plain calls and pools.
        """
        chosen = options_of(options)
        check(lib.stator_module_warm_up(self._module._ptr, self._pointer(), signature.encode(), chosen))

    def plan(self) -> dict[str, Any]:
        """The dynamic plan: every node with the implementation chosen, buffers, bytes."""
        return json.loads(text_of_bytes(lib.stator_method_plan, self._pointer()))  # type: ignore[no-any-return]

    def plan_svg(self) -> str:
        """A picture of the memory that the plan gives its tensors, as the runs so far have sized them."""
        return text_of_bytes(lib.stator_method_plan_svg, self._pointer())

    def _pointer(self) -> Any:
        self._module._ptr  # noqa: B018  the pointer is the module's; this raises if that is closed
        return self._entry.ptr


class _Callers:
    """What plain calls use: a pool or, for a model with state, one runtime; and arenas that finished results have left."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._arenas: deque[Any] = deque()
        self._lent: dict[int, Any] = {}
        self._lock = threading.Lock()
        self._stateful: bool | None = None
        self._pool: Any = None
        self._runtime: Any = None

    def call(self, entry: Entry, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if self._stateful is None:
            self._start()
        arena = self._arena()
        lease = _Lease(arena, self._lent, self._arenas)
        if not self._stateful:
            return invoke(partial(lib.stator_pool_call, self._pool, -1), entry, args, kwargs, arena, lease)
        with self._lock:
            return invoke(partial(lib.stator_runtime_call, self._runtime), entry, args, kwargs, arena, lease)

    def reset_state(self) -> None:
        if self._stateful is None:
            self._start()
        if self._stateful:
            with self._lock:
                check(lib.stator_runtime_reset_state(self._runtime))

    def _start(self) -> None:
        with self._lock:
            if self._stateful is not None:
                return
            try:
                self._pool = new_pool(self._module, {})
                self._stateful = False
            except InvalidArgumentError:  # the library's answer where there is state
                self._runtime = made("runtime", lib.stator_runtime_release, lib.stator_runtime_create, self._module, ffi.NULL)
                self._stateful = True

    def _arena(self) -> Any:
        while True:
            try:
                arena = self._arenas.pop()
            except IndexError:
                return new_arena(self._module)
            busy = lib.stator_arena_reset(arena)
            if not busy:
                return arena
            lib.stator_status_release(busy)  # an export lives on without its tensor; its memory goes with it


class _Lease:
    """Held by the tensors of a result: when the last is gone, the arena serves another call.

    The arena itself is held by the callers all the while. Were it held here, the collector could find both in one cycle (an exception's
    frames, say), and the arena, released by its own finalizer, would come back to life.
    """

    __slots__ = ("_free", "_key", "_lent")

    def __init__(self, arena: Any, lent: dict[int, Any], free: deque[Any]) -> None:
        self._key = id(arena)
        self._lent = lent
        self._free = free
        lent[self._key] = arena

    def __del__(self) -> None:
        self._free.append(self._lent.pop(self._key))
