"""Tensors in Python: the leaf of results, its views and exports, and the ways in from NumPy and DLPack."""

from __future__ import annotations

import ctypes
import sys
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from stator._native import check, made, raise_status, text
from stator._stator import ffi, lib

CPU = lib.STATOR_CPU

_CODES = [value for name in dir(lib) if name.isupper() and isinstance(value := getattr(lib, name), int) and value > 0xFF]
CODE_OF_NAME: dict[str, int] = {text(lib.stator_dtype_name(code)): code for code in _CODES if lib.stator_dtype_name(code)}
NAME_OF_CODE: dict[int, str] = {code: name for name, code in CODE_OF_NAME.items()}


def _numpy_dtypes() -> dict[int, np.dtype[Any]]:
    found = {}
    for name, code in CODE_OF_NAME.items():
        try:
            found[code] = np.dtype(name)
        except TypeError:  # bfloat16 and its kin
            continue
    return found


_NUMPY_OF_CODE = _numpy_dtypes()
_CODE_OF_NUMPY = {dtype: code for code, dtype in _NUMPY_OF_CODE.items()}
_LAYOUT = ffi.typeof("stator_py_layout *")
_SIZES = ffi.typeof("int64_t[]")


class Tensor:
    """A tensor of a result. Its memory lives as long as it, or any view or export made from it, whatever is closed meanwhile."""

    __slots__ = ("__weakref__", "_keep", "_known_layout", "_ptr")

    def __init__(self, pointer: Any, keep: object = None) -> None:
        self._ptr = pointer
        self._keep = keep  # given back with the memory
        self._known_layout: Any = None

    @property
    def _layout(self) -> Any:
        """Asked for once, and only if it is wanted: a result that goes on by DLPack needs none."""
        if self._known_layout is None:
            layout = ffi.new(_LAYOUT)
            failed = lib.stator_py_describe(self._ptr, layout)
            if failed:
                raise_status(failed)
            self._known_layout = layout
        return self._known_layout

    @property
    def shape(self) -> tuple[int, ...]:
        layout = self._layout
        return tuple(ffi.unpack(layout.shape, layout.ndim)) if layout.ndim else ()

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements."""
        layout = self._layout
        return tuple(ffi.unpack(layout.strides, layout.ndim)) if layout.ndim else ()

    @property
    def dtype(self) -> str:
        """The element type as PyTorch spells it: "float32"."""
        return NAME_OF_CODE[self._layout.dtype]

    @property
    def ndim(self) -> int:
        return int(self._layout.ndim)

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
        if not self.ndim:
            raise TypeError("len() of a tensor without dimensions")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"stator.Tensor({self.dtype}{list(self.shape)})"


class _View:
    """What NumPy keeps as the base of a view; it keeps the tensor."""

    __slots__ = ("__array_interface__", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        layout = tensor._layout
        code = layout.dtype
        dtype = _NUMPY_OF_CODE.get(code)
        if dtype is None:
            raise TypeError(f"NumPy has no {tensor.dtype}; use __dlpack__, as in torch.from_dlpack(tensor)")
        self.tensor = tensor
        self.__array_interface__ = {
            "version": 3,
            "typestr": dtype.str,
            "shape": tensor.shape,
            "strides": tuple(stride * dtype.itemsize for stride in tensor.strides),
            # NumPy takes no null pointer; a tensor without elements has one.
            "data": (layout.data or _SOMEWHERE, False),
        }


_NOWHERE = np.zeros(1)
_SOMEWHERE: int = _NOWHERE.__array_interface__["data"][0]


# -------------------------------------------------------------------------------------------------------- from NumPy


def numpy_layout(array: npt.NDArray[Any]) -> tuple[Any, int, Any, Any]:
    """Data, dtype, shape and strides of an array as the library takes them."""
    code = _CODE_OF_NUMPY.get(array.dtype)
    if code is None and array.dtype.isnative:  # one of two that look alike, as long and long long
        code = CODE_OF_NAME.get(array.dtype.name)
    if code is None:
        raise TypeError(f"an array of {array.dtype} cannot go into a tensor")
    shape = ffi.new(_SIZES, array.shape) if array.ndim else ffi.NULL
    strides = ffi.NULL
    if not array.flags.c_contiguous:
        size = array.dtype.itemsize
        if any(stride % size for stride in array.strides):
            raise ValueError("the array's strides are no multiples of its item size; pass a copy")
        strides = ffi.new(_SIZES, [stride // size for stride in array.strides])
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
    dtype = _NUMPY_OF_CODE[code]
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
    """A foreign tensor that nobody has taken over yet: within `with`, the library takes `managed`, or an exception gives it back."""

    __slots__ = ("_capsule", "managed", "versioned")

    def __init__(self, source: Any) -> None:
        self._capsule: Any = None
        self.managed: Any = _exported(source)
        self.versioned = bool(self.managed)
        if not self.managed:
            self._open_capsule(source)

    def _open_capsule(self, source: Any) -> None:
        try:
            self._capsule = source.__dlpack__(max_version=(1, 0))
        except TypeError:  # a producer that knows the older form only
            self._capsule = source.__dlpack__()
        self.versioned = bool(_python.PyCapsule_IsValid(self._capsule, _VERSIONED))
        name, kind = (_VERSIONED, "struct DLManagedTensorVersioned *") if self.versioned else (_LEGACY, "struct DLManagedTensor *")
        self.managed = ffi.cast(kind, _python.PyCapsule_GetPointer(self._capsule, name))

    def __enter__(self) -> Taken:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if self._capsule is not None:
            if failed is None:  # else the capsule deletes it
                _python.PyCapsule_SetName(self._capsule, _VERSIONED_USED if self.versioned else _LEGACY_USED)
        elif failed is not None:
            lib.stator_py_delete(self.managed)


def _exported(source: Any) -> Any:
    """By the exchange interface that DLPack gives types, in a fraction of the time of `__dlpack__`; NULL where that has more to say: it
    refuses tensors that need gradients, and conjugates that are still to be made. Negatives that are, it gives with the wrong sign."""
    kind = type(source)
    exchange = _EXCHANGES.get(kind)
    if exchange is None:
        exchange = _EXCHANGES[kind] = _exchange_of(kind)
    if not exchange or source.requires_grad or source.is_conj():
        return ffi.NULL
    if source.is_neg():
        raise BufferError("Can't export tensors with the negative bit set, use tensor.resolve_neg()")
    return lib.stator_py_exported(exchange, id(source))


_EXCHANGES: WeakKeyDictionary[type, int] = WeakKeyDictionary()
_DLPACK_MAJOR = 1
_EXCHANGE_NAME = ctypes.create_string_buffer(b"dlpack_exchange_api")


def _exchange_of(kind: type) -> int:
    """0 unless it is torch.Tensor itself, of a torch that has the interface: subclasses may be anything."""
    torch = sys.modules.get("torch")
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    if capsule is None or torch is None or kind is not torch.Tensor:
        return 0
    name = ctypes.addressof(_EXCHANGE_NAME)
    exchange = _python.PyCapsule_GetPointer(capsule, name) if _python.PyCapsule_IsValid(capsule, name) else 0
    return exchange if exchange and ctypes.c_uint32.from_address(exchange).value == _DLPACK_MAJOR else 0


def value_of_dlpack(source: Any) -> Any:
    with Taken(source) as taken:
        make = lib.stator_value_from_dlpack if taken.versioned else lib.stator_value_from_dlpack_legacy
        return made("value", lib.stator_value_release, make, taken.managed)
