"""Ranged reads of files that h5py reads through a Python object (driver "fileobj"): in memory, in archives, remote files.

An object has one position, which h5py moves too. It is therefore used under h5py's lock, by the calling thread. A file of
fsspec that reads ahead also has a function that fetches any range; for a remote file, several threads may call it at once. No
package is imported for this: the capabilities of an object determine how it is read.
"""

from __future__ import annotations

import ctypes
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import h5py
from h5py._objects import phil

from h5stz import _core
from h5stz.counts import counted
from h5stz.errors import StzReadError
from h5stz.hdf5 import calls
from h5stz.waiting import no_garbage_collection

_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
_REQUESTS = 16  # that are under way at once
_GAP = 4096  # bytes: two ranges as near as this are one request
_KEEP = ("all", "parts", "mmap")  # caches of fsspec that hold on this machine what they fetched, as they were asked to
#: What file systems call the things that differ from one version of a file to the next, without case, dashes and underscores.
_VERSION = {"etag", "lastmodified", "mtime", "modified", "updated", "versionid", "generation"}
_VERSION |= {"contentmd5", "md5hash", "digest"}


class ObjectBytes:
    """The bytes of a Python file object, for ranged reads.

    Attributes:
        parallel: True if the object is remote and several threads may read at once. Ranges should then be fetched together.
        lock: a context manager to hold from before any lock of this package is taken until the last read has ended.
    """

    def __init__(self, file: Any) -> None:
        self._file = file
        self._fetch = _fetcher(file)
        self.parallel = self._fetch is not None and bool(getattr(file.fs, "async_impl", False))
        self.lock: AbstractContextManager[Any] = nullcontext() if self.parallel else phil
        # Tokens: the last range that was read, and the last one after which the version was compared.
        self._last: object = None
        self._compared: object = None
        self._changed = False
        with self.lock:
            self._version = self._version_then() if self._fetch else self._state_now()

    @classmethod
    def of(cls, dataset: h5py.Dataset) -> ObjectBytes | None:
        """The bytes of the object through which h5py reads the file of a dataset; None if ranged reads are not safe.

        They are safe if the file was opened for reading, without a writer beside it (SWMR).
        """
        file = dataset.file.id
        if file.get_intent() != h5py.h5f.ACC_RDONLY:
            return None
        with phil:
            source = object_of(file)
        if source is None:
            return None
        if isinstance(bytes_of_it := getattr(source, "h5stz_bytes", None), ObjectBytes):  # of a file that open() has opened
            return bytes_of_it
        try:
            return cls(source)
        except Exception:  # whatever an object of somebody else raises; HDF5 has read from it, so it can go on
            return None

    def check(self, error: BaseException | None = None) -> None:
        """Raises StzError if the file has changed. Does nothing if nothing was read since the last check.

        Args:
            error: the exception with which a read ended, which may result from a change. It stands if a change cannot be
                determined.
        """
        if getattr(self._file, "closed", False):
            raise StzReadError(f"the file object that h5py reads from was closed: {_AGAIN}", _READ) from error
        last = self._last
        if last is self._compared:
            return
        try:
            with no_garbage_collection():
                now = version_of(self._file.fs.info(self._file.path)) if self._fetch else self._state_now()
        except Exception as unknown:
            if error is not None:
                return
            text = f"it is unknown whether the file has changed, {shortened(unknown)}: {_AGAIN}"
            raise StzReadError(text, _READ) from unknown
        self._changed = self._changed or any(now[name] != told for name, told in self._version.items() if name in now)
        if self._changed:
            text = "the file was changed while it was open for reading: close it and open it again"
            raise StzReadError(text, _READ) from error
        self._compared = last

    def may_have(self, address: int, size: int) -> bool:
        """True if the file is long enough for a range, as far as known."""
        try:
            if self._fetch:
                return bool(address + size <= self._file.size)
            self._file.seek(0, os.SEEK_END)
            return bool(address + size <= self._file.tell())
        except Exception:  # reading will say what is wrong
            return True

    def read(self, address: int, size: int) -> memoryview:
        """`size` bytes from `address` on. StzError if the object does not return them."""
        try:
            with no_garbage_collection():  # fsspec waits for a thread of its own
                content = memoryview(self._fetch(address, address + size) if self._fetch else self._read_at(address, size))
        except Exception as error:
            text = f"the file object did not give {_range(address, size)}, {shortened(error)}: {_AGAIN}"
            raise StzReadError(text, _READ) from error
        finally:
            self._last = object()
        if content.nbytes != size:
            raise StzReadError(
                f"the file object gave {counted(content.nbytes, 'byte')} as {_range(address, size)}: {_AGAIN}", _READ
            )
        return content

    def read_all(self, ranges: list[tuple[int, int]]) -> list[memoryview]:
        """The bytes of ranges (address, size), as a list. For a remote file many requests run in parallel."""
        if not self.parallel or len(ranges) < 2:
            return [self.read(*one) for one in ranges]
        with no_garbage_collection(), ThreadPoolExecutor(min(_REQUESTS, len(ranges))) as pool:
            waiting = [pool.submit(self.read, *one) for one in ranges]
            try:
                return [one.result() for one in waiting]
            finally:
                pool.shutdown(cancel_futures=True)

    def _read_at(self, address: int, size: int) -> bytes:
        """The bytes from `address` on. Fewer only at the end of the object, even if the object returns short reads."""
        self._file.seek(address)
        content: bytes = self._file.read(size)
        if 0 < len(content) < size:
            parts = [content]
            while (missing := size - sum(map(len, parts))) > 0 and (more := self._file.read(missing)):
                parts.append(more)
            content = b"".join(parts)
        return content

    def _state_now(self) -> dict[str, Any]:
        """Size and modification time of a file of the operating system. Empty for other objects, where seeking the end may be
        slow.
        """
        try:
            state = os.fstat(self._file.fileno())
        except Exception:  # whatever an object of somebody else raises
            return {}
        return {"size": state.st_size, "changed": state.st_mtime_ns}

    def _version_then(self) -> dict[str, Any]:
        """The version of an fsspec file when it was opened; if only its size was known, the present version."""
        then = version_of(self._file.details)
        if len(then) == 1:
            with no_garbage_collection():
                then = version_of(self._file.fs.info(self._file.path))
        return then | {"size": self._file.size}


