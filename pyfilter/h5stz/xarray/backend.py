"""The engine "h5stz" of xarray: netCDF-4 and HDF5 files as h5netcdf reads them, compressed variables through h5stz.view.

Structure, attributes and decoding are those of xarray's engine h5netcdf. What differs is that an index decodes only the blocks
that it needs, without a lock, and that a coarser level of a file can be opened as a dataset. xarray loads this module by the
name of the engine.
"""

from __future__ import annotations

import inspect
import io
import operator
import os
from collections.abc import Iterable
from typing import Any, SupportsIndex

import h5py
import numpy as np
from xarray.backends import BackendArray, BackendEntrypoint
from xarray.backends.h5netcdf_ import H5NetCDFStore
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core import indexing

from h5stz import _core
from h5stz.elements import Array
from h5stz.errors import StzError, StzTypeError
from h5stz.options.stz import STZ, client_data
from h5stz.reading.view import CACHE_BYTES, View, view
from h5stz.sources.remote_files import Address, is_address

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_ATTEMPTS = 3  # xarray closes the files that were not used for long when many are open, also between two lines of ours


class StzArray(BackendArray):
    """A compressed variable, thinned along some axes, as xarray reads it: lazily, from any thread, also after pickling.

    Attributes:
        shape, dtype: of the thinned array.
    """

    def __init__(self, name: str, store: StzStore, dataset: h5py.Dataset, axes: tuple[int, ...]) -> None:
        self._name, self._store, self._axes = name, store, axes
        self._view: View | None = None
        self.dtype = dataset.dtype
        self.shape = tuple(
            -(-extent >> store.level) if axis in axes and extent else extent for axis, extent in enumerate(dataset.shape)
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_view": None}

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _opened(self) -> View:
        """The view of the whole dataset, of the file as it is open now."""
        opened = self._view
        if opened is None or not opened.dataset.id.valid:
            dataset = self._store.h5py_dataset(self._name)
            opened = self._view = view(dataset, cache_bytes=self._store.cache_bytes, threads=self._store.threads)
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
        level = self._store.level
        if not level or not self._axes:
            return whole[key]
        if set(self._axes) >= {axis for axis, extent in enumerate(whole.shape) if extent > 1}:
            return whole.level(level)[key]
        if "axes" in inspect.signature(View.level).parameters:
            of_some: Any = whole.level
            return of_some(level, axes=self._axes)[key]
        return whole[
            tuple(_scaled(one, 1 << level if axis in self._axes else 1, self.shape[axis]) for axis, one in enumerate(key))
        ]


class ThinnedArray(BackendArray):
    """A variable without h5stz, thinned along some axes, read lazily as its own store does.

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
    """An index of every `step`-th sample of an axis as one of the axis; `thinned`: how many there are."""
    if step == 1:
        return index
    if not isinstance(index, slice):
        return (int(index) + (thinned if index < 0 else 0)) * step
    chosen = range(thinned)[index]
    if not chosen:
        return slice(0, 0)
    stop = chosen[-1] * step + (1 if chosen.step > 0 else -1)
    return slice(chosen[0] * step, stop if stop >= 0 else None, chosen.step * step)


class StzStore(H5NetCDFStore):
    """h5netcdf's store of a file or group, its variables thinned, and lazily read through views where they are compressed.

    Attributes:
        level: along each axis in `thinned` every 2**level-th sample.
        thinned: names of dimensions.
        cache_bytes, threads: as of h5stz.view, for each variable.
    """

    __slots__ = ("cache_bytes", "level", "thinned", "threads")

    level: int
    thinned: frozenset[str]
    cache_bytes: int
    threads: int | None

    def h5py_dataset(self, name: str) -> h5py.Dataset:
        """The dataset that holds a variable."""
        acquire: Any = self._acquire
        return acquire().variables[name]._h5ds

    def configure(self, level: int, axes: Iterable[str] | None, cache_bytes: int, threads: int | None) -> None:
        """Sets the attributes; `axes` None: all along which a compressed variable has more than one sample."""
        self.level, self.cache_bytes, self.threads = level, cache_bytes, threads
        if axes is None:
            compressed = [one for one in self.ds.variables.values() if client_data(one._h5ds) is not None]
            sizes = {dim: size for one in compressed for dim, size in zip(one.dimensions, one.shape, strict=True)}
            axes = [dim for dim, size in sizes.items() if size > 1]
        self.thinned = frozenset(axes if level else ())
        unknown = sorted(self.thinned - set(self.ds.dimensions))
        if unknown:
            known = ", ".join(map(str, self.ds.dimensions))
            raise StzError(f"axes: the file has no dimension {unknown[0]!r}; it has {known}", _ARGUMENT)

    def open_store_variable(self, name: str, var: Any) -> Any:
        """xarray's Variable of h5netcdf's."""
        of_h5netcdf: Any = super().open_store_variable
        variable = of_h5netcdf(name, var)
        dataset = var._h5ds
        axes = tuple(axis for axis, dim in enumerate(variable.dims) if dim in self.thinned)
        chunks = variable.encoding.get("chunksizes")
        words = client_data(dataset)
        encoding = dict(variable.encoding)
        if words is not None:
            # With these to_netcdf(engine="h5netcdf") writes it again as it was.
            encoding |= dict(STZ.from_filter_options(words, dtype=dataset.dtype))
        if words is not None and dataset.dtype.kind in "iuf" and variable.dtype == dataset.dtype:
            data = indexing.LazilyIndexedArray(StzArray(name, self, dataset, axes))
            variable = type(variable)(variable.dims, data, variable.attrs, encoding)
        elif axes:
            data = indexing.LazilyIndexedArray(ThinnedArray(variable, self.level, axes))
            variable = type(variable)(variable.dims, data, variable.attrs, encoding)
        if axes and chunks:
            shape = tuple(max(1, -(-n >> self.level)) if axis in axes else n for axis, n in enumerate(chunks))
            encoding["chunksizes"] = shape
            encoding["preferred_chunks"] = dict(zip(variable.dims, shape, strict=True))
        variable.encoding = encoding
        return variable


class H5stzBackendEntrypoint(BackendEntrypoint):
    """``xarray.open_dataset(path, engine="h5stz")``: compressed variables decode only what an index needs (docs/xarray.md)."""

    description = "Open HDF5 and netCDF-4 files with variables compressed by h5stz: parts of them, and coarser levels"
    url = "docs/xarray.md"

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Never: this engine is asked for by its name."""
        return False

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: Any = True,
        decode_times: Any = True,
        concat_characters: Any = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        level: SupportsIndex = 0,
        axes: Iterable[str] | None = None,
        cache_bytes: int = CACHE_BYTES,
        threads: int | None = None,
        phony_dims: str | None = "access",
        invalid_netcdf: bool | None = None,
        decode_vlen_strings: bool = True,
        driver: str | None = None,
        driver_kwds: dict[str, Any] | None = None,
        storage_options: dict[str, Any] | None = None,
    ) -> Any:
        """The file, or a group of it, as an xarray.Dataset.

        Args:
            filename_or_obj: path, address, or an open file object, as of the engine h5netcdf, and so are the other arguments
                that xarray has for all engines, `group`, `phony_dims`, `invalid_netcdf`, `decode_vlen_strings`, `driver`,
                `driver_kwds` and `storage_options`.
            level: 0 for all samples, l for every 2**l-th along `axes`, of all variables that have them.
            axes: names of dimensions; None: all along which a compressed variable has more than one sample.
            cache_bytes, threads: as of h5stz.view, for each variable.

        Raises:
            StzError: (a ValueError) a negative level, or a dimension that there is not.
        """
        thinning = _checked_level(level)
        given: dict[str, Any] = {
            "phony_dims": phony_dims,
            "invalid_netcdf": invalid_netcdf,
            "driver": driver,
            "driver_kwds": driver_kwds,
            "storage_options": storage_options,  # not of every xarray
        }
        opened = _openable(filename_or_obj)
        if is_address(opened) and driver is None:
            opened = Address(opened, dict(given.pop("storage_options") or {})).open()
        store = StzStore.open(
            opened,
            group=group,
            decode_vlen_strings=decode_vlen_strings,
            **{name: value for name, value in given.items() if value is not None},
        )
        try:
            store.configure(thinning, [axes] if isinstance(axes, str) else axes, cache_bytes, threads)
            return StoreBackendEntrypoint().open_dataset(
                store,
                mask_and_scale=mask_and_scale,
                decode_times=decode_times,
                concat_characters=concat_characters,
                decode_coords=decode_coords,
                drop_variables=drop_variables,
                use_cftime=use_cftime,
                decode_timedelta=decode_timedelta,
            )
        except BaseException:
            store.close()
            raise


def _openable(given: Any) -> Any:
    """A path in full, as a dataset may outlive the working directory; bytes as a file; what is neither as it is."""
    if isinstance(given, bytes | memoryview):
        return io.BytesIO(given)
    if isinstance(given, os.PathLike) or (isinstance(given, str) and "://" not in given):
        return os.path.abspath(os.path.expanduser(os.fspath(given)))
    return given


def _checked_level(level: SupportsIndex) -> int:
    try:
        number = operator.index(level)
    except TypeError:
        raise StzTypeError(f"level={level!r} is no integer: give 0 for all samples, 1 for every second", _ARGUMENT) from None
    if not 0 <= number < 64:
        raise StzError(f"level={number}: levels are 0 (all samples) to 63", _ARGUMENT)
    return number
