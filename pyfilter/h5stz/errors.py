"""The exceptions of the package. Every one is a ValueError with the stable code of filter/include/stz_errors.h."""

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
    """Something that h5stz cannot do.

    Attributes:
        code: the stable negative number of the error in ``stz_errors.h``; it never changes its meaning.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[StzError], tuple[str, int]]:
        return type(self), (str(self), self.code)

    def within(self: _Error, place: str) -> _Error:
        """The same error, its message led by the place where it happened."""
        return type(self)(f"{place}: {self}", self.code)


class StzTypeError(StzError, TypeError):
    """An argument or an array of a type that cannot be compressed."""


class StzMemoryError(StzError, MemoryError):
    """There is not enough memory, or a stream asks for more than its size justifies."""


class StzReadError(StzError, OSError):
    """A file, or the object that stands for it, cannot be read or was changed."""


def in_one_line(error: BaseException) -> str:
    """The text of an error, which of HDF5 may have several lines or none."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return " ".join(text.split()) or type(error).__name__
