"""New files of all commands and functions. A file gets its name when it is complete.

Until then it has another name beside the target. A failure leaves no file. Errors use the name that the user gave, and tell
the problem and the remedy.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from h5stz import _core
from h5stz.errors import HDF5_ERRORS, StzError, StzReadError, in_one_line

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_PROBED = 1 << 20  # bytes that are written to learn why a library could not write
#: Errors of the system that nothing but room helps against.
_NO_ROOM = {
    errno.ENOSPC: "the disk is full: make room, or name a file on another disk",
    errno.EDQUOT: "your quota is used up: make room, or name a file on another disk",
    errno.EFBIG: "the file would be larger than the system or your limits allow: name a file on another disk",
}


class _PlaceError(StzReadError):
    """A file cannot be created at this place. `errno` is that of the system."""


class _NoDirectoryError(_PlaceError, FileNotFoundError):
    """The directory does not exist."""


class _WriteError(OSError):
    """An OSError whose message is only its text, without error number and name."""

    def __init__(self, text: str, number: int, named: str) -> None:
        super().__init__(number, text, named)
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[type[_WriteError], tuple[str, int, str]]:
        return type(self), (self._text, int(self.errno or 0), str(self.filename))


@contextmanager
def written_file(
    target: str | os.PathLike[str],
    overwrite: bool,
    like: Path | None = None,
    source: str | os.PathLike[str] | None = None,
) -> Iterator[Path]:
    """A context with the path of an empty file to write. It becomes `target` if the block ends without an error.

    The new file has the permissions of the file that it replaces, otherwise those of `like`, otherwise the default. If
    `target` is a symbolic link, the file it leads to is replaced.

    Args:
        target: path as the user gave it.
        overwrite: True permits an existing file.
        like: a file whose permissions and owner a new file gets.
        source: the input file. It must not be replaced, because the new file has only part of its contents.

    Raises:
        FileExistsError: a file exists at `target`, and `overwrite` is False.
        StzError: (a ValueError) `target` is not a regular file, has several hard links, or is the source.
        OSError: the file cannot be created, or the disk is full.
    """
    named, place = os.fsdecode(target), Path(os.path.realpath(target))
    if source is not None and os.path.exists(source) and os.path.exists(place) and os.path.samefile(source, place):
        raise StzError(f"{named} is the input file: choose another name for the new file", _ARGUMENT)
    check_target(named, overwrite)
    part = _new_part(named, place, 0o666 if like is None else 0o600)
    try:
        with errors_named(named, part):
            yield part
            if place.exists() or like is not None:
                _take_over_permissions(place if place.exists() else like, part)
            _flush(part)
            _rename(part, place, named, overwrite)
            _flush(place.parent)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def written_directly(path: str | os.PathLike[str]) -> Iterator[None]:
    """A context for a file that another library writes under its own name. Errors name the file, and a new file is removed."""
    place = os.path.expanduser(path)
    new = not os.path.lexists(place)
    try:
        with errors_named(os.fsdecode(path)):
            yield
    except BaseException:
        if new:
            with contextlib.suppress(OSError):
                os.remove(place)
        raise


def check_target(named: str, overwrite: bool) -> None:
    """Raises the errors of written_file() about an existing file."""
    try:
        found = os.stat(os.path.realpath(named))
    except FileNotFoundError:
        return
    except OSError as error:
        raise _place_error(named, error.errno or 0) from None
    if stat.S_ISDIR(found.st_mode):
        raise FileExistsError(f"{named} is a directory: name the new file in it, such as {os.path.join(named, 'out.h5')}")
    if not overwrite:
        cure = "choose another name, or allow it to be replaced (overwrite=True, --overwrite)"
        raise FileExistsError(f"{named} exists: {cure}")
    if not stat.S_ISREG(found.st_mode):
        raise StzError(f"{named} is not a regular file: choose another name", _ARGUMENT)
    if found.st_nlink > 1:
        raise StzError(f"{named} has {found.st_nlink} names (hard links), and the others would keep the old file", _ARGUMENT)


@contextmanager
def errors_named(named: str, part: Path | None = None) -> Iterator[None]:
    """A context that converts errors about a file being written to errors about `named`, the user's name for it.

    Args:
        named: the file.
        part: the file that is written until it is complete; None: the file itself.
    """
    try:
        yield
    except HDF5_ERRORS as error:
        if other := _about(error, named, part):
            raise other from error
        raise


def _about(error: BaseException, named: str, part: Path | None) -> BaseException | None:
    """Converts an error about a file being written to one about the user's name for it; None for other errors."""
    if isinstance(error, (_PlaceError, _WriteError, FileExistsError)):
        return None
    said, filename = in_one_line(error), getattr(error, "filename", None)
    place = Path(os.path.abspath(os.path.expanduser(named))) if part is None else part
    names = (named, str(place)) if part is None else (str(place), place.name)
    names_it = any(name in said for name in names) or (filename is not None and os.fsdecode(filename) in names)
    number = _number(error, said)
    if number in (0, errno.EACCES) and isinstance(error, (OSError, RuntimeError)) and not isinstance(error, StzError):
        found = refusal_to_grow(place)  # NumPy tells of no error, netCDF4 of none or of this one
        number = found if found and (names_it or found in _NO_ROOM) else number
    if number in _NO_ROOM and (names_it or filename is None):
        return _no_room(named, number)
    if not names_it:
        return None
    if number:
        return _place_error(named, number)
    if part is None:
        return None
    said = said.replace(str(place), named).replace(place.name, os.path.basename(named))
    return type(error)(said, error.code) if isinstance(error, StzError) else RuntimeError(said)


