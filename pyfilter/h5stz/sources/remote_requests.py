"""Byte ranges of a file behind fsspec: few requests, many in parallel, repeated if useful, counted.

Only functions that fsspec documents for every file system are used: info() and cat_ranges(). A response has the requested
length and belongs to the version of the file found first; otherwise an error is raised.
"""

from __future__ import annotations

import random
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar
from urllib.parse import urlsplit

from h5py._objects import phil

from h5stz import _core
from h5stz.counts import counted
from h5stz.errors import StzReadError
from h5stz.hdf5 import file_formats, file_kinds
from h5stz.sources import remote_errors
from h5stz.sources.file_objects import ObjectBytes, version_of
from h5stz.waiting import no_garbage_collection

_Answer = TypeVar("_Answer")
_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
_REQUESTS = 16  # that are under way at once
_GAP = 1 << 14  # bytes: transferring so many takes less time than another request
_LARGEST = 8 << 20  # bytes of one request; what is longer comes in parts, side by side
_LONGEST_WAIT = 30.0  # seconds
_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}  # status of HTTP
_LASTING = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)


class RemoteStats:
    """Requests to the server since the file was opened or reset() was called, by all readers of the file in this process.

    Attributes:
        requests: requests for bytes, and for size and version of the file, including repetitions. Other requests of the file
            system (authentication, repetitions by s3fs) are not counted.
        bytes_fetched: bytes of the file that were received.
        seconds: time spent waiting for responses, summed over threads.
        retries: number of repeated requests.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Sets all counts to zero."""
        with self._lock:
            self.requests = self.bytes_fetched = self.retries = 0
            self.seconds = 0.0

    def add(self, requests: int, bytes_fetched: int, seconds: float, retries: int) -> None:
        """Counts requests that were answered."""
        with self._lock:
            self.requests += requests
            self.bytes_fetched += bytes_fetched
            self.seconds += seconds
            self.retries += retries

    def __repr__(self) -> str:
        return (
            f"RemoteStats(requests={self.requests}, bytes_fetched={self.bytes_fetched}, seconds={self.seconds:.3f}, "
            f"retries={self.retries})"
        )


