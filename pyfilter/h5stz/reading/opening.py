"""open(): files whose datasets are views. They may be local, behind web servers, in object stores, or open file objects.

A File wraps an h5py.File. Remote files are read through remote_files.RemoteFile, file objects through given_files.GivenFile.
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
    """Opens a local or remote HDF5 file for reading. Of a remote file only the needed parts are transferred (docs/remote.md).

    Args:
        url_or_path: a local path; an address such as "https://..." or "s3://..." that fsspec supports; or an open binary file
            object with read() and seek() (of Python, fsspec, obstore or others). A file object must stay open, and nothing
            else may use it meanwhile.
        mode: only "r" is supported. Views and remote files are read-only.
        storage_options: arguments of fsspec's file system, such as {"anon": True} for public data on S3.
        cache_bytes, threads, verify, max_bytes: as for view(), for each dataset.
        block_bytes: size of the blocks in which metadata are fetched. Smaller blocks transfer less, larger blocks need fewer
            requests.
        metadata_bytes: size of the cache for these blocks, in bytes. At least one block is kept.
        retries: number of times that a failed request is repeated if the failure may be temporary: no connection, timeout,
            truncated response, HTTP status 408, 425, 429, 500, 502, 503 or 504. s3fs and gcsfs have their own rules for
            repeating requests.
        retry_wait: seconds before the first repetition. The wait doubles with each repetition, up to 30 seconds.

    Returns:
        File: a mapping from names to views and groups, and a context manager.

    Raises:
        ImportError: fsspec, or a package it needs for this kind of address, is not installed: pip install 'h5stz[remote]'.
        StzReadError: (an OSError) the remote file does not exist, is not an HDF5 file, or its server does not support range
            requests; or a file object is not an HDF5 file or cannot be read at arbitrary positions.
        OSError: the local file does not exist, or HDF5 cannot open it. The message says what kind of file it is, and the
            remedy.
        StzError: (a ValueError) an option has an invalid value.
        StzTypeError: (also a TypeError) an option has the wrong type.
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
    """The message for an argument that cannot be opened."""
    name = type(given).__name__
    if hasattr(given, "fs") and hasattr(given, "open"):  # OpenFile of fsspec
        return f"this {name} is not open yet: write `with fsspec.open(...) as file:`, and h5stz.open(file)"
    return f"an address, a path or an open file object is needed, not a {name}; h5stz.view takes datasets of h5py"


def _opened(where: Address | str, options: Mapping[str, Any]) -> File:
    """The File at an Address or at a path (str)."""
    if isinstance(where, str):
        return File(opened_file(where), None, options)
    source = where.open()
    return File(source.hdf5(), source, options)


class Group(Mapping[str, Any]):
    """A group of a File: a mapping from names to members. A dataset is a View, a group is a Group.

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
        """Path of the group in the file."""
        return objects.name_of(self._open_h5())

    @property
    def attrs(self) -> h5py.AttributeManager:
        """The attributes, as in h5py."""
        return self._open_h5().attrs

    def __getitem__(self, name: str) -> Any:
        """The member at a path: a View or a Group. Named types and datasets without a shape are returned as h5py objects.

        Raises:
            KeyError: the member does not exist.
            StzError: the file is closed, or a dataset of a remote file has its data in other files.
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
        """Paths of all datasets in this group and below, relative to the group. A dataset with several links appears once."""
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
    """An open file, returned by h5stz.open(): its root group, and a context manager that closes it.

    A File can be pickled if it was opened by path or address. The other process opens it again. A remote file must not have
    changed by then. The pickle contains the address and storage_options, including any secrets in them.

    Attributes:
        h5: the h5py.File, for everything that h5py can do.
        stats: RemoteStats, the requests and transferred bytes. All counts are 0 for a local file or a file object.
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
        """The path; the address without user, password and query; or the name of a file object."""
        return self._where if isinstance(self._where, str) else self._where.name

    @property
    def closed(self) -> bool:
        """True if the file was closed."""
        return not self.h5.id.valid

    def member(self, item: Any) -> Any:
        """Wraps an h5py object of this file: a Group, a View, or the object itself."""
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
        """Raises StzError if HDF5 would look for parts of a dataset in local files although its own file is remote or a file
        object.
        """
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
        """Closes the file. Its views cannot be used any more, except those that were pickled. A file object stays open."""
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
    """An argument as an int, checked to be from `least` to `most`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise StzTypeError(f"{name}={value!r} must be an integer", _ARGUMENT) from None
    if number < least or (most is not None and number > most):
        raise StzError(f"{name}={number} must be {least} or more{f', at most {most}' if most else ''}", _ARGUMENT)
    return number


def _seconds(value: object) -> float:
    """An argument as a number of seconds."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise StzTypeError(f"retry_wait={value!r} must be a number of seconds", _ARGUMENT)
    seconds = float(value)
    if not (math.isfinite(seconds) and seconds >= 0):
        raise StzError(f"retry_wait={seconds} must be zero or more seconds", _ARGUMENT)
    return seconds
