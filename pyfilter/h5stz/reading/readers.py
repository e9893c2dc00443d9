"""Readers of the chunks of a dataset: how they are opened and cached."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np

from h5stz import _core, elements
from h5stz.elements import Array, DType
from h5stz.errors import StzError
from h5stz.options.precision import EVERYTHING, Precision
from h5stz.sources.file_objects import ChunkBytes, ObjectBytes

if TYPE_CHECKING:
    from h5stz.reading.chunk_index import FileBytes
    from h5stz.reading.selection import Piece

_CORRUPT = _core.ERROR_CODES["STZ_ERROR_CORRUPT"]
_MAGIC = _core.ERROR_CODES["STZ_ERROR_MAGIC"]
_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
_MOST = 1 << 62
_DIRECTORY = 4096  # bytes at the beginning of a level, or 1/512 of the level, among which its directory nearly always is
_OVERHEAD = 4096  # about what an open reader takes besides what it says


class ChunkReader:
    """A reader of one chunk, for one thread at a time.

    Attributes:
        stored: the whole chunk (bytes) if it was read whole, otherwise None.
        size: size of the stream in bytes.
        kept_bytes: memory that it keeps, including the minimum of an open reader.
        unread: number of bytes that were fetched for it but not counted yet.
        fetches: True if it reads ranges of an ObjectBytes, which may be fetched ahead.
        info: the header, as _core.info().
        levels: number of resolution levels.
    """

    def __init__(
        self,
        reader: _core.Reader,
        size: int,
        cache_bytes: int,
        stored: bytes | None = None,
        file: tuple[FileBytes, int] | None = None,
        part: ChunkBytes | None = None,
    ) -> None:
        self._reader = reader
        self._file = file  # and the address in it; it must live as long as its descriptor is used
        self._part = part
        self.fetches = part is not None
        self._cache_bytes = cache_bytes
        self._lock = threading.Lock()
        self.stored, self.size = stored, size
        self.unread = 0 if stored is None else size
        self._fixed_bytes = _OVERHEAD + (0 if stored is None else size)
        self.kept_bytes = self._fixed_bytes
        self._counted = 0  # bytes read, of the reader; those of opening it count with the first read
        self._verifies = False
        self.info = reader.info()
        self.levels = self._levels_to_look_up = self.info["levels"]

    @classmethod
    def in_file(cls, source: FileBytes, addresses: Sequence[int], size: int, cache_bytes: int) -> ChunkReader | None:
        """A ChunkReader of `size` bytes of a FileBytes, at the one of these addresses that has a stream.

        None unless exactly one address has a stream.
        """
        opened, cache_bytes = [], max(0, cache_bytes - _OVERHEAD)
        for address in addresses:
            try:
                opened.append((_core.Reader.of_file(source.fd, address, size, cache_bytes), address))
            except StzError:  # whatever it is: who reads the whole chunk next gets the reason from HDF5
                continue
        if len(opened) != 1:
            return None
        (reader, address), *_ = opened
        return cls(reader, size, cache_bytes, file=(source, address))

    @classmethod
    def in_object(
        cls, source: ObjectBytes, addresses: Sequence[int], size: int, cache_bytes: int, head: memoryview | None = None
    ) -> ChunkReader | None:
        """As in_file(), in an ObjectBytes. `head`: the first bytes at the address, if already fetched.

        Raises the StzError of an object that does not return its bytes.
        """
        opened, cache_bytes = [], max(0, cache_bytes - _OVERHEAD)
        for address in addresses:
            if len(addresses) > 1 and not source.may_have(address, size):
                continue
            part = ChunkBytes(source, address, size)
            if head is not None:
                part.give(0, head)
            try:
                opened.append((_core.Reader.of_callback(part, size, cache_bytes), part))
            except StzError as error:
                if error.code == _READ:
                    raise
        if len(opened) != 1:
            return None
        (reader, part), *_ = opened
        chunk_reader = cls(reader, size, cache_bytes, part=part)
        chunk_reader.kept_bytes += part.held
        return chunk_reader

    @classmethod
    def in_memory(cls, stored: bytes, cache_bytes: int) -> ChunkReader | None:
        """A ChunkReader of a whole chunk (bytes); None if it is not a stream."""
        cache_bytes = max(0, cache_bytes - _OVERHEAD - len(stored))
        try:
            reader = _core.Reader.of_bytes(stored, cache_bytes)
        except StzError as error:
            if error.code == _MAGIC:
                return None
            raise
        return cls(reader, len(stored), cache_bytes, stored)

    def verify(self, on: bool) -> None:
        """Sets whether whole blocks of the finest level are compared with the content check when they are decoded."""
        if on == self._verifies:
            return
        with self._lock:
            self._reader.verify(on)
            self._verifies = on

    def holds(self, shape: tuple[int, ...], dtype: DType) -> bool:
        """True if the stream has the `shape` of a chunk and the dataset's dtype; StzError otherwise.

        False if only axes of length 1 differ: the samples are in the same order, and HDF5 decodes such a chunk.
        """
        info = self.info
        held = elements.dtype_of(info["dtype"], info["byte_order"])
        if elements.is_long_double(dtype):  # stored as pairs of integers
            shape, dtype = (*shape, 2), np.dtype(f"{dtype.str[0]}u8")
        # Integers with and without sign share their bits: so HDF5 reads them, and so bool is stored.
        kinds = {dtype.kind.replace("b", "u").replace("i", "u"), held.kind.replace("i", "u")}
        same = len(kinds) == 1 and held.itemsize == dtype.itemsize and held.isnative == dtype.isnative
        long = [[extent for extent in extents if extent != 1] for extents in (info["shape"], shape)]
        if long[0] != long[1] or not same:
            raise StzError(
                f"holds an array of shape {info['shape']} and dtype {held.str}, not {tuple(shape)} and {dtype.str} as the "
                "dataset says: the file is damaged or was replaced",
                _CORRUPT,
            )
        return bool(info["shape"] == tuple(shape))

    def takes_all(self, precision: Precision) -> bool:
        """True if a read of this precision uses all layers of the stream, and more than its preview."""
        if self.info["enhanced"] and not precision.enhance:
            return False
        return precision.is_full or (len(self.info["layers"]) == 1 and not precision.takes_preview(self.info))

    def read(self, piece: Piece, target: Array, threads: int, precision: Precision = EVERYTHING) -> tuple[int, int, int]:
        """Decodes a selection.Piece into `target`, an array of its count, with any strides.

        Returns:
            (bytes read, blocks decoded, blocks present)
        """
        return self.read_with(None, piece, target, threads, precision)[:3]

    def read_with(
        self, element: bytes | None, piece: Piece, target: Array, threads: int, precision: Precision
    ) -> tuple[int, int, int, list[Any]]:
        """As read(), but sets lost samples to `element` and also returns the damage, as _core.Reader.damage()."""
        max_error = precision.error_for(self.info)
        direct = target.flags.c_contiguous
        decoded = target if direct else np.empty(target.shape, target.dtype)
        with self._lock:
            self._reader.limit(self._cache_bytes)
            self._reader.max_error(max_error)
            self._reader.enhance(precision.enhance)
            self._reader.on_error(element)
            before = self._reader.stats()
            try:
                self._reader.read(piece.start, piece.count, piece.step, elements.as_bytes(decoded), threads)
            finally:
                if self._part is not None:
                    self._part.forget()
            found: list[Any] = self._reader.damage() if element is not None else []
            after = self._reader.stats()
            if self._part is not None:
                fetched = self._part.newly_fetched()
            else:
                fetched = self.unread if self.stored is not None else after["bytes_read"] - self._counted
            self.unread, self._counted = 0, after["bytes_read"]
            self.kept_bytes = self._fixed_bytes + after["cached_bytes"]
        precision.check(self.info, decoded)
        if not direct:
            target[...] = decoded
        return fetched, after["blocks_decoded"] - before["blocks_decoded"], after["blocks_present"], found

    def damage(self, threads: int, element: bytes | None = None, out: Array | None = None, *, verify: bool = True) -> list[Any]:
        """The damage of the whole chunk, as _core.Reader.damage(). `verify`: also compare blocks with the content check.

        `out`, an array of the chunk's shape and dtype, is filled with the decoded samples, and with `element` for lost ones.
        """
        dtype = elements.dtype_of(self.info["dtype"], self.info["byte_order"])
        decoded = np.empty(self.info["shape"], dtype) if out is None else out
        with self._lock:
            self._reader.verify(verify)
            self._reader.on_error(bytes(decoded.itemsize) if element is None else element)
            self._reader.read((0,) * decoded.ndim, decoded.shape, (1,) * decoded.ndim, elements.as_bytes(decoded), threads)
            self._reader.verify(self._verifies)
            return list(self._reader.damage())

    def read_whole(self, target: Array, threads: int) -> tuple[int, int, int]:
        """Decodes the whole chunk into `target` and caches nothing, which is faster. Returns the same as read()."""
        direct = target.flags.c_contiguous
        decoded = target if direct else np.empty(target.shape, target.dtype)
        stored = self._stored()
        _core.decompress(stored, elements.as_bytes(decoded), threads, self._verifies)
        if not direct:
            target[...] = decoded
        with self._lock:
            fetched, self.unread = self.size if self.stored is None else self.unread, 0
            if self._part is not None:
                fetched = self._part.newly_fetched()
            blocks = self._reader.stats()["blocks_present"]
        return fetched, blocks, blocks

    def _stored(self) -> bytes | memoryview:
        """The bytes of the whole chunk."""
        if self.stored is not None:
            return self.stored
        if self._file is not None:
            source, address = self._file
            return source.read(address, self.size)
        assert self._part is not None
        with self._lock:
            try:
                return self._part(0, self.size)
            finally:
                self._part.forget()

    def directory_ranges(self, piece: Piece) -> list[tuple[int, int]]:
        """The ranges (address, size) in the file that a read of a piece needs first, without those that were already read.

        They are guessed from the levels of the piece. Only for a reader that `fetches`, as ranges() and give().
        """
        with self._lock:
            distances = [*piece.start, *(step for step, count in zip(piece.step, piece.count, strict=True) if count > 1)]
            common = gcd(*distances)
            finest = (common & -common).bit_length() - 1 if common else self.levels
            ends = self.info["level_bytes"]
            levels = reversed(range(finest, self._levels_to_look_up - 1))  # coarse ones come first
            sections = [(ends[level + 1], ends[level] - ends[level + 1]) for level in levels]
            self._levels_to_look_up = min(self._levels_to_look_up, finest + 1)
            return self._missing([(begin, min(size, max(_DIRECTORY, size >> 9))) for begin, size in sections])

    def ranges(self, piece: Piece, whole: bool, precision: Precision = EVERYTHING) -> list[tuple[int, int]]:
        """The ranges (address, size) in the file that a read of a piece needs and that are missing. `whole`: all of it."""
        with self._lock:
            if whole:
                return self._missing([(0, self.size)])
            self._reader.limit(self._cache_bytes)
            self._reader.max_error(precision.error_for(self.info))
            self._reader.enhance(precision.enhance)
            return self._missing(self._reader.plan(piece.start, piece.count, piece.step))

    def give(self, address: int, content: memoryview) -> None:
        """Takes the fetched content (a memoryview) of such a range, for the next read."""
        assert self._part is not None
        with self._lock:
            self._part.give(address - self._part.address, content)

    def _missing(self, ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
        part = self._part
        assert part is not None
        return [(part.address + offset, size) for offset, size in part.missing(ranges)]

    def shrink(self, most: int) -> None:
        """Reduces the cached bytes to the given number until the next read, if possible. kept_bytes has the result."""
        if most <= self._fixed_bytes or not self._lock.acquire(blocking=False):
            return
        try:
            self._reader.limit(most - self._fixed_bytes)
            self.kept_bytes = self._fixed_bytes + self._reader.stats()["cached_bytes"]
        finally:
            self._lock.release()


class ReaderCache:
    """A cache of the ChunkReaders used last, with at most `cache_bytes` bytes in memory."""

    def __init__(self, cache_bytes: int) -> None:
        self.cache_bytes = min(cache_bytes, _MOST)
        self.kept_bytes = 0
        self._lock = threading.Lock()
        self._held: OrderedDict[Hashable, tuple[ChunkReader, int]] = (
            OrderedDict()
        )  # with its bytes; the one used last at the end

    def get(self, chunk: Hashable) -> ChunkReader | None:
        """The ChunkReader of a chunk, or None."""
        with self._lock:
            return self._held[chunk][0] if chunk in self._held else None

    def keep(self, chunk: Hashable, reader: ChunkReader) -> None:
        """Adds a ChunkReader that was just used. To make room, those used longest ago are shrunk or removed."""
        with self._lock:
            self._drop(chunk)
            self._add(chunk, reader)
            while self.kept_bytes > self.cache_bytes:
                oldest, (reader, size) = next(iter(self._held.items()))
                allowed = size - (self.kept_bytes - self.cache_bytes)
                reader.shrink(allowed)
                self._drop(oldest)
                if reader.kept_bytes <= allowed:
                    self._add(oldest, reader)
                    self._held.move_to_end(oldest, last=False)

    def _add(self, chunk: Hashable, reader: ChunkReader) -> None:
        self._held[chunk] = reader, reader.kept_bytes
        self.kept_bytes += reader.kept_bytes

    def _drop(self, chunk: Hashable) -> None:
        if chunk in self._held:
            self.kept_bytes -= self._held.pop(chunk)[1]


class PartOfCache:
    """The chunks of one dataset in a ReaderCache that several datasets share.

    Attributes:
        cache_bytes: size of the shared cache.
    """

    def __init__(self, cache: ReaderCache | PartOfCache) -> None:
        self._cache = cache
        self.cache_bytes: int = cache.cache_bytes
        self._owner = object()

    def get(self, chunk: Hashable) -> ChunkReader | None:
        """See ReaderCache."""
        return self._cache.get((self._owner, chunk))

    def keep(self, chunk: Hashable, reader: ChunkReader) -> None:
        """See ReaderCache."""
        self._cache.keep((self._owner, chunk), reader)
