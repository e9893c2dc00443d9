"""Writes an array with the names and coordinates of its axes to a .npy, .h5 or .nc file."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from h5stz import _core
from h5stz.elements import Array, DType
from h5stz.errors import StzTypeError
from h5stz.hdf5.objects import encoded, text
from h5stz.type_words import described

_TEXT = h5py.string_dtype()
_DTYPE = _core.ERROR_CODES["STZ_ERROR_DTYPE"]
_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]


@dataclass(frozen=True)
class Axis:
    """An axis of a region: start and step in samples of the dataset, and its coordinates with attributes if known."""

    name: str
    start: int
    step: int
    coordinates: Array | None
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Part:
    """A region of a dataset: path of the dataset, samples, axes, attributes of the dataset."""

    path: str
    array: Array
    axes: Sequence[Axis]
    attributes: dict[str, Any]

    @property
    def name(self) -> str:
        """The last component of the path."""
        return self.path.rsplit("/", 1)[-1] or "data"

    def axis_names(self) -> list[str]:
        """Names of the axes. Axis numbers make names unique where two axes, or an axis and the data, have the same name."""
        names = [axis.name for axis in self.axes]
        return [
            f"{name}_{number}" if names.count(name) > 1 or (name == self.name and len(names) > 1) else name
            for number, name in enumerate(names)
        ]


def to_npy(path: Path, part: Part) -> None:
    """Writes the samples only."""
    # Of a name NumPy asks that it ends with .npy; to a file for writing alone it writes through C, and keeps errors for itself.
    if part.array.dtype.hasobject:
        raise StzTypeError(f".npy cannot store {described(part.array.dtype)}: choose .h5", _DTYPE)
    with path.open("w+b") as file:
        np.save(file, part.array, allow_pickle=False)


def to_hdf5(path: Path, part: Part) -> None:
    """Writes a dataset at its original path, with its dimension scales beside it."""
    with h5py.File(path, "w") as file:
        group: Any = file["/"]
        for each in filter(None, encoded(part.path).split(b"/")[:-1]):
            group = h5py.Group(h5py.h5g.create(group.id, each))
        dataset = group.create_dataset(encoded(part.name), data=part.array)
        _set_attributes(dataset, part.attributes)
        for number, (axis, name) in enumerate(zip(part.axes, part.axis_names(), strict=True)):
            dataset.dims[number].label = _as_unicode(name)
            if axis.coordinates is not None and name != part.name:
                scale = group.create_dataset(encoded(name), data=axis.coordinates)
                _set_attributes(scale, axis.attributes)
                scale.make_scale(_as_unicode(name))
                dataset.dims[number].attach_scale(scale)


def _as_unicode(name: str) -> str:
    """A name for a format that requires Unicode. Bytes that are not UTF-8 become backslash escapes."""
    return name.encode(errors="backslashreplace").decode()


def is_number_or_text(value: Any) -> bool:
    """True if an attribute holds numbers or text, which every format supports."""
    array = np.asarray(value)
    if array.dtype.kind == "O":
        return all(isinstance(each, (str, bytes)) for each in array.flat)
    return array.dtype.kind in "iufbSU"


def _set_attributes(dataset: h5py.Dataset, attributes: dict[str, Any]) -> None:
    """Sets attributes of numbers and text. Names and text that are not UTF-8 keep their bytes."""
    for name, value in attributes.items():
        array = np.asarray(value)
        if array.dtype.kind in "UO":
            texts = np.array([encoded(each) if isinstance(each, str) else each for each in array.flat], object)
            value = texts.reshape(array.shape) if array.ndim else texts[0]
            has_nul = any(b"\0" in each for each in texts)  # texts of a fixed length may have it
            dataset.attrs.create(encoded(name), np.asarray(value, "S") if has_nul else value, dtype=None if has_nul else _TEXT)
        else:
            dataset.attrs.create(encoded(name), value)


def to_netcdf(path: Path, part: Part) -> None:
    """Writes a netCDF-4 variable with its dimensions and coordinate variables."""
    try:
        netcdf: Any = importlib.import_module("netCDF4")
    except ImportError as error:
        raise ImportError("writing .nc needs netCDF4: pip install 'h5stz[cli]'") from error
    if part.array.dtype.kind not in "iuf" or part.array.dtype == np.float16:
        raise StzTypeError(f"netCDF cannot store {described(part.array.dtype)}: choose .npy or .h5", _DTYPE)
    names = [_netcdf_name(name) for name in part.axis_names()]
    with netcdf.Dataset(path, "w") as file:
        for name, extent in zip(names, part.array.shape, strict=True):
            file.createDimension(name, extent)
        for axis, name in zip(part.axes, names, strict=True):
            if axis.coordinates is not None and axis.coordinates.dtype.kind in "iuf" and name != part.name:
                _variable(file, name, (name,), axis.coordinates, axis.attributes)
        _variable(file, _netcdf_name(part.name), tuple(names), part.array, part.attributes)


def _netcdf_name(name: str) -> str:
    """A valid netCDF name: printable characters only, and a letter, a digit or _ first."""
    name = "".join(each if each.isprintable() else repr(each)[1:-1] for each in name.rstrip()) or "data"
    return name if name[0].isalnum() or name[0] == "_" or not name[0].isascii() else f"_{name}"


def _variable(file: Any, name: str, dimensions: tuple[str, ...], array: Array, attributes: dict[str, Any]) -> None:
    rest = dict(attributes)
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    fill = _fill_value(rest.pop("_FillValue", None), native.dtype)
    variable = file.createVariable(name, native.dtype.str[1:], dimensions, fill_value=fill)
    variable.set_auto_maskandscale(False)
    variable.setncatts({_netcdf_name(key).replace("/", "_"): _for_netcdf(value) for key, value in rest.items()})
    variable[...] = native


def _fill_value(value: Any, dtype: DType) -> Any:
    """The first number of an attribute as fill value of a netCDF variable; None if the variable's type cannot hold it."""
    numbers = np.ravel(np.asarray(value))
    if numbers.dtype.kind not in "iuf" or not numbers.size:
        return None
    with np.errstate(all="ignore"):
        held = numbers[0].astype(dtype)
    return held if dtype.kind == "f" or held == numbers[0] else None


def _for_netcdf(value: Any) -> Any:
    """An attribute value in a form that netCDF supports: Unicode text, some number sizes, no booleans, at most one axis."""
    array = np.asarray(value)
    if array.dtype.kind in "SUO":
        texts = [_as_unicode(text(each) if isinstance(each, bytes) else each) for each in array.flat]
        return texts if array.ndim else texts[0]
    if array.dtype.kind == "b" or (array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8)):
        array = array.astype("i1" if array.dtype.kind == "b" else "f4" if array.dtype.itemsize == 2 else "f8")
    return array.ravel() if array.ndim else array.item()


#: Endings of files that have attributes and coordinates; for others these are not read.
DESCRIBED = (".h5", ".nc")
#: What writes a file, by the ending of its name.
WRITERS: dict[str, Callable[[Path, Part], None]] = {".npy": to_npy, ".h5": to_hdf5, ".nc": to_netcdf}
