"""Variables of a file as lazy arrays for xarray: readable from any thread, thinned along some axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import h5py
import numpy as np
from xarray.backends import BackendArray
from xarray.backends.h5netcdf_ import H5NetCDFArrayWrapper
from xarray.core import indexing

from h5stz.elements import Array
from h5stz.reading.make_view import view
from h5stz.reading.view import View
from h5stz.unreadable import naming

_ATTEMPTS = 3  # xarray closes the files that were not used for long when many are open, also between two lines of ours


@dataclass(frozen=True)
class Reading:
    """How the variables of a store are read.

    Attributes:
        level: every 2**level-th sample is read along each axis in `thinned`.
        thinned: names of dimensions.
        max_errors: {variable: largest permitted error}, for variables that are read with fewer precision layers.
        of_view: arguments of h5stz.view, for each compressed variable.
    """

    level: int
    thinned: frozenset[str]
    max_errors: dict[str, float]
    of_view: dict[str, Any]


class Store(Protocol):
    """What variables need from their store."""

    reading: Reading

    def h5py_dataset(self, name: str) -> h5py.Dataset:
        """The dataset of a variable, in the file as it is open now."""
        ...


class StzArray(BackendArray):
    """A compressed variable as a lazy array for xarray. It can be thinned, read from any thread, and pickled.

    Attributes:
        shape, dtype: of the thinned array.
    """

    def __init__(self, name: str, store: Store, dataset: h5py.Dataset, axes: tuple[int, ...]) -> None:
        self._name, self._store, self._axes = name, store, axes
        self._view: View | None = None
        self.dtype = dataset.dtype
        self.shape = tuple(
            -(-extent >> store.reading.level) if axis in axes and extent else extent
            for axis, extent in enumerate(dataset.shape)
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_view": None}

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _opened(self) -> View:
        """The view of the whole dataset, in the file as it is open now."""
        opened = self._view
        if opened is None or not opened.dataset.id.valid:
            reading = self._store.reading
            whole = view(self._store.h5py_dataset(self._name), **reading.of_view)
            max_error = reading.max_errors.get(self._name)
            opened = self._view = whole if max_error is None else whole.at_error(max_error)
        return opened

    def _read(self, key: tuple[Any, ...]) -> Array:
        for attempt in range(_ATTEMPTS):
            try:
                return np.asarray(self._part(self._opened(), key))
            except (ValueError, OSError, KeyError):  # StzError is a ValueError, as are those of h5py of closed files
                opened = self._view
                if attempt == _ATTEMPTS - 1 or (opened is not None and opened.dataset.id.valid):
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _part(self, whole: View, key: tuple[Any, ...]) -> Any:
        return whole.level(self._store.reading.level, axes=self._axes)[key] if self._axes else whole[key]


class StoredArray(H5NetCDFArrayWrapper):
    """A variable without h5stz, read as by xarray's engine h5netcdf. Errors name the unreadable chunk."""

    def _getitem(self, key: Any) -> Any:
        of_h5netcdf: Any = super()._getitem
        store: Any = self.datastore
        with naming(store.h5py_dataset(self.variable_name)):
            return of_h5netcdf(key)


class ThinnedArray(BackendArray):
    """A variable without h5stz, thinned along some axes. Its own store reads it lazily.

    Attributes:
        shape, dtype: of the thinned array.
    """

    def __init__(self, variable: Any, level: int, axes: tuple[int, ...]) -> None:
        self._variable, self._steps = variable, tuple(1 << level if n in axes else 1 for n in range(variable.ndim))
        self.dtype = variable.dtype
        self.shape = tuple(-(-extent // step) for extent, step in zip(variable.shape, self._steps, strict=True))

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple[Any, ...]) -> Array:
        parts = zip(key, self._steps, self.shape, strict=True)
        return np.asarray(self._variable[tuple(_scaled(*part) for part in parts)].values)


def _scaled(index: Any, step: int, thinned: int) -> Any:
    """Converts an index of the thinned axis (every `step`-th sample, `thinned` in all) to one of the full axis."""
    if step == 1:
        return index
    if not isinstance(index, slice):
        return (int(index) + (thinned if index < 0 else 0)) * step
    chosen = range(thinned)[index]
    if not chosen:
        return slice(0, 0)
    stop = chosen[-1] * step + (1 if chosen.step > 0 else -1)
    return slice(chosen[0] * step, stop if stop >= 0 else None, chosen.step * step)
