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
GOOD = 256 << 10, 64 << 20  # bytes: chunks of sources between these are kept
SMALL = 4 << 10  # bytes: of smaller chunks, what a stream says of itself is a good part


def warn_if_small(chunk: Sequence[int], dtype: npt.DTypeLike, stacklevel: int) -> None:
    """Warns about chunks too small to compress well. `stacklevel` as for warnings.warn, counted from the caller."""
    size = math.prod(chunk) * np.dtype(dtype).itemsize
    if size < SMALL:
        warnings.warn(
            f"chunks {tuple(chunk)} have {counted(size, 'byte')}: chunks of less than 4 KiB hardly get smaller, best are 1 to "
            "64 MiB (h5stz.suggest_chunks)",
            UserWarning,
            stacklevel + 1,
        )


@checked
def suggest_chunks(
    shape: Iterable[int], dtype: npt.DTypeLike, target_bytes: int = TARGET, append_axis: int | None = None
) -> tuple[int, ...]:
    """Suggests a chunk shape for `create_dataset(chunks=...)`.

    Large chunks compress better and faster than small ones, and region reads decode only the blocks they need. The chunk is
    therefore the whole array if it fits in `target_bytes`. Otherwise the longest axes are split into equal parts whose lengths
    are multiples of 32.

    Args:
        shape: shape of the dataset. An axis of length 0 (one that will grow) counts as 32.
        dtype: dtype of the dataset.
        target_bytes: largest chunk size in bytes, at least 1. A chunk of 32 samples along each axis may exceed it.
        append_axis: the axis along which the dataset grows plane by plane. A chunk has 8 planes along it. It has fewer if 8
            planes of 32 samples along each other axis exceed `target_bytes`. Few planes are good because every appended plane
            compresses its chunks again. Pass the same `append_axis` to `STZ`.

    Returns:
        tuple of ints, one for each axis of `shape`.

    Raises:
        StzError: (a ValueError) a scalar shape, a negative extent, `target_bytes` below 1, or an `append_axis` that does not
            exist.
        StzTypeError: (also a TypeError) `dtype` is not a dtype, or `shape` is not a tuple of ints.
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
    """A chunk of at most `target_bytes`, but at least 32 along each axis, for elements of `width` bytes."""
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
