"""Content checks of the chunks in HDF5 files: every chunk is decoded and compared with what its writer saw."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import h5py

from h5stz import _core
from h5stz.chunk_index import ChunkIndex, Stored
from h5stz.errors import StzError
from h5stz.options import client_data
from h5stz.readers import ChunkReader

_MAGIC = _core.ERROR_CODES["STZ_ERROR_MAGIC"]
_LOOKED_AT = 16  # chunks of a dataset, to say whether they have content checks


@dataclass
class _Counts:
    """What was found in a dataset."""

    checked: int = 0
    unchecked: int = 0
    damaged: int = 0


def lines(name: str, threads: int) -> Iterator[tuple[str, bool]]:
    """Checks a file; yields lines of text, each with whether what it tells of is sound. OSError if it cannot be read."""
    if not os.path.isfile(name):
        raise FileNotFoundError("no such file")
    with h5py.File(name) as file:
        datasets: list[h5py.Dataset] = []
        file.visititems(lambda _, item: datasets.append(item) if isinstance(item, h5py.Dataset) else None)
        compressed = [item for item in datasets if client_data(item) is not None]
        for dataset in compressed:
            yield from _lines_of(dataset, f"{name}: {dataset.name}", threads)
        if not compressed:
            yield f"{name}: {len(datasets)} datasets, none compressed with h5stz", True


def described(dataset: h5py.Dataset) -> str:
    """How many of the first chunks of a dataset have a content check (text)."""
    looked, found = 0, 0
    for _, _, content in islice(_streams(dataset), _LOOKED_AT):
        looked += 1
        try:
            found += content is not None and _core.info(content)["content_check"] is True
        except StzError:  # damaged
            continue
    of = "chunks" if looked == dataset.id.get_num_chunks() else "first chunks"
    return f"in {found} of {looked} {of}"


def _lines_of(dataset: h5py.Dataset, name: str, threads: int) -> Iterator[tuple[str, bool]]:
    counts, damaged = _Counts(), []
    for offset, stored, content in _streams(dataset):
        try:
            if content is not None and _check(dataset, content, threads):
                counts.checked += 1
            else:
                counts.unchecked += 1
        except StzError as error:
            counts.damaged += 1
            damaged.append(f"  damaged: the chunk at {offset}, {stored.size} bytes from byte {stored.address} on: {error}")
    total = f"{counts.checked} chunks checked, {counts.unchecked} without a content check, {counts.damaged} damaged"
    yield f"{name}: {total}", not damaged
    for line in damaged:
        yield line, False


def _check(dataset: h5py.Dataset, content: bytes, threads: int) -> bool:
    """Whether a stream has a content check, after comparing. StzError if it is damaged or of another array."""
    reader = ChunkReader.in_memory(content, 0)
    if reader is None:
        raise StzError("it is no h5stz stream", _MAGIC)
    reader.holds(dataset.chunks or (), dataset.dtype)  # which bounds the memory that decoding takes
    return _core.verify(content, threads) > 0


def _streams(dataset: h5py.Dataset) -> Iterator[tuple[tuple[int, ...], Stored, bytes | None]]:
    """(offset, place, bytes) of all chunks; None for those that are stored without the filter, or with others behind it."""
    index, filters = ChunkIndex(dataset), dataset.id.get_create_plist()
    is_last = filters.get_filter(filters.get_nfilters() - 1)[0] == _core.FILTER_ID
    for offset, stored in _stored_chunks(dataset):
        chunk = tuple(at // extent for at, extent in zip(offset, index.chunks, strict=True))
        content = None
        if is_last and index.may_be_stream(chunk, stored):
            content = dataset.id.read_direct_chunk(offset)[1]
        yield offset, stored, content


def _stored_chunks(dataset: h5py.Dataset) -> Iterator[tuple[tuple[int, ...], Stored]]:
    """(offset, place) of all chunks that are stored."""
    found: list[tuple[tuple[int, ...], Stored]] = []

    def note(info: Any) -> None:
        if info.byte_offset is not None:
            found.append((tuple(info.chunk_offset), Stored(info.byte_offset, info.size, info.filter_mask)))

    count = dataset.id.get_num_chunks()
    if count and hasattr(dataset.id, "chunk_iter"):
        dataset.id.chunk_iter(note)
    else:
        for number in range(count):
            note(dataset.id.get_chunk_info(number))
    yield from found
