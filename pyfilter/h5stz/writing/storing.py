"""Fills a new dataset with data. Threads compress chunks, and the calling thread stores them past HDF5's filter pipeline.

Only the calling thread calls HDF5. So a caller may hold h5py's lock, and the order of the chunks in the file is always the
same.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import h5py
import numpy as np

from h5stz import elements
from h5stz.elements import Array, DType
from h5stz.files.chunk_compressors import codec_of
from h5stz.slabs import each_box
from h5stz.thread_team import in_order
from h5stz.writing.samples import Samples

#: Returns samples with the masked ones replaced.
Plain = Callable[[Array], Array]


def store(dataset: h5py.Dataset, samples: Samples, plain: Plain | None, threads: int, add: Callable[[int], None]) -> None:
    """Writes all samples of a dataset that was just created.

    Args:
        dataset: the dataset, of the shape of the samples.
        samples: the data.
        plain: applied to each piece of the data, or None.
        threads: 1 or more. One thread compresses each chunk. Several threads share a chunk if there are fewer chunks than
            threads.
        add: called with the bytes of each chunk that was stored.
    """
    if not dataset.size:
        return
    codec, chunks = codec_of(dataset), dataset.chunks
    if codec is None or chunks is None or not _converts_alike(samples.dtype, dataset.dtype):
        _store_through_hdf5(dataset, samples, plain, add)
        return
    count = prod(-(-size // extent) for size, extent in zip(dataset.shape, chunks, strict=True))
    inside, width, identifier = max(1, threads // count), dataset.dtype.itemsize, dataset.id

    def compressed(job: list[tuple[tuple[int, ...], Array]]) -> list[tuple[tuple[int, ...], Array, int]]:
        parts = [(at, part if plain is None else plain(part)) for at, part in job]
        return [(at, codec.encode(part, inside), part.size * width) for at, part in parts]

    with in_order(compressed, samples.jobs(codec.chunks), min(threads, count)) as results:
        for streams in results:
            for at, stream, size in streams:
                identifier.write_direct_chunk(at, stream)
                add(size)


def _converts_alike(given: DType, stored: DType) -> bool:
    """True if NumPy converts samples as HDF5 does. HDF5 limits integers to the range of the type."""
    if elements.is_short_float(stored):
        return elements.is_floating(given)
    if given.kind in "fiu" and stored.kind in "fiu" and not elements.is_short_float(given):
        return given.kind == stored.kind == "f" or np.can_cast(given, stored)
    return bool(given.newbyteorder("=") == stored.newbyteorder("="))


def _store_through_hdf5(dataset: h5py.Dataset, samples: Samples, plain: Plain | None, add: Callable[[int], None]) -> None:
    unit = dataset.chunks or dataset.shape
    for origin, slab in samples.slabs(unit):
        for box in each_box(slab.shape, _pieces(slab, unit)):
            part: Any = slab[box] if plain is None else plain(slab[box])
            dataset[tuple(slice(at + cut.start, at + cut.stop) for at, cut in zip(origin, box, strict=True))] = part
            add(part.size * dataset.dtype.itemsize)


def _pieces(slab: Array, unit: tuple[int, ...]) -> list[int]:
    """Extents of the pieces of a slab: rows of chunks along the first axis. Progress is told after each piece."""
    return [unit[0], *slab.shape[1:]]


def plain_of(samples: Samples, fill: int | None, given: object) -> Plain | None:
    """The function that replaces masked samples; None if nothing is masked. `fill`: bits of the fill value, as in Settings."""
    if not samples.is_masked:
        return None

    def plain(part: Array) -> Array:
        # NaN or infinite, of which the bits say nothing
        if fill is None and isinstance(given, (float, np.floating)) and not elements.is_short_float(part.dtype):
            part = np.ma.array(part, copy=False, fill_value=given)
        return elements.stored(part, fill).view(part.dtype)

    return plain
