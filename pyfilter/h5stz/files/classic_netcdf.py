"""Reads netCDF-3 files as HDF5 files: netCDF4 copies their contents to a temporary netCDF-4 file."""

from __future__ import annotations

import errno
import importlib
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from h5stz import _core
from h5stz.counts import counted
from h5stz.errors import StzReadError
from h5stz.hdf5 import classic_header, file_kinds
from h5stz.new_files import refusal_to_grow
from h5stz.slabs import boxes
from h5stz.sources.remote_files import local_path, remote_hdf5

#: A note about a file that was made of one of netCDF-3.
NEW_FORMAT = "the source is a netCDF-3 file, the new one is a netCDF-4 file"

_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
_PIECE = 64 << 20  # bytes that are copied at a time
_LARGE = "NETCDF3_64BIT_DATA"  # has types that the classic model of netCDF-4 has not
_HEADER_BYTES = 64 << 10  # of a copy, more than most have
_CHUNK_BYTES = 1 << 20  # of variables with an axis that grows


@contextmanager
def opened_source(path: str | os.PathLike[str], *, values: bool = True, chunk_cache: bool = True) -> Iterator[h5py.File]:
    """A context with an open HDF5 or netCDF file. For a netCDF-3 file it is an HDF5 copy, which is removed at the end.

    Args:
        path: path of the file, or the address of a remote HDF5 file.
        values: True if the copy needs values, not only names, types and shapes.
        chunk_cache: as for file_kinds.opened_file().

    Raises:
        OSError: as file_kinds.opened_file(); also if netCDF4 is not installed or cannot read the file.
    """
    if (here := local_path(path)) is None:
        with remote_hdf5(str(path)) as file:
            yield file
        return
    path = here
    file_kinds.refuse_address_as_path(path)
    if not file_kinds.is_netcdf3(path):
        with file_kinds.opened_file(path, chunk_cache=chunk_cache) as file:
            yield file
        return
    _check_length(path)
    with _folder(os.fsdecode(path)) as folder:
        copy = Path(folder) / Path(path).name
        try:
            _convert(os.fsdecode(path), str(copy), values)
        except StzReadError as error:
            if number := _lack_of_room(path, copy, values):
                raise _no_room(os.fsdecode(path), os.path.dirname(folder), number) from error
            raise
        with h5py.File(copy, "r") as file:
            yield file


def refuse_netcdf3(path: str | os.PathLike[str]) -> None:
    """Raises the StzReadError for a netCDF-3 file where only HDF5 files are accepted, with the remedy for intact and damaged
    files.
    """
    if file_kinds.is_netcdf3(path):
        _check_length(path)
        if importlib.util.find_spec("netCDF4"):
            _look_at(os.fsdecode(path))
        file_kinds.opened_file(path).close()  # which says what to do


@contextmanager
def _folder(source: str) -> Iterator[str]:
    """A context with a directory for the copy of a file."""
    try:
        made = tempfile.TemporaryDirectory(prefix="h5stz-", ignore_cleanup_errors=True)
    except OSError as error:
        place = tempfile.tempdir or os.environ.get("TMPDIR") or os.fspath(error.filename or "/tmp")
        raise _no_room(source, place, error.errno or errno.ENOSPC) from error
    with made as folder:
        yield folder


def _copy_bytes(source: str | os.PathLike[str], values: bool = True) -> int:
    """Approximate size of the copy of a file."""
    return (os.path.getsize(source) if values else 0) + _HEADER_BYTES


def _lack_of_room(source: str | os.PathLike[str], copy: Path, values: bool) -> int:
    """The system's error number if a copy failed for lack of space, which netCDF4 does not report; 0 otherwise."""
    there = copy.stat().st_size if copy.exists() else 0
    if shutil.disk_usage(copy.parent).free < _copy_bytes(source, values) - there:
        return errno.ENOSPC
    return refusal_to_grow(copy)


def _no_room(source: str, place: str, number: int) -> StzReadError:
    """The error for a directory for temporary files that is too full for the copy. `number`: the system's error number."""
    return StzReadError(
        f"{source}: a netCDF-3 file is read through a copy, for which the directory for temporary files, {place}, needs about "
        f"{counted(_copy_bytes(source), 'free byte')} ({os.strerror(number)}): make room there, or set TMPDIR to a directory "
        "on another disk",
        _READ,
    )


def _check_length(path: str | os.PathLike[str]) -> None:
    if (text := classic_header.fault(path)) is not None:
        raise StzReadError(f"{os.fsdecode(path)}: {text}", _READ)


