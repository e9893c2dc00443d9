"""How large the arrays may be that are made because a stream or a file claims them: `max_bytes`, everywhere the same."""

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
    """`max_bytes` as an int of 0 or more, or None; the StzError of anything else."""
    return None if max_bytes is None else bytes_of("max_bytes", max_bytes)


def bytes_of(name: str, value: SupportsIndex) -> int:
    """A number of bytes as an int of 0 or more; the StzError of anything else, which names the argument."""
    try:
        number = operator.index(value)
    except TypeError:
        raise StzTypeError(f"{name}={value!r} is not an integer: give a number of bytes", _ARGUMENT) from None
    if number < 0:
        raise StzError(f"{name}={number} is negative: give 0 or more", _ARGUMENT)
    return number


def refuse_larger(what: str, size: int, max_bytes: SupportsIndex | None, default: int | None = None, instead: str = "") -> None:
    """Raises the StzError of an array that is larger than it may be.

    Args:
        what: "the stream holds", and the like.
        size: of the array, in bytes.
        max_bytes: as it was given; None: what the environment variable H5STZ_MAX_BYTES says.
        default: what holds where that says nothing; None: no limit.
        instead: what else can be done, "read a smaller region, or " for example.
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
    """An ndarray that is not filled; StzMemoryError if there is no memory for it."""
    try:
        made: Array = np.empty(tuple(shape), dtype)
        return made
    except (MemoryError, ValueError) as error:  # ValueError: beyond what an address can reach
        raise StzMemoryError(
            f"an array of shape {tuple(shape)} and dtype {dtype} does not fit into memory: {error}", _MEMORY
        ) from None
