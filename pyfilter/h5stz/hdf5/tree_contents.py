"""The contents of an HDF5 file: its datasets with all their paths, and which of them are coordinates of others."""

from __future__ import annotations

import os
import posixpath
from typing import Any

import h5py

from h5stz.errors import HDF5_ERRORS
from h5stz.hdf5 import cf_names
from h5stz.hdf5.dimension_scales import is_scale
from h5stz.hdf5.objects import Identity, Lost, array_bytes, attribute, found_dataset, hard_links, identity, name_of
from h5stz.unreadable import of_part

_NAMING = (*cf_names.REFERENCES, "axes")  # the last one is NeXus's, of groups


class Contents:
    """The datasets of a file. `lost`: as for objects.hard_links().

    Attributes:
        paths: for each dataset, its paths of hard links.
        array_bytes: size of all samples in memory.
        coordinates: datasets that are dimension scales, or that an attribute of a dataset or group names.
    """

    def __init__(self, file: h5py.File, lost: Lost | None = None) -> None:
        self.paths: dict[Identity, list[str]] = {}
        self.coordinates: set[Identity] = set()
        self.array_bytes = 0
        for path, item, group in hard_links(file, lost):
            try:
                self._note(path, item, group)
            except HDF5_ERRORS as error:
                if lost is None:
                    raise of_part(os.fsdecode(file.filename), path, error) from error
                lost(path, error)

    def _note(self, path: str, item: Any, group: h5py.h5g.GroupID) -> None:
        if not isinstance(item, h5py.h5d.DatasetID):
            self._note_named(h5py.Group(item), h5py.Group(item))
            return
        key = identity(item)
        paths = self.paths.setdefault(key, [])
        paths.append(path)
        if len(paths) == 1:
            self.array_bytes += array_bytes(h5py.Dataset(item))
        if is_scale(h5py.Dataset(item)):
            self.coordinates.add(key)
        self._note_named(h5py.Dataset(item), h5py.Group(group))

    def _note_named(self, item: Any, group: h5py.Group) -> None:
        """Records the datasets that attributes of an object name, in its group or an enclosing one."""
        if not h5py.h5a.get_num_attrs(item.id):
            return
        for name in _NAMING:
            if (value := attribute(item, name)) is not None:
                for word in cf_names.words(value):
                    if word != "." and (found := _sought(group, word)):
                        self.coordinates.add(found)


def _sought(group: h5py.Group, name: str) -> Identity | None:
    """The dataset that a name means in a group. The name may be any text, and names of groups may be any bytes."""
    path = name_of(group)
    while path:
        if (found := found_dataset(group.file, posixpath.join(path, name))) is not None:
            return identity(found)
        path = "" if path == "/" else posixpath.dirname(path)
    return None
