"""What an HDF5 file contains: the datasets with all their paths, and which of them others use as coordinates."""

from __future__ import annotations

from typing import Any, TypeAlias

import h5py
import h5py.h5o

from h5stz.hdf5 import cf_names

Identity: TypeAlias = tuple[int, int]

_NAMING = (*cf_names.REFERENCES, "axes")  # the last one is NeXus's, of groups


def identity(item: Any) -> Identity:
    """What an object of h5py is, by whichever of its names it was opened."""
    info = h5py.h5o.get_info(item.id)
    return info.fileno, info.addr


class Contents:
    """The datasets of a file.

    Attributes:
        paths: of each dataset, by hard links.
        coordinates: datasets that are scales of dimensions, or that an attribute of a dataset or a group names.
    """

    def __init__(self, file: h5py.File) -> None:
        self.paths: dict[Identity, list[str]] = {}
        self.coordinates: set[Identity] = set()
        groups: list[tuple[str, Any]] = [("", file["/"])]
        known = {identity(file["/"])}
        while groups:
            path, group = groups.pop()
            self._note_named(group, group)
            for name in group:
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    continue
                item: Any = group[name]
                if isinstance(item, h5py.Dataset):
                    self._note_dataset(item, f"{path}/{name}", group)
                elif isinstance(item, h5py.Group) and identity(item) not in known:
                    known.add(identity(item))
                    groups.append((f"{path}/{name}", item))

    def _note_dataset(self, dataset: h5py.Dataset, path: str, group: h5py.Group) -> None:
        self.paths.setdefault(identity(dataset), []).append(path)
        if dataset.shape is not None and h5py.h5ds.is_scale(dataset.id):
            self.coordinates.add(identity(dataset))
        self._note_named(dataset, group)

    def _note_named(self, item: Any, group: h5py.Group) -> None:
        """Notes the datasets that attributes of an object name, as seen from a group: in it, or in one of those around it."""
        for name in _NAMING:
            if name in item.attrs:
                for word in cf_names.words(item.attrs[name]):
                    if word != "." and (found := _sought(group, word)):
                        self.coordinates.add(found)


def _sought(group: Any, name: str) -> Identity | None:
    while True:
        found = group.get(name)
        if isinstance(found, h5py.Dataset):
            return identity(found)
        if group.name in (None, "/"):
            return None
        group = group.parent
