"""Chunk shapes that suit the blocks of the codec and region reads."""

import math
import warnings
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from h5stz import _core
from h5stz.counts import counted
from h5stz.errors import StzError, StzTypeError
from h5stz.signatures import checked

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
BLOCK = 32  # samples: blocks begin at multiples of it on level 0, and levels up to 5 at multiples of every chunk
TARGET = 32 << 20  # bytes
APPENDED = 8  # planes of a chunk that grows by one at a time: it is compressed as often
SMALL = 4 << 10  # bytes: of smaller chunks, what a stream says of itself is a good part


def warn_if_small(chunk: Sequence[int], dtype: npt.DTypeLike, stacklevel: int) -> None:
    """Warns of chunks that hardly get smaller; `stacklevel` as of warnings.warn, from the caller of this function on."""
    size = math.prod(chunk) * np.dtype(dtype).itemsize
    if size < SMALL:
        warnings.warn(
            f"chunks {tuple(chunk)} have {counted(size, 'byte')}: those of less than 4 KiB hardly get smaller, best are 1 to "
            "64 MiB (h5stz.suggest_chunks)",
            UserWarning,
            stacklevel + 1,
        )


@checked
def suggest_chunks(
    shape: Iterable[int], dtype: npt.DTypeLike, target_bytes: int = TARGET, append_axis: int | None = None
) -> tuple[int, ...]:
    """A chunk shape for `create_dataset(chunks=...)`.

    Large chunks compress better and faster than small ones, and region reads decode blocks, not chunks. So a chunk is the
    whole array up to `target_bytes`; else its longest axes are cut into parts of equal length, multiples of 32.

    Args:
        shape: of the dataset; an axis of length 0 (one that will grow) counts as 32.
        dtype: of the dataset.
        target_bytes: most that a chunk has, unless 32 samples along each axis have more; at least 1.
        append_axis: the axis along which the dataset grows a plane at a time. A chunk has 8 planes across it, or fewer if
            `target_bytes` do not hold 8 of 32 samples along each other axis: every plane that is written compresses its
            chunks anew. Give the option of the same name to `STZ` too.

    Returns:
        tuple of ints, as long as `shape`.

    Raises:
        StzError: (a ValueError) a scalar, a negative extent, no room for a sample, or an axis that there is not.
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
    if append_axis is not None and not 0 <= append_axis < len(extents):
        raise StzError(f"append_axis={append_axis} must be 0 to {len(extents) - 1}, one of the axes of the shape", _ARGUMENT)
    extents = [extent or BLOCK for extent in extents]
    if append_axis is None:
        return _cut(extents, width, target_bytes)
    extents[append_axis] = 1
    planes = APPENDED
    while True:
        chunk = list(_cut(extents, width * planes, target_bytes))
        chunk[append_axis] = planes
        if math.prod(chunk) * width <= target_bytes or planes == 1:
            return tuple(chunk)
        planes //= 2


def _cut(extents: list[int], width: int, target_bytes: int) -> tuple[int, ...]:
    """The chunk of at most `target_bytes`, or 32 along each axis, for elements of `width` bytes."""
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
