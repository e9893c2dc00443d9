"""Copies the readable parts of a damaged file into a new file: `salvage`.

Intact chunks are copied as stored. In a damaged chunk, samples that can be decoded keep their values. Lost samples become NaN
or a fill value. The repaired chunk is stored losslessly, so no sample is quantized a second time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from h5stz import _core, elements, limits
from h5stz.damage import Damage, OnError, of_stream, stored_bytes
from h5stz.elements import Array
from h5stz.errors import HDF5_ERRORS, StzError
from h5stz.files import cut_files
from h5stz.files.classic_netcdf import refuse_netcdf3
from h5stz.files.copy_tree import Place, copy_tree, new_file
from h5stz.files.replacing import replaced
from h5stz.files.stored_chunks import stored_chunks
from h5stz.hdf5.file_kinds import path_to_read, refuse_address
from h5stz.hdf5.objects import dataset_at, name_of
from h5stz.options.settings import Settings
from h5stz.options.stz import client_data
from h5stz.progress import Meter, Progress
from h5stz.reading.chunk_index import ChunkIndex, Stored
from h5stz.reading.losses import replacement_in
from h5stz.reading.readers import ChunkReader
from h5stz.signatures import checked
from h5stz.unreadable import DAMAGE_CODES, sentence

ATTRIBUTE = "h5stz_damage"
_ATTRIBUTE_BYTES = 50000  # of text in an attribute, which HDF5 limits to 64 KiB
_CONTENT = _core.ERROR_CODES["STZ_ERROR_CONTENT"]
_MAGIC = _core.ERROR_CODES["STZ_ERROR_MAGIC"]
DIFFER = "the values were read, but differ from the recorded check"


@dataclass
class Salvaged:
    """What salvage() copied, and what is lost.

    Attributes:
        whole: paths of the intact datasets among those compressed with h5stz.
        damaged: {path: list of Damage} of the other datasets compressed with h5stz. A Damage with `lost` 0 means that the
            values were read and copied but differ from the content check; which of the two is wrong is unknown.
        copied: paths of the datasets without h5stz. They are copied as stored and not checked.
        unchecked: {path: number of chunks} that a dataset compressed with h5stz stores without the filter. They are not
            checked.
        lost: links, attributes and datasets that could not be read at all, one line each.
        missing_bytes: number of bytes missing at the end of the file.
        notes: things that could not be copied for reasons other than damage, one line each.
    """

    whole: list[str] = field(default_factory=list)
    damaged: dict[str, list[Damage]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    missing_bytes: int = 0
    notes: list[str] = field(default_factory=list)
    copied: list[str] = field(default_factory=list)
    unchecked: dict[str, int] = field(default_factory=dict)

    @property
    def sound(self) -> bool:
        """True if no damage was found in what was checked."""
        return not (self.damaged or self.lost or self.missing_bytes)


@checked
def salvage(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    on_error: OnError | None = None,
    overwrite: bool = False,
    threads: int = 1,
    progress: Progress | None = None,
) -> Salvaged:
    """Writes a new file with everything that can be read from a damaged one.

    In datasets compressed with h5stz, samples that can be decoded keep their values and lost samples become NaN or a fill
    value. A dataset that lost samples gets an attribute `h5stz_damage` that lists them. Everything else is copied as stored,
    as far as HDF5 can read it. Damage in datasets with other filters, or without filters, is not repaired.

    Args:
        source: path of an HDF5 or netCDF-4 file. It may be truncated.
        target: path of the new file.
        on_error: value for lost samples, as for view(). None: NaN; for integers the fill value of the dataset (HDF5's default
            is 0).
        overwrite: True permits a file at `target`. It is replaced after the new file is complete.
        threads: number of threads that decode a chunk.
        progress: called with the path of a dataset, the bytes done and the bytes in total.

    Returns:
        Salvaged

    Raises:
        StzError: (a ValueError) the type of a dataset cannot hold the value on_error, or a chunk is larger than
            H5STZ_MAX_BYTES.
        OSError: HDF5 cannot open `source`, or a file exists at `target`.
    """
    refuse_address(target)
    done, lost_paths = Salvaged(), set[str]()
    source = path_to_read(source)
    with replaced(source, Path(target), overwrite, may_be_source=False) as part:
        refuse_netcdf3(source)
        old, done.missing_bytes = cut_files.opened(source)
        with closing(old):
            meter = Meter(progress, _bytes_to_check(old))

            def store(stored: h5py.Dataset, place: Place, stored_type: h5py.h5t.TypeID) -> bool:
                if client_data(stored) is None or not stored.chunks:
                    if stored.size:
                        done.copied.append(name_of(stored))
                    return False
                limits.refuse_larger("a chunk holds", prod(stored.chunks) * int(stored.dtype.itemsize), None)
                path = name_of(stored)
                with meter.share(path, stored.nbytes) as add:
                    copy = _Copy(stored, place, stored_type, on_error, threads)
                    found = copy.run(add)
                if copy.unchecked:
                    done.unchecked[path] = copy.unchecked
                if found:
                    done.damaged[path] = found
                else:
                    done.whole.append(path)
                return True

            def lost(path: str, part_of_it: str, error: BaseException) -> None:
                if isinstance(error, StzError) and error.code not in DAMAGE_CODES:
                    raise error
                lost_paths.add(path)
                done.lost.append(f"{path}: {part_of_it}: {sentence(error)}")

            with new_file(old, str(part)) as new:
                done.notes = copy_tree(old, new, store, lost)
                for path, found in done.damaged.items():
                    dataset_at(new, path).attrs[ATTRIBUTE] = _text(found)
                done.copied = [path for path in done.copied if path not in lost_paths]
                if done.lost:
                    new.attrs[ATTRIBUTE] = _shortened(done.lost)
    return done


def _bytes_to_check(file: h5py.File) -> int:
    sizes: list[int] = []

    def note(_: str, item: Any) -> None:
        try:
            if isinstance(item, h5py.Dataset) and client_data(item) is not None:
                sizes.append(item.nbytes)
        except HDF5_ERRORS:
            return

    try:
        file.visititems(note)
    except HDF5_ERRORS:
        pass
    return sum(sizes)


def _text(found: list[Damage]) -> str:
    return _shortened([f"the chunk at {damage.chunk}: {damage.what()}: {damage.box()}: {damage.reason}" for damage in found])


def _shortened(lines: list[str]) -> str:
    """As many of the lines as fit in an attribute."""
    size = 0
    for number, line in enumerate(lines):
        size += len(line.encode()) + 1
        if size > _ATTRIBUTE_BYTES:
            return "\n".join([*lines[:number], f"and {len(lines) - number} more"])
    return "\n".join(lines)


class _Copy:
    """Copies one dataset, chunk by chunk."""

    def __init__(
        self, stored: h5py.Dataset, place: Place, stored_type: h5py.h5t.TypeID, on_error: OnError | None, threads: int
    ) -> None:
        self._stored, self._threads = stored, threads
        self._index = ChunkIndex(stored)
        self._value = _value_of(stored, on_error)
        group, name, link = place
        properties = stored.id.get_create_plist()
        self._filters = [properties.get_filter(number)[0] for number in range(properties.get_nfilters())]
        self._made = h5py.h5d.create(group, name, stored_type, stored.id.get_space(), properties, link)
        self._found: list[Damage] = []
        self.unchecked = 0  # chunks
        self._place = str(stored.file.filename), name_of(stored)

    def run(self, add: Callable[[int], None]) -> list[Damage]:
        """Copies all chunks and returns the damage."""
        chunks = self._stored.chunks or ()
        for offset, stored in self._reachable():
            if isinstance(stored, Stored):
                self._copy(offset, stored)
            else:
                self._lose(offset, stored)
            add(prod(chunks) * self._stored.dtype.itemsize)
        return self._found

    def _reachable(self) -> Iterator[tuple[tuple[int, ...], Stored | BaseException]]:
        """stored_chunks(). Ends early if the index is damaged and too large to look up each chunk."""
        try:
            yield from stored_chunks(self._stored)
        except HDF5_ERRORS as error:  # what is not stored reads as the fill value
            self._note(None, (0,) * self._stored.ndim, self._stored.shape, error)

    def _copy(self, offset: tuple[int, ...], stored: Stored) -> None:
        try:
            mask, content = self._stored.id.read_direct_chunk(offset)
        except HDF5_ERRORS as error:
            self._lose(offset, error)
            return
        if self._filters != [_core.FILTER_ID]:
            if self._is_readable(offset):
                self._made.write_direct_chunk(offset, content, mask)
            return
        chunk = tuple(at // extent for at, extent in zip(offset, self._index.chunks, strict=True))
        if not self._index.may_be_stream(chunk, stored) or mask:
            self._made.write_direct_chunk(offset, content, mask)  # samples as they are, without any check
            self.unchecked += 1
            return
        try:
            self._check(content)
        except HDF5_ERRORS as error:
            self._repair(offset, content, error)
            return
        self._made.write_direct_chunk(offset, content, mask)

    def _check(self, content: bytes) -> None:
        """Raises StzError if a stream is damaged or holds another array."""
        reader = ChunkReader.in_memory(content, 0)
        if reader is None:
            raise StzError(_core.ERROR_TEXTS[_MAGIC], _MAGIC)
        reader.holds(self._index.chunks, self._stored.dtype)
        _core.verify(content, self._threads)

    def _is_readable(self, offset: tuple[int, ...]) -> bool:
        """True if HDF5 can decode a chunk with all its filters. Otherwise records the chunk as lost."""
        cut = zip(offset, self._index.chunks, self._stored.shape, strict=True)
        try:
            self._stored[tuple(slice(at, min(at + extent, size)) for at, extent, size in cut)]
        except HDF5_ERRORS as error:
            self._lose(offset, error)
            return False
        return True

    def _repair(self, offset: tuple[int, ...], content: bytes, error: BaseException) -> None:
        """Stores the samples that can be decoded from a damaged stream."""
        try:
            reader = ChunkReader.in_memory(content, 0)
            if reader is None or not reader.holds(self._index.chunks, self._stored.dtype):
                raise error
            decoded = np.empty(self._index.chunks, elements.storage_dtype(self._stored.dtype))
            compared = of_stream(reader.damage(self._threads), *self._place, offset)
            entries = reader.damage(self._threads, stored_bytes(self._value), decoded, verify=False)
        except HDF5_ERRORS as reason:
            if isinstance(reason, StzError) and reason.code not in DAMAGE_CODES:
                raise
            self._lose(offset, error)
            return
        found = [damage for damage in of_stream(entries, *self._place, offset) if self._is_inside(damage)]
        self._found.extend(found)
        differing = [replace(each, lost=0, reason=DIFFER) for each in compared if each.code == _CONTENT]
        if not differing and getattr(error, "code", 0) == _CONTENT:  # of a chunk without blocks
            stop = tuple(at + extent for at, extent in zip(offset, self._index.chunks, strict=True))
            differing = [Damage(*self._place, offset, None, None, None, offset, stop, 0, DIFFER, _CONTENT)]
        self._found.extend(differing)
        if differing and not entries:
            self._made.write_direct_chunk(offset, content)  # all values are there
        else:
            self._write(offset, decoded)

    def _is_inside(self, damage: Damage) -> bool:
        """True if a damage affects samples of the dataset, or none at all. A chunk may extend beyond the dataset."""
        return not damage.lost or all(start < size for start, size in zip(damage.start, self._stored.shape, strict=True))

    def _lose(self, offset: tuple[int, ...], error: BaseException) -> None:
        """Stores a chunk in which every sample has the value for lost samples."""
        chunks = self._index.chunks
        stop = tuple(min(at + n, size) for at, n, size in zip(offset, chunks, self._stored.shape, strict=True))
        self._note(offset, offset, stop, error)
        self._write(offset, np.full(chunks, self._value))

    def _note(self, chunk: tuple[int, ...] | None, start: tuple[int, ...], stop: tuple[int, ...], error: BaseException) -> None:
        lost = prod(end - begin for begin, end in zip(start, stop, strict=True)) * (2 if self._value.dtype.kind == "c" else 1)
        reason, code = sentence(error), int(getattr(error, "code", 0))
        self._found.append(Damage(*self._place, chunk, None, None, None, start, stop, lost, reason, code))

    def _write(self, offset: tuple[int, ...], samples: Array) -> None:
        """Stores a chunk losslessly, so that samples from a lossy stream are not quantized again."""
        samples = elements.stored(samples, None)
        if self._filters != [_core.FILTER_ID]:
            self._made.write_direct_chunk(offset, samples.tobytes(), (1 << len(self._filters)) - 1)  # without any filter
            return
        lossless = Settings(_core.MODES["lossless"], 0.0)
        code, byte_order = elements.element_type(samples.dtype)
        stream = _core.compress(elements.as_bytes(samples), code, byte_order, samples.shape, lossless, bound_used=True)
        self._made.write_direct_chunk(offset, stream)


def _value_of(dataset: h5py.Dataset, on_error: OnError | None) -> Array:
    """The value for lost samples of a dataset."""
    if on_error is None:
        if dataset.dtype.kind not in "fc":
            return np.array(0 if dataset.fillvalue is None else dataset.fillvalue, dataset.dtype)
        on_error = "nan"
    value = replacement_in(dataset, on_error)
    if value is None:
        raise StzError(
            "on_error='raise' is not for salvage(): give 'nan', 'fill' or a number", _core.ERROR_CODES["STZ_ERROR_OPTION"]
        )
    return value
