"""A file behind fsspec as a Python object that h5py reads, and that other processes can open again by its address.

HDF5 reads the metadata of a file in many small pieces, so blocks around them are fetched and cached. Reads of chunks by views
bypass these blocks (remote_requests.RemoteBytes). All bytes passed to h5py belong to one version of the file.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import h5py

from h5stz import _core
from h5stz.errors import StzReadError
from h5stz.sources import remote_errors
from h5stz.sources.file_objects import object_of
from h5stz.sources.read_only_file import ReadOnlyFile
from h5stz.sources.remote_requests import RemoteBytes

_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
BLOCK_BYTES = 1 << 17
METADATA_BYTES = 32 << 20
RETRIES = 4
RETRY_WAIT = 0.5  # seconds


@dataclass(frozen=True)
class Address:
    """Address and options of a remote file, with which another process can open it.

    Attributes:
        url: address for fsspec.
        storage_options: arguments of fsspec's file system.
        block_bytes, metadata_bytes, retries, retry_wait: as for open().
        version: version of the file as (name, text) pairs; () for any version.
    """

    url: str
    storage_options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    block_bytes: int = BLOCK_BYTES
    metadata_bytes: int = METADATA_BYTES
    retries: int = RETRIES
    retry_wait: float = RETRY_WAIT
    version: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The address for messages, without user, password and query, which may be secret."""
        prefix, separator, last = self.url.rpartition("::")
        parts = urlsplit(last)
        if not parts.scheme:
            return self.url
        return prefix + separator + urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    def open(self) -> RemoteFile:
        """Opens the file. Raises StzReadError if it cannot be read or is another version."""
        system, path = self.located()
        source = RemoteBytes(system, path, self.name, self.retries, self.retry_wait, self.block_bytes)
        version = tuple(sorted((name, str(value)) for name, value in source.version.items()))
        if self.version not in ((), version):
            raise StzReadError(f"{self.name} has changed since it was first opened: open it again and start over", _READ)
        return RemoteFile(source, replace(self, version=version))

    def local_path(self) -> str | None:
        """The path, if the address means a local file that is read without fsspec; otherwise None."""
        return self.located()[1] if self.url.startswith(("file://", "local://")) else None

    def located(self) -> tuple[Any, str]:
        """fsspec's file system, and the path in it."""
        try:
            core: Any = import_module("fsspec.core")
        except ImportError as error:
            raise ImportError("remote files need fsspec: pip install 'h5stz[remote]'", name="fsspec") from error
        try:
            system, path = core.url_to_fs(self.url, **self.storage_options)
        except ImportError as error:
            text = f"{self.name} needs another package ({error}): pip install 'h5stz[remote]' includes those for https:// and s3://"
            raise ImportError(text, name=error.name) from error
        except Exception as error:  # whatever a file system of somebody else raises
            raise StzReadError(f"{self.name}: {self._not_located(error)}", _READ) from error
        return system, path

    def _not_located(self, error: Exception) -> str:
        """The problem with the address, and the remedy."""
        scheme = urlsplit(self.url.rpartition("::")[2]).scheme
        if isinstance(error, ValueError) and str(error).startswith("Protocol not known"):
            return f"{error!s}: addresses begin with https://, s3:// or what else fsspec knows"
        return remote_errors.meaning(error, scheme)


def is_address(given: object) -> bool:
    """True if a name is an fsspec address rather than a path. Both may contain the separator ::.

    A name that begins with the name of a local file is a path.
    """
    if not isinstance(given, str) or "://" in given:
        return isinstance(given, str)
    parts = given.split("::")
    return len(parts) > 1 and not any(os.path.isfile("::".join(parts[:count])) for count in range(1, len(parts) + 1))


@contextmanager
def remote_hdf5(url: str) -> Iterator[h5py.File]:
    """A context with the file at an address, open for reading.

    Raises:
        StzReadError: the file cannot be read, at the beginning or later, whatever error h5py makes of that.
    """
    source = Address(url).open()
    try:
        with source.hdf5() as file:
            yield file
            if source.h5stz_bytes.failure is not None:
                raise source.h5stz_bytes.failure
    except Exception as error:
        if source.h5stz_bytes.failure not in (None, error):
            raise source.h5stz_bytes.failure from error
        raise
    finally:
        source.close()


