"""The seam to the C library: statuses become exceptions, handles release themselves, LibTorch is named before first use.

A handle is held as a cffi pointer that releases it when its last Python reference goes. A thread inside a call holds such a reference,
so an object can be closed while another thread uses it: the release follows when that call ends.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from stator._errors import CLASSES, ClosedError, Error, InternalError, MissingFileError
from stator._stator import ffi, lib

Option = str | int | float | bool
PARTS = ("message", "operator", "node", "source", "argument", "exception")


def text(pointer: Any) -> str:
    """A borrowed `const char *`."""
    return ffi.string(pointer).decode() if pointer else ""


def error_of(status: Any, *, about_file: bool = False) -> Error:
    """The exception for a status, which is released."""
    code = lib.stator_status_code(status)
    kind = CLASSES.get(code, InternalError)
    if about_file and code == lib.STATOR_NOT_FOUND:
        kind = MissingFileError
    parts = {part: text(getattr(lib, f"stator_status_{part}")(status)) for part in PARTS}
    lib.stator_status_release(status)
    message = parts["message"]
    where = ", ".join(part for part in (parts["argument"], parts["operator"], parts["source"]) if part and part not in message)
    error = kind(f"{where}: {message}" if where else message)
    error.code = code
    error.code_name = text(lib.stator_status_name(code))
    for part, value in parts.items():
        setattr(error, part, value)
    return error


def check(status: Any, *, about_file: bool = False) -> None:
    if status:
        raise error_of(status, about_file=about_file)


def raise_status(address: int) -> NoReturn:
    raise error_of(ffi.cast("stator_status *", address))


def made(kind: str, release: Callable[[Any], None], make: Callable[..., Any], *args: Any, about_file: bool = False) -> Any:
    """The handle that `make` puts into its last parameter, released when the last reference to it goes."""
    out = ffi.new(_places[kind])
    status = make(*args, out)
    if status:
        raise error_of(status, about_file=about_file)
    return ffi.gc(out[0], release)


class _Places(dict[str, Any]):
    """The type of a place for a handle, by the handle's kind."""

    def __missing__(self, kind: str) -> Any:
        place = self[kind] = ffi.typeof(f"stator_{kind} **")
        return place


_places = _Places()


def text_of_bytes(make: Callable[..., Any], *args: Any) -> str:
    """The text that `make` puts into a stator_bytes."""
    data = made("bytes", lib.stator_bytes_release, make, *args)
    return bytes(ffi.buffer(lib.stator_bytes_data(data), lib.stator_bytes_size(data))).decode()


def options_of(given: Mapping[str, Option | None]) -> Any:
    """Options for the library; None stands for a key that was not given."""
    chosen = {key: value for key, value in given.items() if value is not None}
    if not chosen:
        return ffi.NULL
    options = made("options", lib.stator_options_release, lib.stator_options_create)
    for key, value in chosen.items():
        if isinstance(value, str):
            check(lib.stator_options_set_str(options, key.encode(), value.encode()))
        elif isinstance(value, int):
            check(lib.stator_options_set_int(options, key.encode(), value))
        else:
            check(lib.stator_options_set_double(options, key.encode(), value))
    return options


class Handle:
    """An object of the library: a context manager; closing twice does nothing, use after closing raises ClosedError."""

    __slots__ = ("__weakref__", "_ptr")
    _ptr: Any

    def __getattr__(self, name: str) -> Any:  # only asked for what is not there
        if name in type(self).__slots__ or name == "_ptr":
            raise closed_error(self)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def close(self) -> None:
        """Gives the object back. Returns at once: a run under way in another thread ends undisturbed."""
        with contextlib.suppress(AttributeError):
            del self._ptr

    @property
    def closed(self) -> bool:
        try:
            return self._ptr is None
        except ClosedError:
            return True

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def closed_error(closed: object) -> ClosedError:
    error = ClosedError(f"this {type(closed).__name__} is closed")
    error.code = lib.STATOR_INVALID_ARGUMENT
    error.code_name = "INVALID_ARGUMENT"
    error.message = str(error)
    return error


class _Torch:
    named = False


def need_torch() -> None:
    """Names LibTorch to the library before its first use. Importing stator loads nothing."""
    if _Torch.named:
        return
    home = os.environ.get("STATOR_TORCH_HOME") or _installed_torch()
    if home:
        check(lib.stator_torch_load(os.fsencode(home)))
    _Torch.named = True


def _installed_torch() -> str | None:
    """The folder of this environment's torch, which is not imported; None if there is none, or if the process has it loaded already."""
    if "torch" in sys.modules:
        return None
    spec = importlib.util.find_spec("torch")
    for place in (spec and spec.submodule_search_locations) or []:
        if (Path(place) / "lib" / "libtorch_cpu.so").exists():
            return place
    return None


def load_op_library(path: str | os.PathLike[str]) -> None:
    """Loads a library of operators written for LibTorch (`TORCH_LIBRARY`), for good; models that call them can be loaded afterwards."""
    need_torch()
    check(lib.stator_op_library_load(os.fsencode(path)), about_file=True)


def build_info_text() -> str:
    need_torch()
    return text_of_bytes(lib.stator_build_info)
