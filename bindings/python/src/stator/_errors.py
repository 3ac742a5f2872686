"""What Stator raises: Error and, for each status code, a subclass that is also the built-in exception one would expect."""

from __future__ import annotations

from stator._stator import lib


class Error(Exception):
    """An error reported by the library.

    Attributes: `code` (a number, STATOR_* of stator.h), `code_name` ("SHAPE_MISMATCH"), `message`, and where, each "" if it does
    not apply: `operator` ("aten::bmm"), `node` (of the plan), `source` (the model's line), `argument` (`input "x" (argument 1)`),
    `exception` (the type of what the model raised: "ValueError").
    """

    code: int = lib.STATOR_INTERNAL
    code_name: str = "INTERNAL"
    message: str = ""
    operator: str = ""
    node: str = ""
    source: str = ""
    argument: str = ""
    exception: str = ""


class InvalidArgumentError(Error, ValueError):
    """A value, an index or an option that the call does not take."""


class ClosedError(InvalidArgumentError):
    """The object was closed before."""


class NotFoundError(Error, LookupError):
    """There is no such method or key."""


class MissingFileError(Error, FileNotFoundError):
    """There is no such file."""


class BusyError(Error, RuntimeError):
    """Another caller uses the object, or results of it are still held."""


class WaitTimeoutError(Error, TimeoutError):
    """A wait ended before its event."""


class ForkedError(Error, RuntimeError):
    """The process was forked after LibTorch was loaded."""


class InputMissingError(Error, TypeError):
    """Fewer inputs than the method requires."""


class ShapeMismatchError(Error, ValueError):
    """A tensor has another shape than required."""


class DTypeMismatchError(Error, TypeError):
    """A tensor has another dtype than required."""


class TypeMismatchError(Error, TypeError):
    """An argument has another type than the method declares."""


class CancelledRunError(Error, RuntimeError):
    """The run was cancelled before it began."""


class FileError(Error, OSError):
    """A file could not be read or written."""


class BadModelError(Error, ValueError):
    """The file is damaged or holds no model."""


class UnsupportedError(Error, NotImplementedError):
    """Valid, but this version cannot run or carry it."""


class TorchNotFoundError(Error, ImportError):
    """No LibTorch was found."""


class TorchVersionError(Error, ImportError):
    """The LibTorch found is not the one that this build needs."""


class ModelError(Error, RuntimeError):
    """Raised by the model itself; the message is the model's."""


class OperatorError(Error, RuntimeError):
    """An operator refused its arguments."""


class MemoryLimitError(Error, MemoryError):
    """The cap set on the module would be exceeded."""


class NoMemoryError(Error, MemoryError):
    """The system has no more memory."""


class InternalError(Error, RuntimeError):
    """A defect of Stator; please report it."""


CLASSES: dict[int, type[Error]] = {
    lib.STATOR_INVALID_ARGUMENT: InvalidArgumentError,
    lib.STATOR_NOT_FOUND: NotFoundError,
    lib.STATOR_BUSY: BusyError,
    lib.STATOR_TIMEOUT: WaitTimeoutError,
    lib.STATOR_FORKED: ForkedError,
    lib.STATOR_INPUT_MISSING: InputMissingError,
    lib.STATOR_SHAPE_MISMATCH: ShapeMismatchError,
    lib.STATOR_DTYPE_MISMATCH: DTypeMismatchError,
    lib.STATOR_TYPE_MISMATCH: TypeMismatchError,
    lib.STATOR_CANCELLED: CancelledRunError,
    lib.STATOR_IO: FileError,
    lib.STATOR_BAD_MODEL: BadModelError,
    lib.STATOR_UNSUPPORTED: UnsupportedError,
    lib.STATOR_TORCH_NOT_FOUND: TorchNotFoundError,
    lib.STATOR_TORCH_VERSION: TorchVersionError,
    lib.STATOR_MODEL_ERROR: ModelError,
    lib.STATOR_OPERATOR_ERROR: OperatorError,
    lib.STATOR_MEMORY_LIMIT: MemoryLimitError,
    lib.STATOR_OUT_OF_MEMORY: NoMemoryError,
    lib.STATOR_INTERNAL: InternalError,
}