class RemoteBytes(ObjectBytes):
    """The bytes of a file in an fsspec file system.

    Attributes:
        name: the address for messages, without secrets.
        size: size of the file in bytes.
        version: identifies this version of the file, as far as the file system provides it; at least its size.
        changed: True if another version was found.
        failure: the StzReadError of the last request that failed finally, or of a changed file; None before the first one.
        stats: RemoteStats.
    """

    def __init__(self, system: Any, path: str, name: str, retries: int, retry_wait: float, small_bytes: int = 0) -> None:
        self._system, self._path, self.name = system, path, name
        self._retry_wait = retry_wait
        self._retries = retries
        #: s3fs and gcsfs repeat requests that fail; what they give up is not tried again.
        self._repeats_itself = isinstance(getattr(system, "retries", None), int)
        self.stats = RemoteStats()
        self.parallel = bool(getattr(system, "async_impl", False))
        self.lock: AbstractContextManager[Any] = nullcontext() if self.parallel else phil
        self.changed = False
        self.failure: StzReadError | None = None
        self._last: object = None  # as of ObjectBytes
        self._compared: object = None
        told = self._told()
        if told.get("type") == "directory":
            raise StzReadError(f"{name}: it is {self._described_directory()}", _READ)
        if told.get("size") is None:
            raise self._only_whole(f"the server does not report the size of {name}")
        self.size = int(told["size"])
        self._small = self.size <= small_bytes
        if told.get("partial") is False and "http" in self._protocols() and not self._small:  # rather than of a copy here
            raise self._only_whole(f"the server does not support range requests for {name}")
        self.version = version_of(told)

    def check(self, error: BaseException | None = None) -> None:
        """See ObjectBytes."""
        last = self._last
        if self.changed or last is not self._compared:
            try:
                now = {} if self.changed else version_of(self._told())
            except StzReadError as unknown:
                if error is not None:
                    return
                raise StzReadError(f"it is unknown whether the file has changed: {unknown}", _READ) from unknown
            if self.changed or any(now.get(name, told) != told for name, told in self.version.items()):
                self.changed = True
                text = f"{self.name} was changed while it was open for reading: close it and open it again"
                self.failure = StzReadError(text, _READ)
                raise self.failure from error
            self._compared = last

    def may_have(self, address: int, size: int) -> bool:
        """See ObjectBytes."""
        return address + size <= self.size

    def read(self, address: int, size: int) -> memoryview:
        """See ObjectBytes."""
        return self.read_all([(address, size)])[0]

    def read_all(self, ranges: list[tuple[int, int]]) -> list[memoryview]:
        """See ObjectBytes. Adjacent ranges become one request."""
        if not ranges:
            return []
        spans = _joined(ranges)
        most = _LARGEST if self.parallel else max((end - begin for begin, end in spans), default=1)
        parts = [(at, min(at + most, end)) for begin, end in spans for at in range(begin, end, most)]
        pieces = iter(self._fetched(parts))
        contents = []
        for begin, end in spans:
            some = [next(pieces) for _ in range(begin, end, most)]
            contents.append(memoryview(some[0] if len(some) == 1 else b"".join(some)))
        begins = [begin for begin, _ in spans]
        result = []
        for address, size in ranges:
            place = bisect_right(begins, address) - 1
            result.append(contents[place][address - begins[place] :][:size] if size else memoryview(b""))
        return result

    def last_bytes(self, address: int) -> memoryview:
        """The bytes from `address` (not 0) to the end of the file. StzReadError if the server sends whole files only.

        An open HTTP file detects that before the whole file is transferred; cat_ranges() does not.
        """
        if "http" not in self._protocols():
            return self.read(address, self.size - address)

        def end() -> bytes:
            with self._system.open(self._path, "rb", cache_type="none", size=self.size) as file:
                file.seek(address)
                content: bytes = file.read(self.size - address)
            if len(content) != self.size - address:
                raise EOFError(f"{counted(len(content), 'byte')} received instead of {self.size - address}")
            return content

        try:
            content = self._repeated(end, "its last bytes")
        except StzReadError as error:
            if isinstance(error.__cause__, ValueError):  # of fsspec: "range requests" are not supported
                raise self._only_whole(f"the server does not support range requests for {self.name}") from error.__cause__
            raise
        self.stats.add(0, len(content), 0, 0)
        self._last = object()
        return memoryview(content)

    def _only_whole(self, text: str) -> StzReadError:
        """The error for a file that its server sends only as a whole, or that is not an HDF5 file, such as a login page."""
        content = b""
        try:
            # Of HTTP, what is not read is not transferred.
            with no_garbage_collection(), self._system.open(self._path, "rb", block_size=0) as stream:
                content = bytes(stream.read(file_formats.LOOKED_AT))
        except Exception:  # the error is about something else
            pass
        other = file_formats.other_format(content, self._last_name(), "address") if content else None
        return StzReadError(f"{text}, {_WHOLE}" if other is None else f"{self.name}: {other}", _READ)

    def _last_name(self) -> str:
        """Name of the file without directories."""
        return self.name.rstrip("/").rpartition("/")[2]

    def _described_directory(self) -> str:
        try:
            with no_garbage_collection():
                if any(self._system.exists(f"{self._path.rstrip('/')}/{name}") for name in file_kinds.ZARR):
                    return file_kinds.ZARR_STORE
        except Exception:  # whatever a file system of somebody else raises
            pass
        return "a directory: give the address of an HDF5 file"

    def why_not(self, said: str) -> str:
        """The format of a file that HDF5 cannot open, and the remedy. `said`: the message of HDF5."""
        content = bytes(self.read(0, min(self.size, file_formats.LOOKED_AT))) if self.size else b""
        return file_formats.why_not(content, said, self._last_name(), "address")

    def _protocols(self) -> tuple[str, ...]:
        named = getattr(self._system, "protocol", ())
        return (named,) if isinstance(named, str) else tuple(named)

    def _told(self) -> Mapping[str, Any]:
        """The file system's present information about the file."""

        def ask() -> Mapping[str, Any]:
            self._system.invalidate_cache(self._path)  # of listings: s3fs would answer from an old one
            told: Mapping[str, Any] = self._system.info(self._path)
            return told

        return self._repeated(ask, _ABOUT)

    def _repeated(self, call: Callable[[], _Answer], what: str) -> _Answer:
        """What a request answers, also after it failed a few times."""
        for attempt in range(self._retries + 1):
            begin = time.perf_counter()
            try:
                with no_garbage_collection():
                    return call()
            except Exception as error:
                if attempt == self._retries or not self._worth_repeating(error):
                    raise self._failed(what, error, attempt) from error
            finally:
                self.stats.add(1, 0, time.perf_counter() - begin, int(attempt > 0))
            self._wait(attempt)
        raise AssertionError("the last attempt returns or raises")

    def _fetched(self, parts: list[tuple[int, int]]) -> list[bytes]:
        """The bytes of parts (begin, end) of the file."""
        contents: dict[int, bytes] = {}
        # Of those that other file systems do not know, cat_ranges() would hand them on as options.
        options = {"batch_size": _REQUESTS} if self.parallel else {}
        for attempt in range(self._retries + 1):
            missing = [number for number in range(len(parts)) if number not in contents]
            started = time.perf_counter()
            starts, ends = [parts[number][0] for number in missing], [parts[number][1] for number in missing]
            answers: list[Any]
            try:
                with no_garbage_collection():  # of any thread: a view may be read where h5py's lock is held
                    answers = self._system.cat_ranges([self._path] * len(missing), starts, ends, on_error="return", **options)
            except Exception as error:  # whatever a file system of somebody else raises
                answers = [error] * len(missing)
            self._last = object()
            failed: dict[int, Exception] = {}
            for number, answer in zip(missing, answers, strict=True):
                if (problem := self._problem(answer, *parts[number])) is None:
                    contents[number] = answer
                elif self._small and not isinstance(answer, BaseException) and len(answer) == self.size:
                    begin, end = parts[number]
                    contents[number] = answer[begin:end]  # the server does not send parts
                else:
                    failed[number] = problem
            size = sum(len(answer) for answer in answers if not isinstance(answer, BaseException))
            self.stats.add(len(missing), size, time.perf_counter() - started, len(missing) if attempt else 0)
            if not failed:
                break
            lasting = [number for number, error in failed.items() if not self._worth_repeating(error)]
            if lasting or attempt == self._retries:
                number = (lasting or list(failed))[0]
                span = "bytes {} to {}".format(*parts[number])
                raise self._failed(span, failed[number], attempt) from failed[number]
            self._wait(attempt)
        return [contents[number] for number in range(len(parts))]

    @staticmethod
    def _problem(answer: Any, begin: int, end: int) -> Exception | None:
        """What is wrong with the answer to a request for bytes, or None."""
        if isinstance(answer, Exception):
            return answer
        if isinstance(answer, BaseException):  # of the user, such as KeyboardInterrupt
            raise answer
        if len(answer) == end - begin:
            return None
        return EOFError(f"{counted(len(answer), 'byte')} received instead of {end - begin}")

    def _worth_repeating(self, error: BaseException) -> bool:
        """Whether an error may be gone soon, and nobody has tried that yet."""
        if isinstance(error, FileNotFoundError) and error.__cause__ is not None:  # what HTTP makes of all that goes wrong
            error = error.__cause__
        if isinstance(error, EOFError):
            return True
        status = getattr(error, "status", None)
        if self._repeats_itself or isinstance(error, _LASTING) or remote_errors.is_about_tls(error):
            return False
        if isinstance(status, int) and status:
            return status in _TRANSIENT
        of_aiohttp = type(error).__module__.partition(".")[0] == "aiohttp"  # an answer that was cut off is no OSError
        # The name is that of asyncio's own before Python 3.11, which is not imported for it.
        return of_aiohttp or isinstance(error, OSError) or type(error).__name__ == "TimeoutError"

    def _wait(self, attempt: int) -> None:
        """Waits before the next attempt, longer each time, and not as long as others that failed at the same moment."""
        longest = min(_LONGEST_WAIT, self._retry_wait * 2**attempt)
        if longest > 0:
            time.sleep(longest * random.uniform(0.5, 1))

    def _failed(self, what: str, error: BaseException, attempt: int) -> StzReadError:
        said = remote_errors.meaning(error, urlsplit(self.name.rpartition("::")[2]).scheme)
        if what == _ABOUT:
            text = f"{self.name}: {said}" + (f" ({attempt + 1} requests failed)" if attempt else "")
        else:
            text = f"{self.name} did not give {what}{f' after {attempt + 1} requests' if attempt else ''}: {said}"
        kind = file_kinds.NotFoundError if remote_errors.is_not_there(error) else StzReadError
        self.failure = kind(text, _READ)
        return self.failure


_ABOUT = "its size and version"
_WHOLE = (
    "so it cannot be read in parts: download it, or let fsspec keep a copy, "
    'h5stz.open("simplecache::" + url), which transfers all of it once'
)


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans (begin, end) by rising begin that contain all ranges (address, size) and are not near each other."""
    spans: list[tuple[int, int]] = []
    for address, size in sorted(ranges):
        if not size:
            continue
        if spans and address <= spans[-1][1] + _GAP:
            begin, end = spans.pop()
            spans.append((begin, max(end, address + size)))
        else:
            spans.append((address, address + size))
    return spans
