"""The readable chunks of a dataset, even if part of their index is damaged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, TypeAlias

import h5py

from h5stz.errors import HDF5_ERRORS
from h5stz.reading.chunk_index import Chunk, ChunkIndex, Stored

_MOST = 1 << 20  # chunks that are looked up one by one

#: Where a chunk begins in the dataset, and its place (address 0 if that is not known); or why HDF5 cannot reach it.
Found: TypeAlias = tuple[tuple[int, ...], Stored | BaseException]


def stored_chunks(dataset: h5py.Dataset) -> Iterator[Found]:
    """All stored chunks of a dataset. For a chunk whose state HDF5 cannot tell, HDF5's error.

    Raises:
        An error of h5py, if the index is damaged and has too many chunks to look up each of them.
    """
    found: list[tuple[tuple[int, ...], Stored]] = []

    def note(info: Any) -> None:
        if info.byte_offset is not None:
            found.append((tuple(info.chunk_offset), Stored(info.byte_offset, info.size, info.filter_mask)))

    try:
        count = dataset.id.get_num_chunks()
        if count and hasattr(dataset.id, "chunk_iter"):
            dataset.id.chunk_iter(note)
        else:
            for number in range(count):
                note(dataset.id.get_chunk_info(number))
    except HDF5_ERRORS:
        grid = [-(-extent // chunk) for extent, chunk in zip(dataset.shape, dataset.chunks or (), strict=True)]
        if prod(grid) > _MOST:
            raise
        yield from _one_by_one(ChunkIndex(dataset), grid)
        return
    yield from found


def _one_by_one(index: ChunkIndex, grid: Sequence[int]) -> Iterator[Found]:
    for chunk in product(*map(range, grid)):
        place: Chunk = tuple(chunk)
        offset = index.offset(place)
        try:
            mask, content = index.dataset.id.read_direct_chunk(offset)  # which looks for this one alone
            yield offset, Stored(0, len(content), mask)
        except HDF5_ERRORS as error:
            if not _reads_as_fill_value(index, offset):
                yield offset, error


def _reads_as_fill_value(index: ChunkIndex, offset: tuple[int, ...]) -> bool:
    """True if HDF5 knows that a chunk, which it cannot return, was never stored."""
    try:
        index.dataset[tuple(slice(at, at + 1) for at in offset)]
    except HDF5_ERRORS:
        return False
    return True