def version_of(told: Mapping[str, Any]) -> dict[str, Any]:
    """The size of a file, and its version identifiers, from the information of an fsspec file system."""
    short = {name: name.lower().replace("-", "").replace("_", "") for name in told}
    return {short[name]: value for name, value in told.items() if short[name] in _VERSION} | {"size": told["size"]}


_AGAIN = "open it again, or copy it to this machine and read the copy"


def shortened(error: BaseException) -> str:
    """An exception of another package in one line: class and message."""
    return f"{type(error).__name__}: {error}".strip(" :")


def _range(address: int, size: int) -> str:
    return f"bytes {address} to {address + size}"


def _fetcher(file: Any) -> Callable[[int, int], bytes] | None:
    """The function (begin, end) -> bytes with which an fsspec file fetches. None if using the file itself fetches no more."""
    parts = getattr(file, "cache", None)
    if not hasattr(file, "fs") or not hasattr(file, "path") or getattr(parts, "name", None) in _KEEP:
        return None
    fetch: Callable[[int, int], bytes] | None = getattr(file, "_fetch_range", None)  # what classes of files implement
    return None if parts is None else fetch


def _driver_info() -> Any:
    """H5Pget_driver_info; None if it cannot be found."""
    return calls.function("H5Pget_driver_info", ctypes.c_void_p, ctypes.c_int64)


def object_of(file: h5py.h5f.FileID) -> Any:
    """The Python object behind an h5py.h5f.FileID; None for other drivers."""
    access = file.get_access_plist()  # holds the object until the end
    driver = getattr(h5py.h5fd, "fileobj_driver", None)
    if driver is None or access.get_driver() != driver or _driver_info() is None:
        return None
    address = _driver_info()(access.id)
    return ctypes.cast(address, ctypes.py_object).value if address else None


class RangeSource(Protocol):
    """A source of byte ranges."""

    def read(self, address: int, size: int) -> memoryview:
        """`size` bytes from `address` on."""
        ...


class ChunkBytes:
    """The bytes of one chunk in a RangeSource, for a reader. Some were fetched ahead, others are fetched on demand.

    Attributes:
        address: address of the chunk in the file.
        size: size of the chunk in bytes.
        held: number of bytes that were fetched ahead and are still held.
    """

    def __init__(self, source: RangeSource, address: int, size: int) -> None:
        self._source, self.address, self.size = source, address, size
        self._begins: list[int] = []  # of pieces that do not overlap, by rising offset
        self._contents: list[memoryview] = []
        self.held = self._fetched = 0

    def __call__(self, offset: int, size: int) -> bytes | memoryview:
        """`size` bytes from `offset` on: the callback of a reader."""
        parts = []
        for begin, count, content in self._pieces(offset, size):
            if content is None:
                content = self._source.read(self.address + begin, count)
                self._fetched += count
            parts.append(content)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def missing(self, ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The missing parts of ranges (offset, size), by ascending offset. Adjacent ranges are merged."""
        joined: list[tuple[int, int]] = []
        for offset, size in ranges:
            if joined and offset <= joined[-1][0] + joined[-1][1] + _GAP:
                begin, before = joined.pop()
                offset, size = begin, max(before, offset + size - begin)
            joined.append((offset, size))
        return [(begin, count) for one in joined for begin, count, content in self._pieces(*one) if content is None]

    def give(self, offset: int, content: memoryview) -> None:
        """Takes the content (a memoryview) of a missing range."""
        self._fetched += len(content)
        if offset in self._begins:  # by two threads at once
            return
        place = bisect_right(self._begins, offset)
        self._begins.insert(place, offset)
        self._contents.insert(place, content)
        self.held += len(content)

    def forget(self) -> None:
        """Releases the bytes that were fetched ahead."""
        self._begins, self._contents, self.held = [], [], 0

    def newly_fetched(self) -> int:
        """Number of bytes fetched since the last call."""
        fetched, self._fetched = self._fetched, 0
        return fetched

    def _pieces(self, offset: int, size: int) -> Iterator[tuple[int, int, memoryview | None]]:
        """The parts (begin, size, content) of a range; content is None for missing ones."""
        end = offset + size
        place = max(0, bisect_right(self._begins, offset) - 1)
        while offset < end:
            while place < len(self._begins) and self._begins[place] + len(self._contents[place]) <= offset:
                place += 1
            begin = self._begins[place] if place < len(self._begins) else end
            if begin <= offset:
                content = self._contents[place][offset - begin : end - begin]
                yield offset, len(content), content
                offset += len(content)
            else:
                yield offset, min(begin, end) - offset, None
                offset = min(begin, end)
