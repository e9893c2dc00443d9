"""Dimension scales and labels of axes, which HDF5 keeps in attributes.

HDF5 does not check the type of these attributes. If it is not the one that HDF5 writes, HDF5 reads past the end of its
buffers. The functions therefore ask HDF5 only if the type is right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import h5py
import h5py.h5a
import h5py.h5ds
import h5py.h5r

from h5stz.errors import HDF5_ERRORS
from h5stz.hdf5.objects import attribute, text


def is_scale(dataset: h5py.Dataset) -> bool:
    """True if a dataset is a dimension scale."""
    found = _type_and_count(dataset, b"CLASS")
    if found is None or not isinstance(found[0], h5py.h5t.TypeStringID) or found[0].is_variable_str() or found[1] != 1:
        return False
    return bool(dataset.id.get_space().get_simple_extent_type() == h5py.h5s.SIMPLE and h5py.h5ds.is_scale(dataset.id))


def scales_of(dataset: h5py.Dataset, axis: int, lost: Callable[[BaseException], None] | None = None) -> list[h5py.Dataset]:
    """The dimension scales of an axis of a dataset. If a scale or their list is damaged, only those before it.

    `lost`: called with the error of a scale that cannot be opened, or of a list that cannot be read.
    """
    found = _type_and_count(dataset, b"DIMENSION_LIST")
    if found is None or not isinstance(found[0], h5py.h5t.TypeVlenID) or found[1] != dataset.ndim:
        return []
    if not isinstance(found[0].get_super(), h5py.h5t.TypeReferenceID):
        return []
    scales: list[h5py.h5d.DatasetID] = []
    try:
        if h5py.h5ds.get_num_scales(dataset.id, axis):
            h5py.h5ds.iterate(dataset.id, axis, scales.append, 0)
    except HDF5_ERRORS:  # references that lead to nothing, which are no damage if they are empty
        if lost is not None:
            _tell_of_lost(dataset, axis, lost)
    return [h5py.Dataset(each) for each in scales]


def _tell_of_lost(dataset: h5py.Dataset, axis: int, lost: Callable[[BaseException], None]) -> None:
    """Calls `lost` with the reason why a scale of an axis cannot be opened."""
    try:
        listed: Any = dataset.attrs["DIMENSION_LIST"]
        for reference in listed[axis]:
            if reference:
                h5py.h5r.dereference(reference, dataset.id)
    except HDF5_ERRORS as error:
        lost(error)


def label_of(dataset: h5py.Dataset, axis: int) -> str:
    """The label of an axis of a dataset; "" without a readable label. Bytes that are not UTF-8 become surrogates."""
    found = _type_and_count(dataset, b"DIMENSION_LABELS")
    if found is None or not isinstance(found[0], h5py.h5t.TypeStringID) or found[1] != dataset.ndim:
        return ""
    if not found[0].is_variable_str():
        return ""
    labels = attribute(dataset, "DIMENSION_LABELS")  # with H5DSget_label, HDF5 2.0 crashes if the texts are damaged
    label: str | bytes = "" if labels is None else labels[axis]
    return text(label) if isinstance(label, bytes) else label


def _type_and_count(dataset: h5py.Dataset, name: bytes) -> tuple[h5py.h5t.TypeID, int] | None:
    """The type of an attribute and its number of values; None if the attribute does not exist."""
    if not h5py.h5a.exists(dataset.id, name):
        return None
    found = h5py.h5a.open(dataset.id, name)
    space = found.get_space()
    return found.get_type(), 0 if space.get_simple_extent_type() == h5py.h5s.NULL else space.get_simple_extent_npoints()
