"""Chunks that an unfinished run has compressed, in a file beside its target: another run takes them from there.

The file belongs to one source, as it is, and one set of options: its key says which. Records are only ever appended. Each has a
checksum: what a killed program, or a machine that went down, left incomplete at the end is dropped. One run at a time has it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from h5stz import _core
from h5stz.errors import StzError, add_note
from h5stz.files.chunk_compressors import Stream
from h5stz.new_files import errors_named
from h5stz.slabs import Box

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_WRONG_DATA = _core.ERROR_CODES["STZ_ERROR_CONTENT"]

_MAGIC = b"h5stz spool 1\n"  # then the key
_CHECKSUM = struct.Struct("<I")  # of what follows it in the record
_SIZES = struct.Struct("<HHQ")  # of the path in bytes, of the offset in axes, of the content in bytes; these follow

_Offset = tuple[int, ...]
_Place = tuple[str, _Offset]


@contextmanager
def spool_beside(target: Path, key: str) -> Iterator[Spool]:
    """The Spool of a target, for the time of a run; it is removed when the run ends well.

    Args:
        target: path of the file that the run makes.
        key: text that differs where streams could differ.

    Raises:
        StzError: (a ValueError) another run makes this target, or there is a file of somebody else in the place.
        OSError: no file can be made beside the target.
    """
    named, target = os.fsdecode(target), Path(os.path.realpath(target))
    path = target.with_name(f".{target.name[:100]}.unfinished")
    with errors_named(named, path):
        file = _locked(path, named)
    try:
        with errors_named(named, path):
            spool = _started(file, path, key)
        keep = False
        try:
            yield spool
        except BaseException as error:
            # Whoever is at fault: wrong streams are not used again.
            keep = not (isinstance(error, StzError) and error.code == _WRONG_DATA) and bool(spool.count or spool.found)
            if keep:
                add_note(error, f"{path} keeps what was compressed: run the same with resume=True to go on, else remove it")
            raise
        finally:
            if not keep:
                path.unlink(missing_ok=True)
    finally:
        with contextlib.suppress(OSError):  # what a full disk did not take, and was an error before
            file.close()


def _locked(path: Path, target: str) -> BinaryIO:
    """The file, made if it is not there, for this process alone."""
    while True:
        file = open(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        try:
            with contextlib.suppress(OSError):  # a file system without locks; BlockingIOError is told below
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise StzError(f"another run is making {target}: wait until it has ended", _ARGUMENT) from None
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except BaseException:
            file.close()
            raise
        file.close()  # the run that had it has removed it


def _started(file: BinaryIO, path: Path, key: str) -> Spool:
    """The Spool of a file, which is removed again if it is new and cannot be written."""
    begin = file.read(len(_MAGIC))
    if not _MAGIC.startswith(begin):
        raise StzError(f"{path} is no file of an unfinished run: move it elsewhere", _ARGUMENT)
    file.seek(0)
    try:
        return Spool(file, path.parent, hashlib.sha256(key.encode()).digest())
    except OSError:
        if not begin:
            path.unlink(missing_ok=True)
        raise


class Spool:
    """The chunks of a run.

    Attributes:
        count: how many chunks it holds.
        taken: how many of them this run took from an unfinished one.
        other: whether there was one of another source or with other options, which is lost.
        found: client data of datasets, by their paths: the options as they were resolved.
    """

    def __init__(self, file: BinaryIO, directory: Path, key: bytes) -> None:
        self._file, self._directory = file, directory
        self._places: dict[_Place, tuple[int, int]] = {}  # to position and size of the stream in the file
        self.taken = 0
        self.found: dict[str, tuple[int, ...]] = {}
        head = _MAGIC + key
        found = file.read(len(head))
        self.other = found != head and len(found) == len(head)
        if found == head:
            self._read()
        else:
            file.seek(0)
            file.truncate()
            file.write(head)
        file.flush()

    @property
    def count(self) -> int:
        """See the class."""
        return len(self._places)

    def _read(self) -> None:
        """Finds all records, and drops what is behind the last whole one."""
        file, size = self._file, os.fstat(self._file.fileno()).st_size
        end = file.tell()
        while True:
            checksum, sizes = file.read(_CHECKSUM.size), file.read(_SIZES.size)
            if len(sizes) < _SIZES.size:
                break
            name, rank, length = _SIZES.unpack(sizes)
            if name + 8 * rank + length > size - file.tell():
                break
            body = file.read(name + 8 * rank + length)
            if zlib.crc32(body, zlib.crc32(sizes)) != _CHECKSUM.unpack(checksum)[0]:
                break
            end = file.tell()
            if rank:
                offset = struct.unpack_from(f"<{rank}q", body, name)
                self._places[os.fsdecode(body[:name]), offset] = end - length, length
            elif name:
                self.found[os.fsdecode(body[:name])] = struct.unpack(f"<{length // 4}I", body[name:])
            else:
                self._remove_part(body[name:])
        file.seek(end)
        file.truncate()

    def _append(self, path: str, offset: _Offset, content: bytes) -> None:
        name = os.fsencode(path)
        sizes = _SIZES.pack(len(name), len(offset), len(content))
        body = b"".join([name, struct.pack(f"<{len(offset)}q", *offset), content])
        self._file.seek(0, os.SEEK_END)
        self._file.write(_CHECKSUM.pack(zlib.crc32(body, zlib.crc32(sizes))) + sizes + body)
        self._file.flush()  # to the system: a killed program has lost nothing then

    def note_part(self, part: Path) -> None:
        """Notes the incomplete file of this run, which the next one removes if this one is killed."""
        self._append("", (), os.fsencode(part.name))

    def note_options(self, path: str, words: tuple[int, ...]) -> None:
        """Notes the client data of a dataset, whose options take long to find where they depend on the data."""
        if path not in self.found:
            self.found[path] = words
            self._append(path, (), struct.pack(f"<{len(words)}I", *words))

    def _remove_part(self, name: bytes) -> None:
        if os.sep.encode() not in name and name.startswith(b".") and name.endswith(b".part"):
            (self._directory / os.fsdecode(name)).unlink(missing_ok=True)

    def completed(
        self, path: str, boxes: Iterable[Box], compress: Callable[[Iterable[Box]], Iterator[Stream]]
    ) -> Iterator[Stream]:
        """The Streams of chunks of a dataset, in the order of their boxes: those that are here, and what `compress` makes."""
        order: deque[_Offset] = deque()

        def missing() -> Iterator[Box]:
            for box in boxes:
                offset = tuple(cut.start for cut in box)
                order.append(offset)
                if (path, offset) not in self._places:
                    yield box

        for offset, stream in compress(missing()):
            while order[0] != offset:
                yield self._taken(path, order.popleft())
            order.popleft()
            self._append(path, offset, stream)
            self._places[path, offset] = self._file.tell() - len(stream), len(stream)
            yield offset, stream
        for offset in order:
            yield self._taken(path, offset)

    def _taken(self, path: str, offset: _Offset) -> Stream:
        position, size = self._places[path, offset]
        self._file.seek(position)
        self.taken += 1
        return offset, self._file.read(size)
