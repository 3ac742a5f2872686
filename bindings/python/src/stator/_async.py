"""Asynchronous runs for asyncio: the library runs in threads of its own and tells the event loop by a file descriptor."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from stator._errors import Error
from stator._native import check, made
from stator._stator import ffi, lib
from stator._values import dict_value, from_value, list_value

if TYPE_CHECKING:
    from stator._runtime import Entry

# A loop that is closed early takes its queue with it: only the loop's own reader holds it.
_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, ref[Completions]] = WeakKeyDictionary()


class Completions:
    """The queue of one event loop, while runs that it asked for are under way."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.queue = made("queue", lib.stator_queue_release, lib.stator_queue_create)
        # With each run goes what must not be given back before it has ended: its runtime.
        self._waiting: dict[int, tuple[asyncio.Future[Any], Any]] = {}
        self._tags = 0
        loop.add_reader(lib.stator_queue_fd(self.queue), self._drain)

    @staticmethod
    def of(loop: asyncio.AbstractEventLoop) -> Completions:
        known = _loops.get(loop)
        found = known and known()
        if found is None:
            found = Completions(loop)
            _loops[loop] = ref(found)
        return found

    def expect(self, runtime: Any) -> tuple[int, asyncio.Future[Any]]:
        self._tags += 1
        waiter = self._loop.create_future()
        self._waiting[self._tags] = waiter, runtime
        return self._tags, waiter

    def forget(self, tag: int) -> None:
        del self._waiting[tag]
        if not self._waiting:
            self._loop.remove_reader(lib.stator_queue_fd(self.queue))
            _loops.pop(self._loop, None)

    def _drain(self) -> None:
        out = ffi.new("stator_future **")
        check(lib.stator_queue_next(self.queue, -1, out))  # there is one, and nobody else takes them
        done = ffi.gc(out[0], lib.stator_future_release)
        tag = lib.stator_future_tag(done)
        waiter, _ = self._waiting[tag]
        try:
            result = from_value(made("value", lib.stator_value_release, lib.stator_future_result, done))
        except Error as error:
            if not waiter.done():
                waiter.set_exception(error)
        else:
            if not waiter.done():
                waiter.set_result(result)
        self.forget(tag)


async def call_async(runtime: Any, entry: Entry, args: tuple[Any, ...], kwargs: Mapping[str, Any], arena: Any) -> Any:
    """Runs a method in another thread. A run that has not begun when the task is cancelled does not run; one that has goes on."""
    entry.check_arguments(args, kwargs)
    given = list_value(args) if args else ffi.NULL
    named = dict_value(kwargs) if kwargs else ffi.NULL
    completions = Completions.of(asyncio.get_running_loop())
    tag, waiter = completions.expect(runtime)
    start = partial(lib.stator_runtime_call_async, runtime, entry.ptr, given, named, arena, completions.queue, tag)
    try:
        future = made("future", lib.stator_future_release, start)
    except BaseException:
        completions.forget(tag)
        raise
    try:
        return await waiter
    except asyncio.CancelledError:
        lib.stator_future_cancel(future)
        raise
