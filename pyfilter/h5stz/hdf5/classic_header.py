"""Detects truncated netCDF-3 files by the length in their header. netCDF silently reads zeros past the end of such a file.

The layout is that of "The NetCDF Classic Format Specification" (CDF-1, CDF-2 and CDF-5).
"""

from __future__ import annotations

import os
import struct
from math import prod
from typing import BinaryIO, NamedTuple

from h5stz.counts import counted

_TYPE_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}
NOT_KNOWN = 1 << 62  # more than any file has
_MOST = 1 << 20  # dimensions, attributes or variables of a list


class _Variable(NamedTuple):
    dimensions: list[int]  # numbers
    item_bytes: int
    begin: int


class _Reader:
    """Reads the big-endian numbers of a header. Raises ValueError or struct.error if it is not a header."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        magic = file.read(4)
        if magic[:3] != b"CDF" or magic[3] not in (1, 2, 5):
            raise ValueError("not a netCDF-3 file")
        self._count = ">Q" if magic[3] == 5 else ">I"
        self._offset = ">I" if magic[3] == 1 else ">Q"

    def number(self, form: str) -> int:
        content = self._file.read(struct.calcsize(form))
        if len(content) < struct.calcsize(form):
            raise EOFError("the file ends in its header")
        value: int = struct.unpack(form, content)[0]
        return value

    def count(self) -> int:
        return self.number(self._count)

    def offset(self) -> int:
        return self.number(self._offset)

    def skip(self, size: int) -> None:
        self._file.seek(size + -size % 4, os.SEEK_CUR)

    def length(self) -> int:
        """The length of a list, after its tag."""
        self.number(">I")
        if (length := self.count()) > _MOST:
            raise ValueError("not a netCDF-3 header")
        return length

    def skip_attributes(self) -> None:
        for _ in range(self.length()):
            self.skip(self.count())
            item_bytes = _TYPE_BYTES[self.number(">I")]
            self.skip(self.count() * item_bytes)

    def variable(self) -> _Variable:
        self.skip(self.count())
        dimensions = [self.count() for _ in range(min(self.count(), _MOST))]
        self.skip_attributes()
        item_bytes = _TYPE_BYTES[self.number(">I")]
        self.count()  # its size, which the format limits
        return _Variable(dimensions, item_bytes, self.offset())


def fault(path: str | os.PathLike[str]) -> str | None:
    """The message for a netCDF-3 file that is shorter than its header states; None for other files.

    Raises:
        OSError: the file cannot be read.
    """
    there, stated = os.path.getsize(path), stated_bytes(path)
    if stated is None or there >= stated:
        return None
    if stated == NOT_KNOWN:
        what = f"was cut short, or its header is damaged: it ends in the header, after {counted(there, 'byte')}"
    else:
        what = f"was cut short: it has {there} of {stated} bytes"
    return f"this netCDF-3 file {what}. Get it again, or from a copy"


def stated_bytes(path: str | os.PathLike[str]) -> int | None:
    """The minimum size of a netCDF-3 file according to its header. None if the header is invalid, NOT_KNOWN if it is
    truncated.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return _stated_bytes(_Reader(file))
    except EOFError:
        return NOT_KNOWN
    except (ValueError, KeyError, IndexError, struct.error, OverflowError):
        return None


def _stated_bytes(header: _Reader) -> int:
    records = header.count()
    extents = []
    for _ in range(header.length()):
        header.skip(header.count())
        extents.append(header.count())
    header.skip_attributes()
    variables = [header.variable() for _ in range(header.length())]
    if records in (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF):  # "streaming": as many as there are
        records = 0
    end = 0
    growing = []
    for variable in variables:
        shape = [extents[number] for number in variable.dimensions]
        if shape and shape[0] == 0:
            growing.append((variable.begin, prod(shape[1:]) * variable.item_bytes))
        else:
            end = max(end, variable.begin + prod(shape) * variable.item_bytes)
    of_record = growing[0][1] if len(growing) == 1 else sum(size + -size % 4 for _, size in growing)
    if records:
        end = max([end, *(begin + (records - 1) * of_record + size for begin, size in growing)])
    return end
