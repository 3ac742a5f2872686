"""Tensors in Python: the leaf of results, its views and exports, and the ways in from NumPy and DLPack."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from stator._native import check, made, text
from stator._stator import ffi, lib

CPU = lib.STATOR_CPU

_CODES = [value for name in dir(lib) if name.isupper() and isinstance(value := getattr(lib, name), int) and value > 0xFF]
CODE_OF_NAME: dict[str, int] = {text(lib.stator_dtype_name(code)): code for code in _CODES if lib.stator_dtype_name(code)}
NAME_OF_CODE: dict[int, str] = {code: name for name, code in CODE_OF_NAME.items()}


def _numpy_names() -> dict[int, str]:
    found = {}
    for name, code in CODE_OF_NAME.items():
        try:
            found[code] = np.dtype(name).str
        except TypeError:  # bfloat16 and its kin
            continue
    return found


_NUMPY_OF_CODE = _numpy_names()


class Tensor:
    """A tensor of a result. Its memory lives as long as it, or any view or export made from it, whatever is closed meanwhile."""

    __slots__ = ("__weakref__", "_data", "_dtype", "_keep", "_ptr", "shape", "strides")

    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in elements

    def __init__(self, pointer: Any, keep: object = None) -> None:
        self._ptr = pointer
        self._keep = keep  # given back with the memory
        data, dtype, ndim = ffi.new("const void **"), ffi.new("int32_t[2]"), ffi.new("int32_t *")
        shape, strides = ffi.new("const int64_t **"), ffi.new("const int64_t **")
        check(lib.stator_value_as_tensor(pointer, data, dtype, ffi.NULL, ndim, shape, strides))
        self._data = int(ffi.cast("uintptr_t", data[0]))
        self._dtype = dtype[0]
        self.shape = tuple(ffi.unpack(shape[0], ndim[0])) if ndim[0] else ()
        self.strides = tuple(ffi.unpack(strides[0], ndim[0])) if ndim[0] else ()

    @property
    def dtype(self) -> str:
        """The element type as PyTorch spells it: "float32"."""
        return NAME_OF_CODE[self._dtype]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def numpy(self) -> npt.NDArray[Any]:
        """A view of the elements. Nothing is copied."""
        return np.asarray(_View(self))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        view = self.numpy()
        if dtype is not None and np.dtype(dtype) != view.dtype:
            if copy is False:
                raise ValueError(f"a {self.dtype} tensor cannot be viewed as {np.dtype(dtype)} without a copy")
            return view.astype(dtype)
        return view.copy() if copy else view

    def tolist(self) -> Any:
        return self.numpy().tolist()

    def item(self) -> Any:
        """The only element."""
        return self.numpy().item()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule for torch.from_dlpack() and its kin: DLPack 1.x for consumers that know it, else the older form."""
        if stream is not None or dl_device not in (None, (1, 0)):
            raise BufferError("this tensor is on the CPU")
        if copy:
            raise BufferError("Stator exports without a copy; copy what you get")
        if max_version is not None and max_version[0] >= 1:
            out = ffi.new("struct DLManagedTensorVersioned **")
            check(lib.stator_value_export(self._ptr, out))
            return _capsule(out[0], versioned=True)
        out = ffi.new("struct DLManagedTensor **")
        check(lib.stator_value_export_legacy(self._ptr, out))
        return _capsule(out[0], versioned=False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a tensor without dimensions")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"stator.Tensor({self.dtype}{list(self.shape)})"


class _View:
    """What NumPy keeps as the base of a view; it keeps the tensor."""

    __slots__ = ("__array_interface__", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        code = tensor._dtype
        if code not in _NUMPY_OF_CODE:
            raise TypeError(f"NumPy has no {tensor.dtype}; use __dlpack__, as in torch.from_dlpack(tensor)")
        dtype = np.dtype(_NUMPY_OF_CODE[code])
        self.tensor = tensor
        self.__array_interface__ = {
            "version": 3,
            "typestr": dtype.str,
            "shape": tensor.shape,
            "strides": tuple(stride * dtype.itemsize for stride in tensor.strides),
            # NumPy takes no null pointer; a tensor without elements has one.
            "data": (tensor._data or _SOMEWHERE, False),
        }


_NOWHERE = np.zeros(1)
_SOMEWHERE: int = _NOWHERE.__array_interface__["data"][0]


# -------------------------------------------------------------------------------------------------------- from NumPy


def numpy_layout(array: npt.NDArray[Any]) -> tuple[Any, int, Any, Any]:
    """Data, dtype, shape and strides of an array as the library takes them."""
    code = CODE_OF_NAME.get(array.dtype.name)
    if code is None or not array.dtype.isnative:
        raise TypeError(f"an array of {array.dtype} cannot go into a tensor")
    shape = ffi.new("int64_t[]", array.shape) if array.ndim else ffi.NULL
    strides = ffi.NULL
    if not array.flags.c_contiguous:
        size = array.dtype.itemsize
        if any(stride % size for stride in array.strides):
            raise ValueError("the array's strides are no multiples of its item size; pass a copy")
        strides = ffi.new("int64_t[]", [stride // size for stride in array.strides])
    address = array.__array_interface__["data"][0] if array.size else 0
    return ffi.cast("void *", address), code, shape, strides


_release = ffi.addressof(lib, "stator_py_release")


def value_of_numpy(array: npt.NDArray[Any]) -> Any:
    """A value over the array's memory; the library keeps the array until the last use has ended."""
    data, code, shape, strides = numpy_layout(array)
    make = lib.stator_value_create_tensor_shared
    _python.Py_IncRef(array)
    try:
        return made(
            "value", lib.stator_value_release, make, data, code, CPU, array.ndim, shape, strides, _release, ffi.cast("void *", id(array))
        )
    except BaseException:
        _python.Py_DecRef(array)
        raise


def aligned_zeros(shape: tuple[int, ...], name: str) -> npt.NDArray[Any]:
    """A zeroed array whose data is aligned to 64 bytes."""
    code = CODE_OF_NAME.get(name)
    if code not in _NUMPY_OF_CODE:
        raise TypeError(f"NumPy has no {name}; bind a tensor of another library instead")
    dtype = np.dtype(_NUMPY_OF_CODE[code])
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.__array_interface__["data"][0] % 64
    return raw[start : start + size].view(dtype).reshape(shape)


# ------------------------------------------------------------------------------------------------------------ DLPack

_python = ctypes.PyDLL(None)
_python.Py_IncRef.argtypes = [ctypes.py_object]
_python.Py_IncRef.restype = None
_python.Py_DecRef.argtypes = [ctypes.py_object]
_python.Py_DecRef.restype = None
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_void_p]
_python.PyCapsule_IsValid.restype = ctypes.c_int
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_void_p]
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_void_p]
_python.PyCapsule_SetName.restype = ctypes.c_int

_LEGACY, _VERSIONED, _LEGACY_USED, _VERSIONED_USED = (lib.stator_py_capsule_name(which) for which in range(4))


def _capsule(managed: Any, *, versioned: bool) -> Any:
    address = int(ffi.cast("uintptr_t", managed))
    return _python.PyCapsule_New(address, _VERSIONED if versioned else _LEGACY, lib.stator_py_capsule_destructor(int(versioned)))


class Taken:
    """A capsule of a foreign tensor, read but not yet taken over; the library takes `managed`, then `done()` says so to its producer."""

    def __init__(self, source: Any) -> None:
        try:
            self.capsule = source.__dlpack__(max_version=(1, 0))
        except TypeError:  # a producer that knows the older form only
            self.capsule = source.__dlpack__()
        self.versioned = bool(_python.PyCapsule_IsValid(self.capsule, _VERSIONED))
        name, kind = (_VERSIONED, "struct DLManagedTensorVersioned *") if self.versioned else (_LEGACY, "struct DLManagedTensor *")
        self.managed = ffi.cast(kind, _python.PyCapsule_GetPointer(self.capsule, name))

    def done(self) -> None:
        _python.PyCapsule_SetName(self.capsule, _VERSIONED_USED if self.versioned else _LEGACY_USED)


def value_of_dlpack(source: Any) -> Any:
    taken = Taken(source)
    make = lib.stator_value_from_dlpack if taken.versioned else lib.stator_value_from_dlpack_legacy
    value = made("value", lib.stator_value_release, make, taken.managed)
    taken.done()
    return value
