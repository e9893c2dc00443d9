"""Writes a file that is derived from another one. It gets its name when it is complete (new_files)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from h5stz import _core
from h5stz.errors import StzError
from h5stz.files.cut_files import user_block_size
from h5stz.hdf5 import file_kinds
from h5stz.new_files import written_file

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_READ = _core.ERROR_CODES["STZ_ERROR_READ"]


@contextmanager
def replaced(source: Path, target: Path, overwrite: bool, may_be_source: bool = True) -> Iterator[Path]:
    """A context with the path of an empty file to write. It becomes `target` if the block ends without an error.

    The new file has the permissions of the file that it replaces, otherwise those of `source`, the HDF5 file that it is
    derived from. The user block of `source` (the bytes before the HDF5 file proper, such as a MATLAB header) is copied. If
    `target` is a symbolic link, the file it leads to is replaced.

    Raises:
        As written_file(), and StzError: `source` is open for writing in this process, or changed meanwhile.
    """
    file_kinds.refuse_if_no_file(source)
    _check_not_open_for_writing(source)
    before = _identity(source)
    with written_file(target, overwrite, like=source, source=None if may_be_source else source) as part:
        yield part
        _copy_user_block(source, part)
        if _identity(source) != before:
            raise StzError(f"{source} was changed while it was read: nothing was replaced, run it again", _READ)


def _check_not_open_for_writing(source: Path) -> None:
    for file in h5py.h5f.get_obj_ids(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE):
        if not file.get_intent() & h5py.h5f.ACC_RDWR:
            continue
        with contextlib.suppress(OSError):  # files in memory have names without a file
            if os.path.samefile(os.fsdecode(file.name), source):
                raise StzError(f"{source} is open for writing in this process: close it first", _ARGUMENT)


def _identity(path: Path) -> tuple[int, int, int, int]:
    """Identifies a file and its contents, to detect changes."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _copy_user_block(source: Path, target: Path) -> None:
    if size := user_block_size(source):
        with source.open("rb") as old, target.open("r+b") as new:
            new.write(old.read(size))
