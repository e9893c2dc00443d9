"""Reads boxes of a dataset, chunk by chunk, each by the cheapest route that is safe.

1. Ranges of the file, where ours is the only filter and the file cannot change: only the bytes that are needed. Those of
   a remote file are fetched before they are decoded, for several chunks at once, as each request takes its time.
2. The whole stored chunk through HDF5, decoded in part.
3. h5py as always: whatever is not one of our streams.

All calls of h5py are made by the thread that asks; other threads only decode. So a caller may hold h5py's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import h5py

from h5stz import _core, damage
from h5stz.damage import OnError
from h5stz.elements import Array
from h5stz.errors import HDF5_ERRORS, StzError
from h5stz.hdf5.objects import name_of
from h5stz.limits import new_array
from h5stz.options.option_checks import verifies
from h5stz.options.precision import EVERYTHING, Precision, errors_by_layers
from h5stz.options.stz import STZ, client_data
from h5stz.reading.chunk_index import Chunk, ChunkIndex, FileBytes, Stored
from h5stz.reading.losses import Losses, Unreadable, replacement_in
from h5stz.reading.readers import ChunkReader, PartOfCache, ReaderCache
from h5stz.reading.selection import BoxAxes, Piece, Selection, parse, pieces
from h5stz.reading.stats import Stats
from h5stz.reading.through_hdf5 import ThroughHdf5
from h5stz.reading.workers import Job, Workers
from h5stz.sources.file_objects import ObjectBytes
from h5stz.unreadable import naming_stream

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
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
    NO_PLACE = 3  # the index of chunks is damaged: HDF5 may find this one all the same


_Reader: TypeAlias = ChunkReader | _Instead | Unreadable
_Place: TypeAlias = Stored | _Instead | None


class DatasetReader:
    """Reads an h5py.Dataset; any number of threads may use it.

    Attributes:
        dataset: the h5py.Dataset.
        stats: what was read, a stats.Stats.
        fallback_reason: why everything is read through h5py (text), or None.
    """

    def __init__(
        self,
        dataset: h5py.Dataset,
        cache_bytes: int,
        stats: Stats,
        verify: bool | None = None,
        cache: PartOfCache | None = None,  # in place of one of its own
        on_error: OnError = "raise",
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
        losses = self._losses()
        if self.fallback_reason:
            if not precision.enhance:
                self._refuse_if_enhanced()
            if losses is None or not selection.size:
                return self._hdf5.checked(self._hdf5.read(selection, out), precision)
        result = new_array(selection.shape, self.dataset.dtype) if out is None else out
        if selection.size and losses is not None and self.fallback_reason:
            self._hdf5.read_what_it_can(losses, selection, result)
        elif selection.size:
            with self._unchanged_file():
                self._read_box(selection.box(), selection.target(result), threads, precision, losses)
        self._tell(losses, selection)
        scalar = out is None and not any(axis.keep for axis in selection.axes)
        return result[()] if scalar else result

    def _losses(self) -> Losses | None:
        """Where a read notes what it loses; None if it fails instead."""
        if self._replacement is None:
            return None
        return Losses(self.dataset, self._replacement, isinstance(self._file, ObjectBytes) and self._file.parallel)

    def _tell(self, losses: Losses | None, selection: Selection) -> None:
        """Has what a read has lost in the statistics, and warns of it."""
        if losses is not None and losses.found:
            self.stats.damaged(losses.found)
            damage.warn(losses.found, losses.value, selection.shape, self._name, "view.damage lists all of it")

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
        with self._unchanged_file():
            readers = [self._reader(chunk, stored) for chunk, stored in self._first(most)]
        return [dict(reader.info) for reader in readers if isinstance(reader, ChunkReader)]

    def headers_and_damage(self, most: int) -> tuple[list[dict[str, Any]], list[Exception]]:
        """headers(), without those of damaged chunks, and an error for each of these, which names the chunk and what to do."""
        found: list[dict[str, Any]] = []
        errors: list[Exception] = []
        with self._unchanged_file():
            for chunk, stored in self._first(most):
                try:
                    with self._hdf5.naming(chunk):
                        reader = self._reader(chunk, stored)
                        if reader is _Instead.NO_STREAM and stored is not None and self.index.may_be_stream(chunk, stored):
                            self._hdf5.try_chunk(chunk)  # no stream, or one that only HDF5 fits to the dataset
                except HDF5_ERRORS as error:
                    errors.append(error)
                else:
                    found += [dict(reader.info)] if isinstance(reader, ChunkReader) else []
        return found, errors

    def _first(self, most: int) -> list[tuple[Chunk, Stored | None]]:
        """The first chunks, at most `most`, with what is stored of them; few if they are read whole, none if all is h5py's."""
        if self.fallback_reason or not self.dataset.size:
            return []
        everything = pieces(parse(..., self.dataset.shape).box(), self.index.chunks)
        chunks = [piece.chunk for piece in islice(everything, min(most, _BATCH if self._file else LEVELS_OF))]
        return list(zip(chunks, self.index.find(chunks), strict=True))

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

    def _read_box(self, box: BoxAxes, target: Array, threads: int, precision: Precision, losses: Losses | None) -> None:
        wanted = pieces(box, self.index.chunks)
        batch = list(islice(wanted, _BATCH))
        # A file object has one position: its ranges are read by this thread, and other threads decode the blocks of a chunk.
        alone = isinstance(self._file, ObjectBytes) and not self._file.parallel
        workers = 1 if alone else min(threads, len(batch))
        # Of a box that is too large to be kept, chunks that are needed as a whole are not kept either.
        passing = 2 * target.nbytes >= self._readers.cache_bytes
        with Workers(workers) as run:
            while batch:
                for group in self._together(batch, self._found([piece.chunk for piece in batch], losses)):
                    some, stored = zip(*group, strict=True)
                    readers = self._opened([piece.chunk for piece in some], stored, losses)
                    self._fetch_ahead(some, readers, passing, precision, losses)
                    for piece, kept, reader in zip(some, stored, readers, strict=True):
                        decode = partial(
                            self._decode, threads=threads // workers, passing=passing, precision=precision, losses=losses
                        )
                        self._read_piece(piece, kept, reader, target[piece.place], run, decode, losses)
                batch = list(islice(wanted, _BATCH))

    def _found(self, chunks: Sequence[Chunk], losses: Losses | None) -> Sequence[_Place]:
        """What ChunkIndex.find() says of chunks; NO_PLACE if the index is damaged."""
        try:
            return self.index.find(chunks)
        except Exception as error:
            if losses is None or not losses.allow(error):
                raise
        return [_Instead.NO_PLACE] * len(chunks)

    def _together(self, batch: Sequence[Piece], places: Sequence[_Place]) -> Iterator[list[tuple[Piece, _Place]]]:
        """Groups of (selection.Piece, Stored) for which all that is needed is fetched at once: single ones, unless it pays."""
        group: list[tuple[Piece, _Place]] = []
        size = 0
        for piece, stored in zip(batch, places, strict=True):
            needed = stored.size if isinstance(stored, Stored) else 0
            if group and (not self._fetches_together or size + needed > _TOGETHER_BYTES or len(group) == _TOGETHER):
                yield group
                group, size = [], 0
            group.append((piece, stored))
            size += needed
        yield group

    @property
    def _fetches_together(self) -> bool:
        return self._file is not None and self._file.parallel

    def _opened(self, chunks: Sequence[Chunk], places: Sequence[_Place], losses: Losses | None = None) -> list[_Reader]:
        """For each chunk what _reader() says; the beginnings of those in a remote file are fetched at once."""
        heads: dict[Chunk, memoryview] = {}
        if self._fetches_together and not self.index.userblock:
            new = [
                (chunk, stored)
                for chunk, stored in zip(chunks, places, strict=True)
                if isinstance(stored, Stored) and self._readers.get(chunk) is None and self.index.may_be_stream(chunk, stored)
            ]
            ranges = [(stored.address, min(_HEAD, stored.size)) for _, stored in new]
            heads = dict(zip([chunk for chunk, _ in new], self._fetched(ranges), strict=True))
        readers = [
            self._reader_or_why_not(chunk, stored, heads.get(chunk), losses)
            for chunk, stored in zip(chunks, places, strict=True)
        ]
        verify = verifies(self._verify)
        for reader in readers:
            if isinstance(reader, ChunkReader):
                reader.verify(verify)
        return readers

    def _reader_or_why_not(self, chunk: Chunk, stored: _Place, head: memoryview | None, losses: Losses | None) -> _Reader:
        """What _reader() says; Unreadable in the place of an error that a read goes on after."""
        if stored is _Instead.NO_PLACE:
            return self._reader_of_unplaced(chunk)
        assert not isinstance(stored, _Instead)
        try:
            return self._reader(chunk, stored, head)
        except Exception as error:
            if losses is None or not losses.allow(error):
                raise
            return Unreadable(error.__cause__ if isinstance(error.__cause__, StzError) else error)

    def _reader_of_unplaced(self, chunk: Chunk) -> _Reader:
        """The reader of a chunk that HDF5 finds although it cannot list all of them; else h5py says what there is."""
        try:
            mask, content = self.dataset.id.read_direct_chunk(self.index.offset(chunk))
            reader = ChunkReader.in_memory(content, self._readers.cache_bytes)
            if not mask and reader is not None and reader.holds(self.index.chunks, self.dataset.dtype):
                return reader
        except (OSError, RuntimeError, ValueError, SystemError):
            pass
        return _Instead.NO_STREAM

    def _fetch_ahead(
        self,
        some: Sequence[Piece],
        readers: Sequence[_Reader],
        passing: bool,
        precision: Precision,
        losses: Losses | None,
    ) -> None:
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
                try:
                    with self._naming(piece.chunk):
                        if step == "blocks" or whole:
                            ranges = reader.ranges(piece, whole, precision)
                        else:
                            ranges = reader.directory_ranges(piece)
                except StzError as error:  # what cannot be planned is fetched when it is decoded
                    if losses is None or not losses.allow(error):
                        raise
                    continue
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
        stored: _Place,
        reader: _Reader,
        part: Array,
        run: Callable[[Job], None],
        decode: Callable[[ChunkReader, Piece, Array], None],
        losses: Losses | None,
    ) -> None:
        """Reads a selection.Piece into `part`, or has it done by `run`.

        `reader` is what _reader() says of its chunk; `decode` decodes.
        """
        if reader is _Instead.NO_CHUNK and self._fill(part):
            return
        if isinstance(reader, ChunkReader):
            run(partial(decode, reader, piece, part))
            return
        try:
            if isinstance(reader, Unreadable):
                raise reader.error
            part[...] = self._hdf5.piece(piece)
            self.stats.fell_back(*self._hdf5.counted_as(piece.chunk), stored.size if isinstance(stored, Stored) else 0)
        except Exception as error:
            if losses is None or not losses.allow(error):
                raise
            losses.chunk(self.index.offset(piece.chunk), piece, part, error)

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
                with self._hdf5.naming(chunk):
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
        self,
        reader: ChunkReader,
        piece: Piece,
        part: Array,
        *,
        threads: int,
        passing: bool,
        precision: Precision,
        losses: Losses | None,
    ) -> None:
        with self._naming(piece.chunk):
            precision.error_for(reader.info)
            whole = self._whole(piece, passing) and reader.takes_all(precision)
            try:
                counts = reader.read_whole(part, threads) if whole else reader.read(piece, part, threads, precision)
                precision.check(reader.info, part)
            except StzError as error:
                if losses is None or not losses.allow(error):
                    raise
                counts = self._decode_what_is_whole(reader, piece, part, threads, precision, losses)
            bytes_read, blocks_decoded, blocks_present = counts
        self._readers.keep(piece.chunk, reader)
        self.stats.decoded(*self._hdf5.counted_as(piece.chunk), reader.size, blocks_present, bytes_read, blocks_decoded)

    def _decode_what_is_whole(
        self, reader: ChunkReader, piece: Piece, part: Array, threads: int, precision: Precision, losses: Losses
    ) -> tuple[int, int, int]:
        origin = self.index.offset(piece.chunk)
        try:
            *counts, entries = reader.read_with(losses.element, piece, part, threads, precision)
        except StzError as error:
            if not losses.allow(error):
                raise
            losses.chunk(origin, piece, part, error)
            return 0, 0, 0
        losses.blocks(origin, entries)
        return counts[0], counts[1], counts[2]

    def _fill(self, part: Array) -> bool:
        """Fills `part` as a chunk that is not stored; False if only h5py can tell what it holds."""
        if self.index.fill_value is None:
            return False
        part[...] = self.index.fill_value
        return True

    @contextmanager
    def _naming(self, chunk: Chunk) -> Iterator[None]:
        """Adds to a StzError which chunk it is about."""
        with naming_stream(self.dataset, self.index.offset(chunk)):
            yield
