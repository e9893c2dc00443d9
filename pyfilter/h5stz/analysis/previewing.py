"""A plane of a dataset as a picture: which samples it shows, a PNG file by matplotlib, and rows of text for a terminal."""

from __future__ import annotations

import importlib
import io
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
import numpy.ma  # now, not within a call

from h5stz import _core
from h5stz.counts import counted
from h5stz.elements import Array
from h5stz.errors import StzError, StzTypeError
from h5stz.hdf5 import missing_numbers
from h5stz.hdf5.file_kinds import refuse_address
from h5stz.hdf5.objects import name_of
from h5stz.new_files import written_file
from h5stz.reading.view import View, view
from h5stz.signatures import checked

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
MOST_SAMPLES = 640  # of a plane along each axis, unless a level is asked for
_MAP = "viridis"


@dataclass(frozen=True)
class Plane:
    """A plane of a dataset on a level.

    Attributes:
        title: the path of the dataset, and which plane and level it is.
        values: float64, two axes; NaN where there is no valid number.
        axes: the axes of the dataset that are shown: the rows and the columns.
        extent: samples of the dataset along these.
        level: every 2**level-th sample is there.
        low, high: the least and the greatest valid number that is shown.
    """

    title: str
    values: Array
    axes: tuple[int, int]
    extent: tuple[int, int]
    level: int
    low: float
    high: float


