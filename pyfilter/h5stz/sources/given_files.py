"""Lets h5py read file objects that a caller has opened, of Python, fsspec, obstore and others.

h5py needs more than read() and seek(), and takes a short read for a complete one. A GivenFile adapts the object: it has its
own position, and returns all requested bytes or raises an error.
"""

from __future__ import annotations

import io
import os
from typing import Any, Protocol

import h5py

from h5stz import _core
from h5stz.errors import StzError, StzReadError, StzTypeError
from h5stz.hdf5 import file_formats
from h5stz.sources.file_objects import ObjectBytes, shortened
from h5stz.sources.read_only_file import ReadOnlyFile
from h5stz.waiting import no_garbage_collection

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_READ = _core.ERROR_CODES["STZ_ERROR_READ"]


class FileObject(Protocol):
    """A binary file object that can be read at any position."""

    def read(self, size: int, /) -> Any:
        """Up to `size` bytes from the position on, as an object with a buffer."""
        ...

    def seek(self, offset: int, whence: int = ..., /) -> Any:
        """Moves the position."""
        ...


def is_file_object(given: object) -> bool:
    """True if an argument is a file object rather than a path. Files of fsspec can be both."""
    return hasattr(given, "read") and hasattr(given, "seek")


def called(file: object) -> str:
    """The name of a file object: its path or name, otherwise its class."""
    for attribute in ("full_name", "path", "name"):
        if isinstance(name := getattr(file, attribute, None), str) and name:
            return name
    return f"the {type(file).__name__} object"


class GivenFile(ReadOnlyFile):
    """A caller's file object, adapted for h5py. Used by one thread at a time, which h5py's lock ensures.

    The object belongs to the caller and is not closed here.

    Attributes:
        h5stz_bytes: ObjectBytes for the reads of views; None if the object lacks the information for it.
        name: name of the object, for messages.
    """

    def __init__(self, file: Any) -> None:
        super().__init__()
        self.name = called(file)
        if isinstance(file, io.TextIOBase):
            raise StzTypeError(f"{self.name} is open as text: open it as binary, with mode 'rb'", _ARGUMENT)
        if getattr(file, "closed", False) is True:
            raise StzError(f"{self.name} is closed: open it, and close it after the file of h5stz", _ARGUMENT)
        if callable(readable := getattr(file, "readable", None)) and readable() is False:
            raise StzError(f"{self.name} is open for writing only: open it with mode 'rb'", _ARGUMENT)
        self._file = file
        self._failure: StzReadError | None = None
        self.h5stz_bytes: ObjectBytes | None = None
        self._size = self._end()
        try:
            self.h5stz_bytes = ObjectBytes(file)
        except Exception:  # whatever an object of somebody else raises; views then read through this one
            self.h5stz_bytes = None

    def hdf5(self) -> h5py.File:
        """Opens the file with h5py. StzReadError if it is not an HDF5 file."""
        try:
            return self.open_once()
        except Exception as error:  # of HDF5, or of the object
            raise self.cannot_be_opened(error) from error

    def cannot_be_opened(self, error: BaseException) -> StzReadError:
        """The error for an object that h5py cannot open. `error`: of h5py."""
        if self._failure is not None:
            return self._failure
        content = bytearray(min(self._size, file_formats.LOOKED_AT))
        self._at = 0
        self.readinto(content)
        why = file_formats.why_not(bytes(content), " ".join(str(error).split()), "FILE", "object")
        return StzReadError(f"{self.name}: {why}", _READ)

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self._size

    def readinto(self, target: Any) -> int:
        """Fills `target` (a buffer) from the position on. Short only at the end of the file. Returns the number of bytes."""
        wanted = memoryview(target).cast("B")
        self.check_request(len(wanted))
        wanted = wanted[: max(0, self._size - self._at)]
        done = 0
        try:
            with no_garbage_collection():
                self._file.seek(self._at)
                while done < len(wanted):
                    part = memoryview(self._file.read(len(wanted) - done)).cast("B")
                    if not part:
                        raise EOFError(f"it ends after {self._at + done} bytes, but its size was given as {self._size}")
                    wanted[done : done + len(part)] = part
                    done += len(part)
        except Exception as error:  # whatever an object of somebody else raises
            self._failure = StzReadError(
                f"{self.name} did not give bytes {self._at} to {self._at + len(wanted)}, {shortened(error)}: open it again",
                _READ,
            )
            raise self._failure from error
        self._at += done
        return done

    def _end(self) -> int:
        """The size in bytes. StzReadError if the object is not seekable."""
        try:
            position = self._file.seek(0, os.SEEK_END)
            return int(position if isinstance(position, int) else self._file.tell())
        except Exception as error:
            text = f"{self.name} cannot be read at arbitrary positions, {shortened(error)}: read it into io.BytesIO first"
            raise StzReadError(text, _READ) from error
