"""The parts of a dataset that were ever written. Reading all of a sparse dataset could take forever."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import h5py

from h5stz.hdf5.objects import array_bytes
from h5stz.slabs import Box, each_box


def written_boxes(extents: Sequence[int], *datasets: h5py.Dataset) -> Iterator[Box]:
    """Boxes of at most `extents`, from a grid over the first dataset, that contain everything written to any of the datasets.

    The datasets have the same shape. Samples outside the boxes have the fill value. A dataset without chunks counts as
    written.
    """
    shape = datasets[0].shape
    if not any(dataset.id.get_storage_size() for dataset in datasets) and not any(map(_is_elsewhere, datasets)):
        return
    if not all(dataset.chunks and dataset.shape for dataset in datasets):
        yield from each_box(shape, extents)
        return
    cells: set[tuple[int, ...]] = set()
    for dataset in datasets:
        for offset in _offsets(dataset):
            touched = (
                range(first // extent, (min(first + chunk, size) - 1) // extent + 1)
                for first, chunk, size, extent in zip(offset, dataset.chunks or (), shape, extents, strict=True)
            )
            cells.update(product(*touched))
    for cell in sorted(cells):
        lows = [index * extent for index, extent in zip(cell, extents, strict=True)]
        yield tuple(slice(low, min(low + extent, size)) for low, extent, size in zip(lows, extents, shape, strict=True))


def written_bytes(dataset: h5py.Dataset) -> int:
    """The part of array_bytes() in stored chunks. Without chunks: all, if anything is stored."""
    if not dataset.id.get_storage_size() and not _is_elsewhere(dataset):
        return 0
    shape, chunks = dataset.shape, dataset.chunks
    if not shape or not chunks:
        return array_bytes(dataset)
    if dataset.id.get_num_chunks() >= prod(-(-size // chunk) for size, chunk in zip(shape, chunks, strict=True)):
        return array_bytes(dataset)
    samples = (
        prod(min(chunk, size - first) for first, chunk, size in zip(offset, chunks, shape, strict=True))
        for offset in _offsets(dataset)
    )
    return int(sum(samples)) * int(dataset.id.get_type().get_size())


def _is_elsewhere(dataset: h5py.Dataset) -> bool:
    """True if the samples are in other datasets or files, so that the storage size tells nothing."""
    return bool(dataset.is_virtual or dataset.id.get_create_plist().get_external_count())


def _offsets(dataset: h5py.Dataset) -> list[tuple[int, ...]]:
    """Indices of the first elements of all stored chunks that are at least partly inside the dataset."""
    found: list[Any] = []
    if hasattr(dataset.id, "chunk_iter"):
        dataset.id.chunk_iter(found.append)
    else:
        found = [dataset.id.get_chunk_info(index) for index in range(dataset.id.get_num_chunks())]
    offsets = [tuple(each.chunk_offset) for each in found]
    return [offset for offset in offsets if all(first < size for first, size in zip(offset, dataset.shape, strict=True))]
