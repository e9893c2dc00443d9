"""Which variables of an xarray dataset a bound is for, and what of them reaches the file.

A bound is for floating-point data. Coordinates, whatever other variables name in a CF attribute (bounds, formula terms,
grid mappings ...), flags and times are not data: they are never given a bound unless they are named.
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
    """The names of variables that others, or the dataset, refer to as part of their description."""
    words: set[str] = set(cf_names.words(dataset.attrs.get("coordinates", "")))
    for variable in dataset.variables.values():
        for attribute in cf_names.REFERENCES:
            words.update(cf_names.words(variable.encoding.get(attribute) or variable.attrs.get(attribute)))
        methods = variable.attrs.get("cell_methods", "")
        words.update(re.findall(r"([^\s:()]+):", methods) if isinstance(methods, str) else ())
    return {name for name in dataset.variables if name in words}


def is_bounded(dataset: xarray.Dataset, name: Hashable, others: set[Hashable]) -> bool:
    """Whether a bound for the dataset is for this variable; `others`: what referenced() found."""
    variable = dataset.variables[name]
    if name in dataset.coords or name in others or not variable.ndim:
        return False
    if cf_names.FLAGS & variable.attrs.keys():
        return False
    units = variable.attrs.get("units")
    return not (isinstance(units, str) and _TIMES.search(units)) and stored_dtype(variable).kind == "f"


def stored_dtype(variable: xarray.Variable) -> DType:
    """The dtype that the file will have; the variable's own where that is no number (times, text)."""
    if variable.dtype.kind not in "biuf":
        return cast(DType, variable.dtype)
    return StoredArray(variable).dtype


def is_packed(variable: xarray.Variable) -> bool:
    """Whether the file holds other numbers than the variable, related by a scale factor or an offset."""
    return any(variable.encoding.get(key) is not None for key in ("scale_factor", "add_offset"))


def carried(variable: xarray.Variable) -> dict[str, Any]:
    """The part of a variable's encoding that a new one must repeat, as it takes the place of all of it."""
    from xarray.conventions import CF_RELATED_DATA

    keys = {*_CARRIED, *CF_RELATED_DATA}
    return {key: value for key, value in variable.encoding.items() if key in keys}


def fill_number(variable: xarray.Variable) -> float | bool | None:
    """The number that marks missing samples in the file; False: NaN does, as the variable says; None: it says nothing."""
    for key in ("_FillValue", "missing_value"):
        mark = variable.encoding.get(key, variable.attrs.get(key))
        if mark is not None and np.size(mark) == 1:
            number = float(np.asarray(mark).astype(stored_dtype(variable)).reshape(()))
            return number if np.isfinite(number) else False
    return None


class StoredArray:
    """The numbers that the file will hold, as something that is read in pieces: masked, packed and of its dtype.

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

    def blocks(self) -> Iterable[Any] | None:
        """The blocks of dask as delayed arrays, None if the variable has none; unfused, so that variables share blocks."""
        if self._variable.chunks is None:
            return None
        array: Any = self._encoded(...).data
        return list(array.to_delayed(optimize_graph=False).ravel())
