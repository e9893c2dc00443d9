"""Finds the numbers that mark missing values in a dataset: from its attributes, its fill value, and its data."""

from __future__ import annotations

from collections.abc import Sequence

import h5py
import numpy as np

from h5stz import elements, validity
from h5stz.errors import StzError
from h5stz.hdf5.objects import attribute
from h5stz.hdf5.written_parts import written_boxes
from h5stz.options.fill import Scan
from h5stz.options.stz import STZ, client_data
from h5stz.slabs import STORED_BYTES, slab_extents
from h5stz.unreadable import naming

#: The attributes that name them.
NAMES = ("_FillValue", "missing_value")


def missing_values(dataset: h5py.Dataset) -> list[int | float]:
    """The different numbers that mark missing values of a dataset, according to its metadata.

    They come from _FillValue, missing_value, HDF5's fill value and the options of h5stz. NaN, which is always kept, and
    numbers that the type cannot hold are left out.
    """
    named = [value for name in NAMES if (value := attribute(dataset, name)) is not None]
    if dataset.id.get_create_plist().fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED:
        named.append(dataset.fillvalue)
    if (number := fill_of_options(dataset)) is not None:
        named.append(number)
    values: list[int | float] = []
    for value in (each for array in named for each in np.ravel(np.asarray(array))):
        if np.asarray(value).dtype.kind not in "iuf" or not np.isfinite(value):
            continue
        number = _held(value.item(), dataset)
        if number is not None and number not in values:
            values.append(number)
    return values


def fill_of_options(dataset: h5py.Dataset) -> int | float | None:
    """The fill value in the h5stz options of a dataset, or None."""
    if client_data(dataset) is None:
        return None
    return STZ.from_dataset(dataset).fill_value


def _is_real(dataset: h5py.Dataset) -> bool:
    return dataset.dtype.kind in "iu" or elements.is_floating(dataset.dtype)


def _held(number: int | float, dataset: h5py.Dataset) -> int | float | None:
    """The number as the dataset stores it; None if it cannot."""
    if not _is_real(dataset):
        return number
    try:
        bits = elements.fill_bits(number, dataset.dtype)
    except StzError:
        return None
    return None if bits is None else elements.fill_number(bits, dataset.dtype)


def occurring(dataset: h5py.Dataset, numbers: Sequence[int | float]) -> list[int | float]:
    """The numbers that occur in a dataset; for complex data in either component."""
    found: set[int | float] = set()
    for box in written_boxes(slab_extents(dataset, STORED_BYTES), dataset):
        with naming(dataset, box):
            piece = np.ascontiguousarray(dataset[box])
        parts = piece.view(f"{piece.dtype.str[0]}f{piece.dtype.itemsize // 2}") if piece.dtype.kind == "c" else piece
        found.update(number for number in numbers if number not in found and np.any(parts == number))
    return [number for number in numbers if number in found]


def has_other_marker(dataset: h5py.Dataset, fill: int | float) -> bool:
    """True if numbers other than the fill value look like missing values. They would enlarge a relative bound."""
    if not _is_real(dataset):
        return False
    bits = elements.fill_bits(fill, dataset.dtype)
    scan = Scan(dataset, exact=True)
    try:
        return validity.certain_fill(lambda excluded: scan.extremes((bits or 0, *excluded)), dataset.dtype) is not None
    except StzError:  # it is not clear, and a wrong guess would make the bound a wrong one
        return True
