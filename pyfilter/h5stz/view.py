"""Region reads for users: `view` makes an array of a dataset that decodes only what is asked for, at any resolution."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, SupportsIndex

import h5py
import numpy as np
import numpy.typing as npt

from h5stz import _core
from h5stz.dataset_reader import DatasetReader
from h5stz.elements import Array, DType
from h5stz.errors import StzError, StzTypeError
from h5stz.option_checks import thread_count, verifies
from h5stz.readers import Stats
from h5stz.selection import Selection, parse, parse_region
from h5stz.signatures import checked

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_CAPACITY = _core.ERROR_CODES["STZ_ERROR_CAPACITY"]
_MOST_LEVELS = 63
CACHE_BYTES = 128 << 20


@checked
def view(
    dataset: h5py.Dataset,
    *,
    cache_bytes: SupportsIndex = CACHE_BYTES,
    threads: int | None = None,
    verify: bool | None = None,
) -> View:
    """An array-like over a dataset that reads and decodes only the blocks that an index needs.

    Works with any h5py dataset: what is not compressed with h5stz alone is read through h5py (docs/region_reads.md).

    Args:
        dataset: h5py.Dataset; its file must stay open.
        cache_bytes: most that is kept for the next read, in bytes; 0 keeps nothing.
        threads: as of compress(); chunks are decoded side by side, and blocks where there are fewer chunks.
        verify: True: blocks of the finest level that a read decodes as a whole are compared with the content checks of their
            streams, as verify() does; not blocks of which it needs a part only, those that were kept, and what h5py reads.
            False: none are. None: as the environment variable H5STZ_VERIFY says at each read.

    Returns:
        View.

    Raises:
        StzError: (a ValueError) the dataset was closed, or cache_bytes is negative.
        StzTypeError: (a TypeError too) `dataset` is not an h5py.Dataset or has no shape, or a number is of another type.
    """
    if not isinstance(dataset, h5py.Dataset):
        given = type(dataset).__name__
        raise StzTypeError(f"dataset is of type {given}: give an h5py.Dataset, such as file['name']", _ARGUMENT)
    if not dataset.id.valid:
        raise StzError("the file of the dataset was closed: open it again", _ARGUMENT)
    if dataset.shape is None:
        raise StzTypeError("the dataset is empty (its dataspace is null): there is nothing to index", _ARGUMENT)
    return View(DatasetReader(dataset, checked_cache_bytes(cache_bytes, threads, verify), Stats(), verify), 0, threads)


class View:
    """A dataset, or one of its resolution levels, as an array that is read piece by piece; made by h5stz.view().

    Indexing is NumPy's basic indexing: integers, slices with any step, `...`; results are what the same index gives of the
    whole array, bit for bit. Any number of threads may use a view. numpy.asarray() reads all of it.

    Attributes:
        spacing: samples of the dataset from one sample of this array to the next, for every axis; ones but for levels.
        stats: what was read (readers.Stats), shared with all levels of the same view.
    """

    def __init__(self, reader: DatasetReader, level: int, threads: int | None) -> None:
        self._reader, self._level, self._threads = reader, level, threads
        self.stats = reader.stats

    @property
    def dataset(self) -> h5py.Dataset:
        """The h5py.Dataset."""
        return self._reader.dataset

    @property
    def spacing(self) -> tuple[int, ...]:
        """Samples of the dataset from one sample of this array to the next, for every axis."""
        return (1 << self._level,) * len(self.dataset.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the array; those of a growing dataset grow."""
        return tuple(-(-extent >> self._level) if extent else 0 for extent in self.dataset.shape)

    @property
    def dtype(self) -> DType:
        """The dtype of the dataset, as h5py gives it."""
        dtype: DType = self.dataset.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.dataset.shape)

    @property
    def size(self) -> int:
        """Number of samples."""
        return parse(..., self.shape).size

    @property
    def nbytes(self) -> int:
        """Size of the whole array in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Shape of the chunks in samples of this array, rounded up; None if the dataset has none."""
        chunks = self.dataset.chunks
        return None if chunks is None else tuple(-(-extent >> self._level) for extent in chunks)

    @property
    def fallback_reason(self) -> str | None:
        """Why all of the dataset is read through h5py (text), or None."""
        return self._reader.fallback_reason

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("a view of a single number has no length")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """The samples of a NumPy basic index: an ndarray, or a NumPy scalar if every axis is indexed by an integer."""
        return self._read(parse(index, self.shape), self._level, None)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("a view has to be read to become an array: leave copy=False away")
        array = np.asarray(self[...])
        return array if dtype is None else array.astype(dtype, copy=False)

    def level(self, level: SupportsIndex) -> View:
        """Resolution level `level` (0 or more): the View of every 2**level-th sample of each axis of this array."""
        return View(self._reader, self._level + self._deeper(level), self._threads)

    @checked
    def read(
        self, region: Any, level: SupportsIndex = 0, out: Array | None = None, max_bytes: SupportsIndex | None = None
    ) -> Any:
        """The samples of a region, on a resolution level.

        Args:
            region: integer, slice, ... or a tuple of them, in the index space of this array. On level 0 it means the same as
                an index. On others a slice means those of its samples that the level has, possibly none (and cannot have a
                step), and an integer the last sample of the level that is not behind it.
            level: 0 for all samples, l for every 2**l-th of each axis of this array.
            out: writable ndarray of the dataset's dtype and of the result's shape, with any strides, to read into. After an
                error its contents are unspecified.
            max_bytes: refuses to read more than so many bytes; None: no limit.

        Returns:
            ndarray: `out`, or a new array; a NumPy scalar if every axis is indexed by an integer and `out` is None.

        Raises:
            StzError: (a ValueError) the result is larger than max_bytes, `out` or the level does not fit, the region has a
                step on a level; the file was closed, changed or is damaged; the object that h5py reads it from fails.
            StzTypeError: (a TypeError too) no basic index, or an argument of another type.
            IndexError: an integer is out of range, or there are too many indices.
            OSError: HDF5 cannot read the file.
        """
        deeper = self._deeper(level)
        selection = parse_region(region, self.shape, deeper)
        if max_bytes is not None and (size := selection.size * self.dtype.itemsize) > _whole_number("max_bytes", max_bytes):
            raise StzError(
                f"the result takes {size} bytes, more than max_bytes={max_bytes}: read a smaller region or a coarser level, "
                "or allow more",
                _CAPACITY,
            )
        if out is not None:
            _check_out(out, selection.shape, self.dtype)
        return self._read(selection, self._level + deeper, out)

    def refine(self, region: Any = ...) -> Iterator[tuple[int, Any]]:
        """A region from coarse to fine: yields (level, array), from the coarsest level that the streams have to level 0.

        Arrays are those of read(region, level); levels of which no sample lies in the region are left out. Each step reads
        and decodes what is new only, as far as `cache_bytes` allows.

        Args:
            region: integers and slices without steps, as of read().

        Raises:
            As read(), for an impossible region at once.
        """
        finest = parse(region, self.shape)
        parse_region(region, self.shape, 1)  # refuses steps
        levels = max(1, self._reader.levels(finest.scaled(self.spacing)) - self._level)
        return self._refined(region, levels)

    def _refined(self, region: Any, levels: int) -> Iterator[tuple[int, Any]]:
        for level in range(levels - 1, -1, -1):
            if level == 0 or parse_region(region, self.shape, level).size:
                yield level, self.read(region, level)

    def _deeper(self, level: SupportsIndex) -> int:
        """A resolution level of this array as an int."""
        try:
            number = operator.index(level)
        except TypeError:
            raise StzTypeError(
                f"level={level!r} is no integer: give 0 for all samples, 1 for every second", _ARGUMENT
            ) from None
        if not 0 <= number <= _MOST_LEVELS - self._level:
            raise StzError(f"level={number}: levels are 0 (all samples) to {_MOST_LEVELS - self._level}", _ARGUMENT)
        return number

    def _read(self, selection: Selection, level: int, out: Array | None) -> Any:
        spacing = (1 << level,) * len(selection.axes)
        return self._reader.read(selection.scaled(spacing), out, thread_count(self._threads))

    def __repr__(self) -> str:
        level = f", spacing {self.spacing}" if self._level else ""
        return f"<h5stz view of {self.dataset!r}{level}>" if self.dataset.id.valid else "<h5stz view of a closed dataset>"


