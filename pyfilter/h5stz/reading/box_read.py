"""Reads one box of a dataset, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import islice

from h5stz.elements import Array
from h5stz.errors import StzError
from h5stz.options.precision import Precision
from h5stz.progress import Add
from h5stz.reading.chunk_index import Chunk, ChunkIndex, Stored
from h5stz.reading.losses import Losses, NoLosses, Unreadable
from h5stz.reading.open_chunks import OpenChunks
from h5stz.reading.opened import Instead, Opened, Place
from h5stz.reading.prefetch import Prefetch
from h5stz.reading.readers import ChunkReader, PartOfCache, ReaderCache
from h5stz.reading.selection import BoxAxes, Piece, pieces
from h5stz.reading.stats import Stats
from h5stz.reading.through_hdf5 import ThroughHdf5
from h5stz.reading.whole_chunks import WholeChunks
from h5stz.reading.workers import Job, Workers

BATCH = 1 << 14  # chunks that are looked up at a time


@dataclass(frozen=True)
class Parts:
    """The objects that all reads of a dataset share."""

    index: ChunkIndex
    chunks: OpenChunks
    whole: WholeChunks
    prefetch: Prefetch
    hdf5: ThroughHdf5
    kept: ReaderCache | PartOfCache
    stats: Stats
    naming: Callable[[Chunk], AbstractContextManager[None]]  # errors name the chunk


class BoxRead:
    """Reads one box.

    Args:
        parts: of the dataset.
        threads: number of threads for decoding, 1 or more.
        alone: True decodes chunks one after the other, each with all threads.
        precision: which layers of the streams to read.
        losses: records what the read loses.
        add: called in the calling thread with the bytes of each piece of the result.
    """

    def __init__(self, parts: Parts, threads: int, alone: bool, precision: Precision, losses: Losses, add: Add) -> None:
        self._parts, self._threads, self._alone, self._add = parts, threads, alone, add
        self._precision, self._losses = precision, losses
        self._passing = False  # of a box that is too large to be kept, chunks that are needed as a whole are not kept either

    def run(self, box: BoxAxes, target: Array) -> None:
        """Reads `box` into `target`."""
        parts = self._parts
        self._passing = 2 * target.nbytes >= parts.kept.cache_bytes
        wanted = pieces(box, parts.index.chunks)
        batch = list(islice(wanted, BATCH))
        workers = 1 if self._alone else min(self._threads, len(batch))
        self._threads //= workers
        straight = self._passing and self._threads == 1 and isinstance(self._losses, NoLosses)
        failed: list[Piece] = []  # of whole chunks
        with Workers(workers, self._add) as run:
            while batch:
                places = parts.chunks.places([piece.chunk for piece in batch], self._losses)
                if straight:
                    whole = parts.whole.take(batch, places, target, self._precision, parts.chunks.verifies(), run, failed)
                    batch, places = whole
                if batch:
                    self._read_all(batch, places, target, run)
                batch = list(islice(wanted, BATCH))
        if failed:
            with Workers(1, self._add) as run:
                self._read_all(failed, parts.chunks.places([piece.chunk for piece in failed], self._losses), target, run)

    def _read_all(self, batch: list[Piece], places: Sequence[Place], target: Array, run: Callable[[Job], None]) -> None:
        """Reads pieces with readers of chunks, or through HDF5."""
        parts = self._parts
        for group in parts.prefetch.groups(batch, places):
            some, stored = zip(*group, strict=True)
            readers = parts.chunks.open([piece.chunk for piece in some], stored, self._losses)
            parts.prefetch.blocks(some, readers, self._decodes_whole, self._precision, self._losses)
            for piece, kept, reader in zip(some, stored, readers, strict=True):
                self._read(piece, kept, reader, target[piece.place], run)

    def _decodes_whole(self, piece: Piece, reader: ChunkReader) -> bool:
        """True if a chunk is decoded as a whole and not cached."""
        return self._passing and piece.count == self._parts.index.chunks and reader.takes_all(self._precision)

    def _read(self, piece: Piece, stored: Place, reader: Opened, part: Array, run: Callable[[Job], None]) -> None:
        """Reads a piece into `part`, or passes the work to `run`."""
        if reader is Instead.NO_CHUNK and self._fill(part):
            self._add(part.nbytes)
            return
        if isinstance(reader, ChunkReader):
            # h5py, which is asked for the shape here, could make another thread wait for this one.
            run(partial(self._decode, reader, piece, part, self._parts.hdf5.counted_as(piece.chunk)))
            return
        parts = self._parts
        try:
            if isinstance(reader, Unreadable):
                raise reader.error
            part[...] = parts.hdf5.piece(piece)
            parts.stats.fell_back(*parts.hdf5.counted_as(piece.chunk), stored.size if isinstance(stored, Stored) else 0)
        except Exception as error:
            if not self._losses.allow(error):
                raise
            self._losses.chunk(parts.index.offset(piece.chunk), piece, part, error)
        self._add(part.nbytes)

    def _fill(self, part: Array) -> bool:
        """Fills `part` for a chunk that is not stored. False if only h5py knows its contents."""
        if self._parts.index.fill_value is None:
            return False
        part[...] = self._parts.index.fill_value
        return True

    def _decode(self, reader: ChunkReader, piece: Piece, part: Array, counted: tuple[Hashable, int]) -> int:
        parts, precision = self._parts, self._precision
        with parts.naming(piece.chunk):
            precision.error_for(reader.info)
            try:
                if self._decodes_whole(piece, reader):
                    counts = reader.read_whole(part, self._threads)
                else:
                    counts = reader.read(piece, part, self._threads, precision)
                precision.check(reader.info, part)
            except StzError as error:
                if not self._losses.allow(error):
                    raise
                counts = self._decode_what_is_whole(reader, piece, part)
            bytes_read, blocks_decoded, blocks_present = counts
        parts.kept.keep(piece.chunk, reader)
        parts.stats.decoded(*counted, reader.size, blocks_present, bytes_read, blocks_decoded)
        return part.nbytes

    def _decode_what_is_whole(self, reader: ChunkReader, piece: Piece, part: Array) -> tuple[int, int, int]:
        origin = self._parts.index.offset(piece.chunk)
        try:
            *counts, entries = reader.read_with(self._losses.element, piece, part, self._threads, self._precision)
        except StzError as error:
            if not self._losses.allow(error):
                raise
            self._losses.chunk(origin, piece, part, error)
            return 0, 0, 0
        self._losses.blocks(origin, entries)
        return counts[0], counts[1], counts[2]
