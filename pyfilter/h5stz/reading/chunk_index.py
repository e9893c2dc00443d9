"""Locates the chunks of a dataset in its file, and decides how they may be read without HDF5's pipeline.

No lock of this package is held while h5py is called: h5py has its own lock, which callers may hold already.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from math import prod
from operator import mul
from typing import Any, NamedTuple, TypeAlias

import h5py
import numpy as np
import numpy.typing as npt

from h5stz import _core, elements
from h5stz.elements import Array
from h5stz.errors import StzReadError, StzTypeError
from h5stz.hdf5 import calls
from h5stz.hdf5.short_floats import hdf5_type
from h5stz.reading.reasons import Reason
from h5stz.unreadable import naming_index
from h5stz.waiting import cached_property

_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
#: Up to so many chunks are looked up one by one where the index of all of them cannot be kept; each lookup is linear.
_FEW = 4

#: The index of a chunk in the grid of chunks.
Chunk: TypeAlias = tuple[int, ...]


class Stored(NamedTuple):
    """A stored chunk: address (bytes), size (bytes) and the mask of skipped filters."""

    address: int
    size: int
    filter_mask: int


class ChunkIndex:
    """Locates the chunks of one dataset.

    Attributes:
        reason: why the whole dataset must be read through h5py; None if its chunks may be streams.
        live: True if the file may change while it is open, so that nothing found in it may be cached.
        userblock: number of bytes before the HDF5 file proper.
        chunks: chunk shape; () without chunks.
    """

    def __init__(self, dataset: h5py.Dataset) -> None:
        self.dataset = dataset
        file = dataset.file.id
        intent = file.get_intent()
        writable = bool(intent & h5py.h5f.ACC_RDWR)
        self.live = intent != h5py.h5f.ACC_RDONLY
        self.userblock: int = file.get_create_plist().get_userblock()
        self.chunks: tuple[int, ...] = dataset.chunks or ()
        self.reason = _reason(dataset, writable)
        self._stored: dict[tuple[int, ...], Stored] | None = None

    def find(self, wanted: Sequence[Chunk]) -> list[Stored | None]:
        """The Stored of chunks, given by their indices in the grid of chunks; None for a chunk that is not stored.

        Raises:
            StzReadError: the index is damaged.
        """
        if self._stored is not None:
            return [self._stored.get(self.offset(chunk)) for chunk in wanted]
        with naming_index(self.dataset):
            return self._looked_up(wanted)

    def _looked_up(self, wanted: Sequence[Chunk]) -> list[Stored | None]:
        """As find(), from HDF5 without the cache."""
        iterate = _iterator(self.dataset.id)
        if iterate is None or (self.live and len(wanted) <= _FEW):
            return [self._look_up(chunk) for chunk in wanted]
        stored: dict[tuple[int, ...], Stored] = {}  # by the index of the first element

        def note(info: Any) -> None:
            place, mask, address, size = info
            if address is not None:  # an entry without an address, which h5py gives no place either
                stored[place] = Stored(address, size, mask)

        iterate(note)
        for axis, extent in enumerate(self.chunks):
            if any(place[axis] % extent for place in stored):  # a library that counts in chunks rather than in samples
                return [self._look_up(chunk) for chunk in wanted]
        if not self.live:
            self._stored = stored
        return [stored.get(self.offset(chunk)) for chunk in wanted]

    def _look_up(self, chunk: Chunk) -> Stored | None:
        if not self.dataset.id.get_num_chunks():  # HDF5 has no answer for a dataset without any chunk
            return None
        info = self.dataset.id.get_chunk_info_by_coord(self.offset(chunk))
        return None if info.byte_offset is None else Stored(info.byte_offset, info.size, info.filter_mask)

    def offset(self, chunk: Chunk) -> tuple[int, ...]:
        """Index of the first element of a chunk in the dataset."""
        return tuple(map(mul, chunk, self.chunks))

    def may_be_stream(self, chunk: Chunk, stored: Stored) -> bool:
        """True if a stored chunk may be one of our streams.

        A creation property can make HDF5 store edge chunks without filters, and their masks do not show it. Raw samples could
        look like a stream.
        """
        if stored.filter_mask:
            return False
        return not (self._raw_edges and self._at_edge(chunk))

    def _at_edge(self, chunk: Chunk) -> bool:
        """True if a chunk reaches beyond the dataset."""
        ends = (begin + extent for begin, extent in zip(self.offset(chunk), self.chunks, strict=True))
        return any(end > extent for end, extent in zip(ends, self.dataset.shape, strict=True))

    @cached_property
    def _raw_edges(self) -> bool:
        return calls.edges_may_be_raw(self.dataset.id.get_create_plist())

    @cached_property
    def largest_stream(self) -> int:
        """The largest possible stream of a chunk, in bytes."""
        dtype = elements.storage_dtype(self.dataset.dtype)
        return _core.max_compressed_size(*elements.element_type(dtype), self.chunks)

    @cached_property
    def fill_value(self) -> Array | None:
        """The value of chunks that are not stored, as a 0-d array; None if only h5py knows it."""
        properties = self.dataset.id.get_create_plist()
        if properties.get_fill_time() == h5py.h5d.FILL_TIME_NEVER:
            return None
        if properties.fill_value_defined() == h5py.h5d.FILL_VALUE_UNDEFINED:
            return None
        return np.array(self.dataset.fillvalue, self.dataset.dtype)


def _iterator(identifier: Any) -> Callable[[Callable[[Any], None]], None] | None:
    """H5Dchunk_iter for a dataset; None if HDF5 (before 1.12.3) or h5py (before 3.8) is too old."""
    return getattr(identifier, "chunk_iter", None)


def _open_through_mpi(file: h5py.h5f.FileID) -> bool:
    """True if an h5py with MPI has the file open through MPI.

    This asks this process alone. The access properties would tell it too, but reading those of such a file is collective: a
    rank that reads alone would wait for the others forever.
    """
    if not h5py.get_config().mpi:
        return False
    try:
        file.get_mpi_atomicity()
    except (ValueError, RuntimeError, OSError):  # not of this driver
        return False
    return True


def reason_of_form(dataset: h5py.Dataset) -> Reason | None:
    """The reason why the chunks of a dataset are not streams that hold its samples as NumPy does, or None."""
    if _open_through_mpi(dataset.file.id):
        return Reason("STZ_H5_DRIVER")
    properties = dataset.id.get_create_plist()
    if properties.get_layout() != h5py.h5d.CHUNKED:
        return Reason("STZ_H5_LAYOUT")
    filters = [properties.get_filter(index)[0] for index in range(properties.get_nfilters())]
    if filters != [_core.FILTER_ID]:
        return Reason("STZ_H5_FILTERS")
    try:
        elements.storage_dtype(dataset.dtype)
    except StzTypeError:
        return Reason("STZ_H5_TYPE")
    if dataset.dtype.kind != "c":  # HDF5 has several types for complex numbers; the header of each stream decides
        if not dataset.id.get_type().equal(hdf5_type(dataset.dtype)):
            return Reason("STZ_H5_TYPE")
    return None


def _reason(dataset: h5py.Dataset, writable: bool) -> Reason | None:
    """The reason why chunks cannot be read one by one, or None."""
    reason = reason_of_form(dataset)
    if reason is not None:
        return reason
    slots, cache_bytes, _ = dataset.id.get_access_plist().get_chunk_cache()
    if writable and slots and prod(dataset.chunks or ()) * dataset.dtype.itemsize <= cache_bytes:
        # What was written last may not be coded yet, and reading the chunk apart would have it coded and forgotten.
        return Reason("STZ_H5_WRITABLE")
    if confuses_chunks(dataset):
        return Reason("STZ_H5_CHUNK_INDEX")
    return None


def confuses_chunks(dataset: h5py.Dataset) -> bool:
    """True if HDF5 (all versions to 2.2) may report the address of another chunk.

    This happens if the index is an extensible array and an axis other than the first can grow. filter/region/dataset_facts.cpp
    has the same rule.
    """
    return None in (dataset.maxshape or ())[1:] and calls.may_be_extensible_array(dataset.id)


class FileBytes:
    """The bytes of the file of a dataset, for ranged reads.

    Attributes:
        fd: descriptor for pread, open during the lifetime of this object.
        parallel: False: there is no need to fetch several ranges together.
        lock: a null context, because any number of threads may read at once.
    """

    parallel = False
    lock: AbstractContextManager[Any] = nullcontext()

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._stamp = self._now()

    @classmethod
    def of(cls, dataset: h5py.Dataset) -> FileBytes | None:
        """The bytes of the file that h5py has open; None if ranged reads are not safe.

        They are safe for a single file on disk (driver sec2) that is open for reading, without a writer beside it (SWMR).
        """
        file = dataset.file.id
        if file.get_intent() != h5py.h5f.ACC_RDONLY or file.get_access_plist().get_driver() != h5py.h5fd.SEC2:
            return None
        try:
            theirs = file.get_vfd_handle()
            # A descriptor of our own: theirs ends with the file. Not os.dup(), with which HDF5's lock on the file would last
            # as long as the copy, and nobody could open it for writing after it was closed.
            ours = cls(os.open(f"/proc/self/fd/{theirs}", os.O_RDONLY | os.O_CLOEXEC))
            same = os.path.samestat(os.fstat(theirs), os.fstat(ours.fd))
        except (OSError, RuntimeError, NotImplementedError, TypeError):
            return None
        return ours if same else None

    def check(self, error: BaseException | None = None) -> None:
        """Raises StzError if the file changed since it was opened. `error`: the error that the change caused, or None."""
        if self._now() != self._stamp:
            text = "the file was changed while it was open for reading: close it and open it again"
            raise StzReadError(text, _READ) from error

    def read(self, address: int, size: int) -> bytes:
        """`size` bytes from `address` on; StzError if the file is shorter."""
        whole = os.pread(self.fd, size, address)
        if len(whole) == size:
            return whole
        parts, missing = [whole], size - len(whole)
        while missing:
            part = os.pread(self.fd, missing, address + size - missing)
            if not part:
                raise StzReadError("the file ends within the chunk: it was truncated", _READ)
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def read_into(self, address: int, buffer: npt.NDArray[np.uint8]) -> None:
        """As read(), as many bytes as an array of bytes has, into that array."""
        if os.preadv(self.fd, [buffer.data], address) != buffer.size:
            buffer[:] = np.frombuffer(self.read(address, buffer.size), np.uint8)

    def _now(self) -> tuple[int, int]:
        state = os.fstat(self.fd)
        return state.st_mtime_ns, state.st_size

    def __del__(self) -> None:
        os.close(self.fd)
