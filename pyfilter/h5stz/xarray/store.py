"""The store of the xarray engine "h5stz": h5netcdf's store, with compressed variables read through views."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, SupportsFloat

import h5py
from xarray.backends.h5netcdf_ import H5NetCDFArrayWrapper, H5NetCDFStore
from xarray.core import indexing

from h5stz import _core
from h5stz.errors import StzError
from h5stz.options.precision import checked_precision
from h5stz.options.stz import STZ, client_data
from h5stz.xarray.arrays import Reading, StoredArray, StzArray, ThinnedArray

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]


class StzStore(H5NetCDFStore):
    """h5netcdf's store of a file or group. Compressed variables are read lazily through views; all variables can be thinned.

    Attributes:
        reading: how variables are read; set before the first variable is opened.
    """

    __slots__ = ("reading",)

    reading: Reading

    def h5py_dataset(self, name: str) -> h5py.Dataset:
        """The dataset of a variable."""
        acquire: Any = self._acquire
        return acquire().variables[name]._h5ds

    def groups(self) -> Iterator[StzStore]:
        """Stores of this group and of all groups below it, without `reading`."""
        kind: Any = type(self)
        below = [self.ds]
        while below:
            group = below.pop(0)
            yield kind(self._manager, group=group.name, mode=self._mode, lock=self.lock, autoclose=self.autoclose)
            below.extend(group.groups.values())

    @property
    def path(self) -> str:
        """Path of the group in its file."""
        return str(self.ds.name)

    def compressed_dimensions(self) -> set[str]:
        """Names of the dimensions along which a compressed variable has more than one sample."""
        compressed = [one for one in self.ds.variables.values() if client_data(one._h5ds) is not None]
        return {dim for one in compressed for dim, size in zip(one.dimensions, one.shape, strict=True) if size > 1}

    def open_store_variable(self, name: str, var: Any) -> Any:
        """Converts a variable of h5netcdf to an xarray.Variable."""
        of_h5netcdf: Any = super().open_store_variable
        read_by_h5netcdf: Any = StoredArray
        variable = of_h5netcdf(name, var)
        dataset = var._h5ds
        if type(getattr(variable._data, "array", None)) is H5NetCDFArrayWrapper:
            data = indexing.LazilyIndexedArray(read_by_h5netcdf(name, self))
            variable = type(variable)(variable.dims, data, variable.attrs, variable.encoding)
        axes = tuple(axis for axis, dim in enumerate(variable.dims) if dim in self.reading.thinned)
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
            data = indexing.LazilyIndexedArray(ThinnedArray(variable, self.reading.level, axes))
            variable = type(variable)(variable.dims, data, variable.attrs, encoding)
        if axes and chunks:
            shape = tuple(max(1, -(-n >> self.reading.level)) if axis in axes else n for axis, n in enumerate(chunks))
            encoding["chunksizes"] = shape
            encoding["preferred_chunks"] = dict(zip(variable.dims, shape, strict=True))
        variable.encoding = encoding
        return variable


def largest_errors(
    stores: Iterable[StzStore], max_error: SupportsFloat | Mapping[str, SupportsFloat] | None
) -> dict[str, float]:
    """{variable: largest permitted error}. A single number applies to all variables except dimension coordinates."""
    groups = list(stores)
    variables = {str(name): one for each in groups for name, one in each.ds.variables.items()}
    if max_error is None:
        return {}
    if not isinstance(max_error, Mapping):
        error = checked_precision(max_error, None).max_error or 0.0
        return {name: error for name, one in variables.items() if name not in one.dimensions}
    unknown = sorted(set(max_error) - variables.keys())
    if unknown:
        raise StzError(f"max_error: the file has no variable {unknown[0]!r}; it has {', '.join(variables)}", _ARGUMENT)
    return {name: checked_precision(error, None).max_error or 0.0 for name, error in max_error.items()}


def thinned_dimensions(stores: Iterable[StzStore], axes: Iterable[str] | None) -> set[str]:
    """The names in `axes`, each of which must be a dimension of a store. None: the dimensions of all compressed variables."""
    groups = list(stores)
    if axes is None:
        return set().union(*(each.compressed_dimensions() for each in groups))
    known = {str(name): None for each in groups for name in each.ds.dimensions}
    unknown = sorted(set(axes) - known.keys())
    if unknown:
        raise StzError(f"axes: the file has no dimension {unknown[0]!r}; it has {', '.join(known)}", _ARGUMENT)
    return set(axes)
