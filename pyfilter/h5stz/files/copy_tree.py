"""Copies everything in an HDF5 file to an empty one. The caller may write chosen datasets itself.

Copied are groups, datasets with their properties and raw chunks, attributes, named types, comments, links of all kinds with
their order and encoding, and references, which are rewritten because objects have other addresses in the new file. Datasets
that the caller does not choose are copied as stored (H5Ocopy), except those of a named type and those with references or
variable-length values.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import h5py
import h5py.h5l
import h5py.h5o
import numpy as np

from h5stz import slabs
from h5stz.elements import Array
from h5stz.errors import HDF5_ERRORS
from h5stz.hdf5 import calls, raw_values, unknown_links
from h5stz.hdf5.objects import as_dataset
from h5stz.hdf5.written_parts import written_boxes
from h5stz.unreadable import is_of_hdf5, of_part

Place: TypeAlias = tuple[h5py.h5g.GroupID, bytes, h5py.h5p.PropLCID]  # a group, a name in it, and the properties of the link
#: Called with a dataset of the source, its place in the target and its type there. Creates the dataset and writes it, without
#: attributes, and returns True; or returns False, and the dataset is copied as it is.
Store: TypeAlias = Callable[[h5py.Dataset, Place, h5py.h5t.TypeID], bool]

#: Called with a path, what of it cannot be read (text), and the error.
Lost: TypeAlias = Callable[[str, str, BaseException], None]

_REGION, _ATTRIBUTE = 3, 4  # H5R_DATASET_REGION2, H5R_ATTR
ALL_FILTERS = 0  # H5Z_FILTER_ALL, for remove_filter: to remove one of several ends the program (HDF5 2.0)


def new_file(source: h5py.File, path: str) -> h5py.File:
    """A new, empty file with the creation properties of `source`: user block, order of links, sizes of addresses."""
    creation, access = source.id.get_create_plist(), h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    _copy_order(source["/"].id.get_create_plist(), creation)  # of which the properties of the file do not know
    calls.allow_odd_numbers(access)
    oldest = {2: h5py.h5f.LIBVER_V18, 3: h5py.h5f.LIBVER_V110}  # that write such a superblock
    access.set_libver_bounds(oldest.get(creation.get_version()[0], h5py.h5f.LIBVER_EARLIEST), h5py.h5f.LIBVER_LATEST)
    return h5py.File(h5py.h5f.create(os.fsencode(path), h5py.h5f.ACC_TRUNC, fcpl=creation, fapl=access))


def copy_tree(source: h5py.File, target: h5py.File, store: Store, lost: Lost | None = None) -> list[str]:
    """Copies the contents of `source` to `target`, a file of new_file().

    Args:
        source, target: files.
        store: see Store.
        lost: called for objects that cannot be copied because the file is damaged. None: this raises an error.

    Returns:
        A line for everything that could not be kept: links of unknown kinds, references to objects without a link, and
        relative names of other files that change their meaning in the directory of the new file.
    """
    return _Copy(source, target, store, lost).run()


class _Copy:
    def __init__(self, source: h5py.File, target: h5py.File, store: Store, lost: Lost | None) -> None:
        self.source, self.target, self.store, self.lost = source, target, store, lost
        self.paths: dict[tuple[int, int], bytes] = {}  # of objects in the target, by their address in the source
        self.pairs: list[tuple[Any, bytes]] = []  # objects of the source with their paths, in the order of their creation
        self.with_references: list[tuple[h5py.h5d.DatasetID, bytes]] = []
        self.early_types: dict[tuple[int, int], bytes] = {}  # named types that something needed before their link was made
        self.notes: list[str] = []
        self.is_elsewhere = _directory(source) != _directory(target)

    def run(self) -> list[str]:
        root = self.source["/"].id
        self._remember(root, b"/")
        with self._going_on(b"/", "its comment"):
            if comment := root.get_comment(b"."):
                self.target["/"].id.set_comment(b".", comment)
        groups = [(root, b"/")]
        while groups:
            groups.extend(reversed(list(self._links(*groups.pop()))))
        for dataset, path in self.with_references:  # now everything has its place
            with self._going_on(path, "its values"):
                self._write_references(dataset, path)
        for item, path in self.pairs:
            with self._going_on(path, "its attributes"):
                count = h5py.h5a.get_num_attrs(item)
                made = h5py.h5o.open(self.target.id, path) if count else None
                for index in range(count):
                    with self._going_on(path, f"attribute {index}"):
                        self._attribute(h5py.h5a.open(item, index=index, index_type=_order(item)), made, path)
        for name in self.early_types.values():  # no link of the source leads to them
            self.target.id.unlink(name)
        return self.notes

    def _remember(self, item: Any, path: bytes) -> None:
        if key := self._key_of(item):
            self.paths[key] = path
        self.pairs.append((item, path))

    def _path_of(self, item: Any) -> bytes | None:
        key = self._key_of(item)
        return self.paths.get(key) if key else None

    def _key_of(self, item: Any) -> tuple[int, int] | None:
        """Identity of an object. None if it is damaged: each link to it then gets an object of its own."""
        try:
            info = h5py.h5o.get_info(item)
        except HDF5_ERRORS:
            if self.lost is None:
                raise
            return None
        return info.fileno, info.addr

    def _links(self, group: h5py.h5g.GroupID, path: bytes) -> Iterator[tuple[h5py.h5g.GroupID, bytes]]:
        """Creates all links of a group with their objects. Yields the new groups."""
        made = h5py.h5g.open(self.target.id, path)
        names: list[bytes] = []
        with self._going_on(path, "some of its links"):
            _find_names(group, names)
        for name in names:
            new = None
            of_link = path.rstrip(b"/") + b"/" + name
            with self._going_on(of_link, "all of it"):
                new = self._link(group, path, name, made)
            if new:
                yield new

    def _link(
        self, group: h5py.h5g.GroupID, path: bytes, name: bytes, made: h5py.h5g.GroupID
    ) -> tuple[h5py.h5g.GroupID, bytes] | None:
        """Creates a link of a group with its object. Returns the object if it is a new group."""
        link = group.links.get_info(name)
        properties = h5py.h5p.create(h5py.h5p.LINK_CREATE)
        properties.set_char_encoding(link.cset)
        if link.type == h5py.h5l.TYPE_SOFT:
            made.links.create_soft(name, group.links.get_val(name), properties)
        elif link.type == h5py.h5l.TYPE_EXTERNAL:
            made.links.create_external(name, *group.links.get_val(name), properties)
            self._note_name(path.rstrip(b"/") + b"/" + name, group.links.get_val(name)[0])
        elif link.type == h5py.h5l.TYPE_HARD:
            return self._object(group, path.rstrip(b"/") + b"/" + name, (made, name, properties))
        elif not unknown_links.copied(group, name, made, properties, link.type):
            self.notes.append(f"{_text(path)}: the link {_text(name)} was left out: it is a user-defined link of unknown kind")
        return None

    @contextmanager
    def _going_on(self, path: bytes, part: str) -> Iterator[None]:
        """A context that passes errors of HDF5 to `lost`, if given. Otherwise errors about the source name the object."""
        try:
            yield
        except HDF5_ERRORS as error:
            if self.lost is None:
                if is_of_hdf5(error):
                    raise of_part(os.fsdecode(self.source.filename), _text(path), error) from error
                raise
            self.lost(_text(path), part, error)

    def _object(self, group: h5py.h5g.GroupID, path: bytes, place: Place) -> tuple[h5py.h5g.GroupID, bytes] | None:
        """Creates the object of a hard link, or a link to the object if it exists. Returns the object if it is a new group."""
        made, name, properties = place
        item = h5py.h5o.open(group, name)
        if known := self._path_of(item):
            made.links.create_hard(name, self.target.id, known, properties)
            return None
        if isinstance(item, h5py.h5g.GroupID):
            h5py.h5g.create(made, name, properties, _group_properties(item))
        elif isinstance(item, h5py.h5t.TypeID):
            self._named_type(item, place)
        elif not self.store(as_dataset(item), place, self.type_of(item)):
            self._dataset(item, group, path, place)
        self._remember(item, path)
        if comment := group.get_comment(name):
            made.set_comment(name, comment)
        return (item, path) if isinstance(item, h5py.h5g.GroupID) else None

    def _dataset(self, item: h5py.h5d.DatasetID, group: h5py.h5g.GroupID, path: bytes, place: Place) -> None:
        """Copies a dataset as stored, without attributes."""
        made, name, properties = place
        properties_of_it = item.get_create_plist()
        elsewhere = properties_of_it.get_layout() == h5py.h5d.VIRTUAL or properties_of_it.get_external_count() > 0
        if elsewhere:
            self._note_names_of(path, properties_of_it)
        # H5Ocopy leaves fill values of variable length behind (HDF5 2.0). What lies in other files is never written.
        elif item.get_type().committed() or not raw_values.is_plain(item.get_type()):
            h5py.h5d.create(made, name, self.type_of(item), item.get_space(), item.get_create_plist(), properties)
            self.with_references.append((item, path))
            return
        copying = h5py.h5p.create(h5py.h5p.OBJECT_COPY)
        copying.set_copy_object(h5py.h5o.COPY_WITHOUT_ATTR_FLAG)
        h5py.h5o.copy(group, name, made, name, copying, properties)

    def type_of(self, item: h5py.h5d.DatasetID | h5py.h5a.AttrID) -> h5py.h5t.TypeID:
        """The type of a dataset or attribute, for the target: the target's named type if it is a named one."""
        its_type = item.get_type()
        if not its_type.committed():
            return its_type
        info = h5py.h5o.get_info(its_type)
        key = info.fileno, info.addr
        if key not in self.paths and key not in self.early_types:
            self.early_types[key] = b".h5stz type %d" % len(self.early_types)
            its_type.copy().commit(self.target.id, self.early_types[key])
        return h5py.h5t.open(self.target.id, self.paths.get(key) or self.early_types[key])

    def _named_type(self, item: h5py.h5t.TypeID, place: Place) -> None:
        made, name, properties = place
        info = h5py.h5o.get_info(item)
        early = self.early_types.pop((info.fileno, info.addr), None)
        if early is None:
            item.copy().commit(made, name, properties)
        else:
            made.links.create_hard(name, self.target.id, early, properties)
            self.target.id.unlink(early)

    def _note_names_of(self, path: bytes, properties: h5py.h5p.PropDCID) -> None:
        """Records the file names of a dataset whose data are in other files."""
        if properties.get_layout() == h5py.h5d.VIRTUAL:
            files = {os.fsencode(properties.get_virtual_filename(index)) for index in range(properties.get_virtual_count())}
        else:
            files = {properties.get_external(index)[0] for index in range(properties.get_external_count())}
        for file in sorted(files - {b"."}):
            self._note_name(path, file)

    def _note_name(self, path: bytes, file: bytes) -> None:
        if self.is_elsewhere and not os.path.isabs(file):
            self.notes.append(
                f"{_text(path)}: leads to the file {_text(file)}, which is now searched from the directory of the new file"
            )

    def _write_references(self, item: h5py.h5d.DatasetID, path: bytes) -> None:
        source, made = h5py.Dataset(item), h5py.h5o.open(self.target.id, path)
        stored, space = item.get_type(), item.get_space()
        if space.get_simple_extent_type() == h5py.h5s.NULL:
            return
        sizes = raw_values.Sizes(space.shape, np.dtype((np.void, stored.get_size())), source.chunks)
        for box in written_boxes(slabs.slab_extents(sizes, slabs.STORED_BYTES), source):
            with raw_values.values_of(item, box, stored) as raw:
                self._renew(stored, raw, path)
                raw_values.write_values(made, box, stored, raw)

    def _attribute(self, attribute: h5py.h5a.AttrID, made: Any, path: bytes) -> None:
        space = attribute.get_space()
        new = h5py.h5a.create(made, attribute.name, self.type_of(attribute), space)
        if space.get_simple_extent_type() != h5py.h5s.NULL and space.get_simple_extent_npoints():
            raw_values.copy_attribute(attribute, new, lambda stored, raw: self._renew(stored, raw, path))

    def _renew(self, stored: h5py.h5t.TypeID, raw: Array, path: bytes) -> None:
        """Replaces references to objects of the source by references to those of the target."""
        raw_values.visit_references(stored, raw, lambda address, kind: self._reference(address, kind, path))

    def _reference(self, address: int, kind: int, path: bytes) -> None:
        reference = (ctypes.c_ubyte * raw_values.REFERENCE_BYTES[kind]).from_address(address)
        if not any(reference):
            return
        place = ctypes.c_void_p(address)
        try:
            if kind == raw_values.ANY:
                if self._new_reference(place):
                    return
                raise KeyError("no link leads to it")
            item = raw_values.opened("H5Rdereference2", self.source.id, 0, kind, place)
            known = self._path_of(item)
            if known is not None:
                space = raw_values.opened("H5Rget_region", self.source.id, kind, place) if kind else -1
                raw_values.call("H5Rcreate", place, self.target.id, known, kind, space)
                return
        except (ValueError, RuntimeError, KeyError, OSError):
            pass
        self.notes.append(f"{_text(path)}: refers to an object without a link: the reference is now empty")
        ctypes.memset(address, 0, len(reference))

    def _new_reference(self, place: ctypes.c_void_p) -> bool:
        """Creates a reference of the HDF5 1.12 kind to the object in the target. False if the object has no link."""
        known = self._path_of(raw_values.opened("H5Ropen_object", place, 0, 0))
        if known is None:
            return False
        which = raw_values.call("H5Rget_type", place)
        if which == _ATTRIBUTE:
            name = np.zeros(raw_values.call("H5Rget_attr_name", place, ctypes.c_void_p(), 0) + 1, np.uint8)
            raw_values.call("H5Rget_attr_name", place, name, len(name))
            arguments: tuple[Any, ...] = (name,)
        else:
            arguments = (raw_values.opened("H5Ropen_region", place, 0, 0),) if which == _REGION else ()
        raw_values.call("H5Rdestroy", place)
        made = {_ATTRIBUTE: "H5Rcreate_attr", _REGION: "H5Rcreate_region"}.get(which, "H5Rcreate_object")
        raw_values.call(made, self.target.id, known, *arguments, 0, place)
        return True