def _number(error: BaseException, said: str) -> int:
    """The system's error number of an error, also if it is only in HDF5's text; 0 if there is none."""
    if number := getattr(error, "errno", None):
        return int(number)
    if found := re.search(r"\berrno = (\d+)", said):
        return int(found[1])
    return next((code for code in _NO_ROOM if os.strerror(code) in said), 0)


def refusal_to_grow(place: Path) -> int:
    """The system's error number if a file cannot grow; 0 if it can. Tested with another file beside it.

    For libraries that do not tell why a write failed.
    """
    if place.exists() and not place.is_file():
        return 0
    beside = place.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with beside.open("xb") as file:
            file.seek(place.stat().st_size if place.exists() else 0)
            file.write(bytes(_PROBED))
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno or 0
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
    return 0


def _no_room(named: str, number: int) -> _WriteError:
    return _WriteError(f"{named}: {_NO_ROOM[number]} ({os.strerror(number)}), and nothing was written", number, named)


def _place_error(named: str, number: int) -> OSError:
    """The error for a file that cannot be created, with the problem and the remedy, from the system's error."""
    above = os.path.dirname(os.path.realpath(named))
    directory = os.path.dirname(named) or "."
    if os.path.realpath(directory) != above:
        directory = above  # of a link
    why = os.strerror(number)
    if number in _NO_ROOM:
        return _no_room(named, number)
    kind = _PlaceError
    if number in (errno.ENOENT, errno.ENOTDIR) and not os.path.lexists(above):
        kind, text = _NoDirectoryError, f"there is no directory {directory}: create it first"
    elif number == errno.ENOTDIR:
        text = f"{directory} is not a directory ({why}): choose another place"
    elif number == errno.EROFS:
        text = f"no file can be created in the directory {directory}, as its disk is read-only ({why}): choose another place"
    elif number in (errno.EACCES, errno.EPERM) and not os.path.exists(named):
        text = f"no file can be created in the directory {directory} ({why}): choose another place, or change its permissions"
    elif number == errno.ENAMETOOLONG:
        text = f"the name is too long for the system ({why}): choose a shorter one"
    else:
        text = f"it cannot be written ({why}): choose another place"
    made = kind(f"{named}: {text}", _ARGUMENT)
    made.errno = number
    return made


def _new_part(named: str, target: Path, mode: int) -> Path:
    """A new empty file beside the target."""
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode))
    except OSError as error:
        raise _place_error(named, error.errno or 0) from None
    return part


def _take_over_permissions(of: Path | None, path: Path) -> None:
    if of is None:
        return
    shutil.copymode(of, path)
    owner = of.stat()
    with contextlib.suppress(OSError):  # only an administrator may give files away
        os.chown(path, owner.st_uid, owner.st_gid)


def _flush(path: Path) -> None:
    """Flushes a file or a directory to the disk."""
    with contextlib.suppress(OSError):  # some file systems do not do that for directories
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _rename(part: Path, target: Path, named: str, overwrite: bool) -> None:
    if overwrite:
        os.replace(part, target)
        return
    try:
        os.link(part, target)  # unlike a renaming, it fails if somebody has made such a file meanwhile
    except FileExistsError:
        raise FileExistsError(f"{named} was created meanwhile: choose another name, or allow it to be replaced") from None
    except OSError:  # a file system without links
        os.rename(part, target)
