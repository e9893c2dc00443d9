"""Finds the dataset at a path that the user gave. If there is none, explains which links lead where and what is missing."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from typing import Any

import h5py
import h5py.h5i
import h5py.h5l
import h5py.h5o

from h5stz import _core
from h5stz.errors import HDF5_ERRORS, StzError, StzReadError
from h5stz.hdf5 import file_kinds, objects
from h5stz.unreadable import cure_of_file

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_MOST_LINKS = 16  # that are followed one after another, as HDF5 does
_SHOWN = 3  # names that are proposed
_PROPOSED = 5  # datasets that are proposed in place of a pattern


def dataset_named(file: h5py.Group, path: str, name: str) -> h5py.Dataset:
    """The dataset at a path; it may be empty.

    Args:
        file: the open file.
        path: path of the dataset.
        name: name of the file as the user gave it.

    Raises:
        StzError: (a ValueError) there is no dataset; the message tells what is there, and the remedy.
    """
    if (found := objects.found_dataset(file, path)) is not None:
        return found
    raise StzError(f"{path} is not a dataset of {name}: {why_none(file, path, name)}", _ARGUMENT)


def dataset_with_samples(file: h5py.Group, path: str, name: str) -> h5py.Dataset:
    """As dataset_named(), but also raises StzError for a null dataspace."""
    found = dataset_named(file, path, name)
    if found.shape is None:
        text = f"{path} of {name} has a type, {objects.dtype_text(found)}, but no samples (its dataspace is null)"
        raise StzError(f"{text}: name a dataset that has some", _ARGUMENT)
    return found


def hard_link_to(file: h5py.File, dataset: h5py.Dataset) -> str:
    """A path of a dataset that consists of hard links, as rules need it. StzError if the dataset is in another file."""
    key = objects.identity(dataset)
    for path, item, _ in objects.hard_links(file):
        if isinstance(item, h5py.h5d.DatasetID) and objects.identity(item) == key:
            return path
    name = os.fsdecode(h5py.h5i.get_file_id(dataset.id).name)
    raise StzError(f"{objects.name_of(dataset)} is in another file, {name}, to which a link leads: name it there", _ARGUMENT)


def why_none(file: h5py.Group, path: str, name: str) -> str:
    """The reason why there is no dataset at a path, and the remedy. Arguments as for dataset_named()."""
    try:
        found = h5py.h5o.open(file.id, objects.encoded(path or "/"))
    except HDF5_ERRORS:
        return f"{missing_part(file, path)}. {_listed(name)}"
    if isinstance(found, h5py.h5t.TypeID):
        return f"it is a named type, which has no samples. {_listed(name)}"
    inner = [objects.name_of(each) for each in _datasets_below(found)]
    cure = f"name one in it, such as {inner[0]}" if inner else "there is none in it"
    return f"it is a group, {cure}. {_listed(name)}"


def _listed(name: str) -> str:
    return f"h5stz info --all {name} lists the datasets"


def _datasets_below(group: h5py.h5g.GroupID) -> list[h5py.Dataset]:
    """Datasets that are members of a group."""
    found = []
    for name, link in objects.links_of(group):
        if link.type == h5py.h5l.TYPE_HARD:
            item = h5py.h5o.open(group, name)
            found += [objects.as_dataset(item)] if isinstance(item, h5py.h5d.DatasetID) else []
    return found


def no_dataset_like(file: h5py.File, pattern: str, paths: Sequence[str]) -> StzError:
    """The error for a pattern that matches none of the datasets at `paths`. It suggests some."""
    near = difflib.get_close_matches(pattern, paths, _PROPOSED)
    shown = near or paths[:_PROPOSED]
    there = (", ".join(shown) or "none") + (f" and {len(paths) - len(shown)} more" if len(paths) > len(shown) else "")
    text = f"no dataset has a path like {pattern!r}: there are {there}{link_of_pattern(file, pattern)}"
    return StzError(text, _ARGUMENT)


def link_of_pattern(file: h5py.File, pattern: str) -> str:
    """A hint for a pattern that matches no dataset: the other object with this path; "" if there is none."""
    try:
        link = file.id.links.get_info(objects.encoded(pattern))
    except HDF5_ERRORS:
        return ""
    try:
        found = h5py.h5o.open(file.id, objects.encoded(pattern))
    except HDF5_ERRORS:
        return f". But {missing_part(file, pattern)}"
    kind = "type" if isinstance(found, h5py.h5t.TypeID) else "group"
    if not isinstance(found, h5py.h5d.DatasetID):
        is_it = "is" if link.type == h5py.h5l.TYPE_HARD else "leads to"
        cure = f": {pattern.rstrip('/')}/* means all that is in it" if kind == "group" else ""
        return f". But {pattern} {is_it} a {kind}{cure}"
    try:
        return f". But {pattern} is a link to {hard_link_to(file, h5py.Dataset(found))}: name that"
    except StzError as error:
        return f". But {error}"


def missing_part(group: h5py.Group, path: str) -> str:
    """The missing part of a path from a group, and the links on the way to it."""
    return _Search(group.file).why(objects.encoded(path), objects.encoded(objects.name_of(group)))


class _Search:
    """Follows a path link by link, as HDF5 does, to the missing part."""

    def __init__(self, file: h5py.File, depth: int = 0) -> None:
        self._file, self._depth = file, depth
        self._followed: set[str] = set()  # soft links

    def why(self, path: bytes, above: bytes = b"") -> str:
        """The missing part of a path from the group `above`."""
        group: Any = self._file["/"].id
        at = b"" if path.startswith(b"/") else above
        parts = [part for part in (at + b"/" + path).split(b"/") if part not in (b"", b".")]
        at = b""
        for part in parts:
            here = at + b"/" + part
            if not isinstance(group, h5py.h5g.GroupID):
                return f"{_text(at)} is not a group"
            try:
                link = group.links.get_info(part)
            except HDF5_ERRORS:
                if part == b"..":
                    return "HDF5 paths have no ..: give the whole path, from / on"
                return f"there is no {_text(here)}{_proposal(group, part, _text(at) or '/')}"
            try:
                group = h5py.h5o.open(group, part)
            except HDF5_ERRORS:
                return self._broken(group, part, link, at)
            at = here
        return "HDF5 cannot open it"

    def _broken(self, group: h5py.h5g.GroupID, part: bytes, link: Any, above: bytes) -> str:
        """The reason why a link in the group `above` is broken."""
        here = _text(above + b"/" + part)
        if link.type == h5py.h5l.TYPE_SOFT:
            target = group.links.get_val(part)
            text = f"{here} is a soft link to {_text(target)}"
            if here in self._followed:
                return "so they lead in a circle"
            self._followed.add(here)
            return f"{text}, and {self.why(target, above)}"
        if link.type == h5py.h5l.TYPE_EXTERNAL:
            name, target = map(bytes, group.links.get_val(part))
            text = f"{here} is an external link to {_text(target)} in the file {_text(name)}"
            return f"{text}, {self._why_not_there(name, target)}"
        if link.type == h5py.h5l.TYPE_HARD:
            cure = cure_of_file(os.fsdecode(self._file.filename))
            return f"HDF5 cannot open {here}, as the file is damaged there: {cure}"
        return f"{here} is a user-defined link that only its own program can follow"

    def _why_not_there(self, name: bytes, target: bytes) -> str:
        """The reason why an external link is broken: its file or the object in it is missing."""
        if self._file.driver == "fileobj":
            return "which is not followed from here: open that file by its own path or address"
        beside = os.path.dirname(os.path.abspath(os.fsencode(self._file.filename)))
        prefix = os.fsencode(os.environ.get("HDF5_EXT_PREFIX", ""))
        places = [os.path.join(prefix, name)] if prefix else []
        places += [name, os.path.join(beside, os.path.basename(name) if os.path.isabs(name) else name)]
        there = next((place for place in places if os.path.exists(place)), None)
        if there is None:
            shown = _text(os.path.dirname(places[-1]))
            return f"and there is no such file, neither by this name nor in {shown}: copy it there"
        if self._depth > _MOST_LINKS:
            return "and the links go on without end"
        try:
            with file_kinds.opened_file(os.fsdecode(there)) as other:
                return f"and there {_Search(other, self._depth + 1).why(target)}"
        except StzReadError as error:
            return f"which cannot be opened: {error}"


def _proposal(group: h5py.h5g.GroupID, part: bytes, above: str) -> str:
    """Names in a group, whose path is `above`, that are similar to a missing name."""
    names = [objects.text(name) for name, _ in objects.links_of(group)]
    near = difflib.get_close_matches(objects.text(part), names, _SHOWN)
    shown = near or sorted(names)[:_SHOWN]
    if not shown:
        return f" ({above} is empty)"
    more = ", ..." if len(shown) < len(names) and not near else ""
    return f" (in {above} {'is' if len(shown) == 1 else 'are'} {', '.join(shown)}{more})"


def _text(path: bytes) -> str:
    return objects.text(path)
