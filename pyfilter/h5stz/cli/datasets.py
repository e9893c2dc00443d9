"""Datasets as arguments: FILE::/path, or FILE alone if it has a single dataset. FILE may be an address, as for h5stz.open."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from h5stz import _core
from h5stz.counts import counted
from h5stz.errors import StzError
from h5stz.hdf5.named_datasets import dataset_with_samples
from h5stz.reading import opening
from h5stz.reading.view import View
from h5stz.sources.remote_files import shown_name

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
SEPARATOR = "::"


def split(text: str) -> tuple[str, str]:
    """Splits an argument into FILE and /path; the path is "" if none is given. Both may contain the separator :: themselves.

    FILE is the longest prefix that is a local file. Otherwise it is everything before the first separator after the address,
    which may be an fsspec address that contains separators. Raises StzError if FILE is missing.
    """
    parts = text.split(SEPARATOR)
    named = [(SEPARATOR.join(parts[:count]), SEPARATOR.join(parts[count:])) for count in range(len(parts), 0, -1)]
    for name, path in named:
        if os.path.isfile(name):
            return name, path
    possible = [(name, path) for name, path in named if "://" not in path and not os.path.isfile(path.split(SEPARATOR)[0])]
    found = next((each for each in reversed(possible) if each[1].startswith("/")), possible[min(1, len(possible) - 1)])
    if found[1] and not found[0]:
        raise StzError(f"{text} names no file: give FILE{text}", _ARGUMENT)
    return found


@contextlib.contextmanager
def opened(text: str, like: str = "") -> Iterator[View]:
    """Opens the dataset of an argument in a context. Raises StzError if there is none.

    `like`: a path that the error suggests, if the file has it.
    """
    name, path = split(text)
    with opening.open(name) as file:
        if not path:
            found = sorted(file.datasets(), key=lambda each: f"/{each}" != like)
            if len(found) != 1:
                some = ", ".join(f"{shown_name(name)}{SEPARATOR}/{each}" for each in found[:3]) + (
                    ", ..." if len(found) > 3 else ""
                )
                raise StzError(
                    f"{shown_name(name)} has {counted(len(found), 'dataset')}: name one"
                    + (f", such as {some}" if found else ""),
                    _ARGUMENT,
                )
            path = found[0]
        member = file.member(dataset_with_samples(file.h5, path, shown_name(name)))
        assert isinstance(member, View)
        yield member
