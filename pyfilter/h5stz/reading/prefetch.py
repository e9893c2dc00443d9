"""Fetches the ranges of several chunks of a remote file together, before they are decoded, to save round trips."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from h5stz.errors import StzError
from h5stz.options.precision import Precision
from h5stz.reading.chunk_index import Chunk, FileBytes, Stored
from h5stz.reading.losses import Losses
from h5stz.reading.opened import Opened, Place
from h5stz.reading.readers import ChunkReader
from h5stz.reading.selection import Piece
from h5stz.sources.file_objects import ObjectBytes

_HEAD = 8192  # bytes of a chunk that are fetched first: what all reads of it need, by far most often
_TOGETHER = 64  # chunks that are fetched together, of at most so many bytes unless it is one
_TOGETHER_BYTES = 64 << 20


class Prefetch:
    """Fetches ranges of one dataset. In a local file, groups are single chunks and nothing is fetched.

    Args:
        file: the source of the bytes, or None.
        name: name of the dataset in messages.
        naming: context in which errors name a chunk.
    """

    def __init__(
        self,
        file: FileBytes | ObjectBytes | None,
        name: str,
        naming: Callable[[Chunk], AbstractContextManager[None]],
    ) -> None:
        self._file = file if isinstance(file, ObjectBytes) and file.parallel else None
        self._name, self._naming = name, naming

    def groups(self, batch: Sequence[Piece], places: Sequence[Place]) -> Iterator[list[tuple[Piece, Place]]]:
        """Groups of (selection.Piece, Stored) whose ranges are fetched together; single ones where this has no advantage."""
        group: list[tuple[Piece, Place]] = []
        size = 0
        for piece, stored in zip(batch, places, strict=True):
            needed = stored.size if isinstance(stored, Stored) else 0
            if group and (self._file is None or size + needed > _TOGETHER_BYTES or len(group) == _TOGETHER):
                yield group
                group, size = [], 0
            group.append((piece, stored))
            size += needed
        yield group

    def heads(self, chunks: Callable[[], list[tuple[Chunk, Stored]]]) -> dict[Chunk, memoryview]:
        """The first bytes of chunks. Empty for a local file, for which `chunks` is not evaluated."""
        if self._file is None:
            return {}
        new = chunks()
        ranges = [(stored.address, min(_HEAD, stored.size)) for _, stored in new]
        return dict(zip([chunk for chunk, _ in new], self._fetched(ranges), strict=True))

    def blocks(
        self,
        pieces: Sequence[Piece],
        readers: Sequence[Opened],
        is_whole: Callable[[Piece, ChunkReader], bool],
        precision: Precision,
        losses: Losses,
    ) -> None:
        """Fetches the ranges that pieces need: first the tables that locate the blocks, then the blocks."""
        if self._file is None:
            return
        wanted = [
            (piece, reader)
            for piece, reader in zip(pieces, readers, strict=True)
            if isinstance(reader, ChunkReader) and reader.fetches
        ]
        for step in ("directories", "blocks"):
            taken: list[tuple[ChunkReader, int, int]] = []
            for piece, reader in wanted:
                whole = is_whole(piece, reader)
                try:
                    with self._naming(piece.chunk):
                        if step == "blocks" or whole:
                            ranges = reader.ranges(piece, whole, precision)
                        else:
                            ranges = reader.directory_ranges(piece)
                except StzError as error:  # what cannot be planned is fetched when it is decoded
                    if not losses.allow(error):
                        raise
                    continue
                taken.extend((reader, address, size) for address, size in ranges)
            contents = self._fetched([(address, size) for _, address, size in taken])
            for (reader, address, _), content in zip(taken, contents, strict=True):
                reader.give(address, content)

    def _fetched(self, ranges: list[tuple[int, int]]) -> list[memoryview]:
        """The bytes of ranges (address, size)."""
        assert self._file is not None
        try:
            return self._file.read_all(ranges)
        except StzError as error:
            raise error.within(self._name) from error
