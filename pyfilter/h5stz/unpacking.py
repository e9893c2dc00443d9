"""Writes the datasets of a file without the filter, for readers that do not have it: `unpack`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from h5stz import _core, compare_data
from h5stz.copy_tree import ALL_FILTERS, Place, copy_tree, new_file
from h5stz.errors import StzError
from h5stz.options import client_data
from h5stz.repack_plan import Rule
from h5stz.replacing import replaced
from h5stz.signatures import checked
from h5stz.slabs import STORED_BYTES, slab_extents
from h5stz.written_parts import written_boxes

_OPTION = _core.ERROR_CODES["STZ_ERROR_OPTION"]


@checked
def unpack(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    dataset: str = "*",
    deflate: int | None = None,
    overwrite: bool = False,
) -> tuple[list[str], list[str]]:
    """Writes a file with the contents of another one, in which no dataset needs this filter.

    Samples are those that a reader of `source` finds: the bits that decompression gives. Everything else is copied as it is.

    Args:
        source: path of an HDF5 or netCDF-4 file.
        target: path of the new file; may be that of `source`, with `overwrite`.
        dataset: of which datasets: a pattern of whole paths, as the shell has them.
        deflate: 0 to 9: compress them with HDF5's shuffle and deflate (gzip), which every HDF5 reads. None: not at all.
        overwrite: whether a file may be at `target`; it is replaced once the new one is complete and compared.

    Returns:
        (paths of the datasets that were unpacked, what could not be kept, a line each).

    Raises:
        StzError: (a ValueError) `deflate` is no such number, or the new file has other bits: a defect of the machine.
        OSError: `source` cannot be read, or there is a file at `target`.
    """
    if deflate is not None and deflate not in range(10):
        raise StzError(f"deflate={deflate!r} must be None or 0 to 9", _OPTION)
    unpacked: list[str] = []
    chosen = Rule(dataset, None)

    def store(stored: h5py.Dataset, place: Place, stored_type: h5py.h5t.TypeID) -> bool:
        path = str(stored.name)
        if client_data(stored) is None or not chosen.names(path):
            return False
        _write(stored, place, stored_type, deflate)
        unpacked.append(path)
        return True

    with replaced(Path(source), Path(target), overwrite) as part, h5py.File(source) as old:
        with new_file(old, str(part)) as new:
            notes = copy_tree(old, new, store)
        with h5py.File(part) as made:
            for path in unpacked:
                compare_data.same(_dataset(old, path), _dataset(made, path))
    return unpacked, notes


def _dataset(file: h5py.File, path: str) -> Any:
    return file[path]


def _write(stored: h5py.Dataset, place: Place, stored_type: h5py.h5t.TypeID, deflate: int | None) -> None:
    group, name, link = place
    properties = stored.id.get_create_plist()
    others = [properties.get_filter(index) for index in range(properties.get_nfilters())]
    properties.remove_filter(ALL_FILTERS)
    for identifier, flags, words, _ in others:
        if identifier != _core.FILTER_ID:
            properties.set_filter(identifier, flags, words)
    if deflate is not None:
        properties.set_shuffle()
        properties.set_deflate(deflate)
    made = h5py.Dataset(h5py.h5d.create(group, name, stored_type, stored.id.get_space(), properties, link))
    for box in written_boxes(slab_extents(stored, STORED_BYTES), stored):
        made[box] = np.asarray(stored[box])
