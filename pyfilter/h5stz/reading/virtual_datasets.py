"""Virtual datasets: each source is read partially, as a dataset of its own.

This applies to mappings of a box of the virtual dataset to a box of a source with samples in the same order. If anything about
a source is in doubt (existence, type, extents), h5py reads the selected part of that mapping. A dataset with other kinds of
mappings, or with overlapping ones, is read through h5py as a whole.

Sources stay open during the lifetime of the reader, at most 32 of them. HDF5 also keeps them open for the next read.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import Any, TypeAlias

import h5py
import numpy as np
import numpy.typing as npt

from h5stz.damage import OnError
from h5stz.elements import Array
from h5stz.limits import new_array
from h5stz.options.precision import EVERYTHING, Precision
from h5stz.progress import Add, unwanted
from h5stz.reading.dataset_reader import LEVELS_OF, DatasetReader
from h5stz.reading.readers import PartOfCache
from h5stz.reading.reasons import Reason
from h5stz.reading.selection import Axis, Selection
from h5stz.reading.stats import Stats
from h5stz.unreadable import h5py_getitem, naming

_OPEN = 32  # sources that are kept open: those used last

#: (start, count) of every axis.
_Box: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Mapping:
    """A box of a virtual dataset whose samples come from a source.

    Attributes:
        box: the box in the virtual dataset.
        filename, name: the source, as the mapping names it.
        source: the box in the source; None for all of it, if its extents fit.
        followed: True if the source may be read directly; False if only h5py can read it.
    """

    box: _Box
    filename: str
    name: str
    source: _Box | None
    followed: bool

    def source_in(self, shape: tuple[int, ...]) -> _Box | None:
        """The box in a source of this shape; None if it does not fit."""
        box = tuple((0, extent) for extent in shape) if self.source is None else self.source
        inside = len(box) == len(shape) and all(
            start + count <= extent for (start, count), extent in zip(box, shape, strict=True)
        )
        return box if inside and _long(box) == _long(self.box) else None


@dataclass(frozen=True)
class _Part:
    """The part of a selection in one mapping.

    Attributes:
        axes: (start, count, step) of every axis, in samples of the mapping's box.
        place: where these samples belong in the result.
    """

    mapping: Mapping
    axes: tuple[tuple[int, int, int], ...]
    place: tuple[slice, ...]

    def key(self) -> tuple[slice, ...]:
        """The index in the virtual dataset."""
        begins = [begin + start for (begin, _), (start, _, _) in zip(self.mapping.box, self.axes, strict=True)]
        return tuple(
            slice(begin, begin + (count - 1) * step + 1, step)
            for begin, (_, count, step) in zip(begins, self.axes, strict=True)
        )

    def in_source(self, source: _Box) -> Selection:
        """The same samples in the source, in which the mapping has the box `source`."""
        long = iter([axis for axis, (_, extent) in zip(self.axes, self.mapping.box, strict=True) if extent > 1])
        axes = []
        for begin, extent in source:
            start, count, step = next(long) if extent > 1 else (0, 1, 1)
            axes.append(Axis(begin + start, count, step))
        return Selection(tuple(axes))

    def with_axes_of(self, source: _Box, target: Array) -> Array:
        """A view of the samples' place in an array of the result's shape, with the axes of the source."""
        long: tuple[Any, ...] = (*(slice(None) if extent > 1 else 0 for _, extent in self.mapping.box), ...)
        axes: tuple[Any, ...] = (*(slice(None) if extent > 1 else np.newaxis for _, extent in source), ...)
        part: Array = target[self.place][long][axes]
        return part


def reader_of(
    dataset: h5py.Dataset, cache_bytes: int, stats: Stats, verify: bool | None, on_error: OnError, remember: bool = False
) -> DatasetReader:
    """The reader of a dataset, virtual or not. Arguments as for DatasetReader."""
    kind = VirtualReader if dataset.is_virtual else DatasetReader
    return kind(dataset, cache_bytes, stats, verify, on_error=on_error, remember=remember)


def file_stamp(filename: str) -> tuple[int, int, int] | None:
    """Identifies the contents of a file, to detect changes and replacement; None if the file does not exist."""
    try:
        state = os.stat(filename)
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns, state.st_size


class VirtualReader(DatasetReader):
    """Reads a virtual dataset from its sources. Any number of threads may use it."""

    def __init__(
        self,
        dataset: h5py.Dataset,
        cache_bytes: int,
        stats: Stats,
        verify: bool | None = None,
        cache: PartOfCache | None = None,
        on_error: OnError = "raise",
        remember: bool = False,
    ) -> None:
        super().__init__(dataset, cache_bytes, stats, verify, cache, on_error, remember)
        self._cache_bytes, self._remember = cache_bytes, remember
        self._lock = threading.Lock()  # of what follows; never held while h5py is called
        self._sources: OrderedDict[tuple[str, str], DatasetReader] = OrderedDict()  # that are open
        self._mappings: list[Mapping] = []
        self._directory = os.path.dirname(os.path.abspath(dataset.file.filename))
        self.fallback_reason = _not_followed(dataset) or self._find_mappings()
        if self.fallback_reason is None and self.index.fill_value is None:
            self.fallback_reason = Reason("STZ_H5_VIRTUAL_NO_FILL")
        bounds = [[(start, start + count) for start, count in mapping.box] for mapping in self._mappings]
        self._bounds: npt.NDArray[np.int64] = np.array(bounds, np.int64).reshape(-1, dataset.ndim, 2)
        if self.fallback_reason is None and _overlap(self._bounds):
            self.fallback_reason = Reason("STZ_H5_VIRTUAL_OVERLAP")

    def read(
        self,
        selection: Selection,
        out: Array | None,
        threads: int,
        precision: Precision = EVERYTHING,
        add: Add = unwanted,
    ) -> Any:
        """See DatasetReader."""
        if self.fallback_reason or not self.dataset.id.valid:
            return super().read(selection, out, threads, precision, add)
        result = new_array(selection.shape, self.dataset.dtype) if out is None else out
        if selection.size:
            target = selection.target(result)
            parts = list(self._parts(selection))
            if sum(prod(count for _, count, _ in part.axes) for part in parts) < selection.size:
                target[...] = self.index.fill_value
            for part in parts:
                self._read_part(part, target, threads, precision, add)
        scalar = out is None and not any(axis.keep for axis in selection.axes)
        return result[()] if scalar else result

    def layer_errors(self, selection: Selection) -> list[float]:
        """See DatasetReader."""
        if self.fallback_reason or not selection.size:
            return []
        errors = []
        for part in self._parts(selection):
            found = self._source(part.mapping)
            errors.append(found[0].layer_errors(part.in_source(found[1])) if found is not None else [0.0])
        if not all(errors):
            return []
        most = max(map(len, errors), default=0)
        return [max(of_part[min(layer, len(of_part) - 1)] for of_part in errors) for layer in range(most)]

    def levels(self, selection: Selection) -> int:
        """See DatasetReader."""
        if self.fallback_reason or not selection.size:
            return 1
        levels = [1]
        for part in islice(self._parts(selection), LEVELS_OF):
            found = self._source(part.mapping)
            if found is not None:
                source, box = found
                levels.append(source.levels(part.in_source(box)))
        return max(levels)

    def headers(self, most: int = 0) -> list[dict[str, Any]]:
        """See DatasetReader: a virtual dataset has no streams of its own."""
        return []

    @property
    def unit(self) -> tuple[int, ...] | None:
        """See DatasetReader: the box of a mapping, if all lie on a grid of such boxes."""
        if self.fallback_reason or not self._mappings:
            return None
        unit = tuple(count for _, count in self._mappings[0].box)
        fits = bool(np.all(self._bounds[:, :, 0] % unit == 0)) and all(
            count <= most for mapping in self._mappings for (_, count), most in zip(mapping.box, unit, strict=True)
        )
        return unit if fits else None

    def sources_version(self) -> Any:
        """See DatasetReader."""
        names = sorted({mapping.file_name for mapping in self.dataset.virtual_sources()} - {"."})
        return tuple((name, file_stamp(os.path.join(self._directory, name))) for name in names)

    def _find_mappings(self) -> Reason | None:
        """Fills the list of mappings. Returns the reason if that is not possible, or None."""
        for vspace, filename, name, src_space in self.dataset.virtual_sources():
            box, source = _box_of(vspace, self.dataset.shape), _box_of(src_space, None)
            if box is None:
                return Reason("STZ_H5_VIRTUAL_BOXES")
            if any(start + count > extent for (start, count), extent in zip(box, self.dataset.shape, strict=True)):
                return Reason("STZ_H5_VIRTUAL_BEYOND")
            followed = source is not None or src_space.get_select_type() == h5py.h5s.SEL_ALL
            pattern = "%" in filename + name
            self._mappings.append(Mapping(box, filename, name, source, followed and not pattern))
        return None

    def _parts(self, selection: Selection) -> Iterator[_Part]:
        """The nonempty parts of a Selection, one for each mapping."""
        box = selection.box()
        ends = [(start, start + (count - 1) * step + 1) for start, count, step in box]
        low, high = (np.array(bound, np.int64) for bound in zip(*ends, strict=True)) if ends else (np.empty(0), np.empty(0))
        near = ((self._bounds[:, :, 0] < high) & (self._bounds[:, :, 1] > low)).all(axis=1)
        for number in np.flatnonzero(near):
            mapping, axes, place = self._mappings[number], [], []
            for (start, count, step), (begin, extent) in zip(box, mapping.box, strict=True):
                first = max(0, -(-(begin - start) // step))
                end = min(count, -(-(begin + extent - start) // step))
                axes.append((start + first * step - begin, end - first, step))
                place.append(slice(first, end))
            if all(count > 0 for _, count, _ in axes):
                yield _Part(mapping, tuple(axes), tuple(place))

    def _read_part(self, part: _Part, target: Array, threads: int, precision: Precision, add: Add) -> None:
        found = self._source(part.mapping)
        if found is not None:
            source, box = found
            source.read(part.in_source(box), part.with_axes_of(box, target), threads, precision, add)
            return
        place = target[part.place]
        losses = self._losses()
        try:
            with naming(self.dataset):
                place[...] = h5py_getitem(self.dataset, part.key())
        except Exception as error:
            if losses is None or not losses.allow(error):
                raise
            begin = tuple(start for start, _ in part.mapping.box)
            losses.whole(None, begin, list(part.axes), place, error)
            self._tell(losses, part.in_source(part.mapping.box))
            return
        self.stats.fell_back((self._mark, part.mapping.box), 0, place.nbytes)
        add(place.nbytes)

    def _source(self, mapping: Mapping) -> tuple[DatasetReader, _Box] | None:
        """The reader of a source and its box; None if h5py must read it."""
        if not mapping.followed:
            return None
        key = mapping.filename, mapping.name
        with self._lock:
            reader = self._sources.get(key)
            if reader is not None:
                self._sources.move_to_end(key)
        if reader is None or not reader.dataset.id.valid:
            reader = self._opened_source(*key)
            if reader is None:
                return None
        box = mapping.source_in(reader.dataset.shape)
        return None if box is None else (reader, box)

    def _opened_source(self, filename: str, name: str) -> DatasetReader | None:
        """Opens a source; None if it does not exist or has another type than this dataset."""
        dataset = self._open_as_hdf5_does(filename, name)
        if dataset is None:
            return None
        on_error: Any = "raise" if self._replacement is None else self._replacement[()]
        cache = PartOfCache(self._readers)
        reader = DatasetReader(dataset, self._cache_bytes, self.stats, self._verify, cache, on_error, self._remember)
        dropped = []  # let go, and closed with that, after the lock was released
        with self._lock:
            dropped.append(self._sources.pop((filename, name), None))
            self._sources[filename, name] = reader
            while len(self._sources) > _OPEN:
                dropped.append(self._sources.popitem(last=False)[1])
        return reader

    def _open_as_hdf5_does(self, filename: str, name: str) -> h5py.Dataset | None:
        """Opens a source whose samples need no conversion, or None.

        Files are searched where HDF5 looks first. If there is none, HDF5 looks elsewhere by itself. They are opened as HDF5
        opens them: with another close degree HDF5 would not find them when it reads a part itself.
        """
        try:
            if filename == ".":
                file = self.dataset.file
            else:
                access = self.dataset.file.id.get_access_plist()
                access.set_fclose_degree(h5py.h5f.CLOSE_WEAK)
                path = os.path.join(self._directory, filename)
                file = h5py.File(h5py.h5f.open(os.fsencode(path), h5py.h5f.ACC_RDONLY, access))
            dataset = file.get(name)
            if not isinstance(dataset, h5py.Dataset) or dataset.shape is None:
                return None
            return dataset if dataset.id.get_type().equal(self.dataset.id.get_type()) else None
        except (OSError, KeyError, ValueError, RuntimeError):
            return None


def _not_followed(dataset: h5py.Dataset) -> Reason | None:
    """The reason why the sources of a virtual dataset cannot be searched here, or None."""
    file = dataset.file.id
    if file.get_intent() != h5py.h5f.ACC_RDONLY:
        return Reason("STZ_H5_VIRTUAL_WRITABLE")
    if file.get_access_plist().get_driver() != h5py.h5fd.SEC2:
        return Reason("STZ_H5_VIRTUAL_DRIVER")
    prefix_of = getattr(dataset.id.get_access_plist(), "get_virtual_prefix", None)  # older h5py cannot set one either
    if (prefix_of and prefix_of()) or os.environ.get("HDF5_VDS_PREFIX"):
        return Reason("STZ_H5_VIRTUAL_PREFIX")
    try:
        same = os.path.samestat(os.stat(dataset.file.filename), os.fstat(file.get_vfd_handle()))
    except OSError:
        same = False
    return None if same else Reason("STZ_H5_VIRTUAL_MOVED")


def _box_of(space: Any, shape: tuple[int, ...] | None) -> _Box | None:
    """The box that a dataspace (h5py.h5s.SpaceID) selects; None if the selection is not a box or has no end.

    `shape`: shape of the array that it selects from, None if unknown: a dataspace that selects everything does not contain it.
    """
    kind = space.get_select_type()
    if kind == h5py.h5s.SEL_ALL:
        return None if shape is None else tuple((0, extent) for extent in shape)
    if kind != h5py.h5s.SEL_HYPERSLABS or not space.is_regular_hyperslab():
        return None
    box = []
    for start, stride, count, block in zip(*space.get_regular_hyperslab(), strict=True):
        if h5py.h5s.UNLIMITED in (count, block) or (count > 1 and stride != block):
            return None
        box.append((int(start), int(count * block)))
    return tuple(box)


def _long(box: _Box) -> list[int]:
    """Extents of the axes with more than one sample."""
    return [count for _, count in box if count != 1]


def _overlap(bounds: npt.NDArray[np.int64]) -> bool:
    """True if two of many boxes overlap. `bounds`: (begin, end) by box and axis."""
    count, rank, _ = bounds.shape
    if count < 2 or not rank:
        return bool(count > 1)
    axis = max(range(rank), key=lambda one: len(np.unique(bounds[:, one, 0])))
    by_start = bounds[np.argsort(bounds[:, axis, 0], kind="stable")]
    # Of the boxes that begin later, those that begin before the end of this one.
    ends = np.searchsorted(by_start[:, axis, 0], by_start[:, axis, 1])
    for number in np.flatnonzero(ends > np.arange(count) + 1):
        one, others = by_start[number], by_start[number + 1 : ends[number]]
        apart = (others[:, :, 0] >= one[:, 1]) | (others[:, :, 1] <= one[:, 0])
        if not np.all(np.any(apart, axis=1)):
            return True
    return False