def checked_cache_bytes(cache_bytes: SupportsIndex, threads: int | None, verify: bool | None) -> int:
    """`cache_bytes` as an int. Options of view() that mean nothing raise their StzError now rather than at the first read."""
    thread_count(threads)
    verifies(verify)
    return _whole_number("cache_bytes", cache_bytes)


def _whole_number(name: str, value: SupportsIndex) -> int:
    """An int of 0 or more."""
    try:
        number = operator.index(value)
    except TypeError:
        raise StzTypeError(f"{name}={value!r} is no integer: give a number of bytes", _ARGUMENT) from None
    if number < 0:
        raise StzError(f"{name}={number} is negative: give 0 or more", _ARGUMENT)
    return number


def _check_out(out: object, shape: tuple[int, ...], dtype: DType) -> None:
    """Raises the StzError of an `out` that cannot take an array of `shape` and `dtype`."""
    wanted = f"numpy.empty({shape}, {dtype.str!r})"
    if not isinstance(out, np.ndarray):
        raise StzTypeError(f"out is of type {type(out).__name__}, it must be an ndarray such as {wanted}", _ARGUMENT)
    if out.dtype != dtype:
        raise StzTypeError(f"out is of dtype {out.dtype.str}, the dataset of {dtype.str}: give {wanted}", _CAPACITY)
    if out.shape != shape:
        raise StzError(f"out has the shape {out.shape}, the result {shape}: give {wanted}", _CAPACITY)
    if not out.flags.writeable:
        raise StzError(f"out cannot be written to: give {wanted}", _ARGUMENT)
