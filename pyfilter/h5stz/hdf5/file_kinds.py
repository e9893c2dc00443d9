"""Opens HDF5 files for reading. Errors about other files say what these are and what to do."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

import h5py

from h5stz import _core
from h5stz.counts import counted
from h5stz.errors import StzReadError
from h5stz.hdf5 import calls

_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_LOOKED_AT = 4096  # bytes of a file that tell its format
_NETCDF3 = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
_ZARR = ("zarr.json", ".zgroup", ".zarray", ".zmetadata")

_ADDRESS = re.compile("[A-Za-z][A-Za-z0-9+]+:/")  # pathlib leaves one slash of https://

#: What is neither a file nor a directory.
_KINDS = {
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}

#: How files of other formats begin, at which byte, what they are, and what to do.
_FORMATS = (
    (0, b"\x1f\x8b", "a gzip file", "unpack it first, such as gzip -dc {name} > OUT"),
    (0, b"BZh", "a bzip2 file", "unpack it first, such as bzip2 -dc {name} > OUT"),
    (0, b"\xfd7zXZ\0", "an xz file", "unpack it first, such as xz -dc {name} > OUT"),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard file", "unpack it first, such as zstd -dc {name} > OUT"),
    (0, b"\x04\x22\x4d\x18", "an LZ4 file", "unpack it first, such as lz4 -dc {name} > OUT"),
    (0, b"\x1f\x9d", "a file of compress (.Z)", "unpack it first, such as gzip -dc {name} > OUT"),
    (0, b"PK\x03\x04", "a ZIP file, as .npz files and some Zarr stores are", "unpack it first, and name an HDF5 file"),
    (0, b"PK\x05\x06", "an empty ZIP file", "name an HDF5 file"),
    (257, b"ustar", "a tar file", "unpack it first, such as tar -xf {name}"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z file", "unpack it first"),
    (0, b"\x0e\x03\x13\x01", "an HDF4 file", "convert it first, such as with h4toh5"),
    (0, b"GRIB", "a GRIB file", "convert it first, such as with cdo -f nc4 copy {name} OUT.nc"),
    (0, b"BUFR", "a BUFR file", "convert it first"),
    (0, b"\x93NUMPY", "an array of NumPy (.npy)", "store it in an HDF5 file first, with h5py"),
    (0, b"SIMPLE  =", "a FITS file", "store its arrays in an HDF5 file first"),
    (0, b"II*\0", "a TIFF file", "store its arrays in an HDF5 file first"),
    (0, b"MM\0*", "a TIFF file", "store its arrays in an HDF5 file first"),
    (0, b"PAR1", "a Parquet file", "store its columns in an HDF5 file first"),
    (0, b"ARROW1", "an Arrow file", "store its columns in an HDF5 file first"),
    (0, b"MATLAB 5.0 MAT-file", "a MATLAB file of version 7 or older", "save it with -v7.3, which is HDF5"),
    (0, b"version https://git-lfs", "the pointer of a file that Git LFS keeps", "fetch the file with git lfs pull"),
)
_PAGES = (b"<!doctype html", b"<html", b"<?xml")

#: What HDF5 says of a file that cannot be opened, and what that means.
_REFUSALS = (
    ("unable to lock file", "another program has it open for writing: wait until it is closed"),
    (
        "already open for",
        "a program has it open for writing, or ended without closing it: wait until it is closed; if no program has it, type "
        "h5clear -s {name}",
    ),
    (
        "driver should be used",
        "it is one of several files that make up one (HDF5's drivers multi, split, family): make one file of them, with a "
        "program that knows the driver",
    ),
    ("bad superblock version", "it is an HDF5 file of a version that the HDF5 of h5py does not know: install a newer h5py"),
)


class _NotFoundError(StzReadError, FileNotFoundError):
    """There is no file."""


def opened_file(path: str | os.PathLike[str]) -> h5py.File:
    """An HDF5 file, open for reading.

    Raises:
        FileNotFoundError, StzReadError: (OSErrors) there is no such file, or HDF5 cannot open it. They say what the file is and
            what to do.
    """
    name = os.fsdecode(path)
    refuse_if_no_file(path)
    try:
        access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        calls.allow_odd_numbers(access)
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
        raise _NotFoundError(f"{name}: no such file{cure}", _READ) from None
    except NotADirectoryError:
        raise _NotFoundError(f"{name}: no such file, as a part of its path is no directory", _READ) from None
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


def is_netcdf3(path: str | os.PathLike[str]) -> bool:
    """Whether a path leads to a file of netCDF's classic format, or of one of its two variants for large files."""
    return _begin(Path(path)).startswith(_NETCDF3)


def _begin(path: Path) -> bytes:
    """The first bytes of a file; no bytes if it cannot be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return b""
        with path.open("rb") as file:
            return file.read(_LOOKED_AT)
    except OSError:
        return b""


def _described_directory(path: Path) -> str:
    if any((path / name).exists() for name in _ZARR):
        return "a Zarr store: open it with zarr or xarray, and name an HDF5 file here (h5stz.zarr has the codec for Zarr)"
    return "a directory: name an HDF5 file"


def _why_not(path: Path, said: str) -> str:
    """What a file is that HDF5 does not open, or why HDF5 cannot open it, and what to do. `said`: the message of HDF5."""
    content = _begin(path)
    if not content:
        return "it is empty (0 bytes): whatever made it did not finish, make it again"
    if content.startswith(_NETCDF3):
        return "it is a netCDF-3 file: h5stz compress makes a compressed netCDF-4 file of it, nccopy -k nc4 an ordinary one"
    for at, begin, what, cure in _FORMATS:
        if content[at:].startswith(begin):
            return f"it is {what}: {cure.format(name=path)}"
    if content.lstrip()[:20].lower().startswith(_PAGES):
        return "it is a page of the web or XML, such as a server sends in place of a file: download the file again"
    if not any(content):
        return "it begins with zeros, as a file that was copied or downloaded in part: copy or download it again"
    if len(content) < len(_SIGNATURE) and _SIGNATURE.startswith(content):
        return f"it is an HDF5 file that was cut short, after {counted(len(content), 'byte')}: copy or download it again"
    return _damaged(path, said)


def _damaged(path: Path, said: str) -> str:
    """As _why_not(), for a file that may be an HDF5 file."""
    if found := re.search(r"truncated file: eof = (\d+), sblock->base_addr = (\d+), stored_eof = (\d+)", said):
        present, whole = int(found[1]), int(found[2]) + int(found[3])
        sizes = f", {present} of {whole} bytes are there" if whole < 1 << 60 else ""
        return f"it is an HDF5 file that was cut short{sizes}: copy it again, or h5stz salvage {path} OUT keeps what is whole"
    for text, meaning in _REFUSALS:
        if text in said:
            return meaning.format(name=path)
    if "signature not found" in said:
        return "it is neither an HDF5 nor a netCDF file: name one"
    return f"it is an HDF5 file that is damaged: copy it again, or try h5stz salvage {path} OUT (HDF5 says: {said})"
