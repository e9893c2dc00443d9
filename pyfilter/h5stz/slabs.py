"""Reading an array-like piece by piece, so that data larger than memory can be looked at.

Works with everything that has shape, dtype and basic slicing: ndarray, memmap, h5py and netCDF4 datasets, dask, zarr
and xarray. Pieces are boxes that together cover the data exactly once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np

from h5stz import _core
from h5stz.elements import Array, DType
from h5stz.errors import StzTypeError
from h5stz.unreadable import naming

Box: TypeAlias = tuple[slice, ...]

LOADED_BYTES = 4 << 20  # pieces of data in memory: about the size of a cache
STORED_BYTES = 64 << 20  # pieces of data that must be read first


class ArraySource(Protocol):
    """What can be read in pieces."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        ...

    @property
    def dtype(self) -> DType:
        """The dtype of every piece."""
        ...

    def __getitem__(self, box: Any, /) -> Any:
        """The piece of a box."""
        ...


def is_array_like(data: object) -> TypeGuard[ArraySource]:
    """Whether `data` can be read in pieces as it is; lists and scalars must become arrays first."""
    return hasattr(data, "shape") and hasattr(data, "dtype") and hasattr(data, "__getitem__")


def boxes(shape: Sequence[int], extents: Sequence[int]) -> list[Box]:
    """Index tuples of the boxes of at most `extents` that cover an array of `shape`, in C order."""
    cuts = [
        [slice(low, min(low + step, size)) for low in range(0, size, step)] for size, step in zip(shape, extents, strict=True)
    ]
    return list(product(*cuts))


def slab_extents(data: ArraySource, limit: int) -> list[int]:
    """Extents of boxes of about `limit` bytes that are contiguous in C order and do not cut stored chunks apart in vain."""
    chunks = getattr(data, "chunks", None) or ()
    extents: list[int] = []
    row = prod(data.shape) * data.dtype.itemsize
    for axis, size in enumerate(data.shape):
        row //= max(size, 1)
        step = min(size, max(1, limit // max(row, 1)))
        chunk = chunks[axis] if axis < len(chunks) else 1
        chunk = chunk if isinstance(chunk, int) else max(chunk, default=1)
        extents.append(max(1, min(size, -(-step // chunk) * chunk)))
    return extents


def slabs(data: ArraySource, limit: int | None = None) -> Iterator[Array]:
    """The pieces of `data` in C order as ndarrays (masked arrays where the source gives them)."""
    in_memory = isinstance(data, np.ndarray) and not isinstance(data, np.memmap)
    limit = limit or (LOADED_BYTES if in_memory else STORED_BYTES)
    for box in boxes(data.shape, slab_extents(data, limit)):
        yield piece(data, box)


def piece(data: ArraySource, box: Box) -> Array:
    """One box of `data` in memory, of the dtype that `data` announces."""
    with naming(data, box):
        array = np.asanyarray(data[box] if box else data)  # an index () would take the mask off a masked scalar
    if array.dtype != data.dtype:
        raise StzTypeError(
            f"reading data gives {array.dtype}, but they are stored as {data.dtype}: turn unpacking off (netCDF4: "
            "set_auto_maskandscale(False)), or give the array that will be stored",
            _core.ERROR_CODES["STZ_ERROR_DTYPE"],
        )
    return array
