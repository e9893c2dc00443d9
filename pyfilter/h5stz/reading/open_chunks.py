"""Opens chunks by the cheapest safe route, and caches their readers.

1. Ranges of the file, if h5stz is the only filter and the file cannot change.
2. The whole stored chunk through HDF5.
3. Otherwise h5py reads the chunk.
"""

from __future__ import annotations

from collections.abc import Sequence

import h5py

from h5stz import _core
from h5stz.errors import StzError
from h5stz.options.option_checks import verifies
from h5stz.reading.chunk_index import Chunk, ChunkIndex, FileBytes, Stored
from h5stz.reading.losses import Losses, Unreadable
from h5stz.reading.opened import Instead, Opened, Place
from h5stz.reading.prefetch import Prefetch
from h5stz.reading.readers import ChunkReader, PartOfCache, ReaderCache
from h5stz.reading.through_hdf5 import ThroughHdf5
from h5stz.sources.file_objects import ObjectBytes
from h5stz.unreadable import naming_stream

_CORRUPT = _core.ERROR_CODES["STZ_ERROR_CORRUPT"]


class OpenChunks:
    """The open chunks of one dataset.

    Args:
        file: the source of ranges, or None for route 2.
        kept: the cache of readers.
        verify: as for view().
    """

    def __init__(
        self,
        dataset: h5py.Dataset,
        index: ChunkIndex,
        file: FileBytes | ObjectBytes | None,
        hdf5: ThroughHdf5,
        prefetch: Prefetch,
        kept: ReaderCache | PartOfCache,
        verify: bool | None,
    ) -> None:
        self._dataset, self._index, self._file = dataset, index, file
        self._hdf5, self._prefetch, self._kept, self._verify = hdf5, prefetch, kept, verify

    def places(self, chunks: Sequence[Chunk], losses: Losses) -> Sequence[Place]:
        """The result of ChunkIndex.find() for chunks; NO_PLACE if the index is damaged."""
        try:
            return self._index.find(chunks)
        except Exception as error:
            if not losses.allow(error):
                raise
        return [Instead.NO_PLACE] * len(chunks)

    def open(self, chunks: Sequence[Chunk], places: Sequence[Place], losses: Losses) -> list[Opened]:
        """The reader of each chunk, or its Instead. The beginnings of chunks in a remote file are fetched together."""

        def new() -> list[tuple[Chunk, Stored]]:
            return [
                (chunk, stored)
                for chunk, stored in zip(chunks, places, strict=True)
                if isinstance(stored, Stored) and self._kept.get(chunk) is None and self._index.may_be_stream(chunk, stored)
            ]

        heads = {} if self._index.userblock else self._prefetch.heads(new)
        readers = [self._open(chunk, stored, heads.get(chunk), losses) for chunk, stored in zip(chunks, places, strict=True)]
        verify = self.verifies()
        for reader in readers:
            if isinstance(reader, ChunkReader):
                reader.verify(verify)
        return readers

    def verifies(self) -> bool:
        """True if decoded blocks are compared with content checks."""
        return verifies(self._verify)

    def reader(self, chunk: Chunk, stored: Stored | None, head: memoryview | None = None) -> ChunkReader | Instead:
        """The reader of one chunk, or its Instead. `head`: its first bytes, if already fetched."""
        if stored is None:
            return Instead.NO_CHUNK
        if not self._index.may_be_stream(chunk, stored):
            return Instead.NO_STREAM
        kept = self._kept.get(chunk)
        if kept is not None and not self._index.live:
            return kept
        with naming_stream(self._dataset, self._index.offset(chunk)):
            if stored.size > self._index.largest_stream:  # up to 4 GiB, which nobody should have to allocate
                text = f"has a stated size of {stored.size} bytes, more than any stream of it: the file is damaged"
                raise StzError(text, _CORRUPT)
            fresh = self._by_ranges(stored, head) or self._by_content(chunk, kept)
            if isinstance(fresh, Instead) or fresh is kept or fresh.holds(self._index.chunks, self._dataset.dtype):
                return fresh
            return Instead.NO_STREAM

    def _by_ranges(self, stored: Stored, head: memoryview | None) -> ChunkReader | None:
        """Route 1."""
        if self._file is None:
            return None
        # With a userblock, addresses count from its end in HDF5 before 1.14, from the start of the file later.
        addresses = {stored.address, stored.address + self._index.userblock}
        given = sorted(addresses), stored.size, self._kept.cache_bytes
        if isinstance(self._file, ObjectBytes):
            return ChunkReader.in_object(self._file, *given, head)
        return ChunkReader.in_file(self._file, *given)

    def _by_content(self, chunk: Chunk, kept: ChunkReader | None) -> ChunkReader | Instead:
        """Route 2. Returns `kept` if the chunk has not changed."""
        with self._hdf5.naming(chunk):
            mask, content = self._dataset.id.read_direct_chunk(self._index.offset(chunk))
        if mask:
            return Instead.NO_STREAM
        if kept is not None and kept.stored == content:
            kept.unread = len(content)
            return kept
        return ChunkReader.in_memory(content, self._kept.cache_bytes) or Instead.NO_STREAM

    def _open(self, chunk: Chunk, stored: Place, head: memoryview | None, losses: Losses) -> Opened:
        """As reader(), with Unreadable instead of errors after which the read continues."""
        if stored is Instead.NO_PLACE:
            return self._reader_of_unplaced(chunk)
        assert not isinstance(stored, Instead)
        try:
            return self.reader(chunk, stored, head)
        except Exception as error:
            if not losses.allow(error):
                raise
            return Unreadable(error.__cause__ if isinstance(error.__cause__, StzError) else error)

    def _reader_of_unplaced(self, chunk: Chunk) -> ChunkReader | Instead:
        """The reader of a chunk that HDF5 finds although its index is damaged; otherwise h5py reads the chunk."""
        try:
            mask, content = self._dataset.id.read_direct_chunk(self._index.offset(chunk))
            reader = ChunkReader.in_memory(content, self._kept.cache_bytes)
            if not mask and reader is not None and reader.holds(self._index.chunks, self._dataset.dtype):
                return reader
        except (OSError, RuntimeError, ValueError, SystemError):
            pass
        return Instead.NO_STREAM
