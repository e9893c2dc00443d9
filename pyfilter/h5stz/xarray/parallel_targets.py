"""Variables that to_netcdf writes with all processors: whole chunks of them are compressed here and stored past HDF5's filter.

xarray hands each variable, or each block of dask, to an object that its h5netcdf store makes for the variable. During a call
of to_netcdf, this module puts an object of its own around it. Everything but whole chunks goes on to that of xarray.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import h5py
import numpy as np

from h5stz import elements
from h5stz.elements import Array
from h5stz.errors import StzError
from h5stz.files.chunk_compressors import codec_of
from h5stz.hdf5.chunk_codec import ChunkCodec
from h5stz.reading.selection import parse
from h5stz.slabs import each_box
from h5stz.thread_team import in_order

_LARGE = 64 << 20  # bytes: blocks of dask that are compressed with several threads, though other blocks are written meanwhile


@contextmanager
def parallel_targets(threads: int) -> Iterator[None]:
    """A context in which datasets that this thread writes with to_netcdf are compressed by `threads` threads."""
    try:
        from xarray.backends.h5netcdf_ import H5NetCDFStore
    except ImportError:  # xarray has the words for that
        yield
        return
    owner = threading.get_ident()
    with _lock:
        if not _threads:
            _originals[:] = [H5NetCDFStore.prepare_variable]
            setattr(H5NetCDFStore, "prepare_variable", _prepare_variable)  # noqa: B010  # type checkers refuse to assign methods
        before = _threads.get(owner)
        _threads[owner] = threads
    try:
        yield
    finally:
        with _lock:
            if before is None:
                del _threads[owner]
            else:
                _threads[owner] = before
            if not _threads:
                setattr(H5NetCDFStore, "prepare_variable", _originals[0])  # noqa: B010


_lock = threading.Lock()
_threads: dict[int, int] = {}  # for each thread that is in such a context, how many threads compress
_originals: list[Any] = []  # the method of xarray; kept, as another thread may be on its way to it


def _prepare_variable(store: Any, *args: Any, **named: Any) -> Any:
    """Replaces the method of xarray's store. Calls of threads without a context are passed on unchanged."""
    target, data = _originals[0](store, *args, **named)
    owner = threading.get_ident()
    if owner in _threads and hasattr(target, "get_array") and hasattr(store, "lock"):
        target = _Target(target, _threads[owner], owner)
    return target, data


class _Target:
    """Takes the samples of a variable. `inner`: xarray's object for it."""

    def __init__(self, inner: Any, threads: int, owner: int) -> None:
        self.inner, self._threads, self._owner = inner, threads, owner
        self.shape, self.dtype = inner.shape, inner.dtype

    def __setitem__(self, key: Any, value: Any) -> None:
        with self.inner.datastore.lock:
            dataset = getattr(self.inner.get_array(needs_lock=False), "_h5ds", None)
            codec = codec_of(dataset) if isinstance(dataset, h5py.Dataset) else None
            origin = _origin(key, value, dataset.shape, codec) if codec is not None and dataset is not None else None
        if codec is None or origin is None or dataset is None:
            self.inner[key] = value
            return
        jobs = (
            (tuple(first + cut.start for first, cut in zip(origin, box, strict=True)), value[box])
            for box in each_box(value.shape, codec.chunks)
        )
        alone = threading.get_ident() == self._owner or value.nbytes >= _LARGE
        with in_order(_Encoding(codec), jobs, self._threads if alone else 1) as results:
            for at, stream in results:
                with self.inner.datastore.lock:
                    dataset.id.write_direct_chunk(at, stream)


class _Encoding:
    def __init__(self, codec: ChunkCodec) -> None:
        self._codec = codec

    def __call__(self, job: tuple[tuple[int, ...], Array]) -> tuple[tuple[int, ...], Array]:
        at, part = job
        return at, self._codec.encode(part)


def _origin(key: Any, value: Any, shape: Sequence[int], codec: ChunkCodec) -> tuple[int, ...] | None:
    """Where a part of a dataset begins; None unless it consists of whole chunks and `value` has exactly its samples."""
    if not isinstance(value, np.ndarray) or elements.is_masked(value) or value.dtype != codec.dtype:
        return None
    try:
        box = parse(key, shape)
    except (StzError, IndexError):
        return None
    if box.shape != value.shape or len(box.shape) != len(shape) or not value.size:
        return None
    for axis, size, extent in zip(box.axes, shape, codec.chunks, strict=True):
        end = axis.start + axis.count
        if (axis.step != 1 and axis.count > 1) or axis.start % extent or (end % extent and end != size):
            return None
    return tuple(axis.start for axis in box.axes)
