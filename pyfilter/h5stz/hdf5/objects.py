"""The objects of an HDF5 file by path, also for names that are not UTF-8.

Paths are text. Bytes that are not UTF-8 become surrogate characters (PEP 383); encoded() converts them back. h5py cannot find
objects by such names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import h5py
import h5py.h5i
import h5py.h5l
import h5py.h5o

from h5stz.errors import HDF5_ERRORS
from h5stz.hdf5.short_floats import ShortFloats, typed
from h5stz.type_words import named
from h5stz.unreadable import of_part

Identity: TypeAlias = tuple[int, int]
#: Called with a path at which the structures of a damaged file end, and the error.
Lost: TypeAlias = Callable[[str, BaseException], None]


def identity(item: Any) -> Identity:
    """Identity of an object of h5py or of its low-level API. It does not depend on the path."""
    info = h5py.h5o.get_info(item.id if isinstance(item, (h5py.Group, h5py.Dataset, h5py.Datatype)) else item)
    return info.fileno, info.addr


def identity_if_whole(item: Any) -> Identity | None:
    """identity(), or None if the structures of the object are damaged although it can be opened."""
    try:
        return identity(item)
    except HDF5_ERRORS:
        return None


def text(path: bytes) -> str:
    """A path as text."""
    return path.decode(errors="surrogateescape")


def encoded(path: str) -> bytes:
    """The bytes of a path."""
    return path.encode(errors="surrogateescape")


def name_of(item: Any) -> str:
    """The path by which an object of h5py was opened."""
    return text(h5py.h5i.get_name(item.id) or b"")


def as_dataset(identifier: h5py.h5d.DatasetID) -> h5py.Dataset:
    """A dataset of h5py, with the dtype of ml_dtypes if it has one."""
    return typed(h5py.Dataset(identifier))


def dataset_at(file: h5py.File, path: str) -> h5py.Dataset:
    """The dataset at a path, which must exist."""
    return as_dataset(h5py.h5o.open(file.id, encoded(path)))


def found_dataset(file: h5py.Group, path: str) -> h5py.Dataset | None:
    """The dataset at a path; None if there is none. named_datasets explains why."""
    try:
        found = h5py.h5o.open(file.id, encoded(path))
    except (KeyError, ValueError, OSError, RuntimeError):
        return None
    return as_dataset(found) if isinstance(found, h5py.h5d.DatasetID) else None


def is_there(group: h5py.Group, path: str) -> bool:
    """True if a path from a group leads to an object."""
    try:
        h5py.h5o.open(group.id, encoded(path))
    except (KeyError, ValueError, OSError, RuntimeError):
        return False
    return True


def links_of(group: h5py.h5g.GroupID) -> Iterator[tuple[bytes, Any]]:
    """The names in a group, in HDF5's order, with HDF5's information about each link."""
    names: list[bytes] = []
    group.links.iterate(names.append)
    for name in names:
        yield name, group.links.get_info(name)


def hard_links(file: h5py.File, lost: Lost | None = None) -> Iterator[tuple[str, Any, Any]]:
    """(path, object, its group) for all hard links of a file, except those to named types, as low-level objects.

    A group appears once, a dataset with each of its paths in these groups. The first item is ("/", root group, root group).
    `lost`: called for everything that cannot be reached in a damaged file. None: this raises an error.
    """
    root = file["/"].id
    known = {identity_if_whole(root)}
    groups: list[tuple[bytes, Any]] = [(b"", root)]
    yield "/", root, root
    while groups:
        path, group = groups.pop()
        inner: list[tuple[bytes, Any]] = []
        for name in _names(group, path, lost):
            try:
                link = group.links.get_info(name)
                if link.type != h5py.h5l.TYPE_HARD:
                    continue
                item = h5py.h5o.open(group, name)
            except HDF5_ERRORS as error:
                _lose(group, path + b"/" + name, error, lost)
                continue
            if isinstance(item, h5py.h5d.DatasetID):
                yield text(path + b"/" + name), item, group
            elif isinstance(item, h5py.h5g.GroupID) and (key := identity_if_whole(item) or (-1, link.u)) not in known:
                known.add(key)
                inner.append((path + b"/" + name, item))
                yield text(path + b"/" + name), item, group
        groups.extend(reversed(inner))


def _lose(group: h5py.h5g.GroupID, path: bytes, error: BaseException, lost: Lost | None) -> None:
    """Calls `lost` for an unreachable part of a file; without it, raises the error that names the part."""
    if lost is None:
        raise of_part(os.fsdecode(h5py.h5i.get_file_id(group).name), text(path) or "/", error) from error
    lost(text(path) or "/", error)


def _names(group: h5py.h5g.GroupID, path: bytes, lost: Lost | None) -> list[bytes]:
    """The names in a group, in HDF5's order. For a damaged group those that are found, if `lost` accepts the error."""
    names: list[bytes] = []
    try:
        group.links.iterate(names.append)
    except HDF5_ERRORS as error:
        _lose(group, path, error, lost)
    return names


def datasets(file: h5py.File, lost: Lost | None = None) -> list[h5py.Dataset]:
    """All datasets of a file with a hard link, each once. `lost`: as for hard_links()."""
    found: dict[Identity | str, h5py.Dataset] = {}
    for path, item, _ in hard_links(file, lost):
        if isinstance(item, h5py.h5d.DatasetID):
            found.setdefault(identity_if_whole(item) or path, as_dataset(item))
    return list(found.values())


def attribute(item: Any, name: str | bytes) -> Any:
    """The value of an attribute of an h5py object. None if it is missing, empty, or of a type without NumPy equivalent."""
    try:
        value = item.attrs[name] if name in item.attrs else None
    except (TypeError, ValueError, KeyError, OSError, RuntimeError):
        return None
    return None if isinstance(value, h5py.Empty) else value


def has_numpy_type(dataset: h5py.Dataset) -> bool:
    """True if NumPy has the type of a dataset and HDF5 converts to it, which it does not for all bit-fields."""
    if isinstance(dataset, ShortFloats):
        return True
    try:
        return h5py.h5t.find(dataset.id.get_type(), h5py.h5t.py_create(dataset.dtype)) is not None
    except (TypeError, ValueError, KeyError, RuntimeError):
        return False


def array_bytes(dataset: h5py.Dataset) -> int:
    """Size of the elements of a dataset in memory, also for types without NumPy equivalent."""
    space = dataset.id.get_space()
    if space.get_simple_extent_type() == h5py.h5s.NULL:
        return 0
    return int(space.get_simple_extent_npoints()) * int(dataset.id.get_type().get_size())


def is_stored(dataset: h5py.Dataset) -> bool:
    """True if a sample of a dataset is stored in its file, or may be in another file."""
    properties = dataset.id.get_create_plist()
    return bool(dataset.id.get_storage_size() or dataset.is_virtual or properties.get_external_count())


def dtype_text(dataset: h5py.Dataset) -> str:
    """The dtype of a dataset as text: compound types in words, types without NumPy equivalent by h5py's name."""
    try:
        return named(dataset.dtype)
    except (TypeError, ValueError, KeyError):
        return type(dataset.id.get_type()).__name__.removeprefix("Type").removesuffix("ID").lower() + " of HDF5"
