"""What xarray needs beside the samples: attributes as JSON, and the names of dimensions as netCDF keeps them in HDF5."""

from __future__ import annotations

import base64
import struct
from typing import Any

import h5py
import numpy as np

from h5stz.hdf5.dimension_scales import is_scale, label_of, scales_of
from h5stz.hdf5.objects import attribute, name_of, text

#: Attributes with which HDF5 and netCDF describe dimensions to themselves.
_INTERNAL = {
    "CLASS",
    "NAME",
    "DIMENSION_LABELS",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "_Netcdf4Coordinates",
    "_Netcdf4Dimid",
    "_NCProperties",
    "_nc3_strict",
}
_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable"


def attributes(node: h5py.Group | h5py.Dataset) -> dict[str, Any]:
    """The attributes of a group or dataset for JSON; what JSON has no form for is left out.

    `_FillValue` of floating-point data is written as xarray writes it in zarr format 3: the bytes of a double in base64.
    """
    found = {}
    for name in node.attrs:
        if name in _INTERNAL:
            continue
        try:
            value = _for_json(node.attrs[name])
        except (TypeError, OSError, ValueError):  # types that h5py or JSON do not have
            continue
        if name == "_FillValue" and isinstance(node, h5py.Dataset) and node.dtype.kind == "f":
            value = base64.standard_b64encode(struct.pack("<d", float(value))).decode()
        found[name] = value
    return found


def _for_json(value: Any) -> Any:
    """An attribute as a value of JSON; arrays of one element are that element, as netCDF has no others."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, (str, bool, int, float)):
        return value
    array = np.asarray(value)
    if isinstance(value, h5py.Empty) or array.dtype.kind not in "biufSUO":
        raise TypeError
    flat = [_for_json(one) if isinstance(one, (bytes, str, bool, int, float)) else _refused() for one in array.ravel().tolist()]
    return flat[0] if len(flat) == 1 else flat


def _refused() -> Any:
    raise TypeError


def is_dimension_only(dataset: h5py.Dataset) -> bool:
    """Whether a dataset stands for a dimension of netCDF that has no values."""
    name = attribute(dataset, "NAME")
    return (text(name) if isinstance(name, bytes) else str(name)).startswith(_NO_VARIABLE)


def dimension_names(group: h5py.Group) -> dict[str, tuple[str, ...]]:
    """The names of the axes of each dataset of a group: those of its dimension scales, its labels, or phony_dim_N.

    Axes without a name that have the same extent share one, but not those of one dataset.
    """
    extents: list[int] = []  # of phony_dim_0, phony_dim_1, ...
    found = {}
    for name, dataset in group.items():
        if isinstance(dataset, h5py.Dataset) and dataset.shape is not None:
            names: list[str] = []
            for axis, extent in enumerate(dataset.shape):
                names.append(_name(dataset, axis) or _phony(extent, names, extents))
            found[name] = tuple(names)
    return found


def _name(dataset: h5py.Dataset, axis: int) -> str | None:
    """The name of an axis that has one."""
    if scales := scales_of(dataset, axis):
        return name_of(scales[0]).rpartition("/")[2]
    if is_scale(dataset) and "_Netcdf4Coordinates" in dataset.attrs:
        number = np.asarray(dataset.attrs["_Netcdf4Coordinates"])[axis]
        for _, other in h5py.Group(dataset.parent.id).items():
            if isinstance(other, h5py.Dataset) and other.attrs.get("_Netcdf4Dimid") == number and is_scale(other):
                if other == dataset or "_Netcdf4Coordinates" not in other.attrs:
                    return name_of(other).rpartition("/")[2]
    if is_scale(dataset) and axis == 0:
        return name_of(dataset).rpartition("/")[2]
    return label_of(dataset, axis) or None


def _phony(extent: int, taken: list[str], extents: list[int]) -> str:
    """A name for an axis without one."""
    for number, other in enumerate(extents):
        if other == extent and f"phony_dim_{number}" not in taken:
            return f"phony_dim_{number}"
    extents.append(extent)
    return f"phony_dim_{len(extents) - 1}"
