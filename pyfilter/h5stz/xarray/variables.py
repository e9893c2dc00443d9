"""Decides which variables of an xarray dataset get a bound, and which numbers the file will hold.

A bound is for floating-point data. Coordinates, variables named in a CF attribute of another variable (bounds, formula terms,
grid mappings ...), flags and times are not data. They get a bound only if the user names them.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from h5stz.elements import Array, DType
from h5stz.hdf5 import cf_names

if TYPE_CHECKING:
    import xarray

#: Keys of an encoding that to_netcdf uses up; not "coordinates", which it takes from the variable whatever is given.
_CARRIED = ("_FillValue", "_Unsigned", "add_offset", "calendar", "dtype", "missing_value", "scale_factor", "units")
_TIMES = re.compile(r"\bsince\b")


def referenced(dataset: xarray.Dataset) -> set[Hashable]:
    """Names of the variables that the dataset or other variables name in their attributes."""
    words: set[str] = set(cf_names.words(dataset.attrs.get("coordinates", "")))
    for variable in dataset.variables.values():
        for attribute in cf_names.REFERENCES:
            words.update(cf_names.words(variable.encoding.get(attribute) or variable.attrs.get(attribute)))
        methods = variable.attrs.get("cell_methods", "")
        words.update(re.findall(r"([^\s:()]+):", methods) if isinstance(methods, str) else ())
    return {name for name in dataset.variables if name in words}


def is_bounded(dataset: xarray.Dataset, name: Hashable, others: set[Hashable]) -> bool:
    """True if a bound for the dataset applies to this variable. `others`: the result of referenced()."""
    variable = dataset.variables[name]
    if name in dataset.coords or name in others or not variable.ndim:
        return False
    if cf_names.FLAGS & variable.attrs.keys():
        return False
    units = variable.attrs.get("units")
    return not (isinstance(units, str) and _TIMES.search(units)) and stored_dtype(variable).kind == "f"


def stored_dtype(variable: xarray.Variable) -> DType:
    """The dtype in the file. For times and text: the dtype of the variable."""
    if variable.dtype.kind not in "biuf":
        return cast(DType, variable.dtype)
    return StoredArray(variable).dtype


def is_packed(variable: xarray.Variable) -> bool:
    """True if the file holds scaled numbers: there is a scale factor or an offset."""
    return any(variable.encoding.get(key) is not None for key in ("scale_factor", "add_offset"))


def carried(variable: xarray.Variable) -> dict[str, Any]:
    """The part of a variable's encoding that the new encoding must repeat, because it replaces the whole."""
    from xarray.conventions import CF_RELATED_DATA

    keys = {*_CARRIED, *CF_RELATED_DATA}
    return {key: value for key, value in variable.encoding.items() if key in keys}


def fill_number(variable: xarray.Variable) -> float | bool | None:
    """The number that marks missing values in the file. False: the variable says that NaN does. None: it says nothing."""
    for key in ("_FillValue", "missing_value"):
        mark = variable.encoding.get(key, variable.attrs.get(key))
        if mark is not None and np.size(mark) == 1:
            number = float(np.asarray(mark).astype(stored_dtype(variable)).reshape(()))
            return number if np.isfinite(number) else False
    return None


class StoredArray:
    """The numbers that the file will hold (masked, packed, in the file's dtype), readable in slabs.

    Attributes:
        shape, dtype: of the array.
    """

    def __init__(self, variable: xarray.Variable) -> None:
        self._variable = variable
        self.shape: tuple[int, ...] = variable.shape
        self.dtype: DType = np.dtype(self._encoded((slice(0, 0),) * variable.ndim).dtype)

    def _encoded(self, box: Any) -> xarray.Variable:
        from xarray.conventions import encode_cf_variable

        part: xarray.Variable = self._variable[box]
        return encode_cf_variable(part.copy(deep=False))

    def __getitem__(self, box: Any) -> Array:
        return np.asarray(self._encoded(box).values)

    @property
    def stored_chunks(self) -> tuple[int, ...] | None:
        """The shape of the parts in which the numbers are read or computed; None if they are in memory."""
        if self._variable._in_memory:
            return None
        blocks = self._variable.chunks
        return self.shape if blocks is not None else tuple(self._variable.encoding.get("chunksizes") or self.shape)

    def blocks(self) -> Iterable[Any] | None:
        """The dask blocks as delayed arrays, or None without dask. They are not fused, so that variables share blocks."""
        if self._variable.chunks is None:
            return None
        array: Any = self._encoded(...).data
        return list(array.to_delayed(optimize_graph=False).ravel())
