"""Stator runs PyTorch models on CPUs.

import numpy, stator

model = stator.load("model.pt")
print(model(numpy.ones((1, 128), "float32")).numpy())
"""

from __future__ import annotations

import json
from typing import Any

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
from stator._native import build_info_text, load_op_library, need_torch, text_of_bytes
from stator._profile import Profile
from stator._runtime import Arena, BoundMethod, Pool, Runtime
from stator._stator import lib as _lib
from stator._tensor import Tensor
from stator._values import Device, Opaque, read, write

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
    "live_handles",
    "load",
    "load_op_library",
    "prometheus_metrics",
    "read",
    "start_logging",
    "stop_logging",
    "write",
]