def remote_of(file: h5py.File) -> RemoteFile | None:
    """The object through which h5py reads a file, if open() or remote_hdf5() opened it by address."""
    source = object_of(file.id)
    return source if isinstance(source, RemoteFile) else None


def refuse_to_go_on(file: h5py.File) -> None:
    """After an error: raises the error of the server if a remote file failed, because this is not damage of a part."""
    source = remote_of(file)
    if source is not None and source.h5stz_bytes.failure is not None:
        raise source.h5stz_bytes.failure


def local_path(name: str | os.PathLike[str]) -> str | os.PathLike[str] | None:
    """The local path of a path or of a local address; None for a remote file."""
    return Address(name).local_path() if isinstance(name, str) and is_address(name) else name


def shown_name(name: str) -> str:
    """A path or address for messages and reports, without user, password and query."""
    return Address(name).name if is_address(name) else name


class RemoteFile(ReadOnlyFile):
    """A remote file for h5py. Used by one thread at a time, which h5py's lock ensures.

    Attributes:
        h5stz_bytes: RemoteBytes for the reads of views; it counts requests.
        address: Address, with the version of the file.
    """

    def __init__(self, source: RemoteBytes, address: Address) -> None:
        super().__init__()
        self.h5stz_bytes, self.address, self.name = source, address, address.name
        self._blocks: OrderedDict[int, memoryview] = OrderedDict()  # by number; the one used last at the end
        self._most = max(1, address.metadata_bytes // address.block_bytes)
        last = max(0, source.size - 1) // address.block_bytes
        if last:  # HDF5 asks for the first one next, after which the version is compared
            self._blocks[last] = source.last_bytes(last * address.block_bytes)

    def hdf5(self) -> h5py.File:
        """Opens the file with h5py."""
        try:
            return self.open_once()
        except StzReadError:
            raise
        except Exception as error:  # of HDF5; of fsspec if its loop has ended
            if isinstance(error.__context__, StzReadError):
                raise error.__context__ from error
            raise self.cannot_be_opened(error) from error

    def cannot_be_opened(self, error: BaseException) -> StzReadError:
        """The error for a file that h5py cannot open. `error`: of h5py."""
        why = self.h5stz_bytes.why_not(" ".join(str(error).split()))
        return StzReadError(f"{self.address.name}: {why}", _READ)

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.h5stz_bytes.size

    def readinto(self, target: Any) -> int:
        """Fills `target` (a buffer) from the position on. Short only at the end of the file. Returns the number of bytes."""
        if self.closed:
            raise StzReadError(f"{self.address.name} was closed: open it again", _READ)
        wanted = memoryview(target).cast("B")
        self.check_request(len(wanted))
        end = min(self._at + len(wanted), self.h5stz_bytes.size)
        begin, self._at = self._at, max(self._at, end)
        if begin >= end:
            return 0
        if end - begin > self.address.block_bytes:  # samples, which are not read twice
            wanted[: end - begin] = self._checked([(begin, end - begin)])[0]
            return end - begin
        size = self.address.block_bytes
        self._need(range(begin // size, (end - 1) // size + 1))
        for number in range(begin // size, (end - 1) // size + 1):
            first, last = max(begin, number * size), min(end, (number + 1) * size)
            wanted[first - begin : last - begin] = self._blocks[number][first - number * size : last - number * size]
        self._forget()
        return end - begin

    def _need(self, numbers: range) -> None:
        """Fetches missing blocks, and marks all given blocks as used."""
        size = self.address.block_bytes
        missing = [number for number in numbers if number not in self._blocks]
        ranges = [(number * size, min(size, self.h5stz_bytes.size - number * size)) for number in missing]
        if ranges:
            self._blocks.update(zip(missing, self._checked(ranges), strict=True))
        for number in numbers:
            self._blocks.move_to_end(number)

    def _forget(self) -> None:
        while len(self._blocks) > self._most:
            self._blocks.popitem(last=False)

    def _checked(self, ranges: list[tuple[int, int]]) -> list[memoryview]:
        """The bytes of ranges, after a check that the file has not changed."""
        contents = self.h5stz_bytes.read_all(ranges)
        self.h5stz_bytes.check()
        return contents

    def __reduce__(self) -> tuple[Any, ...]:
        return Address.open, (self.address,)
