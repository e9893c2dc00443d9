"""The dataset behind a view: given by the caller, or opened by name after the view was pickled.

Files that views open themselves are opened for reading, once per process, and shared by all views and threads. The most
recently used ones stay open for the next view, until close_files(). No lock of this module is held while h5py is called,
because h5py has its own lock.
"""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Protocol

import h5py

from h5stz import _core
from h5stz.counts import counted
from h5stz.damage import OnError
from h5stz.errors import StzError, StzReadError
from h5stz.hdf5.file_kinds import opened_file
from h5stz.hdf5.objects import name_of
from h5stz.options.stz import STZ
from h5stz.reading.dataset_reader import DatasetReader
from h5stz.reading.stats import Stats
from h5stz.reading.virtual_datasets import file_stamp, reader_of
from h5stz.sources.file_objects import object_of
from h5stz.sources.remote_files import Address, RemoteFile

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
_KEPT = 16  # datasets that are kept open after their last view was let go
_BY_NAME = "open the file by its name on disk, h5py.File(name), and make the view of that"


@dataclass(frozen=True)
class Place:
    """The information with which another process makes the same view.

    Attributes:
        filename: absolute path; for a remote file its address without secrets, for messages.
        name: path of the dataset in the file.
        rank, dtype: number of axes and dtype (dtype.str) of the dataset, to detect a replaced dataset.
        swmr: True if another process may be writing the file (SWMR).
        cache_bytes, verify, on_error: as for view().
        remote: Address of a remote file, otherwise None.
    """

    filename: str
    name: str
    rank: int
    dtype: str
    swmr: bool
    cache_bytes: int
    verify: bool | None
    on_error: OnError
    remote: Address | None = None

    @classmethod
    def of(cls, dataset: h5py.Dataset, cache_bytes: int, verify: bool | None, on_error: OnError) -> Place:
        """The Place of a dataset. Raises StzError if another process cannot open the dataset."""
        if not dataset.id.valid:
            raise StzError("a view of a closed file cannot be pickled: open the file and make a new view", _ARGUMENT)
        if not dataset.name:
            raise StzError("the dataset has no name in its file, so another process cannot open it: link it first", _ARGUMENT)
        file = dataset.file
        rank, dtype = len(dataset.shape), dataset.dtype.str
        if (remote := address_of(file.id)) is not None:
            return cls(remote.name, dataset.name, rank, dtype, False, cache_bytes, verify, on_error, remote)
        filename = os.path.abspath(file.filename)
        reason = _not_openable(file.id, filename)
        if reason is not None:
            raise StzError(f"the view of {dataset.name} cannot be pickled: {reason}", _ARGUMENT)
        swmr = file.id.get_intent() != h5py.h5f.ACC_RDONLY
        return cls(filename, dataset.name, rank, dtype, swmr, cache_bytes, verify, on_error)

    def open(self) -> tuple[h5py.File, RemoteFile | None]:
        """Opens the file. Returns it with the object that h5py reads it from (None for a local file). Raises OSError."""
        if self.remote is None:
            return h5py.File(self.filename, "r", swmr=True) if self.swmr else opened_file(self.filename), None
        source = self.remote.open()
        return source.hdf5(), source

    def version(self) -> Any:
        """Identifies the present contents of the file, with builtin types; None if the file does not exist."""
        return file_stamp(self.filename) if self.remote is None else self.remote.version


def address_of(file: h5py.h5f.FileID) -> Address | None:
    """The Address of a remote file that open() opened; None for other files."""
    source = object_of(file)
    return source.address if isinstance(source, RemoteFile) else None


def _not_openable(file: h5py.h5f.FileID, filename: str) -> str | None:
    """The reason why another process cannot open a file as it is open here, with the remedy; None if it can."""
    if file.get_intent() & h5py.h5f.ACC_RDWR:
        return "its file is open for writing, and what was written may not be in it yet: close it and open it with mode 'r'"
    driver = file.get_access_plist().get_driver()
    if driver == h5py.h5fd.CORE:
        return f"its file is an image in memory (driver core): save it, then {_BY_NAME}"
    if driver == getattr(h5py.h5fd, "fileobj_driver", None):
        reopen = "a remote file can be pickled if h5stz.open opens it by its address"
        return f"h5py reads its file from a Python object: {_BY_NAME}; {reopen}"
    if driver not in (h5py.h5fd.SEC2, h5py.h5fd.STDIO):
        return f"its file is open through an HDF5 driver that another process cannot set up: {_BY_NAME}"
    if file_stamp(filename) is None:
        return f"there is no file {filename} (any more): was it moved, or the working directory changed? Then open it again"
    return None


class Source(Protocol):
    """The dataset that a view reads."""

    @property
    def reader(self) -> DatasetReader:
        """The DatasetReader."""
        ...

    def place(self) -> Place:
        """The Place where another process finds the dataset. Raises StzError if it cannot."""
        ...

    def detached(self) -> Source:
        """A source that works after the given file was closed, if possible."""
        ...

    def version(self) -> Any:
        """Identifies the dataset and its present contents, with builtin types."""
        ...

    def description(self) -> str:
        """A description for people."""
        ...


class GivenSource:
    """A dataset that the caller opened and keeps open.

    Attributes:
        reader: the DatasetReader.
    """

    def __init__(self, dataset: h5py.Dataset, cache_bytes: int, verify: bool | None, on_error: OnError) -> None:
        self.reader = reader_of(dataset, cache_bytes, Stats(), verify, on_error)
        self._options = cache_bytes, verify, on_error

    def place(self) -> Place:
        """See Source."""
        return Place.of(self.reader.dataset, *self._options)

    def detached(self) -> Source:
        """See Source."""
        try:
            return ReopenedSource(self.place(), _Given(self.reader))
        except StzError:
            return self

    def version(self) -> Any:
        """See Source. A new value each time if another process cannot open the dataset or the file is open for writing."""
        try:
            return _version(self.place(), self.reader)
        except StzError:
            return uuid.uuid4().hex

    def description(self) -> str:
        """See Source."""
        return _description(self.reader)


