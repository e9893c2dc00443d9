"""The class View: an array-like over a dataset that decodes only the needed blocks, at any resolution."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Literal, SupportsFloat, SupportsIndex

import h5py
import numpy as np
import numpy.typing as npt

from h5stz import _core
from h5stz.damage import Damage
from h5stz.elements import Array, DType
from h5stz.errors import StzError, StzTypeError
from h5stz.hdf5.objects import name_of
from h5stz.limits import checked_max_bytes, refuse_larger
from h5stz.options.option_checks import checked_switch, thread_count
from h5stz.options.precision import EVERYTHING, Precision, checked_precision
from h5stz.reading.arguments import check_out, checked_axes
from h5stz.reading.dataset_reader import DatasetReader
from h5stz.reading.reasons import Reason
from h5stz.reading.selection import Selection, parse, parse_region
from h5stz.reading.stats import Stats
from h5stz.reading.view_sources import Place, ReopenedSource, Source
from h5stz.signatures import checked

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_MOST_LEVELS = 63
_ENHANCED = {True: 1, None: 1, False: 0}


class View:
    """A dataset, or one of its resolution levels, as a lazily read array. Made by h5stz.view().

    Indexing is NumPy's basic indexing: integers, slices with any step, `...`. The results are bit for bit those of the whole
    array. Any number of threads may use a view. numpy.asarray() reads the whole array.

    A view can be pickled if its file has a name on disk and is open for reading. The other process opens the file by that name
    on first use. Copies (module copy) use the same open dataset.

    Attributes:
        axes: numbers of the axes that level(), read() and refine() thin, ascending. All axes unless level() was given others.
        spacing: for every axis, the distance between samples of this array, in samples of the dataset; 1 except for levels.
        stats: statistics of the reads (stats.Stats), shared with all levels of the same view.
        damage: list of Damage that reads with on_error= found; stats.reset() empties it.
    """

    def __init__(
        self,
        source: Source,
        levels: tuple[int, ...],
        axes: tuple[int, ...],
        threads: int | None,
        precision: Precision = EVERYTHING,
        max_bytes: int | None = None,
    ) -> None:
        self._source, self._levels, self.axes, self._threads = source, levels, axes, threads
        self._precision, self._max_bytes = precision, max_bytes

    @property
    def _reader(self) -> DatasetReader:
        return self._source.reader

    @property
    def stats(self) -> Stats:
        """Statistics of the reads, a stats.Stats."""
        return self._reader.stats

    @property
    def damage(self) -> list[Damage]:
        """The damage that reads with `on_error` found, as a list of Damage; shared with all levels, as `stats`."""
        return self.stats.damage

    @property
    def dataset(self) -> h5py.Dataset:
        """The h5py.Dataset."""
        return self._reader.dataset

    @property
    def name(self) -> str | None:
        """Path of the dataset in its file; None if it has none. Bytes that are not UTF-8 are surrogate characters (PEP 383)."""
        return name_of(self.dataset) or None

    @property
    def file(self) -> h5py.File:
        """The h5py.File, as in h5py."""
        return self.dataset.file

    @property
    def filename(self) -> str:
        """Name of the file, as in h5py: `view.file.filename`."""
        name: str = self.file.filename
        return name

    @property
    def attrs(self) -> h5py.AttributeManager:
        """The attributes of the dataset, as in h5py."""
        return self.dataset.attrs

    @property
    def spacing(self) -> tuple[int, ...]:
        """For every axis, the distance between samples of this array, in samples of the dataset."""
        return tuple(1 << level for level in self._levels)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array. It grows with the dataset."""
        return self.thinned(self.dataset.shape)

    @property
    def dtype(self) -> DType:
        """The dtype of the dataset, as in h5py."""
        dtype: DType = self.dataset.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._levels)

    @property
    def size(self) -> int:
        """Number of samples."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Size of the whole array in bytes."""
        return self.size * self.dtype.itemsize

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Chunk shape in samples of this array, rounded up; None without chunks."""
        chunks = self.dataset.chunks
        return None if chunks is None else self.thinned(chunks)

    @property
    def storage_unit(self) -> tuple[int, ...] | None:
        """The shape of the units in which the dataset is stored, in its samples: a chunk, or the box of a source of a virtual
        dataset; or None.
        """
        return self._reader.unit

    @property
    def fallback_reason(self) -> Reason | None:
        """The Reason why the whole dataset is read through h5py, or None. A Reason is a str with the `name` of the reason in
        C.
        """
        return self._reader.fallback_reason

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("a view of a single number has no length")
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """The samples of a NumPy basic index: an ndarray, or a NumPy scalar if every axis is indexed by an integer."""
        return self._read(parse(index, self.shape), self._levels, None, self._precision)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("a view must be read to become an array: omit copy=False")
        array = np.asarray(self[...])
        return array if dtype is None else array.astype(dtype, copy=False)

    @checked
    def level(
        self,
        level: SupportsIndex,
        axes: SupportsIndex | Iterable[SupportsIndex] | None = None,
        *,
        layers: SupportsIndex | None = None,
    ) -> View:
        """A resolution level of this array, as a View: every 2**level-th sample along some axes, every sample along the
        others.

        Args:
            level: 0 or more.
            axes: number or numbers of the axes to thin; negative ones count from the last. read(), refine() and level() of the
                result thin the same axes. None: the axes of this view, initially all.
            layers: number of precision layers of each stream to read (`STZ(layers=)`), 1 or more. layer_errors() gives their
                errors. None: as in this view.

        Raises:
            StzError: (a ValueError) the level or axis does not exist, or an axis is given twice.
            StzTypeError: (also a TypeError) a number is not an integer.
        """
        thinned = self.axes if axes is None else checked_axes(axes, self.ndim)
        precision = self._precision if layers is None else checked_precision(None, layers)
        return View(self._source, self._deeper(level, thinned), thinned, self._threads, precision, self._max_bytes)

    @checked
    def at_error(self, max_error: SupportsFloat | None) -> View:
        """The same array, read with fewer bytes: each sample is within `max_error` of the compressed data.

        In streams with precision layers (`STZ(layers=)`), only the fewest layers that satisfy max_error are read. Lossless
        streams with a preview are read without their lowest bits, if max_error is `info().preview_error` or more. Other streams
        are read completely. Data with a pointwise relative bound and without layers are an exception: their errors in
        the units of the data were not measured, so everything is read and checked against the bound. Missing values, NaN and
        infinities are exact. The errors of each chunk were measured when it was compressed. If the data were lossy before,
        their earlier errors are added.

        Args:
            max_error: largest permitted absolute error, in the units of the data. None: full precision.

        Raises:
            StzError: (a ValueError) max_error is negative or NaN. On reading: the error of a chunk is larger even with all
                layers.
            StzTypeError: (also a TypeError) max_error is not a number.
        """
        return View(self._source, self._levels, self.axes, self._threads, checked_precision(max_error, None), self._max_bytes)

    def layer_errors(self, region: Any = ...) -> list[float]:
        """The largest absolute errors in a region with one precision layer, with two, ... and with all, in the units of the
        data.

        For chunks with fewer layers, all layers count. The list is empty if the errors are unknown: for pointwise relative
        bounds without layers, and for data that h5py reads.

        Args:
            region: integers and slices, as for read().
        """
        return self._reader.layer_errors(parse(region, self.shape).scaled(self.spacing))

    @checked
    def read(
        self,
        region: Any,
        level: SupportsIndex = 0,
        out: Array | None = None,
        max_bytes: SupportsIndex | None = None,
        *,
        max_error: SupportsFloat | None = None,
        layers: SupportsIndex | None = None,
        enhance: bool | np.bool_ | None = True,
    ) -> Any:
        """Reads a region at a resolution level and with a precision.

        Args:
            region: integer, slice, ... or a tuple of them, as indices of this array. At level 0 it is an ordinary index. At
                other levels, along the thinned axes, a slice selects the samples of the level in its range, possibly none, and
                cannot have a step; an integer selects the last sample of the level at or before it.
            level: 0 for all samples, l for every 2**l-th along the `axes` of this view.
            out: writable ndarray with the dataset's dtype and the result's shape, with any strides, to read into. After an
                error its contents are unspecified.
            max_bytes: largest result in bytes. None: the limit of this view, or no limit if `out` is given.
            max_error: as for at_error(). None: the precision of this view.
            layers: as for level().
            enhance: True or None returns enhanced samples if the streams have an enhancement (`STZ(enhance=)`). False returns
                the samples without it, which keep the bound itself. False raises an error if h5py must read the data, as in
                files that are open for writing.

        Returns:
            ndarray: `out`, or a new array; a NumPy scalar if every axis is indexed by an integer and `out` is None.

        Raises:
            StzError: (a ValueError) the result is larger than max_bytes; `out` or the level does not fit; the region has a
                step on a level; the error of the data exceeds max_error; the file was closed, changed or is damaged; or the
                object through which h5py reads it fails.
            StzTypeError: (also a TypeError) the region is not a basic index, or an argument has the wrong type.
            IndexError: an integer is out of range, or there are too many indices.
            OSError: HDF5 cannot read the file.
        """
        deeper = self._deeper(level, self.axes)
        selection = parse_region(region, self.shape, [new - old for new, old in zip(deeper, self._levels, strict=True)])
        if max_bytes is not None:
            self._refuse_larger(selection, checked_max_bytes(max_bytes))
        if out is not None:
            check_out(out, selection.shape, self.dtype)
        given = max_error is not None or layers is not None
        precision = checked_precision(max_error, layers) if given else self._precision
        precision = precision if checked_switch("enhance", enhance, _ENHANCED) else replace(precision, enhance=False)
        return self._read(selection, deeper, out, precision, limited=max_bytes is None)

    def refine(self, region: Any = ..., *, by: Literal["level", "error"] = "level") -> Iterator[tuple[Any, Any]]:
        """Reads a region step by step, from coarse to fine.

        By level: yields (level, array), from the coarsest level of the streams to level 0. Each array equals read(region,
        level). Levels without a sample in the region are skipped. Each step reads and decodes only new data, as far as
        `cache_bytes` allows.

        By error: yields (error, array) with one precision layer, with two, ... and with all. Each array equals read(region,
        layers=...), and its samples are within `error` of the compressed data (see layer_errors(); NaN if unknown). Layers
        that change nothing are skipped.

        Args:
            region: integers and slices, as for read(). By level, no steps along the `axes` of this view.
            by: "level" or "error".

        Raises:
            As read(). For an invalid region immediately, not at the first step.
        """
        if by not in ("level", "error"):
            raise StzError(f'by={by!r} must be "level" or "error"', _ARGUMENT)
        finest = parse(region, self.shape)
        if by == "error":
            return self._refined_by_error(region, self.layer_errors(region) or [math.nan])
        parse_region(region, self.shape, self._along_axes(1))  # refuses steps
        present = max((self._levels[axis] for axis in self.axes), default=_MOST_LEVELS)
        levels = max(1, self._reader.levels(finest.scaled(self.spacing)) - present)
        return self._refined(region, levels)

    def _refined_by_error(self, region: Any, errors: list[float]) -> Iterator[tuple[float, Any]]:
        for layers, error in enumerate(errors, 1):
            yield error, self.read(region, layers=layers)

    def _refined(self, region: Any, levels: int) -> Iterator[tuple[int, Any]]:
        for level in range(levels - 1, -1, -1):
            if level == 0 or parse_region(region, self.shape, self._along_axes(level)).size:
                yield level, self.read(region, level)

    def _along_axes(self, level: int) -> tuple[int, ...]:
        """The level for the thinned axes, 0 for the others."""
        return tuple(level if axis in self.axes else 0 for axis in range(self.ndim))

    def _deeper(self, level: SupportsIndex, axes: Sequence[int]) -> tuple[int, ...]:
        """For every axis of the dataset, the level of a level of this array along `axes`."""
        try:
            number = operator.index(level)
        except TypeError:
            raise StzTypeError(
                f"level={level!r} is not an integer: give 0 for all samples, 1 for every second", _ARGUMENT
            ) from None
        most = _MOST_LEVELS - max((self._levels[axis] for axis in axes), default=0)
        if not 0 <= number <= most:
            raise StzError(f"level={number}: levels are 0 (all samples) to {most}", _ARGUMENT)
        return tuple(old + number * (axis in axes) for axis, old in enumerate(self._levels))

    def thinned(self, extents: Sequence[int]) -> tuple[int, ...]:
        """For every axis, the number of samples of this array in the first `extents` samples of the dataset."""
        return tuple(-(-extent >> level) if extent else 0 for extent, level in zip(extents, self._levels, strict=True))

    def _refuse_larger(self, selection: Selection, max_bytes: int | None) -> None:
        instead = "read a smaller region or a coarser level, or "
        refuse_larger("the result takes", selection.size * self.dtype.itemsize, max_bytes, instead=instead)

    def _read(
        self, selection: Selection, levels: Sequence[int], out: Array | None, precision: Precision, limited: bool = True
    ) -> Any:
        if limited and out is None:
            self._refuse_larger(selection, self._max_bytes)
        scaled = selection.scaled([1 << level for level in levels])
        return self._reader.read(scaled, out, thread_count(self._threads), precision)

    def __repr__(self) -> str:
        return f"<h5stz view of {self._source.description()}{self._level_text()}{self._precision.text}>"

    def _level_text(self) -> str:
        if not any(self._levels):
            return ""
        levels = {self._levels[axis] for axis in self.axes}
        others = any(level for axis, level in enumerate(self._levels) if axis not in self.axes)
        along = "" if len(self.axes) == self.ndim else f" along axes {', '.join(map(str, self.axes))}"
        level = f", level {levels.pop()}{along}" if len(levels) == 1 and not others else ""
        return f"{level}, spacing {self.spacing}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._source.place(), self._levels, self.axes, self._threads, self._precision, self._max_bytes)

    def detached(self) -> View:
        """The same View. After the given file was closed, it opens the file by name, if possible."""
        return View(self._source.detached(), self._levels, self.axes, self._threads, self._precision, self._max_bytes)

    def __copy__(self) -> View:
        return View(self._source, self._levels, self.axes, self._threads, self._precision, self._max_bytes)

    def __deepcopy__(self, memo: Any) -> View:
        return self.__copy__()

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Identifies the contents of this array in all processes, for names in dask."""
        return "h5stz.View", self._source.version(), self._levels, self._precision


def _restored(
    place: Place,
    levels: tuple[int, ...],
    axes: tuple[int, ...],
    threads: int | None,
    precision: Precision = EVERYTHING,
    max_bytes: int | None = None,
) -> View:
    """A View from its pickle."""
    return View(ReopenedSource(place), levels, axes, threads, precision, max_bytes)
