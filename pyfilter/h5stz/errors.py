"""The exceptions of the package. Each is a ValueError and has a stable code of filter/include/stz_errors.h."""

from __future__ import annotations

from typing import TypeVar

_Error = TypeVar("_Error", bound="StzError")

#: What h5py raises where the structures of a file are damaged.
HDF5_ERRORS = (
    OSError,
    RuntimeError,
    ValueError,  # StzError is one
    LookupError,
    TypeError,
    ArithmeticError,
    MemoryError,
    AttributeError,
    SystemError,  # a size that is none
)


class StzError(ValueError):
    """An operation of h5stz failed or was refused. The message names the problem and the remedy.

    Attributes:
        code: negative error number of ``stz_errors.h``. The meaning of a number never changes.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[StzError], tuple[str, int]]:
        return type(self), (str(self), self.code)

    def within(self: _Error, place: str) -> _Error:
        """The same error with `place` in front of its message."""
        return type(self)(f"{place}: {self}", self.code)


class StzTypeError(StzError, TypeError):
    """An argument has the wrong type, or an array has a dtype that h5stz cannot compress."""


class StzMemoryError(StzError, MemoryError):
    """Memory is exhausted, or a stream asks for more memory than its size justifies."""


class StzReadError(StzError, OSError):
    """A file or file object cannot be read, or it changed while it was open."""


def in_one_line(error: BaseException) -> str:
    """The message of an error in one line. Messages of HDF5 may have several lines or be empty."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return " ".join(text.split()) or type(error).__name__
