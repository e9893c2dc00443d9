"""Reads through h5py: datasets and chunks without h5stz, or that may not be read directly."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import h5py
import numpy as np

from h5stz import _core
from h5stz.elements import Array
from h5stz.errors import StzError
from h5stz.limits import new_array
from h5stz.options.precision import Precision
from h5stz.options.stz import STZ, client_data
from h5stz.progress import Add, unwanted
from h5stz.reading.chunk_index import Chunk, ChunkIndex
from h5stz.reading.losses import Losses
from h5stz.reading.selection import Piece, Selection, pieces
from h5stz.reading.stats import Stats, chunk_number
from h5stz.unreadable import h5py_getitem, naming

_BOUND = _core.ERROR_CODES["STZ_ERROR_BOUND"]
_ROW = 16 << 20  # bytes of the pieces of a dataset without chunks


class ThroughHdf5:
    """Reads one dataset through h5py. `mark` distinguishes its chunks from those of others in `stats`."""

    def __init__(self, dataset: h5py.Dataset, index: ChunkIndex, stats: Stats, mark: object) -> None:
        self.dataset, self.index, self.stats, self._mark = dataset, index, stats, mark

    def piece(self, piece: Piece) -> Any:
        """The samples of a selection.Piece."""
        key = self._key(piece)
        with naming(self.dataset, key):
            return h5py_getitem(self.dataset, key)

    def naming(self, chunk: Chunk) -> AbstractContextManager[None]:
        """A context for reading a chunk in which errors of HDF5 name the chunk; see unreadable.naming()."""
        return naming(self.dataset, self._first_sample(chunk))

    def try_chunk(self, chunk: Chunk) -> None:
        """Raises the error of a chunk if HDF5 cannot decode it."""
        h5py_getitem(self.dataset, self._first_sample(chunk))

    def _first_sample(self, chunk: Chunk) -> tuple[slice, ...]:
        return tuple(slice(start, start + 1) for start in self.index.offset(chunk))

    def read(self, selection: Selection, out: Array | None, add: Add) -> Any:
        """Reads a whole Selection, as DatasetReader.read(): at once, or in rows of chunks if the progress is wanted."""
        if add is not unwanted and selection.size and selection.shape:
            return self._read_in_rows(selection, out, add)
        box = [slice(start, start + (count - 1) * step + 1) for start, count, step in selection.box()]
        with naming(self.dataset, box, less="read a smaller region"):
            result = h5py_getitem(self.dataset, selection.key())
        self._count_all(selection)
        if any(axis.step < 0 for axis in selection.axes):
            result = selection.ascending(result)
        if out is None:
            return result
        out[...] = result
        return out

    def _read_in_rows(self, selection: Selection, out: Array | None, add: Add) -> Any:
        result = new_array(selection.shape, self.dataset.dtype) if out is None else out
        target, shape = selection.target(result), self.dataset.shape
        length = self.index.chunks[0] if self.index.chunks else max(1, _ROW * shape[0] // self.dataset.nbytes)
        for row in pieces(selection.box(), (length, *shape[1:])):
            first = (row.chunk[0] * length + row.start[0], *row.start[1:])
            key = _slices(first, row.count, row.step)
            with naming(self.dataset, key, less="read a smaller region"):
                target[row.place] = h5py_getitem(self.dataset, key)
            add(target[row.place].nbytes)
        self._count_all(selection)
        return result

    def checked(self, samples: Any, precision: Precision) -> Any:
        """Returns what was read. Raises StzError if the bound of the dataset permits larger errors than requested."""
        if precision.max_error is None or precision.lenient or client_data(self.dataset) is None or not np.size(samples):
            return samples
        settings = STZ.from_dataset(self.dataset).resolved.settings
        if settings.mode == _core.MODES["lossless"] or (self.dataset.dtype.kind in "iub" and not settings.integers):
            return samples
        if settings.mode == _core.MODES["pointwise_relative"]:
            precision.check_pointwise(settings.bound, settings.mode, settings.fill, np.asarray(samples))
        elif settings.largest_error > precision.max_error:
            raise StzError(
                f"max_error={precision.max_error:g} is less than the bound of {self.dataset.name}, {settings.largest_error:g}, "
                f"and all of it is read through h5py, as {self.index.reason}: give a max_error of at least that, or none",
                _BOUND,
            )
        return samples

    def counted_as(self, chunk: tuple[int, ...]) -> tuple[Hashable, int]:
        """The identity of a chunk in the Stats."""
        others, number = chunk_number(chunk, self.dataset.shape, self.index.chunks)
        return (self._mark, others), number

    def _count_all(self, selection: Selection) -> None:
        """Counts a read through h5py without locating the chunks, because the file may change."""
        chunks = self.dataset.chunks
        if chunks is None or self.index.live:
            size = selection.size * self.dataset.dtype.itemsize
            self.stats.fell_back((self._mark, None), 0, size)
            return
        wanted = [piece.chunk for piece in pieces(selection.box(), chunks)]
        for chunk, stored in zip(wanted, self.index.find(wanted), strict=True):
            self.stats.fell_back(*self.counted_as(chunk), stored.size if stored else 0)

    def read_what_it_can(self, losses: Losses, selection: Selection, result: Array) -> None:
        """Reads everything that h5py can read: all at once, or chunk by chunk."""
        box, target = selection.box(), selection.target(result)
        try:
            self.read(selection, result, unwanted)
            return
        except Exception as error:
            if not losses.allow(error):
                raise
            if not self.index.chunks:
                losses.whole(None, (0,) * len(box), box, target, error)
                return
        for piece in pieces(box, self.index.chunks):
            part = target[piece.place]
            try:
                part[...] = self.piece(piece)
            except Exception as error:
                if not losses.allow(error):
                    raise
                losses.chunk(self.index.offset(piece.chunk), piece, part, error)

    def _key(self, piece: Piece) -> tuple[slice, ...]:
        """The index of a piece in the dataset."""
        first = [begin + start for begin, start in zip(self.index.offset(piece.chunk), piece.start, strict=True)]
        return _slices(first, piece.count, piece.step)


def _slices(first: Sequence[int], count: Sequence[int], step: Sequence[int]) -> tuple[slice, ...]:
    """The index of samples that are given by their first coordinate, their number and their step along every axis."""
    ends = zip(first, count, step, strict=True)
    return tuple(slice(start, start + (number - 1) * each + 1, each) for start, number, each in ends)
