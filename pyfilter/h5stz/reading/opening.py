"""open(): files on this machine, behind web servers and in object stores, and open file objects, whose datasets are views.

A File holds an h5py.File. Remote files are read through remote_files.RemoteFile; what is said of requests is true of these.
File objects are read through given_files.GivenFile.
"""

from __future__ import annotations

import math
import numbers
import operator
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, SupportsIndex

import h5py

from h5stz import _core
from h5stz.counts import counted
from h5stz.errors import HDF5_ERRORS, StzError, StzTypeError
from h5stz.hdf5 import objects
from h5stz.hdf5.file_kinds import opened_file, refuse_address_as_path
from h5stz.hdf5.named_datasets import missing_part
from h5stz.limits import checked_max_bytes
from h5stz.reading.arguments import checked_cache_bytes
from h5stz.reading.make_view import CACHE_BYTES, view
from h5stz.reading.view import View
from h5stz.signatures import checked
from h5stz.sources.given_files import FileObject, GivenFile, is_file_object
from h5stz.sources.remote_files import BLOCK_BYTES, METADATA_BYTES, RETRIES, RETRY_WAIT, Address, RemoteFile, is_address
from h5stz.sources.remote_requests import RemoteStats

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_VIEWS = 16  # that a file keeps for the next use
_LARGEST_BLOCK = 1 << 30
_MOST_RETRIES = 1000


@checked
def open(
    url_or_path: str | os.PathLike[str] | FileObject,
    *,
    mode: str = "r",
    storage_options: Mapping[str, Any] | None = None,
    cache_bytes: SupportsIndex = CACHE_BYTES,
    threads: int | None = None,
    verify: bool | None = None,
    max_bytes: SupportsIndex | None = None,
    block_bytes: SupportsIndex = BLOCK_BYTES,
    metadata_bytes: SupportsIndex = METADATA_BYTES,
    retries: SupportsIndex = RETRIES,
    retry_wait: float = RETRY_WAIT,
) -> File:
    """Opens an HDF5 file for reading, also a remote one, of which only what is needed is transferred (docs/remote.md).

    Args:
        url_or_path: "https://...", "s3://...", or any other address that fsspec knows; a path on this machine; or an open
            binary file object with read() and seek(), of Python, fsspec, obstore or others, which must stay open, and which
            nobody else may use meanwhile.
        mode: "r": remote files and views are read only.
        storage_options: what the file system of fsspec is made with, such as {"anon": True} for public data on S3.
        cache_bytes, threads, verify, max_bytes: as of view(), for each dataset.
        block_bytes: metadata are fetched in blocks of so many bytes. Smaller ones transfer less, larger ones take fewer
            requests.
        metadata_bytes: most that is kept of these blocks, in bytes; at least one block is.
        retries: how often a request is repeated that fails in a way which may pass: no connection, a time limit, an answer
            that is cut off, status 408, 425, 429, 500, 502, 503 or 504. s3fs and gcsfs repeat by themselves, by their rules.
        retry_wait: seconds before the first repetition, twice as many before each further one, up to 30.

    Returns:
        File: a mapping of names to views and groups, and a context manager.

    Raises:
        ImportError: fsspec, or what it needs for such an address, is not installed: pip install 'h5stz[remote]'.
        StzReadError: (an OSError) the remote file is not there, is no HDF5 file, or its server sends no parts of files; a file
            object is no HDF5 file or cannot be read at any position.
        OSError: the file at a path is not there, or is none that HDF5 can open: what it is, and what to do.
        StzError: (a ValueError) an option means nothing.
        StzTypeError: (a TypeError too) an option is of another type.
    """
    if mode != "r":
        raise StzError(f"mode={mode!r}: h5stz.open reads (mode 'r'); write files with h5py.File(path, {mode!r})", _ARGUMENT)
    options = {"cache_bytes": checked_cache_bytes(cache_bytes, threads, verify), "threads": threads, "verify": verify}
    options["max_bytes"] = checked_max_bytes(max_bytes)
    block, room = _whole("block_bytes", block_bytes, 1, _LARGEST_BLOCK), _whole("metadata_bytes", metadata_bytes, 0)
    attempts, wait = _whole("retries", retries, 0, _MOST_RETRIES), _seconds(retry_wait)
    if not isinstance(storage_options, (Mapping, type(None))):
        given = type(storage_options).__name__
        raise StzTypeError(f"storage_options is of type {given}: give a dict such as {{'anon': True}}", _ARGUMENT)
    if storage_options and not is_address(url_or_path):
        raise StzError("storage_options are for remote files: leave them out for a local path or a file object", _ARGUMENT)
    if is_address(url_or_path):
        address = Address(str(url_or_path), dict(storage_options or {}), block, room, attempts, wait)
        return _opened(address.local_path() or address, options)
    if is_file_object(url_or_path):
        given = GivenFile(url_or_path)
        return File(given.hdf5(), given, options)
    if not isinstance(url_or_path, (str, os.PathLike)) or hasattr(url_or_path, "fs"):
        raise StzTypeError(_needed(url_or_path), _ARGUMENT)
    refuse_address_as_path(url_or_path)
    return _opened(os.path.abspath(os.path.expanduser(os.fspath(url_or_path))), options)


