"""A new file gets its name when it is complete: until then it has another one, and no trace is left of one that failed."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py

from h5stz import _core
from h5stz.errors import StzError, StzReadError
from h5stz.files.cut_files import user_block_size
from h5stz.files.stored_chunks import HDF5_ERRORS, in_one_line
from h5stz.hdf5 import file_kinds

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
#: Errors of the system that nothing but room helps against.
_NO_ROOM = {
    errno.ENOSPC: "the disk is full: make room, or name a file on another disk",
    errno.EDQUOT: "your quota is used up: make room, or name a file on another disk",
    errno.EFBIG: "the file would be larger than the system or your limits allow: name a file on another disk",
}
_READ = _core.ERROR_CODES["STZ_ERROR_READ"]


@contextmanager
def replaced(source: Path, target: Path, overwrite: bool) -> Iterator[Path]:
    """The path of an empty file to write, which becomes `target` when the block ends without an error.

    It has the permissions of the file that it replaces, else those of `source`, the HDF5 file that it is made of. The user
    block of `source`, what lies before the HDF5 file proper such as the header of a MATLAB file, is copied. A symbolic link at
    `target` stays what it is: the file to which it leads is replaced.

    Raises:
        FileExistsError: there is a file at `target`, and `overwrite` is not True.
        StzError: (a ValueError) `target` is no regular file, or has other names; `source` is open for writing in this process,
            or was changed meanwhile.
    """
    file_kinds.refuse_if_no_file(source)
    _check_not_open_for_writing(source)
    named, target = target, Path(os.path.realpath(target))
    _check_target(named, target, overwrite)
    before = _identity(source)
    part = _new_part(named, target)
    try:
        yield part
        _copy_user_block(source, part)
        _take_over_permissions(target if target.exists() else source, part)
        _flush(part)
        if _identity(source) != before:
            raise StzError(f"{source} was changed while it was read: nothing was replaced, run it again", _READ)
        _rename(part, target, overwrite)
        _flush(target.parent)
    except HDF5_ERRORS as error:
        if other := _about_target(error, part, named):
            raise other from error
        raise
    finally:
        part.unlink(missing_ok=True)


def _check_not_open_for_writing(source: Path) -> None:
    for file in h5py.h5f.get_obj_ids(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE):
        if not file.get_intent() & h5py.h5f.ACC_RDWR:
            continue
        with contextlib.suppress(OSError):  # files in memory have names without a file
            if os.path.samefile(os.fsdecode(file.name), source):
                raise StzError(f"{source} is open for writing in this process: close it first", _ARGUMENT)


def _check_target(named: Path, target: Path, overwrite: bool) -> None:
    """`named`: the target as the user named it."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise StzReadError(f"{named}: {error.strerror}: choose another name", _ARGUMENT) from None
    if stat.S_ISDIR(found.st_mode):
        raise FileExistsError(f"{named} is a directory: name the new file in it, such as {named / 'out.h5'}")
    if not overwrite:
        raise FileExistsError(f"{named} exists: choose another name, or allow it to be replaced (overwrite=True, --overwrite)")
    if not stat.S_ISREG(found.st_mode):
        raise StzError(f"{named} is not a regular file: choose another name", _ARGUMENT)
    if found.st_nlink > 1:
        raise StzError(f"{named} has {found.st_nlink} names (hard links), and the others would keep the old file", _ARGUMENT)


def _new_part(named: Path, target: Path) -> Path:
    """A new empty file beside the target."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
    except OSError as error:
        if not target.parent.is_dir():
            raise FileNotFoundError(f"{named}: there is no directory {named.parent}: make it first") from None
        text = f"{named}: no file can be made in the directory {named.parent} ({error.strerror}): choose another place"
        raise StzReadError(text, _ARGUMENT) from None
    os.close(handle)
    return Path(name)


def _about_target(error: BaseException, part: Path, named: Path) -> BaseException | None:
    """An error about a file that only this module knows, as one about the file that the user named; None for others."""
    said = in_one_line(error)
    number = getattr(error, "errno", None) or next((code for code in _NO_ROOM if os.strerror(code) in said), None)
    names_part = str(part) in said or part.name in said or getattr(error, "filename", None) in (str(part), part)
    if number in _NO_ROOM and (names_part or getattr(error, "filename", None) is None):
        return _WriteError(f"{named}: {_NO_ROOM[number]} ({os.strerror(number)}), and nothing was written", number, named)
    if not names_part:
        return None
    if number:
        return _WriteError(f"{named}: it cannot be written ({os.strerror(number)}), and nothing was written", number, named)
    said = said.replace(str(part), str(named)).replace(part.name, named.name)
    return type(error)(said, error.code) if isinstance(error, StzError) else RuntimeError(said)


class _WriteError(OSError):
    """The text is all of the message, where OSError would add the number and the name."""

    def __init__(self, text: str, number: int, named: Path) -> None:
        super().__init__(number, text, str(named))
        self._text = text

    def __str__(self) -> str:
        return self._text


def _identity(path: Path) -> tuple[int, int, int, int]:
    """What tells whether a file is still the one that it was."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _copy_user_block(source: Path, target: Path) -> None:
    if size := user_block_size(source):
        with source.open("rb") as old, target.open("r+b") as new:
            new.write(old.read(size))


def _take_over_permissions(of: Path, path: Path) -> None:
    shutil.copymode(of, path)
    owner = of.stat()
    with contextlib.suppress(OSError):  # only an administrator may give files away
        os.chown(path, owner.st_uid, owner.st_gid)


def _flush(path: Path) -> None:
    """Has the system write a file or a directory to the disk."""
    with contextlib.suppress(OSError):  # some file systems do not do that for directories
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _rename(part: Path, target: Path, overwrite: bool) -> None:
    if overwrite:
        os.replace(part, target)
        return
    try:
        os.link(part, target)  # unlike a renaming, it fails if somebody has made such a file meanwhile
    except FileExistsError:
        raise FileExistsError(f"{target} exists by now: choose another name, or allow it to be replaced") from None
    except OSError:  # a file system without links
        os.rename(part, target)
