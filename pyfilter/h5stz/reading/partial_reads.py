"""Region reads for programs that only know h5py: replaces Dataset.__getitem__ temporarily."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, SupportsFloat, SupportsIndex

import h5py

from h5stz.errors import HDF5_ERRORS
from h5stz.limits import checked_max_bytes, refuse_larger
from h5stz.options.option_checks import thread_count
from h5stz.options.precision import Precision, checked_precision, precision_of_environment
from h5stz.reading.arguments import checked_cache_bytes
from h5stz.reading.dataset_reader import DatasetReader
from h5stz.reading.make_view import CACHE_BYTES
from h5stz.reading.reasons import Reason
from h5stz.reading.selection import Selection, parse
from h5stz.reading.stats import Stats
from h5stz.signatures import checked

_DATASETS = 16  # so many are remembered at a time: those used last


@checked
@contextmanager
def partial_reads(
    *,
    cache_bytes: SupportsIndex = CACHE_BYTES,
    threads: int | None = None,
    verify: bool | None = None,
    max_error: SupportsFloat | None = None,
    max_bytes: SupportsIndex | None = None,
) -> Iterator[Stats]:
    """A context in which h5py's `dataset[...]` decodes only the blocks that an index needs, in all threads of the process.

    This applies to integers, slices and `...` on datasets whose only filter is h5stz. All other indices and datasets are
    passed to h5py unchanged. Contexts may be nested and may overlap in several threads. The arguments of the first one apply.
    h5py is restored when the last one ends, also after an error.

    Args:
        cache_bytes: cache for each of the 16 datasets used last, in bytes.
        threads: as for view().
        verify: as for view(). Reads that are passed to h5py are verified if H5STZ_VERIFY says so.
        max_error: largest permitted absolute error in the units of the data, as for View.at_error(). None: the value of the
            environment variable H5STZ_MAX_ERROR at each read, if it is set. Do not write data back that were read with a
            max_error.
        max_bytes: as for view(). Reads that are passed to h5py have no limit.

    Yields:
        stats.Stats: statistics of the partial reads.

    Raises:
        As view(), for the arguments. Reads raise StzError if a chunk is damaged or the file was changed.
    """
    kept_bytes = checked_cache_bytes(cache_bytes, threads, verify)
    precision = None if max_error is None else checked_precision(max_error, None)
    most = checked_max_bytes(max_bytes)
    with _lock:
        if not _open:
            _open.append(_Replacement(kept_bytes, threads, verify, precision, most))
        replacement = _open[0]
        replacement.blocks += 1
    try:
        yield replacement.stats
    finally:
        with _lock:
            replacement.blocks -= 1
            if not replacement.blocks:
                replacement.end()
                _open.clear()


_lock = threading.Lock()
_open: list[_Replacement] = []  # the _Replacement while there is one


class _Replacement:
    """A replacement of h5py.Dataset.__getitem__ until end(), and the readers that it uses."""

    def __init__(
        self,
        cache_bytes: int,
        threads: int | None,
        verify: bool | None,
        precision: Precision | None,
        max_bytes: int | None,
    ) -> None:
        self.stats, self.blocks = Stats(), 0
        self._precision = precision  # None: as the environment says
        self._cache_bytes, self._threads, self._verify = cache_bytes, threads, verify
        self._readers: OrderedDict[int, DatasetReader] = OrderedDict()
        self._lock = threading.Lock()
        self._original = original = h5py.Dataset.__getitem__

        @functools.wraps(original)
        def getitem(dataset: h5py.Dataset, args: Any, *more: Any, **named: Any) -> Any:
            # Another library may have kept this function beyond end(): then there are no blocks, and h5py reads.
            plan = None if more or named or not self.blocks else self._plan(dataset, args)
            if plan is None or isinstance(plan, Reason):
                return original(dataset, args, *more, **named)
            reader, selection = plan
            refuse_larger("the result takes", selection.size * dataset.dtype.itemsize, max_bytes, instead="read less, or ")
            return reader.read(selection, None, thread_count(self._threads), self._precision or precision_of_environment())

        self._replaced = getitem
        h5py.Dataset.__getitem__ = getitem  # pyright: ignore[reportAttributeAccessIssue]

    def end(self) -> None:
        """Restores the former function, unless another program has replaced it since."""
        if h5py.Dataset.__getitem__ is self._replaced:
            h5py.Dataset.__getitem__ = self._original
        with self._lock:
            self._readers.clear()

    def _plan(self, dataset: h5py.Dataset, args: Any) -> tuple[DatasetReader, Selection] | Reason:
        """(DatasetReader, Selection), or the Reason why h5py must do the read."""
        if not dataset.id.valid:
            return Reason("STZ_H5_REFUSED")
        try:
            reader = self._reader(dataset)
        except HDF5_ERRORS:  # h5py takes more kinds of datasets, and has its own errors for the others
            return Reason("STZ_H5_REFUSED")
        if reader.fallback_reason:
            return reader.fallback_reason
        try:
            selection = parse(args, dataset.shape)
        except HDF5_ERRORS:  # and more kinds of indices
            return Reason("STZ_H5_SELECTION")
        return (reader, selection) if all(axis.step > 0 for axis in selection.axes) else Reason("STZ_H5_SELECTION")

    def _reader(self, dataset: h5py.Dataset) -> DatasetReader:
        key = hash(dataset.id)  # of the file and the place of the dataset in it: the same for each h5py.Dataset of it
        with self._lock:
            kept = self._readers.get(key)
        if kept is not None and kept.dataset.id.valid:
            with self._lock:
                if key in self._readers:
                    self._readers.move_to_end(key)
            return kept
        fresh = DatasetReader(dataset, self._cache_bytes, self.stats, self._verify)
        with self._lock:
            others = list(self._readers.items())
        closed = [name for name, reader in others if not reader.dataset.id.valid]
        with self._lock:
            for name in closed:
                self._readers.pop(name, None)
            self._readers[key] = fresh
            while len(self._readers) > _DATASETS:
                self._readers.popitem(last=False)
        return fresh
