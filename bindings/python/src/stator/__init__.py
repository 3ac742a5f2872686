"""Stator runs PyTorch models on CPUs.

import numpy, stator

model = stator.load("model.pt")
print(model(numpy.ones((1, 128), "float32")).numpy())
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from stator._errors import (
    BadModelError,
    BusyError,
    CancelledRunError,
    ClosedError,
    DTypeMismatchError,
    Error,
    FileError,
    ForkedError,
    InputMissingError,
    InternalError,
    InvalidArgumentError,
    MemoryLimitError,
    MissingFileError,
    ModelError,
    NoMemoryError,
    NotFoundError,
    OperatorError,
    ShapeMismatchError,
    TorchNotFoundError,
    TorchVersionError,
    TypeMismatchError,
    UnsupportedError,
    WaitTimeoutError,
)
from stator._log import start_logging, stop_logging
from stator._module import Method, Module, load
from stator._native import Option, build_info_text, load_op_library, need_torch, text_of_bytes
from stator._profile import Profile
from stator._runtime import Arena, BoundMethod, Pool, Runtime
from stator._stator import lib as _lib
from stator._tensor import Tensor
from stator._values import Device, Opaque, read, write

if TYPE_CHECKING:
    import torch

    from stator._exported import ExportedModule

__version__ = "0.1.0"

HANDLE_KINDS = ("status", "bytes", "options", "module", "runtime", "arena", "pool", "value", "export", "future", "queue")


def build_info() -> dict[str, Any]:
    """What this build is, and which LibTorch it runs on."""
    return json.loads(build_info_text())  # type: ignore[no-any-return]


def live_handles() -> dict[str, int]:
    """How many handles of each kind are alive in the process; for tests of leaks."""
    return {kind: int(_lib.stator_live_handles(getattr(_lib, f"STATOR_HANDLE_{kind.upper()}"))) for kind in HANDLE_KINDS}


def prometheus_metrics() -> str:
    """The metrics of all living modules and pools, for a service's /metrics."""
    need_torch()
    return text_of_bytes(_lib.stator_metrics_prometheus)


def from_exported(program: torch.export.ExportedProgram, *, strict: bool = False, **options: Option) -> ExportedModule:
    """Loads a program of torch.export that is in memory; the options are those of `load()`.

    The module takes what the program takes and gives what it gives: torch tensors, in containers of the program's own classes.
    """
    from stator._exported import from_exported as load_exported

    return load_exported(program, strict=strict, **options)


def lower(
    module: torch.nn.Module,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    submodules: Iterable[str] | None = None,
    dynamic_shapes: Any = None,
    **options: Option,
) -> torch.nn.Module:
    """A copy of a torch model in which Stator runs the submodules named, or all of it, for inference. It takes and gives torch tensors.

    args, kwargs: an example of the model's arguments, from which torch.export learns what each part is called with; scripted modules
        need none.
    submodules: names as in `model.get_submodule()`; what is around them stays torch's. None: the whole model, which may be a scripted one.
    dynamic_shapes: torch.export's, or for submodules a dict of these by name. By default every size is open that the model leaves open.
    The other options are those of `load()`. Weights and buffers are copied; what is lowered behaves as in eval mode, has no gradients and
    cannot be pickled.
    """
    from stator._lower import lower as lower_parts

    return lower_parts(module, args, kwargs, submodules, dynamic_shapes, options)


def _check_abi() -> None:
    version = _lib.stator_abi_version()
    major, minor = version >> 16, version & 0xFFFF
    if major != _lib.STATOR_ABI_MAJOR or minor < _lib.STATOR_ABI_MINOR:
        needed = f"{_lib.STATOR_ABI_MAJOR}.{_lib.STATOR_ABI_MINOR}"
        raise ImportError(f"this binding needs version {needed} of the interface, and the libstator.so found has {major}.{minor}")


_check_abi()

__all__ = [
    "Arena",
    "BadModelError",
    "BoundMethod",
    "BusyError",
    "CancelledRunError",
    "ClosedError",
    "DTypeMismatchError",
    "Device",
    "Error",
    "FileError",
    "ForkedError",
    "InputMissingError",
    "InternalError",
    "InvalidArgumentError",
    "MemoryLimitError",
    "Method",
    "MissingFileError",
    "ModelError",
    "Module",
    "NoMemoryError",
    "NotFoundError",
    "Opaque",
    "OperatorError",
    "Pool",
    "Profile",
    "Runtime",
    "ShapeMismatchError",
    "Tensor",
    "TorchNotFoundError",
    "TorchVersionError",
    "TypeMismatchError",
    "UnsupportedError",
    "WaitTimeoutError",
    "build_info",
    "from_exported",
    "live_handles",
    "load",
    "load_op_library",
    "lower",
    "prometheus_metrics",
    "read",
    "start_logging",
    "stop_logging",
    "write",
]
