"""Region reads for users: a dataset as an array that decodes only what is asked for, at any resolution."""

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
    """A dataset, or one of its resolution levels, as an array that is read piece by piece; made by h5stz.view().

    Indexing is NumPy's basic indexing: integers, slices with any step, `...`; results are what the same index gives of the
    whole array, bit for bit. Any number of threads may use a view. numpy.asarray() reads all of it.

    A view can be pickled if its file has a name on disk and is open for reading: in the other process it opens the file by
    that name when it is first used. Copies (the module copy) use the same dataset as their original.

    Attributes:
        axes: the axes that level(), read() and refine() thin, by rising number; all of them unless level() was told otherwise.
        spacing: samples of the dataset from one sample of this array to the next, for every axis; ones but for levels.
        stats: what was read (stats.Stats), shared with all levels of the same view.
        damage: what reads found damaged where they went on, a list of Damage; stats.reset() empties it.
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
        """What was read, a stats.Stats."""
        return self._reader.stats

    @property
    def damage(self) -> list[Damage]:
        """What reads found damaged where they went on (`on_error` of view()), a list of Damage; shared as `stats` are."""
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
        """The h5py.File, as of h5py."""
        return self.dataset.file

    @property
    def filename(self) -> str:
        """Name of the file, as h5py gives it: `view.file.filename`."""
        name: str = self.file.filename
        return name

    @property
    def attrs(self) -> h5py.AttributeManager:
        """The attributes of the dataset, as of h5py."""
        return self.dataset.attrs

    @property
    def spacing(self) -> tuple[int, ...]:
        """Samples of the dataset from one sample of this array to the next, for every axis."""
        return tuple(1 << level for level in self._levels)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the array; those of a growing dataset grow."""
        return self.thinned(self.dataset.shape)

    @property
    def dtype(self) -> DType:
        """The dtype of the dataset, as h5py gives it."""
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
        """Shape of the chunks in samples of this array, rounded up; None if the dataset has none."""
        chunks = self.dataset.chunks
        return None if chunks is None else self.thinned(chunks)

    @property
    def storage_unit(self) -> tuple[int, ...] | None:
        """What is stored together, in samples of the dataset: a chunk, or what a source of a virtual dataset has; or None."""
        return self._reader.unit

    @property
    def fallback_reason(self) -> Reason | None:
        """Why all of the dataset is read through h5py, or None. A Reason is a str with the `name` that the reason has in C."""
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
            raise ValueError("a view has to be read to become an array: leave copy=False away")
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
        """A resolution level of this array, as a View: every 2**level-th sample of some axes, every sample of the others.

        Args:
            level: 0 or more.
            axes: number of an axis, or several, that are thinned; negative ones count from the last. They are also those
                that read(), refine() and level() of the result thin. None: those of this view, all axes to begin with.
            layers: 1 or more: only the first so many precision layers of each stream are read (`STZ(layers=)`), with the
                errors that layer_errors() tells. None: as this view does.

        Raises:
            StzError: (a ValueError) there is no such level or axis, or an axis is given twice.
            StzTypeError: (a TypeError too) a number is no integer.
        """
        thinned = self.axes if axes is None else checked_axes(axes, self.ndim)
        precision = self._precision if layers is None else checked_precision(None, layers)
        return View(self._source, self._deeper(level, thinned), thinned, self._threads, precision, self._max_bytes)

    @checked
    def at_error(self, max_error: SupportsFloat | None) -> View:
        """The same array read with fewer bytes: no sample is farther than `max_error` from what was compressed.

        Of streams that were written with precision layers (`STZ(layers=)`), the fewest that suffice are read. Others give all
        they have. Point-wise bounds without layers are the exception: their errors are not known in the units of the data, so
        they give all they have, however far that is. Missing values, NaN and infinities come back exactly. Errors are those
        that were measured for each chunk when it was compressed; data that had been compressed with loss before have their
        earlier errors besides.

        Args:
            max_error: in the units of the data; None: as precise as the data are.

        Raises:
            StzError: (a ValueError) it is negative or NaN. At each read: less than what was kept when a chunk was compressed.
            StzTypeError: (a TypeError too) no number.
        """
        return View(self._source, self._levels, self.axes, self._threads, checked_precision(max_error, None), self._max_bytes)

    def layer_errors(self, region: Any = ...) -> list[float]:
        """The largest errors in a region if one precision layer is read, two, ... and all, in the units of the data.

        Of chunks with fewer layers, all count. Empty if the streams do not tell: point-wise bounds without layers, or data
        that h5py reads.

        Args:
            region: integers and slices, as of read().
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
        """The samples of a region, on a resolution level and with a precision.

        Args:
            region: integer, slice, ... or a tuple of them, in the index space of this array. On level 0 it means the same as
                an index. On others, along the axes that a level thins, a slice means those of its samples that the level
                has, possibly none (and cannot have a step), and an integer the last sample of the level that is not behind it.
            level: 0 for all samples, l for every 2**l-th along the `axes` of this view.
            out: writable ndarray of the dataset's dtype and of the result's shape, with any strides, to read into. After an
                error its contents are unspecified.
            max_bytes: refuses to read more than so many bytes; None: as this view, unless `out` is given.
            max_error: as of at_error(); None: the precision of this view.
            layers: as of level().
            enhance: True, which None means too, or False: the samples of streams with an enhancement (`STZ(enhance=)`) as they
                were before it, within the bound itself. False is an error where h5py reads them, as from files that are open
                for writing.

        Returns:
            ndarray: `out`, or a new array; a NumPy scalar if every axis is indexed by an integer and `out` is None.

        Raises:
            StzError: (a ValueError) the result is larger than max_bytes, `out` or the level does not fit, the region has a
                step on a level; the data are less precise than max_error; the file was closed, changed or is damaged; the
                object that h5py reads it from fails.
            StzTypeError: (a TypeError too) no basic index, or an argument of another type.
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
        """A region step by step, from coarse to fine.

        By level: yields (level, array), from the coarsest level that the streams have to level 0. Arrays are those of
        read(region, level); levels of which no sample lies in the region are left out. Each step reads and decodes what is new
        only, as far as `cache_bytes` allows.

        By error: yields (error, array), with one precision layer, with two ... and with all; arrays are those of
        read(region, layers=...), and no sample of them is farther than `error` from what was compressed (layer_errors(); NaN
        where the streams do not tell). Layers that change nothing are left out.

        Args:
            region: integers and slices, as of read(), by level without steps along the `axes` of this view.
            by: "level" or "error".

        Raises:
            As read(), for an impossible region at once.
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
        """The level for the axes that are thinned, 0 for the others."""
        return tuple(level if axis in self.axes else 0 for axis in range(self.ndim))

    def _deeper(self, level: SupportsIndex, axes: Sequence[int]) -> tuple[int, ...]:
        """The level of every axis of the dataset that a level of this array along `axes` is."""
        try:
            number = operator.index(level)
        except TypeError:
            raise StzTypeError(
                f"level={level!r} is no integer: give 0 for all samples, 1 for every second", _ARGUMENT
            ) from None
        most = _MOST_LEVELS - max((self._levels[axis] for axis in axes), default=0)
        if not 0 <= number <= most:
            raise StzError(f"level={number}: levels are 0 (all samples) to {most}", _ARGUMENT)
        return tuple(old + number * (axis in axes) for axis, old in enumerate(self._levels))

    def thinned(self, extents: Sequence[int]) -> tuple[int, ...]:
        """How many samples of this array so many of the dataset from its beginning have, for every axis."""
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
        """The same View; if its file can be opened by name, it is, once the file that was given is closed."""
        return View(self._source.detached(), self._levels, self.axes, self._threads, self._precision, self._max_bytes)

    def __copy__(self) -> View:
        return View(self._source, self._levels, self.axes, self._threads, self._precision, self._max_bytes)

    def __deepcopy__(self, memo: Any) -> View:
        return self.__copy__()

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """What tells the contents of this array from those of others, in any process: for names in dask."""
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
