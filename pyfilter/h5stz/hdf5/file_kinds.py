"""Opens HDF5 files for reading. Errors about other files tell their format and the remedy."""

from __future__ import annotations

import errno
import os
import re
import stat
from dataclasses import dataclass
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

#: By scheme: the command that copies a file to an address, and the one that copies it from there.
_COPIES = {
    "s3": ("aws s3 cp {last} {shown}", "aws s3 cp {shown} {last}"),
    "gs": ("gcloud storage cp {last} {shown}", "gcloud storage cp {shown} {last}"),
    "http": ("curl -T {last} {shown}", "curl -fL -o {last} {shown}"),
    "https": ("curl -T {last} {shown}", "curl -fL -o {last} {shown}"),
}

#: What copies a file from an address of any other scheme that fsspec has.
_FETCH = """python -c "from fsspec import url_to_fs; fs, path = url_to_fs('{whole}'); fs.get(path, '{last}')\""""

#: What is neither a file nor a directory.
_KINDS = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


class NotFoundError(StzReadError, FileNotFoundError):
    """The file does not exist."""


def opened_file(path: str | os.PathLike[str], *, chunk_cache: bool = True) -> h5py.File:
    """Opens an HDF5 file for reading.

    Args:
        path: path of the file.
        chunk_cache: False turns off HDF5's cache of decoded chunks. This is required if datasets are copied after they were
            read: H5Ocopy then writes past the end of a buffer, for chunks with deflate and fletcher32 (HDF5 2.0).

    Raises:
        FileNotFoundError, StzReadError: (OSErrors) the file does not exist, or HDF5 cannot open it. The message tells what
            kind of file it is, and the remedy.
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
    """Raises the errors of opened_file() if a path does not lead to a readable file."""
    name = os.fsdecode(path)
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except FileNotFoundError:
        if (address := _Named.of(name)) is not None:
            raise address.not_read_here() from None
        raise NotFoundError(f"{name}: no such file{_without_dataset(name)}", _READ) from None
    except NotADirectoryError:
        raise NotFoundError(f"{name}: no such file, as a part of its path is not a directory", _READ) from None
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
    """The hint for FILE::/path where only whole files are accepted."""
    file, separator, _ = name.partition("::")
    return f": this needs a whole file, name {file} alone" if separator and os.path.isfile(file) else ""


def _refusal(name: str, error: OSError | ValueError) -> str:
    """The reason why the system refuses to open a file, and the remedy."""
    number = getattr(error, "errno", None)
    if number == errno.EACCES:
        return "it may not be read (permission denied): ask its owner, or change its permissions or those of its directories"
    if number == errno.ELOOP:
        return "it is a symbolic link that leads in a circle: name the file itself"
    return f"it cannot be read ({getattr(error, 'strerror', None) or error})"


@dataclass(frozen=True)
class _Named:
    """An address: its scheme, the rest without user, password and query, and the whole with dots in their places."""

    scheme: str
    place: str
    dotted: str

    @classmethod
    def of(cls, name: str) -> _Named | None:
        """The address in a name, also if pathlib has removed one of its slashes; None if it is not an address."""
        found = _ADDRESS.match(name.rpartition("::")[2])
        if found is None:
            return None
        whole = name.rpartition("::")[2][found.end() :].lstrip("/")
        before, query, _ = whole.partition("?")
        _, user, place = before.rpartition("@")
        return cls(found[0].rstrip(":/").lower(), place, f"{'...@' if user else ''}{place}{'?...' if query else ''}")

    @property
    def is_of_path(self) -> bool:
        """True if it is the address of a local file."""
        return self.scheme in ("file", "local")

    @property
    def shown(self) -> str:
        """The address for messages."""
        return f"{self.scheme}://{'/' if self.is_of_path else ''}{self.place}"

    def command(self, fetches: bool) -> str:
        """The end of a message: a command that copies a file to or from the address; "" if none is known."""
        command = _COPIES.get(self.scheme, ("", _FETCH))[fetches]
        whole = f"{self.scheme}://{self.dotted}"
        shown, last = f"'{whole}'" if self.dotted != self.place else whole, self.place.rpartition("/")[2] or "OUT"
        return command and f", such as with {command.format(last=last, shown=shown, whole=whole)}"

    def not_read_here(self) -> NotFoundError:
        """The error for an address where an input file must be local."""
        if self.is_of_path:
            return NotFoundError(f"{self.shown}: name the file by its path, /{self.place}", _READ)
        return NotFoundError(
            f"{self.shown}: this needs a local file: download the file first{self.command(True)}, and name the copy", _READ
        )


def refuse_address(target: str | os.PathLike[str]) -> None:
    """Raises StzError if a new file is given by an address. h5stz writes local files only."""
    name = os.fsdecode(target)
    address = _Named.of(name)
    if address is None or ("://" not in name and os.path.isdir(os.path.dirname(name))):
        return
    if address.is_of_path:
        raise StzError(f"{address.shown}: name the new file by its path, /{address.place}", _ARGUMENT)
    text = f"{address.shown}: new files are written on this machine: name a file here, and copy it there then"
    raise StzError(f"{text}{address.command(False)}", _ARGUMENT)


def refuse_address_as_path(given: object) -> None:
    """Raises NotFoundError for an address in a pathlib.Path. As text it could be read."""
    name = os.fspath(given) if isinstance(given, os.PathLike) else ""
    address = _Named.of(os.fsdecode(name))
    if address is not None and not os.path.lexists(name):
        raise NotFoundError(f"{address.shown}: give the address as text: a pathlib.Path drops one of its slashes", _READ)


def path_to_read(source: str | os.PathLike[str]) -> Path:
    """The path of an input file that must be local. Raises NotFoundError for an address."""
    name = os.fsdecode(source)
    address = _Named.of(name)
    if address is not None and not os.path.lexists(name):
        raise address.not_read_here()
    return Path(source)


def is_netcdf3(path: str | os.PathLike[str]) -> bool:
    """True for a file of netCDF's classic format, or of its two variants for large files."""
    return _begin(Path(path)).startswith(file_formats.NETCDF3)


def _begin(path: Path) -> bytes:
    """The first bytes of a file; empty if it cannot be read."""
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
    """The format of a file that HDF5 cannot open, or the reason, with the remedy. `said`: the message of HDF5."""
    if is_netcdf3(path) and (fault := classic_header.fault(path)) is not None:
        return fault
    return file_formats.why_not(_begin(path), said, str(path), "path")
