"""Limits for arrays that are allocated because a stream or a file claims their size: `max_bytes`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import SupportsIndex

import numpy as np

from h5stz import _core
from h5stz.elements import Array, DType
from h5stz.errors import StzError, StzMemoryError, StzTypeError

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_CAPACITY = _core.ERROR_CODES["STZ_ERROR_CAPACITY"]
_MEMORY = _core.ERROR_CODES["STZ_ERROR_MEMORY"]

#: Of streams, which may come from anywhere, and of which a few bytes may claim any size.
OF_STREAMS = 1 << 32

#: Of pieces of data that are read from a file.
STORED_BYTES = 64 << 20


def checked_max_bytes(max_bytes: SupportsIndex | None) -> int | None:
    """`max_bytes` as an int of 0 or more, or None. StzError for other values."""
    return None if max_bytes is None else bytes_of("max_bytes", max_bytes)


def bytes_of(name: str, value: SupportsIndex) -> int:
    """A number of bytes as an int of 0 or more. StzError, which names the argument, for other values."""
    try:
        number = operator.index(value)
    except TypeError:
        raise StzTypeError(f"{name}={value!r} is not an integer: give a number of bytes", _ARGUMENT) from None
    if number < 0:
        raise StzError(f"{name}={number} is negative: give 0 or more", _ARGUMENT)
    return number


def refuse_larger(what: str, size: int, max_bytes: SupportsIndex | None, default: int | None = None, instead: str = "") -> None:
    """Raises StzError for an array larger than its limit.

    Args:
        what: beginning of the message, such as "the stream holds".
        size: size of the array in bytes.
        max_bytes: the limit as given. None: the value of the environment variable H5STZ_MAX_BYTES.
        default: the limit if the variable is not set. None: no limit.
        instead: an alternative for the message, such as "read a smaller region, or ".
    """
    given = checked_max_bytes(max_bytes)
    if given is not None:
        limit, named = given, f"max_bytes={given}"
    elif environment := _core.max_bytes_of_environment():
        limit, named = environment, f"H5STZ_MAX_BYTES={environment}"
    elif default is not None:
        limit, named = default, f"max_bytes={default}, the default"
    else:
        return
    if size > limit:
        raise StzError(
            f"{what} {size} bytes, more than {named}: {instead}give a greater max_bytes= or set H5STZ_MAX_BYTES if you "
            "trust it",
            _CAPACITY,
        )


def new_array(shape: Sequence[int], dtype: DType) -> Array:
    """An uninitialised ndarray. StzMemoryError if there is not enough memory."""
    try:
        made: Array = np.empty(tuple(shape), dtype)
        return made
    except (MemoryError, ValueError) as error:  # ValueError: beyond what an address can reach
        raise StzMemoryError(
            f"an array of shape {tuple(shape)} and dtype {dtype} does not fit into memory: {error}", _MEMORY
        ) from None
