"""Base class of the objects through which h5py reads file objects and remote files."""

from __future__ import annotations

import atexit
import io
import os
from typing import Any

import h5py

from h5stz import _core
from h5stz.errors import StzReadError
from h5stz.sources.file_objects import object_of

_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
_SIGNATURE = 8  # bytes: HDF5 reads them alone, at the beginning, when it opens a file


class ReadOnlyFile(io.RawIOBase):
    """A file with a position, for h5py, which uses it in one thread at a time.

    HDF5 follows an external link by opening the other file with the driver of the first: through the same object, where it
    would find the first file again. An object is therefore opened only once.
    """

    name: str  # what the file is called, for messages

    def __init__(self) -> None:
        super().__init__()
        self._at = 0
        self._is_open = False

    @property
    def size(self) -> int:
        """The size in bytes."""
        raise NotImplementedError

    def open_once(self) -> h5py.File:
        """Opens the file with h5py."""
        access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
        try:
            access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
            access.set_fileobj_driver(h5py.h5fd.fileobj_driver, self)
            file = h5py.File(h5py.h5f.open(repr(self).encode("ASCII", "replace"), h5py.h5f.ACC_RDONLY, fapl=access))
        finally:  # else the traceback of an error keeps it, and HDF5 calls Python to free it when Python has ended
            access.close()
        self._is_open = True
        return file

    def check_request(self, size: int) -> None:
        """Raises StzReadError if HDF5 begins to open another file through this object. size: of the request, in bytes."""
        if self._is_open and self._at == 0 and size == _SIGNATURE:
            text = f"{self.name}: an external link leads to another file: open that file by its own path or address"
            raise StzReadError(text, _READ)

    def readable(self) -> bool:
        """Always True."""
        return True

    def seekable(self) -> bool:
        """Always True."""
        return True

    def tell(self) -> int:
        """The position in bytes."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves the position."""
        begin = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        self._at = max(0, begin + offset)
        return self._at

    def readinto(self, target: Any) -> int:
        """Fills `target` (a buffer) from the position on. Short only at the end of the file. Returns the number of bytes."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.name  # h5py shows it as the name of the file


def _close_all() -> None:
    """Closes the files that are still open. HDF5 would close them after Python has ended and cannot be called."""
    for identifier in h5py.h5f.get_obj_ids(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE):
        if isinstance(object_of(identifier), ReadOnlyFile):
            h5py.File(identifier).close()


atexit.register(_close_all)
