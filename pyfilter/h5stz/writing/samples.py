"""The data that a call writes, in pieces that begin and end at chunk borders.

Arrays in memory are cut into views. All other data are read in slabs of many chunks: they may be larger than memory, and only
one thread may read them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from h5stz import elements
from h5stz.elements import Array, DType
from h5stz.hdf5.raw_values import Sizes
from h5stz.limits import STORED_BYTES
from h5stz.options.chunks import GOOD
from h5stz.slabs import ArraySource, Box, each_box, is_array_like, piece, slab_extents

_LARGEST = 4 * STORED_BYTES  # bytes of a slab, if its source has chunks that large
_JOB = 512 << 10  # bytes: small chunks are passed to a thread together


class Samples:
    """Data to be written.

    Attributes:
        source: the data: an ndarray or masked array, or an array-like that is read in slabs.
        shape, dtype: those of the data.
        in_memory: whether `source` is an ndarray. A memory map is one too.
    """

    def __init__(self, data: Any, dtype: DType | None) -> None:
        if isinstance(data, np.ndarray):
            self.source: Any = data if elements.is_masked(data) else np.asarray(data)  # views of a memmap are slow to make
        elif is_array_like(data) and not np.isscalar(data):
            self.source = data
        else:
            self.source = np.asanyarray(data, dtype)
        self.shape: tuple[int, ...] = tuple(self.source.shape)
        self.dtype: DType = np.dtype(self.source.dtype)
        self.in_memory = isinstance(self.source, np.ndarray)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return prod(self.shape) * self.dtype.itemsize

    @property
    def is_masked(self) -> bool:
        """True for a masked array."""
        return elements.is_masked(self.source)

    def suitable_chunks(self) -> tuple[int, ...] | None:
        """The chunk shape of the source, if such chunks suit a dataset; otherwise None."""
        given = None if self.in_memory else getattr(self.source, "chunks", None)
        if not given or len(given) != len(self.shape):
            return None
        extents = [each if isinstance(each, int) else max(each, default=1) for each in given]
        shape = tuple(max(1, min(extent, size)) for extent, size in zip(extents, self.shape, strict=True))
        size = prod(shape) * self.dtype.itemsize
        return shape if GOOD[0] <= size <= GOOD[1] else None

    def jobs(self, chunks: Sequence[int]) -> Iterator[list[tuple[tuple[int, ...], Array]]]:
        """All chunks of the data, in their order within slabs, as lists of (index of the first element, samples)."""
        count = max(1, _JOB // max(1, prod(chunks) * self.dtype.itemsize))
        job = []
        for origin, slab in self.slabs(chunks):
            for box in each_box(slab.shape, chunks):
                job.append((tuple([first + cut.start for first, cut in zip(origin, box, strict=True)]), slab[box]))
                if len(job) == count:
                    yield job
                    job = []
        if job:
            yield job

    def slabs(self, chunks: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Array]]:
        """The data as (index of the first element, array), in boxes of whole chunks."""
        if self.in_memory:
            yield (0,) * len(self.shape), self.source
            return
        for box in self._boxes(chunks):
            yield tuple(cut.start for cut in box), piece(self.source, box)

    def _boxes(self, chunks: Sequence[int]) -> Iterator[Box]:
        """Boxes of whole chunks of the dataset. As far as memory allows, they have whole chunks of the source too."""
        unit = _unit(self.source, chunks, self.dtype.itemsize)
        return each_box(self.shape, slab_extents(Sizes(self.shape, self.dtype, unit), STORED_BYTES))


def _unit(source: ArraySource, chunks: Sequence[int], width: int) -> tuple[int, ...]:
    """The smallest box of whole chunks of the dataset that covers a chunk of the source; a part of this box if it is large."""
    theirs = getattr(source, "chunks", None)
    if not theirs or len(theirs) != len(chunks):
        return tuple(chunks)
    lengths = [each if isinstance(each, int) else max(each, default=1) for each in theirs]
    unit = [math.ceil(length / extent) * extent for length, extent in zip(lengths, chunks, strict=True)]
    unit = [max(extent, min(length, size)) for extent, length, size in zip(chunks, unit, source.shape, strict=True)]
    unit = [math.ceil(length / extent) * extent for length, extent in zip(unit, chunks, strict=True)]
    while prod(unit) * width > _LARGEST and any(length > extent for length, extent in zip(unit, chunks, strict=True)):
        axis = max(range(len(unit)), key=lambda at: unit[at] / chunks[at])
        unit[axis] = math.ceil(unit[axis] // 2 / chunks[axis]) * chunks[axis]
    return tuple(unit)
