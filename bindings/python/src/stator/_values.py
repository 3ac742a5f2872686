"""Python objects to the library's values and back."""

from __future__ import annotations

import os
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from stator._native import check, made, need_torch
from stator._stator import ffi, lib
from stator._tensor import Tensor, value_of_dlpack, value_of_numpy


class Device(str):
    """A device that a model takes or returns, as in "cpu"."""

    __slots__ = ()


class Opaque:
    """Something that only TorchScript understands. It can be passed back to the model."""

    __slots__ = ("_keep", "_ptr")

    def __init__(self, pointer: Any, keep: object) -> None:
        self._ptr = pointer
        self._keep = keep


def _make(make: Any, *args: Any) -> Any:
    return made("value", lib.stator_value_release, make, *args)


# ------------------------------------------------------------------------------------------------------------ inward


def to_value(given: Any) -> Any:
    """The value for a Python object. Tensors are not copied."""
    if isinstance(given, np.ndarray):
        return value_of_numpy(given)
    if isinstance(given, (Tensor, Opaque)):
        return given._ptr
    if hasattr(given, "__dlpack__"):
        return value_of_dlpack(given)
    if given is None:
        return _make(lib.stator_value_create_none)
    if isinstance(given, (bool, np.bool_)):
        return _make(lib.stator_value_create_bool, int(given))
    if isinstance(given, (int, np.integer)):
        return _make(lib.stator_value_create_int, int(given))
    if isinstance(given, (float, np.floating)):
        return _make(lib.stator_value_create_float, float(given))
    if isinstance(given, (complex, np.complexfloating)):
        number = complex(given)
        return _make(lib.stator_value_create_complex, number.real, number.imag)
    if isinstance(given, Device):
        return _make(lib.stator_value_create_device, given.encode())
    if isinstance(given, str):
        encoded = given.encode()
        return _make(lib.stator_value_create_str, encoded, len(encoded))
    if isinstance(given, list):
        return list_value(given)
    if isinstance(given, tuple):
        return _tuple_value(given)
    if isinstance(given, Mapping):
        return dict_value(given)
    return value_of_numpy(as_array(given))


def as_array(given: Any) -> Any:
    """An array over the memory of a buffer, or of whatever else NumPy can look into."""
    if not hasattr(given, "__array__") and not hasattr(given, "__array_interface__"):
        try:
            given = memoryview(given)
        except TypeError:
            raise TypeError(f"a {type(given).__qualname__} cannot go into a model") from None
    return np.asarray(given)


def list_value(items: Iterable[Any]) -> Any:
    values = [to_value(item) for item in items]
    return _make(lib.stator_value_create_list, values or ffi.NULL, len(values))


def _tuple_value(given: tuple[Any, ...]) -> Any:
    values = [to_value(item) for item in given]
    fields = getattr(given, "_fields", None)
    names = [ffi.new("char[]", name.encode()) for name in fields] if fields else []
    return _make(lib.stator_value_create_tuple, values or ffi.NULL, len(values), names or ffi.NULL)


def dict_value(given: Mapping[Any, Any]) -> Any:
    keys = [to_value(key) for key in given]
    items = [to_value(item) for item in given.values()]
    return _make(lib.stator_value_create_dict, keys or ffi.NULL, items or ffi.NULL, len(keys))


# ----------------------------------------------------------------------------------------------------------- outward


def _bool(pointer: Any) -> bool:
    out = ffi.new("int32_t *")
    check(lib.stator_value_as_bool(pointer, out))
    return bool(out[0])


def _int(pointer: Any) -> int:
    out = ffi.new("int64_t *")
    check(lib.stator_value_as_int(pointer, out))
    return int(out[0])


def _float(pointer: Any) -> float:
    out = ffi.new("double *")
    check(lib.stator_value_as_float(pointer, out))
    return float(out[0])


def _complex(pointer: Any) -> complex:
    out = ffi.new("double[2]")
    check(lib.stator_value_as_complex(pointer, out, out + 1))
    return complex(out[0], out[1])


def _str(pointer: Any) -> str:
    data, size = ffi.new("const char **"), ffi.new("int64_t *")
    check(lib.stator_value_as_str(pointer, data, size))
    return bytes(ffi.buffer(data[0], size[0])).decode()


_SCALARS: dict[int, Callable[[Any], Any]] = {
    lib.STATOR_KIND_BOOL: _bool,
    lib.STATOR_KIND_INT: _int,
    lib.STATOR_KIND_FLOAT: _float,
    lib.STATOR_KIND_COMPLEX: _complex,
    lib.STATOR_KIND_STR: _str,
    lib.STATOR_KIND_DEVICE: lambda pointer: Device(_str(pointer)),
    lib.STATOR_KIND_NONE: lambda pointer: None,
}


def from_value(pointer: Any, keep: object = None) -> Any:
    """The Python object for a value; its tensors hold on to `keep`."""
    kind = lib.stator_value_kind(pointer)
    if kind == lib.STATOR_KIND_TENSOR:
        return Tensor(pointer, keep)
    if kind in _SCALARS:
        return _SCALARS[kind](pointer)
    if kind == lib.STATOR_KIND_LIST:
        return _items(pointer, keep)
    if kind == lib.STATOR_KIND_TUPLE:
        items = _items(pointer, keep)
        if items and lib.stator_value_field(pointer, 0):
            fields = tuple(ffi.string(lib.stator_value_field(pointer, index)).decode() for index in range(len(items)))
            return _named_tuple(fields)(*items)
        return tuple(items)
    if kind == lib.STATOR_KIND_DICT:
        items = _items(pointer, keep)
        return {from_value(_make(lib.stator_value_key, pointer, index), keep): item for index, item in enumerate(items)}
    return Opaque(pointer, keep)


def _items(pointer: Any, keep: object) -> list[Any]:
    return [from_value(_make(lib.stator_value_item, pointer, index), keep) for index in range(lib.stator_value_size(pointer))]


@lru_cache(maxsize=256)
def _named_tuple(fields: tuple[str, ...]) -> Any:
    return namedtuple("NamedTuple", fields, rename=True)


# ------------------------------------------------------------------------------------------------------------- files


def read(path: str | os.PathLike[str]) -> Any:
    """Reads what `torch.save` wrote of tensors, numbers, texts, lists, tuples and dicts; or an `.npz` file, as a dict."""
    need_torch()
    return from_value(made("value", lib.stator_value_release, lib.stator_value_read, os.fsencode(path), about_file=True))


def write(path: str | os.PathLike[str], value: Any) -> None:
    """Writes a value to a file: `.npz` if the name ends so, else what `torch.load` reads."""
    need_torch()
    check(lib.stator_value_write(to_value(value), os.fsencode(path)), about_file=True)
