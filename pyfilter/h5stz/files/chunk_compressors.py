"""Compresses chunks for a writer, in threads of this process or in workers of dask.distributed.

The streams have the same bytes as those of the filter, and come in the order of the chunks. Few chunks are processed at a
time, so memory use does not depend on the size of the dataset.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from math import prod
from typing import Any, Protocol, TypeAlias, TypeVar

import h5py
import numpy as np

from h5stz import _core, elements
from h5stz.elements import Array
from h5stz.errors import StzError
from h5stz.files.history import NOTHING, History
from h5stz.hdf5 import calls
from h5stz.hdf5.chunk_codec import ChunkCodec
from h5stz.hdf5.objects import dataset_at, name_of
from h5stz.options.settings import Settings
from h5stz.options.stz import client_data
from h5stz.reading.chunk_index import reason_of_form
from h5stz.slabs import Box, Memory, piece
from h5stz.waiting import no_garbage_collection

_Item = TypeVar("_Item")
_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_AHEAD = 4  # chunks for each thread that are under way
_BYTES_AHEAD = 128 << 20  # most bytes of chunks that are under way, if that leaves a chunk for each thread

#: Where the first element of a chunk is in the dataset, and the chunk compressed.
Stream: TypeAlias = tuple[tuple[int, ...], bytes | Array]


class Compressor(Protocol):
    """Compresses the chunks of datasets."""

    def streams(
        self, dataset: h5py.Dataset, wanted: Iterable[Box], chunks: Sequence[int], settings: Settings, history: History
    ) -> Iterator[Stream]:
        """The Streams of chunks, in order. The chunks are given by their boxes within the dataset.

        `history`: the errors that the samples of the dataset already have.
        """
        ...


class InThreads:
    """A Compressor with threads of this process. The calling thread reads the chunks."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def streams(
        self, dataset: h5py.Dataset, wanted: Iterable[Box], chunks: Sequence[int], settings: Settings, history: History
    ) -> Iterator[Stream]:
        """See Compressor."""
        free: list[Memory] = []
        most = _BYTES_AHEAD // max(1, prod(chunks) * dataset.dtype.itemsize)
        with no_garbage_collection(), ThreadPoolExecutor(self._jobs) as pool:

            def begun(box: Box) -> tuple[tuple[int, ...], Any, Memory]:
                memory = free.pop() if free else Memory()
                chunk = padded(memory.piece(dataset, box), chunks, dataset.fillvalue)
                return _offset(box), pool.submit(encoded, settings, chunk, history), memory

            for offset, future, memory in _some_ahead(map(begun, wanted), max(self._jobs, min(_AHEAD * self._jobs, most))):
                stream: bytes = future.result()
                free.append(memory)
                yield offset, stream


class OnWorkers:
    """A Compressor with the workers of a dask.distributed.Client, which read the chunks themselves.

    All workers need the file under the same name. If a worker ends, another one repeats its tasks.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def streams(
        self, dataset: h5py.Dataset, wanted: Iterable[Box], chunks: Sequence[int], settings: Settings, history: History
    ) -> Iterator[Stream]:
        """See Compressor."""
        place = str(dataset.file.filename), name_of(dataset)

        def begun(box: Box) -> tuple[tuple[int, ...], Any]:
            task = (*place, box, tuple(chunks), settings, history)
            return _offset(box), self._client.submit(_read_and_encoded, *task, pure=False)

        threads = sum(self._client.nthreads().values())
        for offset, future in _some_ahead(map(begun, wanted), _AHEAD * max(1, threads)):
            stream: bytes = future.result()
            future.release()
            yield offset, stream


@contextmanager
def compressor(jobs: int, scheduler: Any) -> Iterator[Compressor]:
    """The Compressor with `jobs` threads, or with the workers of a scheduler (an address or a Client) if one is given."""
    if scheduler is None:
        yield InThreads(jobs)
        return
    with connected(scheduler) as client:
        yield OnWorkers(client)


@contextmanager
def connected(scheduler: Any) -> Iterator[Any]:
    """A context with a dask.distributed.Client: the given one, or one for an address, which is closed at the end."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise ImportError("workers need dask.distributed: pip install 'h5stz[dask]'", name="distributed") from error
    if isinstance(scheduler, distributed.Client):
        yield scheduler
        return
    try:
        client = distributed.Client(scheduler, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise StzError(f"there is no dask scheduler at {scheduler!r} ({error})", _ARGUMENT) from error
    with client:
        if not client.nthreads():
            raise StzError(
                f"the dask scheduler at {scheduler} has no workers: start some, `dask worker {scheduler}`", _ARGUMENT
            )
        yield client


def encoded(settings: Settings, chunk: Array, history: History = NOTHING) -> bytes:
    """The stream that the filter makes of a whole chunk. Like the filter, it detects an unnamed missing value."""
    samples = elements.stored(chunk.view(np.int8) if chunk.dtype == bool else chunk, settings.fill)  # h5py's enumeration
    return settings.of_chunk(samples).to_store().encode(samples, None, history.prior_bound(settings, samples))


def padded(inside: Array, chunks: Sequence[int], fill: Any) -> Array:
    """A chunk as HDF5 holds it: elements beyond the end of the dataset have its fill value."""
    if inside.shape == tuple(chunks):
        return inside
    whole = np.full(chunks, fill, inside.dtype)
    whole[tuple(slice(0, extent) for extent in inside.shape)] = inside
    return whole


def codec_of(dataset: h5py.Dataset) -> ChunkCodec | None:
    """The codec for the chunks of a dataset; None if HDF5 must write them, for example as it has other filters too."""
    words, chunks = client_data(dataset), dataset.chunks
    properties = dataset.id.get_create_plist()
    if words is None or chunks is None or reason_of_form(dataset) is not None or calls.edges_may_be_raw(properties):
        return None
    if properties.get_fill_time() == h5py.h5d.FILL_TIME_NEVER and any(
        size % extent for size, extent in zip(dataset.shape, chunks, strict=True)
    ):
        return None  # nobody knows what HDF5 holds beyond the end of the dataset
    return ChunkCodec(words, dataset.dtype, chunks, dataset.fillvalue)


def _read_and_encoded(filename: str, name: str, box: Box, chunks: Sequence[int], settings: Settings, history: History) -> bytes:
    with h5py.File(filename) as file:
        dataset = dataset_at(file, name)
        return encoded(settings, padded(piece(dataset, box), chunks, dataset.fillvalue), history)


def _some_ahead(begun: Iterator[_Item], count: int) -> Iterator[_Item]:
    """The items of an iterator, with `count` of them requested ahead."""
    waiting: deque[_Item] = deque()
    for item in begun:
        waiting.append(item)
        if len(waiting) > count:
            yield waiting.popleft()
    yield from waiting


def _offset(box: Box) -> tuple[int, ...]:
    return tuple(cut.start for cut in box)
