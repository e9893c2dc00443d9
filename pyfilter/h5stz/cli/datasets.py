"""Datasets as arguments: FILE::/path, or FILE alone where it has one dataset only. FILE may be an address, as of h5stz.open."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from h5stz import _core
from h5stz.counts import counted
from h5stz.errors import StzError
from h5stz.reading import opening
from h5stz.reading.view import View

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
SEPARATOR = "::"


def split(text: str) -> tuple[str, str]:
    """FILE and /path of an argument, which is "" where none is named; addresses of fsspec may have the separator too."""
    name, separator, path = text.rpartition(SEPARATOR)
    return (name, path) if separator and "://" not in path else (text, "")


@contextlib.contextmanager
def opened(text: str) -> Iterator[View]:
    """The dataset that an argument names; its file is open for the time. StzError if there is none."""
    name, path = split(text)
    with opening.open(name) as file:
        if not path:
            found = file.datasets()
            if len(found) != 1:
                some = ", ".join(f"{name}{SEPARATOR}/{each}" for each in found[:3]) + (", ..." if len(found) > 3 else "")
                raise StzError(
                    f"{name} has {counted(len(found), 'dataset')}: name one" + (f", such as {some}" if found else ""), _ARGUMENT
                )
            path = found[0]
        member = file[path] if path in file else None
        if not isinstance(member, View):
            raise StzError(f"{path} is no dataset of {name}", _ARGUMENT)
        yield member
