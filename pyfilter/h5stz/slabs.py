"""Reads an array-like slab by slab, for data larger than memory.

Works with everything that has shape, dtype and basic slicing: ndarray, memmap, datasets of h5py and netCDF4, dask, zarr and
xarray. The slabs are boxes that cover the data exactly once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import lcm, prod
from typing import Any, Protocol, TypeAlias, TypeGuard

import h5py
import numpy as np

from h5stz import _core, limits
from h5stz.elements import Array, DType, is_short_float
from h5stz.errors import StzTypeError
from h5stz.unreadable import naming

Box: TypeAlias = tuple[slice, ...]

LOADED_BYTES = 4 << 20  # pieces of data in memory: about the size of a cache
STORED_BYTES = limits.STORED_BYTES  # pieces of data that must be read first


class ArraySource(Protocol):
    """An array-like that can be read in slabs."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        ...

    @property
    def dtype(self) -> DType:
        """The dtype of every slab."""
        ...

    def __getitem__(self, box: Any, /) -> Any:
        """The slab of a box."""
        ...


def is_array_like(data: object) -> TypeGuard[ArraySource]:
    """True if `data` can be read in slabs. Lists and scalars must be converted to arrays first."""
    return hasattr(data, "shape") and hasattr(data, "dtype") and hasattr(data, "__getitem__")


def boxes(shape: Sequence[int], extents: Sequence[int]) -> list[Box]:
    """Index tuples of the boxes of at most `extents` that cover an array of `shape`, in C order."""
    return list(each_box(shape, extents))


def each_box(shape: Sequence[int], extents: Sequence[int]) -> Iterator[Box]:
    """An iterator over boxes(), of which there may be too many for memory."""
    cuts = [
        [slice(low, min(low + step, size)) for low in range(0, size, step)] for size, step in zip(shape, extents, strict=True)
    ]
    yield from product(*cuts)


def slab_extents(data: ArraySource, limit: int, other: ArraySource | None = None) -> list[int]:
    """Extents of boxes of at most `limit` bytes, or of one stored chunk if that is larger.

    The boxes consist of whole chunks. They grow along the last axis first: without chunks they are contiguous in C order.

    Args:
        data: the data to read.
        limit: in bytes.
        other: data of the same shape that are read or written in the same boxes. The boxes then consist of whole chunks of
            both if these fit, otherwise of whole chunks of the one with larger chunks.
    """
    whole = _whole_chunks(data, limit, other)
    room = prod(whole) * data.dtype.itemsize
    extents = list(whole)
    for axis in reversed(range(len(whole))):
        count = min(-(-data.shape[axis] // whole[axis]), max(1, limit // max(room, 1)))
        extents[axis] = max(1, min(data.shape[axis], count * whole[axis]))
        room = room // whole[axis] * extents[axis]
    return extents


def _whole_chunks(data: ArraySource, limit: int, other: ArraySource | None) -> list[int]:
    """The extents of the smallest boxes, as for slab_extents()."""
    one = _chunks_of(data)
    if other is None:
        return one
    two = _chunks_of(other)
    both = [max(1, min(lcm(a, b), size)) for a, b, size in zip(one, two, data.shape, strict=True)]
    return both if prod(both) * data.dtype.itemsize <= limit else max(one, two, key=prod)


def _chunks_of(data: ArraySource) -> list[int]:
    """The extents of the chunks of `data`, within its shape; 1 without chunks. dask has several extents per axis."""
    chunks = getattr(data, "chunks", None) or ()
    found = [chunks[axis] if axis < len(chunks) else 1 for axis in range(len(data.shape))]
    numbers = [each if isinstance(each, int) else max(each, default=1) for each in found]
    return [max(1, min(number, size)) for number, size in zip(numbers, data.shape, strict=True)]


def slabs(data: ArraySource, limit: int | None = None) -> Iterator[Array]:
    """The slabs of `data` as ndarrays (masked arrays if the source returns them)."""
    in_memory = isinstance(data, np.ndarray) and not isinstance(data, np.memmap)
    limit = limit or (LOADED_BYTES if in_memory else STORED_BYTES)
    for box in each_box(data.shape, slab_extents(data, limit)):
        yield piece(data, box)


class Memory:
    """Memory for pieces that are read one after the other: the system would have to clear new memory for each of them."""

    def __init__(self) -> None:
        self._bytes = np.empty(0, np.uint8)

    def array(self, shape: Sequence[int], dtype: DType) -> Array:
        """An array with undefined contents. It takes the place of the last one."""
        size = prod(shape) * dtype.itemsize
        if size > self._bytes.size:
            self._bytes = np.empty(0, np.uint8)  # both at a time are not needed
            self._bytes = np.empty(size, np.uint8)
        return self._bytes[:size].view(dtype).reshape(shape)

    def piece(self, data: ArraySource, box: Box) -> Array:
        """As piece(). A piece of a dataset of numbers takes the place of the last one."""
        if not box or not is_dataset_of_numbers(data):
            return piece(data, box)
        with naming(data, box):
            out = self.array([cut.stop - cut.start for cut in box], data.dtype)
        read_into(out, data, box)
        return out


def is_dataset_of_numbers(data: object) -> TypeGuard[h5py.Dataset]:
    """True for data that read_into() can read."""
    return isinstance(data, h5py.Dataset) and (data.dtype.kind in "fiuc" or is_short_float(data.dtype))


def read_into(out: Array, dataset: h5py.Dataset, box: Box) -> None:
    """Reads a box of a dataset of numbers into a contiguous array."""
    with naming(dataset, box):
        dataset.read_direct(out, box)


def piece(data: ArraySource, box: Box) -> Array:
    """One box of `data` in memory, in the dtype that `data` announces."""
    with naming(data, box):
        array = np.asanyarray(data[box] if box else data)  # an index () would take the mask off a masked scalar
    if array.dtype != data.dtype:
        raise StzTypeError(
            f"reading data gives {array.dtype}, but they are stored as {data.dtype}: turn unpacking off (netCDF4: "
            "set_auto_maskandscale(False)), or give the array that will be stored",
            _core.ERROR_CODES["STZ_ERROR_DTYPE"],
        )
    return array
