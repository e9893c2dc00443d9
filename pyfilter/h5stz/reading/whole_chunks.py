"""Whole chunks decoded straight into their places in the result, without a reader and without a cache.

The readers of chunks and HDF5 do what cannot be done that way, or fails. They also name errors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import h5py
import numpy as np

from h5stz import _core
from h5stz.elements import Array
from h5stz.errors import StzError
from h5stz.hdf5.chunk_codec import ChunkCodec
from h5stz.options.precision import EVERYTHING, Precision
from h5stz.options.stz import client_data
from h5stz.reading.chunk_index import Chunk, ChunkIndex, FileBytes, Stored
from h5stz.reading.opened import Place
from h5stz.reading.selection import Piece
from h5stz.reading.stats import Stats
from h5stz.reading.through_hdf5 import ThroughHdf5
from h5stz.reading.workers import Job
from h5stz.sources.file_objects import ObjectBytes
from h5stz.waiting import cached_property


class WholeChunks:
    """Decodes whole chunks of one dataset.

    Args:
        file: the source of ranges, or None: HDF5 returns the stored chunks.
        stats: the statistics; None if nobody asks for them.
        remember: whether the plug-in remembers the chunks, as it does if HDF5 reads them.
    """

    def __init__(
        self,
        dataset: h5py.Dataset,
        index: ChunkIndex,
        file: FileBytes | ObjectBytes | None,
        hdf5: ThroughHdf5,
        stats: Stats | None,
        remember: bool,
    ) -> None:
        self._dataset, self._index, self._hdf5, self._stats, self._remember = dataset, index, hdf5, stats, remember
        self._file = file if isinstance(file, FileBytes) else None
        self._of_thread = threading.local()
        self._possible = not isinstance(file, ObjectBytes) and not index.userblock

    @cached_property
    def _codec(self) -> ChunkCodec:
        words = client_data(self._dataset)
        assert words is not None
        return ChunkCodec(words, self._dataset.dtype, self._index.chunks, None)

    def take(
        self,
        batch: Sequence[Piece],
        places: Sequence[Place],
        target: Array,
        precision: Precision,
        verify: bool,
        run: Callable[[Job], None],
        failed: list[Piece],
    ) -> tuple[list[Piece], list[Place]]:
        """Passes a job to `run` for each piece that is a whole chunk. Returns the other pieces, with their places.

        `failed`: gets the pieces whose chunks cannot be decoded. It is complete when `run` has done everything.
        """
        if not self._possible or precision != EVERYTHING:
            return list(batch), list(places)
        codec = self._codec  # h5py is asked here, in the calling thread
        others: list[Piece] = []
        places_of_others: list[Place] = []
        chunks, largest = self._index.chunks, self._index.largest_stream
        for piece, stored in zip(batch, places, strict=True):
            if (
                isinstance(stored, Stored)
                and (piece.count == chunks or self._is_rest(piece))
                and stored.size <= largest
                and self._index.may_be_stream(piece.chunk, stored)
            ):
                content = None if self._file is not None else self._content(piece.chunk)
                counted = None if self._stats is None else self._hdf5.counted_as(piece.chunk)
                run(_Decoding(self, codec, piece, stored, content, target[piece.place], verify, counted, failed))
            else:
                others.append(piece)
                places_of_others.append(stored)
        return others, places_of_others

    def _is_rest(self, piece: Piece) -> bool:
        """True if a piece is all of a chunk that reaches beyond the dataset."""
        shape, extents = self._dataset.shape, self._index.chunks
        return all(
            count == size - at * extent and (step == 1 or count == 1)
            for count, step, at, extent, size in zip(piece.count, piece.step, piece.chunk, extents, shape, strict=True)
            if count != extent
        )

    def _content(self, chunk: Chunk) -> bytes:
        with self._hdf5.naming(chunk):
            _, content = self._dataset.id.read_direct_chunk(self._index.offset(chunk))
        return bytes(content)

    def decode(self, job: _Decoding) -> None:
        """Does a job, in any thread."""
        part, codec = job.part, job.codec
        content = self._read(job.stored) if job.content is None else job.content
        if part.shape == codec.chunks and part.flags.c_contiguous:
            codec.decode(content, part, verify=job.verify, remember=self._remember)
        else:
            whole = codec.buffer()
            codec.decode(content, whole, verify=job.verify, remember=self._remember)
            part[...] = whole if part.shape == whole.shape else whole[tuple(map(slice, part.shape))]
        if self._stats is not None and job.counted is not None:
            blocks = _core.Reader.of_bytes(content, 0).stats()["blocks_present"]
            self._stats.decoded(*job.counted, job.stored.size, blocks, job.stored.size, blocks)

    def _read(self, stored: Stored) -> Array:
        """A stream from the file, in memory of this thread. The next stream of the thread overwrites it."""
        assert self._file is not None
        buffer = getattr(self._of_thread, "stream", None)
        if buffer is None or buffer.size < stored.size:
            buffer = self._of_thread.stream = np.empty(stored.size * 5 // 4, np.uint8)
        stream: Array = buffer[: stored.size]
        self._file.read_into(stored.address, stream)
        return stream


@dataclass(slots=True)
class _Decoding:
    """A job: decodes one chunk into `part`.

    Attributes:
        content: the stream, or None: it is read from the file.
        counted: the identity of the chunk in the statistics; None if nobody asks for them.
        failed: gets the piece if the chunk cannot be decoded.
    """

    whole_chunks: WholeChunks
    codec: ChunkCodec
    piece: Piece
    stored: Stored
    content: bytes | None
    part: Array
    verify: bool
    counted: tuple[Hashable, int] | None
    failed: list[Piece]

    def __call__(self) -> int:
        try:
            self.whole_chunks.decode(self)
        except StzError:
            self.failed.append(self.piece)
            return 0
        return self.part.nbytes