class ReopenedSource:
    """A dataset that is opened by name when it is first used."""

    def __init__(self, place: Place, given: _Given | None = None) -> None:
        self._place = place
        self._opened: _Opened | _Given | None = given

    @property
    def reader(self) -> DatasetReader:
        """See Source. Opens the file on first use, and again after it was closed or changed. Raises StzReadError."""
        if self._opened is None or not self._opened.current():
            self._opened = _opened_at(self._place)
        return self._opened.reader

    def place(self) -> Place:
        """See Source."""
        return self._place

    def detached(self) -> Source:
        """See Source."""
        return self

    def version(self) -> Any:
        """See Source."""
        return _version(self._place, self.reader)

    def description(self) -> str:
        """See Source. Does not open the file."""
        opened = self._opened
        if opened is None or not opened.reader.dataset.id.valid:
            return f"{self._place.name!r} in {self._place.filename}, not open yet"
        return _description(opened.reader)


def _version(place: Place, reader: DatasetReader) -> Any:
    if place.swmr:
        return uuid.uuid4().hex
    return place.filename, place.name, place.dtype, place.version(), reader.sources_version()


def _description(reader: DatasetReader) -> str:
    dataset = reader.dataset
    if not dataset.id.valid:
        return "a closed dataset"
    text = f"{name_of(dataset)!r} in {dataset.file.filename}: {dataset.dtype}, shape {dataset.shape}"
    if dataset.chunks:
        text += f", chunks {dataset.chunks}"
    try:
        text += f", {STZ.from_dataset(dataset)}"
    except ValueError:  # of another filter or none, or with client data that cannot be read
        text += ", virtual" if dataset.is_virtual else ", not compressed with h5stz"
    return text + (f", through h5py as {reader.fallback_reason}" if reader.fallback_reason else "")


class _Given:
    """A dataset that the caller has open; has the interface of _Opened."""

    def __init__(self, reader: DatasetReader) -> None:
        self.reader = reader

    def current(self) -> bool:
        """True if the file is still open."""
        return bool(self.reader.dataset.id.valid)


class _Opened:
    """A dataset in a file that was opened here. The file is closed when the last reference to this object ends."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._version = place.version()
        try:
            self._file, self._remote = place.open()
        except OSError as error:
            if place.remote is not None:
                raise
            said = str(error).removeprefix(f"{place.filename}: ")
            raise StzReadError(
                f"{place.filename} cannot be opened ({said}): a view that was pickled opens its file by name, so it must be "
                "there under the same name, and readable, for every process that uses the view",
                _READ,
            ) from error
        dataset = self._file.get(place.name)
        if not isinstance(dataset, h5py.Dataset) or (dataset.ndim, dataset.dtype.str) != (place.rank, place.dtype):
            self.close()
            if self._remote is not None:
                self._remote.close()
            raise StzReadError(
                f"{place.filename} has no dataset {place.name} of {counted(place.rank, 'axis', 'axes')} and dtype "
                f"{place.dtype}: the file was replaced or rewritten. Make the view again",
                _READ,
            )
        self.reader = reader_of(dataset, place.cache_bytes, Stats(), place.verify, place.on_error)

    def current(self) -> bool:
        """True if the file is open and is still the file with this name."""
        if not self.reader.dataset.id.valid:
            return False
        if self._remote is not None:
            return not self._remote.h5stz_bytes.changed
        return self.reader.index.live or self._place.version() in (self._version, None)

    def close(self) -> None:
        """Closes the file for all its users."""
        self._file.close()


_lock = threading.Lock()
_recent: OrderedDict[Place, _Opened] = OrderedDict()  # those used last
_all: weakref.WeakValueDictionary[Place, _Opened] = weakref.WeakValueDictionary()


def _opened_at(place: Place) -> _Opened:
    """The _Opened of a Place: the existing one, or a new one."""
    with _lock:
        opened = stale = _all.get(place)
    if opened is not None and not opened.current():
        opened.close()  # HDF5 would go on with the file that it has open
        opened = None
    fresh = opened or _Opened(place)
    dropped = []  # let go, and closed with that, after the lock was released
    with _lock:
        other = _all.get(place)
        if opened is None and other is not None and other is not stale:
            fresh = other  # which another thread has opened in the meantime
        dropped.append(_recent.pop(place, None))
        _recent[place] = _all[place] = fresh
        while len(_recent) > _KEPT:
            dropped.append(_recent.popitem(last=False)[1])
    return fresh


def close_files() -> None:
    """Closes the files that pickled views opened in this process. A view opens its file again on its next use.

    HDF5 locks open files, so other processes cannot write to them before this call. Files that the caller opened are not
    closed. For the workers of dask.distributed: ``client.run(h5stz.close_files)``.
    """
    with _lock:
        opened = list(_all.values())
        _recent.clear()
    for one in opened:
        one.close()


def _begin_anew() -> None:
    """In a forked child: starts with new readers. Threads of the parent, which the child does not have, may hold locks of the
    old ones.
    """
    global _lock, _recent, _all
    _inherited.extend(_all.values())
    _lock, _recent, _all = threading.Lock(), OrderedDict(), weakref.WeakValueDictionary()


_inherited: list[_Opened] = []  # left open: HDF5 may be locked too
os.register_at_fork(after_in_child=_begin_anew)
