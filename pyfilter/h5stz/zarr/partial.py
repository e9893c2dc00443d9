"""Reads part of one stream from a zarr store: only the byte ranges and blocks that it needs.

Stores are asynchronous, but the reader of a stream calls its source and waits. It must not wait for a store: zarr's stores
have few threads, and readers waiting in all of them would deadlock. The reader therefore works on data that were already
fetched. If it needs more it fails with _Missing; the range is fetched and the step repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from h5stz import _core, elements, stream_info
from h5stz.elements import Array, DType
from h5stz.errors import StzError, StzReadError
from h5stz.options.option_checks import thread_count
from h5stz.options.precision import EVERYTHING, Precision
from h5stz.reading.readers import ChunkReader
from h5stz.reading.selection import Piece
from h5stz.sources.file_objects import ChunkBytes
from h5stz.zarr.codec_options import check_shape, of_dtype

_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
_TRUNCATED = _core.ERROR_CODES["STZ_ERROR_TRUNCATED"]
_HEAD = 8192  # bytes that are fetched first: the header, and what most reads need besides
_CACHE_BYTES = 64 << 20  # what a reader may keep from the plan to the end of its one read

#: (begin, end) -> the bytes of the chunk from begin to end, fewer where it ends before, None if there is none. end None: all.
Fetch = Callable[[int, int | None], Awaitable[Any]]
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Part:
    """The part of a chunk that a zarr selection means.

    Attributes:
        start, count, step: tuples of the box to decode, in samples of the chunk.
        index: index of the wanted samples in the box.
    """

    start: tuple[int, ...]
    count: tuple[int, ...]
    step: tuple[int, ...]
    index: tuple[Any, ...]

    @classmethod
    def of(cls, selection: Any, shape: Sequence[int]) -> Part:
        """The Part of a zarr selection of integers, slices and integer arrays. For an array its bounding box is decoded."""
        items = selection if isinstance(selection, tuple) else (selection,)
        items = (*items, *[slice(None)] * (len(shape) - len(items)))
        axes = [_axis(item, extent) for item, extent in zip(items, shape, strict=True)]
        start, count, step, index = zip(*axes, strict=True) if axes else ((), (), (), ())
        return cls(start, count, step, index)

    def window(self) -> tuple[slice, ...]:
        """Index of the box in the chunk."""
        axes = zip(self.start, self.count, self.step, strict=True)
        return tuple(slice(start, start + count * step, step) for start, count, step in axes)

    def box_is_all(self, shape: Sequence[int]) -> bool:
        """True if the box is the whole chunk."""
        return self.count == tuple(shape)

    def is_all(self, shape: Sequence[int]) -> bool:
        """True if every sample of the chunk is selected."""
        return self.box_is_all(shape) and not any(isinstance(index, np.ndarray) for index in self.index)


def _axis(item: Any, extent: int) -> tuple[int, int, int, Any]:
    """(start, count, step, index in the result) of one axis."""
    if isinstance(item, slice):
        covered = range(*item.indices(extent))
        return covered.start, len(covered), covered.step, slice(None)
    places = np.asarray(item)
    if places.ndim == 0:
        return int(places), 1, 1, 0
    if places.dtype == bool:
        places = np.flatnonzero(places)
    if not places.size:
        return 0, 0, 1, places
    first = int(places.min())
    return first, int(places.max()) + 1 - first, 1, places - first


async def read_part(
    fetch: Fetch,
    part: Part,
    shape: tuple[int, ...],
    dtype: DType,
    threads: int | None,
    precision: Precision = EVERYTHING,
) -> Array | None:
    """The samples of a Part of a chunk; None if the chunk is not stored.

    Args:
        fetch: returns byte ranges of the stored chunk.
        part: the samples to read.
        shape, dtype: of the chunk.
        threads: as for compress().
        precision: which layers to read.

    Raises:
        StzError: (a ValueError) the chunk is damaged, has another shape or dtype, or is not precise enough.
    """
    head = await fetch(0, _HEAD)
    if head is None:
        return None
    reader = None if len(head) < _HEAD or _core.verify_of_environment() else await _ranged(fetch, head)
    if reader is None:
        whole = head if len(head) < _HEAD else await fetch(0, None)
        if whole is None:
            return None
        reader = await asyncio.to_thread(_of_whole, whole)
    held = reader.info["shape"]
    check_shape(held, shape)
    if held == shape:
        return np.asarray(of_dtype(await _box(fetch, reader, part, threads, precision), dtype)[part.index])
    # Axes of length 1 differ: the samples lie in this order.
    everything = await _box(fetch, reader, Part.of((), held), threads, precision)
    return np.asarray(of_dtype(everything, dtype).reshape(shape)[part.window()][part.index])


async def _box(fetch: Fetch, reader: ChunkReader, part: Part, threads: int | None, precision: Precision) -> Array:
    """The samples of the box of a Part, in the dtype of the stream."""
    box = np.empty(part.count, elements.dtype_of(reader.info["dtype"], reader.info["byte_order"]))
    if box.size:
        piece = Piece((), part.start, part.count, part.step, ())
        if reader.fetches:
            await _fetch_ahead(fetch, reader, piece, precision)
        await asyncio.to_thread(reader.read, piece, box, thread_count(threads), precision)
    return box


def _of_whole(stored: Any) -> ChunkReader:
    """The reader of a chunk in memory; verifies it if the environment asks for it."""
    reader = ChunkReader(_core.Reader.of_bytes(stored, _CACHE_BYTES), len(stored), _CACHE_BYTES, stored=stored)
    reader.verify(_core.verify_of_environment())
    return reader


async def _ranged(fetch: Fetch, head: Any) -> ChunkReader | None:
    """A reader that fetches ranges; None if the chunk must be fetched whole because its header is not in its first bytes."""
    try:
        # The bytes of all levels; the content check may follow, which nothing here compares.
        size = stream_info.info(head).level_bytes[0]
    except StzError as error:
        if error.code != _TRUNCATED:
            raise
        return None
    source = ChunkBytes(_Nowhere(), 0, size)
    source.give(0, memoryview(head)[:size])
    stream = await _done(lambda: _core.Reader.of_callback(source, size, _CACHE_BYTES), fetch, source.give)
    return ChunkReader(stream, size, _CACHE_BYTES, part=source)


async def _fetch_ahead(fetch: Fetch, reader: ChunkReader, piece: Piece, precision: Precision) -> None:
    """Fetches everything that reading a piece needs: first the sizes of its blocks, then the blocks, each in one round."""
    await _give(fetch, reader.give, await asyncio.to_thread(reader.directory_ranges, piece))
    await _give(fetch, reader.give, await _done(lambda: reader.ranges(piece, False, precision), fetch, reader.give))


async def _done(step: Callable[[], _Result], fetch: Fetch, give: Callable[[int, memoryview], None]) -> _Result:
    """Runs a step in a thread, because it decodes. Fetches missing ranges and repeats it until it succeeds."""
    while True:
        try:
            return await asyncio.to_thread(step)
        except _Missing as missing:
            wanted = missing.range
        await _give(fetch, give, [wanted])


async def _give(fetch: Fetch, give: Callable[[int, memoryview], None], ranges: Sequence[tuple[int, int]]) -> None:
    contents = await asyncio.gather(*(fetch(offset, offset + size) for offset, size in ranges))
    for (offset, size), content in zip(ranges, contents, strict=True):
        if content is None or len(content) < size:
            got = "nothing" if content is None else f"{len(content)} bytes"
            raise StzReadError(
                f"the store gave {got} where {size} bytes from {offset} on were asked for: the chunk was cut short or replaced",
                _READ,
            )
        give(offset, memoryview(content)[:size])


class _Missing(Exception):
    """The reader needs a range (offset, size) that was not fetched."""

    def __init__(self, offset: int, size: int) -> None:
        super().__init__(offset, size)
        self.range = offset, size


class _Nowhere:
    """The source for ranges that were not fetched: it always raises _Missing."""

    def read(self, address: int, size: int) -> memoryview:
        raise _Missing(address, size)
