"""Chunk shapes that suit the blocks of the codec and region reads."""

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from h5stz import _core
from h5stz.errors import StzError, StzTypeError
from h5stz.signatures import checked

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
BLOCK = 32  # samples: blocks begin at multiples of it on level 0, and levels up to 5 at multiples of every chunk
TARGET = 32 << 20  # bytes


@checked
def suggest_chunks(shape: Iterable[int], dtype: npt.DTypeLike, target_bytes: int = TARGET) -> tuple[int, ...]:
    """A chunk shape for `create_dataset(chunks=...)`.

    Large chunks compress better and faster than small ones, and region reads decode blocks, not chunks. So a chunk is the
    whole array up to `target_bytes`; else its longest axes are cut into parts of equal length, multiples of 32.

    Args:
        shape: of the dataset; an axis of length 0 (one that will grow) counts as 32.
        dtype: of the dataset.
        target_bytes: most that a chunk has, unless 32 samples along each axis have more; at least 1.

    Returns:
        tuple of ints, as long as `shape`.

    Raises:
        StzError: (a ValueError) a scalar, a negative extent or no room for a sample.
        StzTypeError: (a TypeError too) no dtype.
    """
    try:
        width = np.dtype(dtype).itemsize
        extents = [int(extent) for extent in shape]
    except TypeError as error:
        raise StzTypeError(f"shape must be a tuple of ints and dtype a NumPy dtype: {error}", _ARGUMENT) from None
    if not extents:
        raise StzError("a scalar has no chunks: leave chunks= and the filter out", _ARGUMENT)
    if min(extents) < 0 or target_bytes < 1:
        raise StzError(f"shape {tuple(extents)}, target_bytes {target_bytes}: give extents >= 0 and a target >= 1", _ARGUMENT)
    extents = [extent or BLOCK for extent in extents]
    chunk, parts = list(extents), [1] * len(extents)
    while math.prod(chunk) * width > target_bytes:
        axis = max(range(len(chunk)), key=lambda a: chunk[a])
        if chunk[axis] <= BLOCK:
            break
        before = chunk[axis]
        while chunk[axis] == before:
            parts[axis] *= 2
            part = -(-extents[axis] // parts[axis])
            chunk[axis] = min(extents[axis], -(-part // BLOCK) * BLOCK)
    return tuple(chunk)