@checked
def plane(
    dataset: h5py.Dataset | View, *, slices: Mapping[int, int] | None = None, level: int | None = None, most: int = MOST_SAMPLES
) -> Plane:
    """Reads a plane of a dataset, no finer than it is shown.

    Args:
        dataset: h5py.Dataset, or a View of all of one, of numbers; the magnitudes of complex ones are shown.
        slices: index by axis, for all axes but two; of those that it does not name the last two are shown, others cut in the
            middle. On a level, the nearest plane before that index is shown.
        level: of what is read; None: the finest with at most `most` samples along each axis that is shown.

    Raises:
        StzError: (a ValueError) there is no such axis, index or level, or no number to show.
    """
    whole = dataset if isinstance(dataset, View) else None
    dataset = dataset.dataset if isinstance(dataset, View) else dataset
    if dataset.shape is None or not dataset.size or dataset.dtype.kind not in "iufbc":
        raise StzTypeError(f"{name_of(dataset)}: a picture needs numbers, and at least one", _ARGUMENT)
    rank = dataset.ndim
    chosen = _checked_slices(slices or {}, dataset.shape)
    shown = [axis for axis in range(rank) if axis not in chosen][-2:]
    if not shown:
        raise StzError(f"{name_of(dataset)}: leave an axis without an index, to be shown", _ARGUMENT)
    for axis in range(rank):
        if axis not in shown:
            chosen.setdefault(axis, dataset.shape[axis] // 2)
    extents = [dataset.shape[axis] for axis in shown]
    if level is None:
        level = max(0, math.ceil(math.log2(max(extents) / most)))
    region = tuple(chosen[axis] if axis in chosen else slice(None) for axis in range(rank))
    found = np.asarray((whole or view(dataset)).read(region, level))
    values = _valid(found.reshape((1, -1) if len(shown) == 1 else found.shape), dataset)
    finite = values[np.isfinite(values)]
    if not finite.size:
        raise StzError(f"{name_of(dataset)}: nothing on this plane is a valid number", _ARGUMENT)
    cut = ", ".join(f"axis {axis} at {index >> level << level}" for axis, index in sorted(chosen.items()))
    title = f"{name_of(dataset)}" + (f", {cut}" if cut else "") + (f", level {level}" if level else "")
    axes, extent = ((0, shown[0]), (1, extents[0])) if len(shown) == 1 else ((shown[0], shown[1]), (extents[0], extents[1]))
    return Plane(title, values, axes, extent, level, float(finite.min()), float(finite.max()))


def _checked_slices(slices: Mapping[int, int], shape: tuple[int, ...]) -> dict[int, int]:
    chosen: dict[int, int] = {}
    for axis, index in slices.items():
        if not -len(shape) <= axis < len(shape):
            raise StzError(f"there is no axis {axis}: the dataset has {len(shape)}, from 0", _ARGUMENT)
        extent = shape[axis]
        if not -extent <= index < extent:
            raise StzError(f"index {index} is out of range for axis {axis}, which has {counted(extent, 'sample')}", _ARGUMENT)
        chosen[axis % len(shape)] = index % extent
    return chosen


def _valid(found: Array, dataset: h5py.Dataset) -> Array:
    """The values as float64, with NaN for infinities and for those that the dataset's attributes name as missing."""
    values: Array = np.abs(found).astype("f8") if found.dtype.kind == "c" else found.astype("f8")
    values[~np.isfinite(values)] = np.nan
    if found.dtype.kind in "iuf":
        named = any(name in dataset.attrs for name in missing_numbers.NAMES)
        for number in missing_numbers.missing_values(dataset) if named else ():
            values[found == found.dtype.type(number)] = np.nan
    return values


def write_png(plane: Plane, target: str | os.PathLike[str], low: float | None = None, high: float | None = None) -> None:
    """Writes a Plane as a PNG file, with a colour bar; axes are in samples of the dataset.

    Raises:
        ImportError: matplotlib is not there.
        OSError: no file can be made at `target`, or its disk is full.
    """
    refuse_address(target)
    figures: Any = _matplotlib("figure")
    rows, columns = plane.extent
    shape = min(max(rows / columns, 0.2), 2.5)
    figure = figures.Figure(figsize=(7, 1.2 + 5.2 * shape), layout="constrained", dpi=120)
    axes = figure.add_subplot()
    colours: Any = _matplotlib("").colormaps[_MAP].with_extremes(bad="0.75")
    shown = axes.imshow(
        plane.values,
        cmap=colours,
        vmin=low,
        vmax=high,
        extent=(0, columns, rows, 0),
        interpolation="nearest",
        aspect="equal" if 0.2 <= rows / columns <= 2.5 else "auto",
    )
    axes.set(title=_drawable(plane.title), xlabel=f"axis {plane.axes[1]}", ylabel=f"axis {plane.axes[0]}")
    figure.colorbar(shown, ax=axes, shrink=0.9)
    content = io.BytesIO()  # as a pipe cannot go back
    figure.savefig(content, format="png")
    with written_file(target, overwrite=b"\x89PNG", direct=True) as made:
        made.write_bytes(content.getvalue())


def _drawable(text: str) -> str:
    """A text as matplotlib can draw it: what is no Unicode, or would begin mathematics, as it stands."""
    return text.encode(errors="backslashreplace").decode().replace("$", r"\$")


def colours(plane: Plane, width: int, height: int, low: float | None = None, high: float | None = None) -> Array:
    """The plane as at most `height` x `width` pixels: uint8, 3 values for each, of the colour map; grey where nothing is valid.

    Raises:
        ImportError: matplotlib is not there.
    """
    values = pixels(plane, width, height)
    coloured = (
        _matplotlib("")
        .colormaps[_MAP]
        .with_extremes(bad="0.75")(np.ma.masked_invalid(shares(values, plane, low, high)), bytes=True)
    )
    made: Array = coloured[..., :3]
    return made


def pixels(plane: Plane, width: int, height: int) -> Array:
    """The nearest sample for each of at most `height` x `width` pixels, with the proportions of the plane."""
    rows, columns = plane.extent
    scale = min(width / columns, height / rows)
    high, wide = max(1, min(height, round(rows * scale))), max(1, min(width, round(columns * scale)))
    down = (np.arange(high) * plane.values.shape[0]) // high
    across = (np.arange(wide) * plane.values.shape[1]) // wide
    return plane.values[np.ix_(down, across)]


def shares(values: Array, plane: Plane, low: float | None, high: float | None) -> Array:
    """Where values lie between `low` (0) and `high` (1), by default those of the plane."""
    first, last = plane.low if low is None else low, plane.high if high is None else high
    made: Array = np.clip((values - first) / (last - first), 0, 1) if last > first else np.where(np.isnan(values), np.nan, 0.5)
    return made


def _matplotlib(module: str) -> Any:
    try:
        return importlib.import_module(f"matplotlib.{module}" if module else "matplotlib")
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'h5stz[cli]'") from error
