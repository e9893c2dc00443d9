"""Compresses the chunks of a dataset: what is done for each of them, and who does it.

A Compressor decides where the work is done, in_threads() in this process. All of them make the same streams.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import h5py
import numpy as np

from h5stz import elements
from h5stz.elements import Array
from h5stz.settings import Settings
from h5stz.slabs import Box
from h5stz.validity import probable_fill

_AHEAD = 2  # chunks for each worker that are read before they are asked for

Offset: TypeAlias = tuple[int, ...]  # the first element of a chunk


@dataclass(frozen=True)
class ChunkWork:
    """What chunks are made of.

    Attributes:
        dataset: of the source.
        settings: of the codec.
        extents: shape of the new chunks.
    """

    dataset: h5py.Dataset
    settings: Settings
    extents: tuple[int, ...]

    def read(self, box: Box) -> Array:
        """The elements of a chunk as they are compressed: beyond the end of the dataset lies its fill value."""
        inside = np.asarray(self.dataset[box])
        if inside.shape != self.extents:
            whole = np.full(self.extents, self.dataset.fillvalue, inside.dtype)
            whole[tuple(slice(0, extent) for extent in inside.shape)] = inside
            inside = whole
        return elements.stored(inside, self.settings.fill)


class Compressor(Protocol):
    """Who compresses chunks."""

    def __call__(self, work: ChunkWork, places: Iterable[tuple[Offset, Box]], /) -> Iterator[tuple[Offset, bytes]]:
        """The streams of chunks, in the order of `places`, which are asked for few at a time: there may be millions."""
        ...


def encoded(settings: Settings, chunk: Array) -> bytes:
    """The stream that the filter makes of a chunk, which looks for a missing value that nobody has named."""
    if settings.fill is None and (found := probable_fill(chunk, settings.mode, settings.bound)) is not None:
        settings = replace(settings, fill=found)
    return settings.encode(chunk)


def in_threads(jobs: int) -> Compressor:
    """A Compressor with `jobs` threads of this process; the caller's reads."""

    def compress(work: ChunkWork, places: Iterable[tuple[Offset, Box]]) -> Iterator[tuple[Offset, bytes]]:
        waiting: deque[tuple[Offset, Future[bytes]]] = deque()
        with ThreadPoolExecutor(jobs) as pool:
            for offset, box in places:
                waiting.append((offset, pool.submit(encoded, work.settings, work.read(box))))
                if len(waiting) > _AHEAD * jobs:
                    first, future = waiting.popleft()
                    yield first, future.result()
            for first, future in waiting:
                yield first, future.result()

    return compress