def _directory(file: h5py.File) -> str:
    return os.path.dirname(os.path.realpath(str(file.filename)))


def _find_names(group: h5py.h5g.GroupID, names: list[bytes]) -> None:
    """Adds the names of all links, in order of creation if the group records it."""
    tracked = group.get_create_plist().get_link_creation_order() & h5py.h5p.CRT_ORDER_TRACKED
    group.links.iterate(names.append, idx_type=h5py.h5.INDEX_CRT_ORDER if tracked else h5py.h5.INDEX_NAME)


def _group_properties(group: h5py.h5g.GroupID) -> h5py.h5p.PropGCID:
    """The creation properties for a copy of a group.

    They are set one by one, because the property list of a group with more than 8 links or attributes contains addresses in
    its file.
    """
    before, made = group.get_create_plist(), h5py.h5p.create(h5py.h5p.GROUP_CREATE)
    _copy_order(before, made)
    return made


def _copy_order(before: Any, made: Any) -> None:
    """Copies the order and storage of links and attributes to the properties `made` of a group or file."""
    made.set_link_creation_order(before.get_link_creation_order())
    made.set_attr_creation_order(before.get_attr_creation_order())
    made.set_attr_phase_change(*before.get_attr_phase_change())
    limits = calls.link_phase_change(before)
    if limits is not None and limits != calls.link_phase_change(made):  # setting them makes a group of the newer kind
        calls.set_link_phase_change(made, *limits)
    made.set_obj_track_times(before.get_obj_track_times())


def _order(item: Any) -> int:
    """The index in which the attributes of an object are visited: by creation if the object records that order."""
    if isinstance(item, h5py.h5t.TypeID):
        return int(h5py.h5.INDEX_NAME)
    tracked = item.get_create_plist().get_attr_creation_order() & h5py.h5p.CRT_ORDER_TRACKED
    return int(h5py.h5.INDEX_CRT_ORDER if tracked else h5py.h5.INDEX_NAME)


def _text(path: bytes) -> str:
    return path.decode(errors="replace")
