"""Reads boxes of a dataset, chunk by chunk, each by the cheapest route that is safe.

1. Ranges of the file, where ours is the only filter and the file cannot change: only the bytes that are needed. Those of
   a remote file are fetched before they are decoded, for several chunks at once, as each request takes its time.
2. The whole stored chunk through HDF5, decoded in part.
3. h5py as always: whatever is not one of our streams.

All calls of h5py are made by the thread that asks; other threads only decode. So a caller may hold h5py's lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from enum import Enum
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any, TypeAlias

import h5py

from h5stz import _core
from h5stz.elements import Array
from h5stz.errors import StzError, StzMemoryError
from h5stz.limits import new_array
from h5stz.options.option_checks import verifies
from h5stz.options.precision import EVERYTHING, Precision, errors_by_layers
from h5stz.options.stz import STZ, client_data
from h5stz.reading.chunk_index import Chunk, ChunkIndex, FileBytes, Stored
from h5stz.reading.readers import ChunkReader, PartOfCache, ReaderCache, Stats
from h5stz.reading.selection import BoxAxes, Piece, Selection, parse, pieces
from h5stz.sources.file_objects import ObjectBytes

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_MEMORY = _core.ERROR_CODES["STZ_ERROR_MEMORY"]
_CORRUPT = _core.ERROR_CODES["STZ_ERROR_CORRUPT"]
_HEAD = 8192  # bytes of a chunk in a remote file that are fetched first: what all reads of it need, by far most often
_TOGETHER = 64  # chunks of a remote file that are fetched together, of at most so many bytes unless it is one
_TOGETHER_BYTES = 64 << 20
_BATCH = 1 << 14  # chunks that are looked up at a time
LEVELS_OF = 16  # chunks, or parts of a virtual dataset, that are asked how many levels they have


class _Instead(Enum):
    """What there is in the place of a ChunkReader."""

    NO_CHUNK = 1  # nothing is stored
    NO_STREAM = 2  # the chunk is none of ours: h5py reads it


_Reader: TypeAlias = ChunkReader | _Instead
_Job: TypeAlias = Callable[[], None]

#: How h5py itself indexes datasets, whatever Dataset.__getitem__ is replaced with later.
h5py_getitem: Callable[[Any, Any], Any] = h5py.Dataset.__getitem__


class DatasetReader:
    """Reads an h5py.Dataset; any number of threads may use it.

    Attributes:
        dataset: the h5py.Dataset.
        stats: what was read, a readers.Stats.
        fallback_reason: why everything is read through h5py (text), or None.
    """

    def __init__(
        self,
        dataset: h5py.Dataset,
        cache_bytes: int,
        stats: Stats,
        verify: bool | None = None,
        cache: PartOfCache | None = None,  # in place of one of its own
    ) -> None:
        self.dataset, self.stats = dataset, stats
        self._verify = verify  # as of view()
        self.index = ChunkIndex(dataset)
        self.fallback_reason = self.index.reason
        self._file: FileBytes | ObjectBytes | None = None
        if not self.fallback_reason:
            self._file = FileBytes.of(dataset) or ObjectBytes.of(dataset)
        self._readers: ReaderCache | PartOfCache = cache or ReaderCache(cache_bytes)
        self._mark = object()  # tells its chunks from those of others in `stats`
        self._name = f"{dataset.name} in {dataset.file.filename}"

    def read(self, selection: Selection, out: Array | None, threads: int, precision: Precision = EVERYTHING) -> Any:
        """The samples of a Selection in the dataset's index space.

        Args:
            selection: selection.Selection.
            out: ndarray of its shape and of the dataset's dtype to put them into, or None.
            threads: 1 or more, for decoding.
            precision: which layers of the streams are read; what h5py reads has all.

        Returns:
            `out`, or a new ndarray of the dataset's dtype; a NumPy scalar if every axis is indexed by an integer.

        Raises:
            StzError: the file was closed, changed or is damaged; the message says which chunk.
            OSError: HDF5 cannot read the file.
        """
        if not self.dataset.id.valid:
            raise StzError("the file of the dataset was closed: open it again and make a new view", _ARGUMENT)
        if self.fallback_reason:
            if not precision.enhance:
                self._refuse_if_enhanced()
            return self._read_all_through_h5py(selection, out)
        result = new_array(selection.shape, self.dataset.dtype) if out is None else out
        if selection.size:
            with self._unchanged_file():
                self._read_box(selection.box(), selection.target(result), threads, precision)
        scalar = out is None and not any(axis.keep for axis in selection.axes)
        return result[()] if scalar else result

    def _refuse_if_enhanced(self) -> None:
        """Fails if h5py might return samples that a filter has enhanced."""
        if client_data(self.dataset) and STZ.from_dataset(self.dataset).resolved.settings.may_be_relaxed:
            raise StzError(
                f"{self._name} is read through h5py, as {self.fallback_reason}, and so with its enhancement: "
                "enhance=False needs a file that is open for reading only",
                _ARGUMENT,
            )

    def layer_errors(self, selection: Selection) -> list[float]:
        """The largest error with one precision layer, with two ... and with all, over the chunks that a Selection meets.

        Empty where nothing is known: h5py reads everything, or a stream does not tell.
        """
        if self.fallback_reason or not selection.size:
            return []
        with self._unchanged_file():
            return errors_by_layers(reader.info for reader in self._readers_of(pieces(selection.box(), self.index.chunks)))

    def levels(self, selection: Selection) -> int:
        """How many resolution levels the streams of a Selection have, 1 if there are none. Looks at some of its chunks."""
        if self.fallback_reason or not selection.size:
            return 1
        with self._unchanged_file():
            some = islice(pieces(selection.box(), self.index.chunks), LEVELS_OF)
            return max((reader.levels for reader in self._readers_of(some)), default=1)

    def _readers_of(self, wanted: Iterator[Piece]) -> Iterator[ChunkReader]:
        """The readers of the chunks that have a stream, opened and kept."""
        while chunks := [piece.chunk for piece in islice(wanted, LEVELS_OF)]:
            for chunk, reader in zip(chunks, self._opened(chunks, self.index.find(chunks)), strict=True):
                if isinstance(reader, ChunkReader):
                    self._readers.keep(chunk, reader)
                    yield reader

    @property
    def unit(self) -> tuple[int, ...] | None:
        """Shape of what is stored together, None if there is no such thing."""
        chunks: tuple[int, ...] | None = self.dataset.chunks
        return chunks

    def sources_version(self) -> Any:
        """What tells apart versions of other files from which samples come, of builtin types."""
        return None

    def headers(self, most: int = _BATCH) -> list[dict[str, Any]]:
        """What the streams of the first chunks, at most `most`, say of themselves, as _core.info(); of few if read whole."""
        if self.fallback_reason or not self.dataset.size:
            return []
        with self._unchanged_file():
            everything = pieces(parse(..., self.dataset.shape).box(), self.index.chunks)
            chunks = [piece.chunk for piece in islice(everything, min(most, _BATCH if self._file else LEVELS_OF))]
            readers = [self._reader(chunk, stored) for chunk, stored in zip(chunks, self.index.find(chunks), strict=True)]
        return [dict(reader.info) for reader in readers if isinstance(reader, ChunkReader)]

    @contextmanager
    def _unchanged_file(self) -> Iterator[None]:
        """Raises an error if the file is changed by others until the end, instead of any that follows from it."""
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

    def _read_box(self, box: BoxAxes, target: Array, threads: int, precision: Precision) -> None:
        wanted = pieces(box, self.index.chunks)
        batch = list(islice(wanted, _BATCH))
        # A file object has one position: its ranges are read by this thread, and other threads decode the blocks of a chunk.
        alone = isinstance(self._file, ObjectBytes) and not self._file.parallel
        workers = 1 if alone else min(threads, len(batch))
        # Of a box that is too large to be kept, chunks that are needed as a whole are not kept either.
        passing = 2 * target.nbytes >= self._readers.cache_bytes
        with _Workers(workers) as run:
            while batch:
                for group in self._together(batch, self.index.find([piece.chunk for piece in batch])):
                    some, stored = zip(*group, strict=True)
                    readers = self._opened([piece.chunk for piece in some], stored)
                    self._fetch_ahead(some, readers, passing, precision)
                    for piece, kept, reader in zip(some, stored, readers, strict=True):
                        decode = partial(self._decode, threads=threads // workers, passing=passing, precision=precision)
                        self._read_piece(piece, kept, reader, target[piece.place], run, decode)
                batch = list(islice(wanted, _BATCH))

    def _together(self, batch: Sequence[Piece], places: Sequence[Stored | None]) -> Iterator[list[tuple[Piece, Stored | None]]]:
        """Groups of (selection.Piece, Stored) for which all that is needed is fetched at once: single ones, unless it pays."""
        group: list[tuple[Piece, Stored | None]] = []
        size = 0
        for piece, stored in zip(batch, places, strict=True):
            needed = stored.size if stored else 0
            if group and (not self._fetches_together or size + needed > _TOGETHER_BYTES or len(group) == _TOGETHER):
                yield group
                group, size = [], 0
            group.append((piece, stored))
            size += needed
        yield group

    @property
    def _fetches_together(self) -> bool:
        return self._file is not None and self._file.parallel

    def _opened(self, chunks: Sequence[Chunk], places: Sequence[Stored | None]) -> list[_Reader]:
        """For each chunk what _reader() says; the beginnings of those in a remote file are fetched at once."""
        heads: dict[Chunk, memoryview] = {}
        if self._fetches_together and not self.index.userblock:
            new = [
                (chunk, stored)
                for chunk, stored in zip(chunks, places, strict=True)
                if stored and self._readers.get(chunk) is None and self.index.may_be_stream(chunk, stored)
            ]
            ranges = [(stored.address, min(_HEAD, stored.size)) for _, stored in new]
            heads = dict(zip([chunk for chunk, _ in new], self._fetched(ranges), strict=True))
        readers = [self._reader(chunk, stored, heads.get(chunk)) for chunk, stored in zip(chunks, places, strict=True)]
        verify = verifies(self._verify)
        for reader in readers:
            if isinstance(reader, ChunkReader):
                reader.verify(verify)
        return readers

    def _fetch_ahead(self, some: Sequence[Piece], readers: Sequence[_Reader], passing: bool, precision: Precision) -> None:
        """Fetches what pieces need of a remote file, at once for all: what tells where the blocks are, then the blocks."""
        if not self._fetches_together:
            return
        wanted = [
            (piece, reader)
            for piece, reader in zip(some, readers, strict=True)
            if isinstance(reader, ChunkReader) and reader.fetches
        ]
        for step in ("directories", "blocks"):
            taken: list[tuple[ChunkReader, int, int]] = []
            for piece, reader in wanted:
                whole = self._whole(piece, passing) and reader.takes_all(precision)
                with self._naming(piece.chunk):
                    if step == "blocks" or whole:
                        ranges = reader.ranges(piece, whole, precision)
                    else:
                        ranges = reader.directory_ranges(piece)
                taken.extend((reader, address, size) for address, size in ranges)
            contents = self._fetched([(address, size) for _, address, size in taken])
            for (reader, address, _), content in zip(taken, contents, strict=True):
                reader.give(address, content)

    def _fetched(self, ranges: list[tuple[int, int]]) -> list[memoryview]:
        """The bytes of ranges (address, size) of a remote file."""
        assert isinstance(self._file, ObjectBytes)
        try:
            return self._file.read_all(ranges)
        except StzError as error:
            raise error.within(self._name) from error

    def _read_piece(
        self,
        piece: Piece,
        stored: Stored | None,
        reader: _Reader,
        part: Array,
        run: Callable[[_Job], None],
        decode: Callable[[ChunkReader, Piece, Array], None],
    ) -> None:
        """Reads a selection.Piece into `part`, or has it done by `run`.

        `reader` is what _reader() says of its chunk; `decode` decodes.
        """
        if reader is _Instead.NO_CHUNK and self._fill(part):
            return
        if isinstance(reader, ChunkReader):
            run(partial(decode, reader, piece, part))
        else:
            part[...] = h5py_getitem(self.dataset, self._key(piece))
            self.stats.fell_back((self._mark, piece.chunk), stored.size if stored else 0)

    def _whole(self, piece: Piece, passing: bool) -> bool:
        """Whether all of a chunk is decoded and not kept."""
        return passing and piece.count == self.index.chunks

    def _reader(self, chunk: Chunk, stored: Stored | None, head: memoryview | None = None) -> _Reader:
        """The ChunkReader of a chunk, or what there is instead.

        `head`: its first bytes, if they were fetched already.
        """
        if stored is None:
            return _Instead.NO_CHUNK
        if not self.index.may_be_stream(chunk, stored):
            return _Instead.NO_STREAM
        reader = self._readers.get(chunk)
        if reader is not None and not self.index.live:
            return reader
        with self._naming(chunk):
            if stored.size > self.index.largest_stream:  # up to 4 GiB, which nobody should have to allocate
                text = f"is said to take {stored.size} bytes, more than any stream of it: the file is damaged"
                raise StzError(text, _CORRUPT)
            fresh = None
            if self._file is not None:
                # With a userblock, addresses count from its end in HDF5 before 1.14, from the start of the file later.
                addresses = {stored.address, stored.address + self.index.userblock}
                given = sorted(addresses), stored.size, self._readers.cache_bytes
                if isinstance(self._file, ObjectBytes):
                    fresh = ChunkReader.in_object(self._file, *given, head)
                else:
                    fresh = ChunkReader.in_file(self._file, *given)
            if fresh is None:
                mask, content = self.dataset.id.read_direct_chunk(self.index.offset(chunk))
                if mask:
                    return _Instead.NO_STREAM
                if reader is not None and reader.stored == content:
                    reader.unread = len(content)
                    return reader
                fresh = ChunkReader.in_memory(content, self._readers.cache_bytes)
            if fresh is None:
                return _Instead.NO_STREAM
            return fresh if fresh.holds(self.index.chunks, self.dataset.dtype) else _Instead.NO_STREAM

    def _decode(
        self, reader: ChunkReader, piece: Piece, part: Array, *, threads: int, passing: bool, precision: Precision
    ) -> None:
        with self._naming(piece.chunk):
            precision.error_for(reader.info)
            whole = self._whole(piece, passing) and reader.takes_all(precision)
            counts = reader.read_whole(part, threads) if whole else reader.read(piece, part, threads, precision)
            bytes_read, blocks_decoded, blocks_present = counts
        self._readers.keep(piece.chunk, reader)
        self.stats.decoded((self._mark, piece.chunk), reader.size, blocks_present, bytes_read, blocks_decoded)

    def _fill(self, part: Array) -> bool:
        """Fills `part` as a chunk that is not stored; False if only h5py can tell what it holds."""
        if self.index.fill_value is None:
            return False
        part[...] = self.index.fill_value
        return True

    def _key(self, piece: Piece) -> tuple[slice, ...]:
        """The index of a piece in the dataset."""
        first = [begin + start for begin, start in zip(self.index.offset(piece.chunk), piece.start, strict=True)]
        return tuple(
            slice(start, start + (count - 1) * step + 1, step)
            for start, count, step in zip(first, piece.count, piece.step, strict=True)
        )

    def _read_all_through_h5py(self, selection: Selection, out: Array | None) -> Any:
        try:
            result = h5py_getitem(self.dataset, selection.key())
        except MemoryError as error:
            raise StzMemoryError(f"{self._name}: {error}", _MEMORY) from None
        self._count_all(selection)
        if any(axis.step < 0 for axis in selection.axes):
            result = selection.ascending(result)
        if out is None:
            return result
        out[...] = result
        return out

    def _count_all(self, selection: Selection) -> None:
        """Counts a read through h5py alone, without looking for the chunks in a file that may change."""
        chunks = self.dataset.chunks
        if chunks is None or self.index.live:
            size = selection.size * self.dataset.dtype.itemsize
            self.stats.fell_back((self._mark, None), size)
            return
        wanted = [piece.chunk for piece in pieces(selection.box(), chunks)]
        for chunk, stored in zip(wanted, self.index.find(wanted), strict=True):
            self.stats.fell_back((self._mark, chunk), stored.size if stored else 0)

    @contextmanager
    def _naming(self, chunk: Chunk) -> Iterator[None]:
        """Adds to a StzError which chunk it is about."""
        try:
            yield
        except StzError as error:
            raise error.within(f"the chunk at {self.index.offset(chunk)} of {self._name}") from error


class _Workers:
    """Runs jobs in `count` threads, in the calling one if that is 1; few wait at a time. The first error ends it."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = ThreadPoolExecutor(count) if count > 1 else None
        self._waiting: deque[Future[None]] = deque()

    def __enter__(self) -> Callable[[_Job], None]:
        return self._run

    def _run(self, job: _Job) -> None:
        if self._pool is None:
            job()
            return
        while len(self._waiting) >= 4 * self._count:
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(job))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._pool is None:
            return
        try:
            while error is None and self._waiting:
                self._waiting.popleft().result()
        finally:
            self._pool.shutdown(wait=True, cancel_futures=True)
