"""Writes a region of a dataset, at any level, to a separate file: `extract`. See exporting for the file formats."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, SupportsIndex

import h5py
import numpy as np

from h5stz import _core
from h5stz.analysis import exporting
from h5stz.analysis.exporting import Axis, Part, is_number_or_text
from h5stz.damage import warn_of
from h5stz.errors import HDF5_ERRORS, StzError
from h5stz.hdf5.dimension_scales import label_of, scales_of
from h5stz.hdf5.file_kinds import refuse_address
from h5stz.hdf5.objects import attribute, name_of, text
from h5stz.new_files import written_file
from h5stz.reading.make_view import view
from h5stz.reading.selection import parse_region
from h5stz.reading.view import View
from h5stz.signatures import checked
from h5stz.sources.remote_files import refuse_to_go_on
from h5stz.type_words import named
from h5stz.unreadable import naming, of_part

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]


@dataclass(frozen=True)
class Extracted:
    """What extract() wrote.

    Attributes:
        path: path of the dataset.
        shape, dtype: shape and dtype of the written array.
        bytes_read: number of stored bytes of the dataset that were read.
        left_out: one line for each axis whose coordinates were left out because their scale is damaged, with the remedy.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    bytes_read: int
    left_out: tuple[str, ...] = ()


class _RegionError(StzError, IndexError):
    """The region is outside the dataset or malformed."""


@checked
def extract(
    dataset: h5py.Dataset | View,
    target: str | os.PathLike[str],
    *,
    region: Any = ...,
    level: SupportsIndex = 0,
    axes: SupportsIndex | Iterable[SupportsIndex] | None = None,
    overwrite: bool = False,
) -> Extracted:
    """Writes a region of a dataset, decompressed, to a .npy, .h5 or .nc file.

    Coordinates with a damaged dimension scale are left out, with a DamageWarning.

    Args:
        dataset: h5py.Dataset, or a View of one. Views of h5stz.open() may be in remote files.
        target: path of the file; its suffix selects the format. .h5 and .nc files include the coordinates from the dimension
            scales. .nc needs netCDF4.
        region: integers and slices, as for View.read().
        level: resolution level: 0 for all samples, l for every 2**l-th along `axes`.
        axes: numbers of the axes that the level thins; None: all.
        overwrite: True permits a file at `target`.

    Returns:
        Extracted

    Raises:
        StzError: (a ValueError) invalid region (also an IndexError), level, axis or suffix, or the format cannot hold the
            data.
        FileExistsError: a file exists at `target`.
        ImportError: netCDF4 is not installed.
        OSError: the file cannot be created, or the disk is full.
    """
    refuse_address(target)
    given, target = target, Path(target)
    write = exporting.WRITERS.get(target.suffix)
    if write is None:
        raise StzError(
            f"{os.fsdecode(given)}: the file format is unknown, use a name that ends with {', '.join(exporting.WRITERS)}",
            _ARGUMENT,
        )
    whole = dataset if isinstance(dataset, View) else view(dataset)
    if any(step != 1 for step in whole.spacing):
        raise StzError(f"{whole!r} is a coarse level: give the view of level 0, and level=", _ARGUMENT)
    chosen, stored, before = whole.level(0, axes), whole.dataset, whole.stats.bytes_read
    spacing = chosen.level(level).spacing
    try:
        selection = parse_region(region, whole.shape, [step.bit_length() - 1 for step in spacing]).scaled(spacing)
    except IndexError as error:
        raise _RegionError(f"{error}. {shape_and_syntax(whole)}", _ARGUMENT) from error
    lost: dict[int, str] = {}
    with written_file(given, overwrite, source=stored.file.filename) as part:
        array, kept = np.asarray(chosen.read(region, level)), [axis for axis in enumerate(selection.axes) if axis[1].keep]
        if target.suffix in exporting.DESCRIBED:
            found, attributes = [_axis(stored, number, axis, lost) for number, axis in kept], _attributes(stored)
        else:
            found, attributes = [Axis(f"dim_{number}", axis.start, axis.step, None, {}) for number, axis in kept], {}
        write(part, Part(str(whole.name), array, found, attributes))
    for line in lost.values():
        warn_of(line)
    return Extracted(str(whole.name), array.shape, named(array.dtype), whole.stats.bytes_read - before, tuple(lost.values()))


def shape_and_syntax(whole: View) -> str:
    """The hint for a region that a dataset does not have: its shape and the syntax."""
    shape = "x".join(map(str, whole.shape)) or "of one number"
    return f"{whole.name} has the shape {shape}: a region is an integer, a slice or ... for each axis, such as 0:10,:,5"


def _axis(dataset: h5py.Dataset, number: int, chosen: Any, lost: dict[int, str]) -> Axis:
    """Name and coordinates of an axis of the region, from its first dimension scale.

    If the scale is damaged, the axis has no coordinates, and `lost` gets a line under the number of the axis.
    """

    def lose(error: BaseException) -> None:
        refuse_to_go_on(dataset.file)
        file = os.fsdecode(dataset.file.filename)
        lost[number] = f"the coordinates of axis {number} of {name_of(dataset)} are left out: " + str(
            of_part(file, f"a scale of {name_of(dataset)}", error)
        )

    other_name = label_of(dataset, number) or f"dim_{number}"
    try:
        scale = next((each for each in scales_of(dataset, number, lose) if each.shape == (dataset.shape[number],)), None)
        if scale is not None:
            lost.pop(number, None)  # another one is damaged, which is not used
            return _axis_of_scale(chosen, scale, other_name)
    except HDF5_ERRORS as error:
        lose(error)
    return Axis(other_name, chosen.start, chosen.step, None, {})


def _axis_of_scale(chosen: Any, scale: h5py.Dataset, other_name: str) -> Axis:
    start, count, step = chosen.start, chosen.count, chosen.step
    with naming(scale):
        values = np.asarray(scale[...])[start + step * np.arange(count)] if count else np.asarray(scale[:0])
    named = attribute(scale, "NAME")
    is_dimension_only = isinstance(named, bytes) and named.startswith(b"This is a netCDF dimension but not")
    name = name_of(scale).rsplit("/", 1)[-1]
    if not name:  # HDF5 does not find the path of an object beside one that is damaged
        name = text(named) if isinstance(named, bytes) and named and not is_dimension_only else other_name
    return Axis(name, start, step, None if is_dimension_only else values, _attributes(scale))


_OF_HDF5 = {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"}


def _attributes(dataset: h5py.Dataset) -> dict[str, Any]:
    """The attributes that users set, without those in which HDF5 and netCDF-4 keep dimension scales."""
    found: dict[str, Any] = {}
    for each in dataset.attrs:
        name = text(each) if isinstance(each, bytes) else each  # h5py gives bytes that are no UTF-8
        if name in _OF_HDF5 or name.startswith("_Netcdf4") or name == "_NCProperties":
            continue
        value = attribute(dataset, each)
        if value is not None and is_number_or_text(value):
            found[name] = text(value) if isinstance(value, bytes) else value
    return found
