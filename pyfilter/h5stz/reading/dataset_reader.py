"""Reads parts of a dataset: from its streams if direct reads are safe, through h5py otherwise.

open_chunks.py opens chunks, prefetch.py fetches ranges of several chunks of a remote file, box_read.py reads a box with them.

Only the calling thread calls h5py; other threads only decode. A caller may therefore hold h5py's lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import islice
from typing import Any

import h5py

from h5stz import _core, damage
from h5stz.damage import OnError
from h5stz.elements import Array
from h5stz.errors import HDF5_ERRORS, StzError
from h5stz.hdf5.objects import name_of
from h5stz.limits import new_array
from h5stz.options.precision import EVERYTHING, Precision, errors_by_layers
from h5stz.options.stz import STZ, client_data
from h5stz.progress import Add, unwanted
from h5stz.reading.box_read import BATCH, BoxRead, Parts
from h5stz.reading.chunk_index import Chunk, ChunkIndex, FileBytes, Stored
from h5stz.reading.losses import Losses, NoLosses, replacement_in
from h5stz.reading.open_chunks import OpenChunks
from h5stz.reading.opened import Instead
from h5stz.reading.prefetch import Prefetch
from h5stz.reading.readers import ChunkReader, PartOfCache, ReaderCache
from h5stz.reading.selection import Piece, Selection, parse, pieces
from h5stz.reading.stats import Stats
from h5stz.reading.through_hdf5 import ThroughHdf5
from h5stz.reading.whole_chunks import WholeChunks
from h5stz.sources.file_objects import ObjectBytes
from h5stz.unreadable import naming_stream

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
LEVELS_OF = 16  # chunks, or parts of a virtual dataset, that are asked how many levels they have


class DatasetReader:
    """Reads an h5py.Dataset. Any number of threads may use it.

    Attributes:
        dataset: the h5py.Dataset.
        stats: statistics of the reads, a stats.Stats.
        fallback_reason: why everything is read through h5py, as text, or None.
    """

    def __init__(
        self,
        dataset: h5py.Dataset,
        cache_bytes: int,
        stats: Stats,
        verify: bool | None = None,
        cache: PartOfCache | None = None,  # in place of one of its own
        on_error: OnError = "raise",
        remember: bool = False,  # the plug-in remembers whole chunks, as it does if HDF5 reads them
    ) -> None:
        self.dataset, self.stats = dataset, stats
        self._verify, self.on_error = verify, on_error  # as of view()
        self._replacement = None if on_error == "raise" else replacement_in(dataset, on_error)
        self.index = ChunkIndex(dataset)
        self.fallback_reason = self.index.reason
        self._file: FileBytes | ObjectBytes | None = None
        if not self.fallback_reason:
            self._file = FileBytes.of(dataset) or ObjectBytes.of(dataset)
        self._readers: ReaderCache | PartOfCache = cache or ReaderCache(cache_bytes)
        self._mark = object()  # tells its chunks from those of others in `stats`
        self._hdf5 = ThroughHdf5(dataset, self.index, stats, self._mark)
        self._name = f"{name_of(dataset)} in {dataset.file.filename}"
        # A function rather than a method: parts that held this object would keep it, and its file, until garbage is collected.
        naming = partial(_naming, dataset, self.index)
        prefetch = Prefetch(self._file, self._name, naming)
        self._chunks = OpenChunks(dataset, self.index, self._file, self._hdf5, prefetch, self._readers, verify)
        whole = WholeChunks(dataset, self.index, self._file, self._hdf5, stats if stats.wanted else None, remember)
        self._shared = Parts(self.index, self._chunks, whole, prefetch, self._hdf5, self._readers, stats, naming)

    def read(
        self,
        selection: Selection,
        out: Array | None,
        threads: int,
        precision: Precision = EVERYTHING,
        add: Add = unwanted,
    ) -> Any:
        """The samples of a Selection in the dataset's index space.

        Args:
            selection: selection.Selection.
            out: ndarray of the selection's shape and the dataset's dtype to read into, or None.
            threads: number of threads for decoding, 1 or more.
            precision: which layers of the streams to read. Reads through h5py get all layers.
            add: called in the calling thread with the bytes of each piece of the result. An exception of it ends the read.

        Returns:
            `out`, or a new ndarray of the dataset's dtype; a NumPy scalar if every axis is indexed by an integer.

        Raises:
            StzError: the file was closed, changed or is damaged. The message names the chunk.
            OSError: HDF5 cannot read the file.
        """
        if not self.dataset.id.valid:
            raise StzError("the file of the dataset was closed: open it again and make a new view", _ARGUMENT)
        losses = self._losses()
        if self.fallback_reason:
            if not precision.enhance:
                self._refuse_if_enhanced()
            if losses is None or not selection.size:
                return self._hdf5.checked(self._hdf5.read(selection, out, add), precision)
        result = new_array(selection.shape, self.dataset.dtype) if out is None else out
        if selection.size and losses is not None and self.fallback_reason:
            self._hdf5.read_what_it_can(losses, selection, result)
        elif selection.size:
            with self._unchanged_file():
                # A file object has one position: this thread reads its ranges, others decode the blocks of a chunk.
                alone = isinstance(self._file, ObjectBytes) and not self._file.parallel
                reading = BoxRead(self._shared, threads, alone, precision, losses or NoLosses(), add)
                reading.run(selection.box(), selection.target(result))
        self._tell(losses, selection)
        scalar = out is None and not any(axis.keep for axis in selection.axes)
        return result[()] if scalar else result

    def _losses(self) -> Losses | None:
        """A record for the losses of a read; None if losses raise errors."""
        if self._replacement is None:
            return None
        return Losses(self.dataset, self._replacement, isinstance(self._file, ObjectBytes) and self._file.parallel)

    def _tell(self, losses: Losses | None, selection: Selection) -> None:
        """Adds the losses of a read to the statistics, and warns."""
        if losses is not None and losses.found:
            self.stats.damaged(losses.found)
            damage.warn(losses.found, losses.value, selection.shape, self._name, "view.damage lists all damage")

    def _refuse_if_enhanced(self) -> None:
        """Raises StzError if h5py might return enhanced samples."""
        if client_data(self.dataset) and STZ.from_dataset(self.dataset).resolved.settings.may_be_relaxed:
            raise StzError(
                f"{self._name} is read through h5py, as {self.fallback_reason}, which applies the enhancement: "
                "enhance=False needs a file that is open read-only",
                _ARGUMENT,
            )

    def layer_errors(self, selection: Selection) -> list[float]:
        """The largest error with one precision layer, with two, ... and with all, over the chunks that a Selection touches.

        Empty if it is unknown: h5py reads everything, or a stream does not state its errors.
        """
        if self.fallback_reason or not selection.size:
            return []
        with self._unchanged_file():
            return errors_by_layers(reader.info for reader in self._readers_of(pieces(selection.box(), self.index.chunks)))

    def levels(self, selection: Selection) -> int:
        """Number of resolution levels of the streams of a Selection; 1 if there are none. Inspects some of the chunks."""
        if self.fallback_reason or not selection.size:
            return 1
        with self._unchanged_file():
            some = islice(pieces(selection.box(), self.index.chunks), LEVELS_OF)
            return max((reader.levels for reader in self._readers_of(some)), default=1)

    def _readers_of(self, wanted: Iterator[Piece]) -> Iterator[ChunkReader]:
        """The readers of the chunks that have a stream, opened and cached."""
        while chunks := [piece.chunk for piece in islice(wanted, LEVELS_OF)]:
            for chunk, reader in zip(chunks, self._chunks.open(chunks, self.index.find(chunks), NoLosses()), strict=True):
                if isinstance(reader, ChunkReader):
                    self._readers.keep(chunk, reader)
                    yield reader

    @property
    def unit(self) -> tuple[int, ...] | None:
        """The shape of the units in which the dataset is stored, or None."""
        chunks: tuple[int, ...] | None = self.dataset.chunks
        return chunks

    def sources_version(self) -> Any:
        """Identifies the versions of other files that contain the samples, with builtin types."""
        return None

    def headers(self, most: int = BATCH) -> list[dict[str, Any]]:
        """The headers, as _core.info(), of the first chunks, at most `most`; of few if chunks must be read whole."""
        with self._unchanged_file():
            readers = [self._chunks.reader(chunk, stored) for chunk, stored in self._first(most)]
        return [dict(reader.info) for reader in readers if isinstance(reader, ChunkReader)]

    def headers_and_damage(self, most: int) -> tuple[list[dict[str, Any]], list[Exception]]:
        """headers() of the intact chunks, and an error for each damaged chunk that names the chunk and the remedy."""
        found: list[dict[str, Any]] = []
        errors: list[Exception] = []
        with self._unchanged_file():
            for chunk, stored in self._first(most):
                try:
                    with self._hdf5.naming(chunk):
                        reader = self._chunks.reader(chunk, stored)
                        if reader is Instead.NO_STREAM and stored is not None and self.index.may_be_stream(chunk, stored):
                            self._hdf5.try_chunk(chunk)  # no stream, or one that only HDF5 fits to the dataset
                except HDF5_ERRORS as error:
                    errors.append(error)
                else:
                    found += [dict(reader.info)] if isinstance(reader, ChunkReader) else []
        return found, errors

    def _first(self, most: int) -> list[tuple[Chunk, Stored | None]]:
        """The first chunks, at most `most`, as Stored. Few if they must be read whole; none if h5py reads everything."""
        if self.fallback_reason or not self.dataset.size:
            return []
        everything = pieces(parse(..., self.dataset.shape).box(), self.index.chunks)
        chunks = [piece.chunk for piece in islice(everything, min(most, BATCH if self._file else LEVELS_OF))]
        return list(zip(chunks, self.index.find(chunks), strict=True))

    @contextmanager
    def _unchanged_file(self) -> Iterator[None]:
        """A context that raises the error of a changed file instead of any error that results from the change."""
        if self._file is None:
            yield
            return
        with self._file.lock:
            self._file.check()
            try:
                yield
            except (StzError, OSError) as error:
                self._file.check(error)
                raise
            self._file.check()


def _naming(dataset: h5py.Dataset, index: ChunkIndex, chunk: Chunk) -> AbstractContextManager[None]:
    """A context that adds the chunk to the message of a StzError."""
    return naming_stream(dataset, index.offset(chunk))
