"""Verifies HDF5 files: decodes every chunk and compares it with its content check."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

import h5py
import h5py.h5l

from h5stz import _core, limits
from h5stz.counts import counted
from h5stz.damage import Damage, of_stream
from h5stz.errors import HDF5_ERRORS, StzError
from h5stz.files.classic_netcdf import opened_source
from h5stz.files.stored_chunks import stored_chunks
from h5stz.hdf5 import objects
from h5stz.options.stz import client_data
from h5stz.progress import Meter, Progress
from h5stz.reading.chunk_index import ChunkIndex, Stored
from h5stz.reading.readers import ChunkReader
from h5stz.sources.remote_files import remote_of, shown_name
from h5stz.unreadable import in_words, of_part

_MAGIC = _core.ERROR_CODES["STZ_ERROR_MAGIC"]
_LOOKED_AT = 3  # chunks of a dataset, which are read whole, to say whether they have content checks
_BLOCKS_SHOWN = 20  # of a chunk
_COVERED = ("raw", "constant")  # forms of streams whose checksum is over the values


@dataclass(frozen=True)
class Line:
    """A line of text about a file.

    Attributes:
        text: the line.
        sound: False if the line reports damage.
        unreadable: True if the line reports something that cannot be read.
        facts: for a dataset, the contents of the line for programs; {} if the facts of another line include them; or None.
    """

    text: str
    sound: bool = True
    unreadable: bool = False
    facts: dict[str, Any] | None = None


@dataclass(frozen=True)
class _Block:
    """A damaged part of a chunk, and the elements [start, stop) of the dataset that are lost."""

    level: int | None
    block: int | None
    patch: int | None
    start: tuple[int, ...]
    stop: tuple[int, ...]
    error: str

    @classmethod
    def of(cls, damage: Damage, shape: tuple[int, ...]) -> _Block:
        stop = tuple(map(min, damage.stop, shape))
        start = tuple(map(min, damage.start, stop))
        return cls(damage.level, damage.block, damage.patch, start, stop, damage.reason)

    def described(self) -> str:
        box = ", ".join(f"{start}:{stop}" for start, stop in zip(self.start, self.stop, strict=True))
        empty = any(start == stop for start, stop in zip(self.start, self.stop, strict=True))
        part = f"level {self.level}" if self.block is None else f"level {self.level}, block {self.block}"
        part = "all of it" if self.level is None else part
        part = part if self.patch is None else f"patch {self.patch}, {part}"
        return f"    {part}: {'no elements' if empty else f'elements [{box}]'}: {self.error}"


@dataclass(frozen=True)
class _Damage:
    """A damaged chunk: its first element, its address and size in bytes, the reason, and for our chunks the damaged blocks."""

    chunk: tuple[int, ...]
    size: int
    address: int
    error: str
    blocks: list[_Block] = field(default_factory=list)

    def described(self) -> str:
        place = f", {counted(self.size, 'byte')} from byte {self.address} on" if self.address else ""
        return f"  damaged: the chunk at {self.chunk}{place}: {self.error}"


@dataclass
class _Contents:
    """The datasets of a file, and lines about links to other files."""

    datasets: list[h5py.Dataset] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    def note(self, item: Any) -> None:
        """Records an object."""
        if isinstance(item, h5py.Dataset):
            self.datasets.append(item)
        elif isinstance(item, h5py.Group):
            for name, link in objects.links_of(item.id):
                if link.type == h5py.h5l.TYPE_EXTERNAL:
                    path = f"{objects.name_of(item).rstrip('/')}/{objects.text(name)}"
                    file = objects.text(item.id.links.get_val(name)[0])
                    self.links.append(f"{path}: a link to another file: verify {file}")


@dataclass
class _Counts:
    """The result for the chunks of a dataset."""

    decoded: int = 0
    compared: int = 0
    without: int = 0  # not stored by h5stz
    damaged: list[_Damage] = field(default_factory=list)

    def described(self, by_hdf5: bool) -> str:
        if by_hdf5:
            text = (
                f"{counted(self.decoded, 'chunk')} decoded by HDF5, as other filters follow, and compared if checks are there"
            )
        else:
            text = f"{counted(self.decoded, 'chunk')} decoded, {self.compared} compared with content checks"
            text += f" (written without checks: {unchecked})" if (unchecked := self.decoded - self.compared) else ""
        text += f", {self.without} not decoded (stored without h5stz)" if self.without else ""
        text += f", {len(self.damaged)} damaged" if self.damaged else ""
        return text if self.decoded or self.without or self.damaged else f"{text}: no chunk is stored"


def lines(name: str, threads: int, progress: Progress | None = None) -> Iterator[Line]:
    """Verifies a file. Reports damaged and unreadable files in lines instead of raising errors."""
    try:
        with opened_source(name, values=False) as file:
            yield from _lines_of_file(file, shown_name(name), threads, progress)
    except _NotGivenError as error:
        yield Line(f"not all was verified: {error}", False, True)
    except HDF5_ERRORS as error:
        shown = shown_name(name)
        said = str(of_part(shown, "", error))
        yield Line(said if said.startswith(shown) else f"{shown}: {said}", False, True)


class _NotGivenError(Exception):
    """A remote file could not be read. Its contents may be intact."""


def _tell_from_damage(file: h5py.File) -> None:
    """After an error: raises the _NotGivenError of a remote file if its server failed."""
    source = remote_of(file)
    if source is not None and source.h5stz_bytes.failure is not None:
        raise _NotGivenError(str(source.h5stz_bytes.failure))


def _lines_of_file(file: h5py.File, name: str, threads: int, progress: Progress | None) -> Iterator[Line]:
    found = _Contents()
    lost: dict[str, Line] = {}
    known: set[Any] = set()

    def note_lost(path: str, error: BaseException) -> None:
        _tell_from_damage(file)
        lost.setdefault(path, Line(str(of_part(name, path, error)), False, True))

    for path, item, _ in objects.hard_links(file, note_lost):
        try:
            if isinstance(item, h5py.h5g.GroupID):
                found.note(h5py.Group(item))
            elif (key := objects.identity_if_whole(item) or path) not in known:
                known.add(key)
                found.note(objects.as_dataset(item))
        except HDF5_ERRORS as error:
            note_lost(path, error)
    yield from lost.values()
    others = 0
    meter = Meter(progress, sum(map(_decoded_bytes, found.datasets)))
    for dataset in found.datasets:
        called = f"{name}: {objects.name_of(dataset)}"
        try:
            if client_data(dataset) is not None:
                with meter.share(objects.name_of(dataset), _decoded_bytes(dataset)) as add:
                    yield from _lines_of(dataset, called, threads, add)
            elif dataset.is_virtual:
                sources = sorted({source.file_name for source in dataset.virtual_sources()})
                where = ", ".join("this file" if source == "." else source for source in sources)
                yield Line(f"{called}: virtual: verify its source files: {where}")
            else:
                others += 1
        except HDF5_ERRORS as error:
            _tell_from_damage(file)
            yield Line(str(of_part(name, objects.name_of(dataset), error)), False, True)
    for link in found.links:
        yield Line(f"{name}: {link}")
    if not lost and others == len(found.datasets):
        yield Line(f"{name}: {counted(others, 'dataset')}, none compressed with h5stz")


def described(dataset: h5py.Dataset) -> str:
    """The number of chunks with a content check, among the first chunks of a dataset, as text."""
    if not _is_last_filter(dataset):
        return "not known, as other filters follow h5stz"
    looked, found, index = 0, 0, ChunkIndex(dataset)
    for offset, stored in islice(stored_chunks(dataset), _LOOKED_AT):
        looked += 1
        if isinstance(stored, BaseException):
            continue
        try:
            content = _stream(index, offset, stored)
            found += content is not None and _core.info(content)["content_check"] is True
        except HDF5_ERRORS:  # damaged
            continue
    of = "chunk" if looked == dataset.id.get_num_chunks() else "first chunk"
    return f"in {found} of {counted(looked, of)}"


def _lines_of(dataset: h5py.Dataset, name: str, threads: int, add: Callable[[int], None]) -> Iterator[Line]:
    counts, index, by_hdf5 = _Counts(), ChunkIndex(dataset), not _is_last_filter(dataset)
    try:
        limits.refuse_larger("a chunk holds", _chunk_bytes(dataset), None)
    except StzError as error:  # which is no damage
        yield Line(f"{name}: not decoded: {error}", False, True)
        return
    for offset, stored in stored_chunks(dataset):
        content = None
        if isinstance(stored, BaseException):
            _tell_from_damage(dataset.file)
            counts.damaged.append(_Damage(offset, 0, 0, in_words(stored)))
            add(_chunk_bytes(dataset))
            continue
        try:
            if by_hdf5:
                _read(dataset, offset)
                decoded, compared = index.may_be_stream(_place(index, offset), stored), False
            else:
                content = _stream(index, offset, stored)
                decoded, compared = content is not None, content is not None and _check(dataset, content, threads)
            counts.decoded += decoded
            counts.without += not decoded
            counts.compared += compared
        except HDF5_ERRORS as error:
            _tell_from_damage(dataset.file)
            blocks = [] if content is None else _damaged_blocks(dataset, offset, content, threads)
            counts.damaged.append(_Damage(offset, stored.size, stored.address, in_words(error), blocks))
        add(_chunk_bytes(dataset))
    facts = {"path": objects.name_of(dataset), **asdict(counts)}
    yield Line(f"{name}: {counts.described(by_hdf5)}", not counts.damaged, facts=facts)
    for damage in counts.damaged:
        yield Line(damage.described(), False, facts={})
        for block in damage.blocks[:_BLOCKS_SHOWN]:
            yield Line(block.described(), False, facts={})
        if (more := len(damage.blocks) - _BLOCKS_SHOWN) > 0:
            yield Line(f"    and {more} more, which --json lists", False, facts={})


def _damaged_blocks(dataset: h5py.Dataset, offset: tuple[int, ...], content: bytes, threads: int) -> list[_Block]:
    """The damaged parts of a stream; none if no part of it can be decoded."""
    try:
        reader = ChunkReader.in_memory(content, 0)
        if reader is None:
            return []
        reader.holds(dataset.chunks or (), dataset.dtype)
        entries = reader.damage(threads)
    except HDF5_ERRORS:
        return []
    shape = reader.info["shape"]
    if shape != dataset.chunks:  # axes of length 1 differ: the samples have the same order
        return []
    return [_Block.of(damage, dataset.shape) for damage in of_stream(entries, chunk=offset)]


def _chunk_bytes(dataset: h5py.Dataset) -> int:
    """Size of a chunk in memory."""
    return math.prod(dataset.chunks or ()) * int(dataset.dtype.itemsize)


def _decoded_bytes(dataset: h5py.Dataset) -> int:
    """Number of bytes to decode; 0 if damage hides it."""
    try:
        return 0 if client_data(dataset) is None else dataset.id.get_num_chunks() * _chunk_bytes(dataset)
    except HDF5_ERRORS:
        return 0


def _check(dataset: h5py.Dataset, content: bytes, threads: int) -> bool:
    """Decodes a stream. True if its values were compared with a content check. StzError: it is damaged or another array."""
    reader = ChunkReader.in_memory(content, 0)
    if reader is None:
        raise StzError("it is not an h5stz stream", _MAGIC)
    reader.holds(dataset.chunks or (), dataset.dtype)  # which bounds the memory that decoding takes
    return _core.verify(content, threads) > 0 or reader.info["form"] in _COVERED


def _read(dataset: h5py.Dataset, offset: tuple[int, ...]) -> None:
    """Lets HDF5 decode a chunk with all its filters and compare its content check. An error of h5py means damage."""
    with _verifying():
        dataset[tuple(slice(begin, begin + extent) for begin, extent in zip(offset, dataset.chunks or (), strict=True))]


@contextmanager
def _verifying() -> Iterator[None]:
    """A context with H5STZ_VERIFY=1."""
    before = os.environ.get("H5STZ_VERIFY")
    os.environ["H5STZ_VERIFY"] = "1"
    try:
        yield
    finally:
        del os.environ["H5STZ_VERIFY"]
        if before is not None:
            os.environ["H5STZ_VERIFY"] = before


def _is_last_filter(dataset: h5py.Dataset) -> bool:
    """True if the chunks of a dataset are stored as h5stz wrote them."""
    filters = dataset.id.get_create_plist()
    return bool(filters.get_filter(filters.get_nfilters() - 1)[0] == _core.FILTER_ID)


def _stream(index: ChunkIndex, offset: tuple[int, ...], stored: Stored) -> bytes | None:
    """The bytes of a chunk; None if it is stored without the filter."""
    if not index.may_be_stream(_place(index, offset), stored):
        return None
    content: bytes = index.dataset.id.read_direct_chunk(offset)[1]
    return content


def _place(index: ChunkIndex, offset: tuple[int, ...]) -> tuple[int, ...]:
    """Index of a chunk in the grid of chunks."""
    return tuple(at // extent for at, extent in zip(offset, index.chunks, strict=True))
