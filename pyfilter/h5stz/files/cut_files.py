"""Truncated HDF5 files. HDF5 opens them if the missing end is replaced by zeros."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py

from h5stz import _core
from h5stz.errors import HDF5_ERRORS, StzError, StzReadError
from h5stz.hdf5 import file_kinds

if TYPE_CHECKING:
    from typing_extensions import Buffer

_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
_SALVAGE = "h5stz salvage"  # what an error of a file proposes that is damaged or cut short
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_OLD, _NEW = (0, 1), (2, 3)  # versions of superblocks


def opened(path: Path) -> tuple[h5py.File, int]:
    """A context with the open file and the number of bytes missing at its end.

    Raises:
        OSError: HDF5 cannot open the file, even with zeros for the missing bytes.
    """
    source: Any = None
    try:
        try:
            file, missing = file_kinds.opened_file(path), 0
        except StzReadError as error:
            if _SALVAGE not in str(error):
                raise
            source = _Extended(path)
            file, missing = h5py.File(source), source.missing
        try:
            file["/"]
        except BaseException:
            file.close()
            raise
        return file, missing
    except HDF5_ERRORS as error:
        if source is not None:
            source.close()
        if isinstance(error, StzError):
            raise
        text = f"{path}: HDF5 cannot read any part of this HDF5 file: copy or download it again"
        raise StzReadError(text, _READ) from error


def user_block_size(path: Path) -> int:
    """Number of bytes before the HDF5 file proper; 0 if it is not an HDF5 file."""
    with path.open("rb") as file:
        begin, _ = _superblock(file, path.stat().st_size)
    return begin


def _superblock(file: io.BufferedReader, size: int) -> tuple[int, bytes]:
    """Address and first 64 bytes of the first superblock; (0, b"") if there is none."""
    begin = 0
    while begin < size:
        file.seek(begin)
        content = file.read(64)
        if content.startswith(_SIGNATURE):
            return begin, content
        begin = max(512, 2 * begin)
    return 0, b""


def _end(content: bytes, begin: int) -> int:
    """The length of the file according to its superblock; 0 if unknown."""
    if len(content) < 64 or content[8] not in (*_OLD, *_NEW):
        return 0
    old = content[8] in _OLD
    width = content[13 if old else 9]  # of addresses: base, one more, end
    first = (24 if content[8] == 0 else 28) if old else 12
    if width not in (2, 4, 8):
        return 0
    end = int.from_bytes(content[first + 2 * width : first + 3 * width], "little")
    base = int.from_bytes(content[first : first + width], "little")
    return max(0, end if base == begin else end + begin)


class _Extended(io.RawIOBase):
    """A file, extended by zeros to the length in its superblock.

    Attributes:
        missing: number of zeros.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("rb")
        size = path.stat().st_size
        begin, content = _superblock(self._file, size)
        self._present = size
        self._size = max(size, _end(content, begin))
        self.missing = self._size - size
        self._at = 0

    def readable(self) -> bool:
        """See io.RawIOBase."""
        return True

    def seekable(self) -> bool:
        """See io.RawIOBase."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """See io.RawIOBase."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        """See io.RawIOBase."""
        return self._at

    def readinto(self, buffer: Buffer) -> int:
        """See io.RawIOBase."""
        target = memoryview(buffer).cast("B")
        count = max(0, min(len(target), self._size - self._at))
        self._file.seek(min(self._at, self._present))
        content = self._file.read(max(0, min(count, self._present - self._at)))
        target[: len(content)] = content
        target[len(content) : count] = bytes(count - len(content))
        self._at += count
        return count

    def close(self) -> None:
        """See io.RawIOBase."""
        if not self.closed:
            self._file.close()
        super().close()