def _needed(given: object) -> str:
    """What to give instead of something that cannot be opened."""
    name = type(given).__name__
    if hasattr(given, "fs") and hasattr(given, "open"):  # OpenFile of fsspec
        return f"this {name} is not open yet: write `with fsspec.open(...) as file:`, and h5stz.open(file)"
    return f"an address, a path or an open file object is needed, not a {name}; h5stz.view takes datasets of h5py"


def _opened(where: Address | str, options: Mapping[str, Any]) -> File:
    """The File at an Address or a path (str)."""
    if isinstance(where, str):
        return File(opened_file(where), None, options)
    source = where.open()
    return File(source.hdf5(), source, options)


class Group(Mapping[str, Any]):
    """A group of a File: what its members are called, and the members; a dataset is a View, a group a Group.

    Attributes:
        h5: the h5py.Group.
        file: the File.
    """

    def __init__(self, h5: h5py.Group, file: File | None = None) -> None:
        self.h5 = h5
        self.file: File = file if file is not None else self._as_file()

    def _as_file(self) -> File:
        raise AssertionError("only a File is its own file")

    @property
    def name(self) -> str:
        """The path in the file."""
        return objects.name_of(self._open_h5())

    @property
    def attrs(self) -> h5py.AttributeManager:
        """The attributes, as of h5py."""
        return self._open_h5().attrs

    def __getitem__(self, name: str) -> Any:
        """The member at a path: a View, a Group, or the object of h5py if it is a type or a dataset without a shape.

        Raises:
            KeyError: there is none.
            StzError: the file was closed; a dataset of a remote file that is made of other files.
        """
        group = self._open_h5()
        path = objects.encoded(name) if isinstance(name, str) else name
        try:
            item = group[path]
        except HDF5_ERRORS as error:  # which HDF5 has words of its own for
            if isinstance(error, StzError) or not isinstance(name, str):
                raise
            raise type(error)(f"{name} cannot be opened in {self!r}: {missing_part(group, name)}") from error
        return self.file.member(item)

    def __iter__(self) -> Iterator[str]:
        return (name if isinstance(name, str) else objects.text(name or b"") for name in self._open_h5())

    def __len__(self) -> int:
        return len(self._open_h5())

    def __contains__(self, name: object) -> bool:
        group = self._open_h5()
        try:
            return name in group
        except UnicodeEncodeError:  # h5py has no way to ask for such a name
            return isinstance(name, str) and objects.is_there(group, name)

    def datasets(self) -> list[str]:
        """The paths of all datasets in this group and those below, from this group; those met again by other links once."""
        found: list[str] = []

        def note(name: str | bytes, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                found.append(name if isinstance(name, str) else objects.text(name))

        self._open_h5().visititems(note)
        return found

    def _open_h5(self) -> h5py.Group:
        if not self.h5.id.valid:
            raise StzError("the file was closed: open it again", _ARGUMENT)
        return self.h5

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and bool(self.h5 == other.h5)

    def __hash__(self) -> int:
        return hash(self.h5)

    def __repr__(self) -> str:
        if not self.h5.id.valid:
            return "<closed h5stz group>"
        return f"<h5stz group {self.name!r} in {self.h5.file.filename} ({counted(len(self), 'member')})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.getitem, (self.file, self.name)


class File(Group):
    """An open file, made by h5stz.open(): its root group, and a context manager that closes it.

    A File can be pickled, unless it was opened as a file object: another process opens it again by its address or path. A
    remote file must be the same version then.
    A pickle contains the address and storage_options, with the secrets that these may have.

    Attributes:
        h5: the h5py.File, for all that h5py can do.
        stats: RemoteStats, what was requested and transferred; nothing is counted of a file on this machine or a file object.
    """

    def __init__(self, h5: h5py.File, source: RemoteFile | GivenFile | None, options: Mapping[str, Any]) -> None:
        self._source, self._options = source, dict(options)
        self._where: Address | str | GivenFile
        if source is None:
            self._where = os.path.abspath(h5.filename)
        else:
            self._where = source.address if isinstance(source, RemoteFile) else source
        self._views: OrderedDict[Any, View] = OrderedDict()  # the one used last at the end
        self.stats = source.h5stz_bytes.stats if isinstance(source, RemoteFile) else RemoteStats()
        self._h5 = h5
        super().__init__(h5)

    def _as_file(self) -> File:
        return self

    @property
    def filename(self) -> str:
        """The path, the address without user, password and query, or what a file object is called."""
        return self._where if isinstance(self._where, str) else self._where.name

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return not self.h5.id.valid

    def member(self, item: Any) -> Any:
        """What stands for an object of h5py in this file."""
        if isinstance(item, h5py.Group):
            return self if item.name == "/" and item.file == self.h5 else Group(item, self)
        if not isinstance(item, h5py.Dataset) or item.shape is None:
            return item
        kept = self._views.pop(item.name, None)
        if kept is None:
            self._check_contents(item)
            kept = view(item, **self._options)
        self._views[item.name] = kept
        while len(self._views) > _VIEWS:
            self._views.popitem(last=False)
        return kept

    def _check_contents(self, dataset: h5py.Dataset) -> None:
        """Raises the StzError of a dataset of a remote file or file object for which HDF5 would look for files here."""
        if self._source is None:
            return
        others = [source.file_name for source in dataset.virtual_sources()] if dataset.is_virtual else []
        others += [one[0] for one in dataset.external or []]
        names = sorted({os.fsdecode(name) for name in others} - {"."})
        if names:
            some = ", ".join(names[:3]) + (" ..." if names[3:] else "")
            raise StzError(
                f"the samples of {dataset.name} are in other files, {some}, which HDF5 looks for on this machine: open these "
                "by their own addresses, or copy all of them here",
                _ARGUMENT,
            )

    def close(self) -> None:
        """Closes the file; views of it that were not pickled cannot be used any more. A file object stays open."""
        self._views.clear()
        self._h5.close()
        if self._source is not None:
            self._source.close()

    def __enter__(self) -> File:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        state = ", closed" if self.closed else f" ({counted(len(self), 'member')})"
        return f"<h5stz file {self.filename}{state}>"

    def __reduce__(self) -> tuple[Callable[..., File], tuple[Any, ...]]:
        if isinstance(self._where, GivenFile):
            text = "is read from a file object, which other processes cannot open again: give h5stz.open its address or path"
            raise StzError(f"{self.filename} {text}", _ARGUMENT)
        return _opened, (self._where, self._options)


def _whole(name: str, value: SupportsIndex, least: int, most: int | None = None) -> int:
    """An integer from `least` to `most`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise StzTypeError(f"{name}={value!r} must be an integer", _ARGUMENT) from None
    if number < least or (most is not None and number > most):
        raise StzError(f"{name}={number} must be {least} or more{f', at most {most}' if most else ''}", _ARGUMENT)
    return number


def _seconds(value: object) -> float:
    """A number of seconds."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise StzTypeError(f"retry_wait={value!r} must be a number of seconds", _ARGUMENT)
    seconds = float(value)
    if not (math.isfinite(seconds) and seconds >= 0):
        raise StzError(f"retry_wait={seconds} must be zero or more seconds", _ARGUMENT)
    return seconds