def _look_at(source: str) -> None:
    """Raises StzReadError if netCDF cannot read the header of a file."""
    netcdf: Any = importlib.import_module("netCDF4")
    try:
        with netcdf.Dataset(source) as opened:
            _check_names([*opened.dimensions, *opened.variables, *opened.ncattrs()])
            for variable in opened.variables.values():
                _check_names(variable.ncattrs())
    except (OSError, RuntimeError, ValueError, UnicodeError, MemoryError) as error:
        text = f"the header of this netCDF-3 file is damaged (netCDF says: {_said(error)}). Get it again, or from a copy"
        raise StzReadError(f"{source}: {text}", _READ) from error


def _check_names(names: Iterable[str]) -> None:
    """Raises ValueError for a name that netCDF can read but cannot write."""
    for name in names:
        if not name or "/" in name or any(ord(each) < 32 or ord(each) == 127 for each in name):
            raise ValueError(f"the name {name!r} is not allowed")


def _said(error: BaseException) -> str:
    return f"{getattr(error, 'strerror', None) or error}"


def _convert(source: str, target: str, values: bool) -> None:
    try:
        netcdf: Any = importlib.import_module("netCDF4")
    except ImportError:
        raise StzReadError(
            f"{source}: it is a netCDF-3 file, which is read through netCDF4: pip install netCDF4, or convert it with "
            f"nccopy -k nc4 {source} OUT.nc",
            _READ,
        ) from None
    _look_at(source)
    try:
        with netcdf.Dataset(source) as before:
            model = "NETCDF4" if before.data_model == _LARGE else "NETCDF4_CLASSIC"
            with netcdf.Dataset(target, "w", format=model) as made:
                _copy(before, made, values)
            _correct_texts(before, target)
    except (OSError, RuntimeError, ValueError, UnicodeError) as error:
        raise StzReadError(f"{source}: netCDF4 cannot copy this netCDF-3 file: {_said(error)}", _READ) from error


def _copy(before: Any, made: Any, values: bool) -> None:
    for name, dimension in before.dimensions.items():
        made.createDimension(name, None if dimension.isunlimited() else len(dimension))
    _copy_attributes(before, made)
    for name, variable in before.variables.items():
        variable.set_auto_maskandscale(False)
        variable.set_auto_chartostring(False)
        fill = getattr(variable, "_FillValue", None) if "_FillValue" in variable.ncattrs() else None
        grows = any(before.dimensions[each].isunlimited() for each in variable.dimensions)
        chunks = _chunks_of(variable) if grows else None
        new = made.createVariable(name, variable.dtype, variable.dimensions, fill_value=fill, chunksizes=chunks)
        new.set_auto_maskandscale(False)
        new.set_auto_chartostring(False)
        _copy_attributes(variable, new)
    made.set_fill_off()
    for name, variable in before.variables.items():
        if values:
            _copy_values(variable, made.variables[name])


def _copy_attributes(before: Any, made: Any) -> None:
    for name in before.ncattrs():
        if name == "_FillValue":
            continue
        value = before.getncattr(name, encoding="latin-1")  # a character for each byte
        made.setncattr(name, "x" * len(value) if isinstance(value, str) and not value.isascii() else value)


def _chunks_of(variable: Any) -> tuple[int, ...]:
    """The chunks of a variable along the record dimension: as many records as give a suitable chunk size."""
    record = prod(variable.shape[1:]) * variable.dtype.itemsize
    rows = max(1, min(_CHUNK_BYTES // max(record, 1), max(variable.shape[0], 1)))
    return (rows, *(max(extent, 1) for extent in variable.shape[1:]))


def _copy_values(variable: Any, new: Any) -> None:
    if not variable.shape:
        new[...] = variable[...]
        return
    if 0 in variable.shape:
        return
    inner = prod(variable.shape[1:]) * variable.dtype.itemsize
    step = max(1, _PIECE // max(inner, 1))
    for box in boxes(variable.shape, (step, *variable.shape[1:])):
        new[box] = variable[box]


def _correct_texts(before: Any, target: str) -> None:
    """Rewrites non-ASCII attributes with their original bytes, in any charset, because netCDF4 would change them."""
    with h5py.File(target, "r+") as file:
        places = [(before, file["/"]), *((variable, file[name]) for name, variable in before.variables.items())]
        for old, new in places:
            for name in old.ncattrs():
                value = old.getncattr(name, encoding="latin-1")
                if isinstance(value, str) and not value.isascii():
                    attribute = h5py.h5a.open(new.id, name.encode())
                    attribute.write(np.array(value.encode("latin-1"), f"S{len(value)}"), mtype=attribute.get_type())
