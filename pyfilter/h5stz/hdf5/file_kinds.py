"""Opens HDF5 files for reading. Errors about other files say what these are and what to do."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

import h5py

from h5stz import _core
from h5stz.errors import StzError, StzReadError
from h5stz.hdf5 import calls, classic_header, file_formats

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
#: Of which a Zarr store has at least one.
ZARR = ("zarr.json", ".zgroup", ".zarray", ".zmetadata")

ZARR_STORE = "a Zarr store: open it with zarr or xarray, and name an HDF5 file here (h5stz.zarr has the codec for Zarr)"

_ADDRESS = re.compile("[A-Za-z][A-Za-z0-9+]+:/")  # pathlib leaves one slash of https://

#: Commands that copy a file to an address.
_COPIES = {
    "s3": "aws s3 cp {last} {shown}",
    "gs": "gcloud storage cp {last} {shown}",
    "http": "curl -T {last} {shown}",
    "https": "curl -T {last} {shown}",
}

#: What is neither a file nor a directory.
_KINDS = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


class NotFoundError(StzReadError, FileNotFoundError):
    """There is no file."""


def opened_file(path: str | os.PathLike[str], *, chunk_cache: bool = True) -> h5py.File:
    """An HDF5 file, open for reading.

    Args:
        path: of the file.
        chunk_cache: whether HDF5 keeps decoded chunks. It must not where datasets are copied after they were read: H5Ocopy
            then writes behind the end of a buffer, of chunks with deflate and fletcher32 (HDF5 2.0).

    Raises:
        FileNotFoundError, StzReadError: (OSErrors) there is no such file, or HDF5 cannot open it. They say what the file is and
            what to do.
    """
    name = os.fsdecode(path)
    refuse_if_no_file(path)
    try:
        access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        calls.allow_odd_numbers(access)
        if not chunk_cache:
            access.set_cache(0, 1, 0, 0.0)
        return h5py.File(h5py.h5f.open(os.fsencode(path), h5py.h5f.ACC_RDONLY, access))
    except (OSError, RuntimeError, ValueError) as error:
        raise StzReadError(f"{name}: {_why_not(Path(name), ' '.join(str(error).split()))}", _READ) from error


def refuse_if_no_file(path: str | os.PathLike[str]) -> None:
    """Raises the errors of opened_file() for a path that leads to no file that can be read."""
    name = os.fsdecode(path)
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except FileNotFoundError:
        cure = ", and no address is read here: download the file first" if _ADDRESS.match(name) else _without_dataset(name)
        raise NotFoundError(f"{name}: no such file{cure}", _READ) from None
    except NotADirectoryError:
        raise NotFoundError(f"{name}: no such file, as a part of its path is no directory", _READ) from None
    except (OSError, ValueError) as error:
        raise StzReadError(f"{name}: {_refusal(name, error)}", _READ) from None
    if kind == stat.S_IFDIR:
        raise StzReadError(f"{name}: it is {_described_directory(Path(name))}", _READ)
    if kind != stat.S_IFREG:
        raise StzReadError(f"{name}: it is {_KINDS.get(kind, 'something else')}: name an HDF5 file", _READ)
    try:
        open(path, "rb").close()
    except OSError as error:
        raise StzReadError(f"{name}: {_refusal(name, error)}", _READ) from None


def _without_dataset(name: str) -> str:
    """What to say where a name is that of a file with a dataset behind it, and only files are taken."""
    file, separator, _ = name.partition("::")
    return f": a whole file is taken here, name {file} alone" if separator and os.path.isfile(file) else ""


def _refusal(name: str, error: OSError | ValueError) -> str:
    """Why the system does not give a file, and what to do."""
    number = getattr(error, "errno", None)
    if number == errno.EACCES:
        return "it may not be read (permission denied): ask its owner, or change its mode or that of its directories"
    if number == errno.ELOOP:
        return "it is a symbolic link that leads in a circle: name the file itself"
    return f"it cannot be read ({getattr(error, 'strerror', None) or error})"


def refuse_address(target: str | os.PathLike[str]) -> None:
    """Raises the StzError of a new file that is named by an address: h5stz writes on this machine alone."""
    name = os.fsdecode(target)
    found = _ADDRESS.match(name)
    if found is None or ("://" not in name and os.path.isdir(os.path.dirname(name))):
        return
    scheme, place = found[0].rstrip(":/").lower(), name[found.end() :].lstrip("/")
    place = place.partition("?")[0].rpartition("@")[2]  # without user, password and query
    if scheme in ("file", "local"):
        raise StzError(f"{name}: name the new file by its path, /{place}", _ARGUMENT)
    shown, last = f"{scheme}://{place}", place.rpartition("/")[2] or "OUT"
    copy = _COPIES.get(scheme)
    such_as = f", such as with {copy.format(last=last, shown=shown)}" if copy else ""
    raise StzError(
        f"{shown}: new files are written on this machine: name a file here, and copy it there then{such_as}", _ARGUMENT
    )


def is_netcdf3(path: str | os.PathLike[str]) -> bool:
    """Whether a path leads to a file of netCDF's classic format, or of one of its two variants for large files."""
    return _begin(Path(path)).startswith(file_formats.NETCDF3)


def _begin(path: Path) -> bytes:
    """The first bytes of a file; no bytes if it cannot be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return b""
        with path.open("rb") as file:
            return file.read(file_formats.LOOKED_AT)
    except OSError:
        return b""


def _described_directory(path: Path) -> str:
    if any((path / name).exists() for name in ZARR):
        return ZARR_STORE
    return "a directory: name an HDF5 file"


def _why_not(path: Path, said: str) -> str:
    """What a file is that HDF5 does not open, or why HDF5 cannot open it, and what to do. `said`: the message of HDF5."""
    if is_netcdf3(path) and (fault := classic_header.fault(path)) is not None:
        return fault
    return file_formats.why_not(_begin(path), said, str(path), "path")
