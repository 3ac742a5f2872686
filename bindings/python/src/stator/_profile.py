"""Profiles of runtimes."""

from __future__ import annotations

import json
from typing import Any

from stator._native import check, text_of_bytes
from stator._stator import lib


class Profile:
    """Where the time of a runtime's runs goes, by node; made by `Runtime.profile()`.

    with runtime.profile(events=100_000) as profile:
        runtime.run(arena)
    print(profile.text())

    It can be read while runs go on, and until the runtime is profiled anew or closed.
    """

    __slots__ = ("_runtime",)

    def __init__(self, runtime: Any, events: int) -> None:
        check(lib.stator_profile_start(runtime._ptr, events))
        self._runtime = runtime

    def stop(self) -> None:
        """Runs are no longer profiled."""
        check(lib.stator_profile_stop(self._runtime._ptr))

    def text(self) -> str:
        """Tables, slowest first: by operator, then by node."""
        return text_of_bytes(lib.stator_profile_text, self._runtime._ptr)

    def data(self) -> dict[str, Any]:
        """Runs, calls and nanoseconds, by method, operator and node, as stator_experimental.h describes them."""
        return json.loads(text_of_bytes(lib.stator_profile_json, self._runtime._ptr))  # type: ignore[no-any-return]

    def trace(self) -> str:
        """The first events, as many as were asked for, in the format of chrome://tracing and Perfetto."""
        return text_of_bytes(lib.stator_profile_trace, self._runtime._ptr)

    def __enter__(self) -> Profile:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
