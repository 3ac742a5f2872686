"""Stator's log as Python's: what models print, LibTorch's warnings, and what Stator itself has to say."""

from __future__ import annotations

import logging
import threading

from stator._native import check, need_torch
from stator._stator import ffi, lib


class _Drain:
    lock = threading.Lock()
    thread: threading.Thread | None = None


def start_logging(level: int = logging.INFO, logger: logging.Logger | None = None, *, capacity: int = 10_000) -> None:
    """Hands records of at least `level` to `logger`, by default the one named "stator", from a thread of its own.

    The levels are those of `logging`. Where records come faster than they are handled, the last `capacity` are kept and the others counted.
    """
    stop_logging()
    need_torch()
    with _Drain.lock:
        check(lib.stator_log_collect(level, capacity))
        target = logger or logging.getLogger("stator")
        _Drain.thread = threading.Thread(target=_drain, args=(target,), name="stator-log", daemon=True)
        _Drain.thread.start()


def stop_logging() -> None:
    """Ends that, once all records so far are handled."""
    with _Drain.lock:
        if _Drain.thread is None:
            return
        thread, _Drain.thread = _Drain.thread, None
        check(lib.stator_log_collect(0, 0))
        if thread is not threading.current_thread():
            thread.join()


def _drain(logger: logging.Logger) -> None:
    level = ffi.new("int32_t *")
    message = ffi.new("stator_bytes **")
    while True:
        check(lib.stator_log_next(-1, level, message))
        if not message[0]:
            return
        taken = ffi.gc(message[0], lib.stator_bytes_release)
        text = bytes(ffi.buffer(lib.stator_bytes_data(taken), lib.stator_bytes_size(taken))).decode(errors="replace")
        logger.log(level[0], "%s", text)
