"""Decides which datasets of a file `repack` compresses, and with which options.

A bound for a whole file must not touch data that are not measured fields: coordinates, dimension scales, indices, flags, text.
The report names the reason for every dataset that is not compressed.
"""

from __future__ import annotations

import contextlib
import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import h5py

from h5stz import _core, elements, patterns
from h5stz.counts import counted
from h5stz.elements import DType
from h5stz.errors import HDF5_ERRORS, StzError
from h5stz.files.dropping_layers import has_layers, options_at_error, other_options
from h5stz.files.history import is_lossy
from h5stz.hdf5 import cf_names
from h5stz.hdf5.missing_numbers import has_other_marker, missing_values, occurring
from h5stz.hdf5.named_datasets import no_dataset_like
from h5stz.hdf5.objects import Lost, attribute, datasets, has_numpy_type, identity, name_of
from h5stz.hdf5.short_floats import ShortFloats, short_float_of
from h5stz.hdf5.tree_contents import Contents
from h5stz.hdf5.valid_numbers import valid_range
from h5stz.options.bounds import NoRangeError, RangeError
from h5stz.options.chunks import GOOD, suggest_chunks
from h5stz.options.option_checks import BOUNDS, checked_bound, checked_enhance
from h5stz.options.resolved import MEASURED
from h5stz.options.stz import STZ, Options

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
Rechunk: TypeAlias = Literal["auto", "never"] | tuple[int, ...]

SMALLEST = 4096  # bytes: of smaller datasets nothing is gained
_OF_LOSS = ("layers", "layer_bounds", "enhance", "keep_zeros", "keep_range", "valid_range", "favour")  # of no use without loss
_LARGEST_CHUNK = (1 << 32) - 1  # bytes: HDF5's limit

#: Why a dataset is copied as it is, by the outcome that a report names.
REASONS = {
    "not chosen": "no rule matches it",
    "type": "not numeric, or a number format that h5stz cannot compress",
    "small": f"less than {SMALLEST} bytes",
    "layout": "virtual, or stored in other files",
    "filter": "its filter is not installed: pip install hdf5plugin provides most filters",
    "coordinate": "a dimension scale, or the coordinates or bounds of a variable: name it in a rule to compress it",
    "flags": "its numbers are flags (flag_values, flag_masks): name it in a rule to compress it",
    "one axis": "1-D: name it in a rule without wildcards to compress it",
    "compressed with loss": "already compressed with a lossy filter, whose errors would add up",
    "missing values": "several numbers mark missing values, and only one can be kept exactly: compress it lossless",
    "nothing valid": "a relative bound needs finite numbers, and there are none",
    "range": "its range, or its range times relative, exceeds float64: compress it with absolute or lossless",
    "less precise": "its error is already larger than max_error",
    "larger": "compression would make it larger",
}


#: What is said of a dataset that is compressed in another way than was asked for, by the note that a report names.
NOTES = {"no range": "psnr is undefined: its valid numbers are all equal, or there are none"}


@dataclass(frozen=True)
class Rule:
    """Options for the datasets whose path matches a pattern.

    Attributes:
        pattern: path of a dataset, or a shell pattern for whole paths, in which * and ? also match /. If a dataset has exactly
            this path, only that dataset is chosen.
        options: options of STZ except data, chunks, dtype and fill_value. None: these datasets are not compressed.
    """

    pattern: str
    options: Options | None

    def names(self, path: str) -> bool:
        """True if the pattern matches `path` in a file with this dataset alone."""
        return bool(patterns.chosen_paths(self.pattern, [path]))

    def is_exact(self, path: str) -> bool:
        """True if the pattern is this path, without wildcards."""
        return self.pattern.lstrip("/") == path.lstrip("/")


@dataclass(frozen=True)
class Decision:
    """What repack() does with a dataset: compress it with `options` and `chunks`, or copy it for a `reason` (a key of
    REASONS).

    `drops_layers`: its chunks are copied without their last precision layers. `note`: a key of NOTES.
    """

    reason: str | None
    options: STZ | None = None
    chunks: tuple[int, ...] = ()
    drops_layers: bool = False
    note: str | None = None


class Plan:
    """The decisions for all datasets of a file. The first rule that matches any path of a dataset applies.

    `lost`: as for objects.hard_links().
    """

    def __init__(
        self,
        file: h5py.File,
        rules: Sequence[Rule],
        rechunk: Rechunk = "auto",
        again: bool = False,
        max_error: float | None = None,
        lost: Lost | None = None,
    ) -> None:
        if isinstance(rechunk, tuple) and not (rechunk and all(isinstance(each, int) and each > 0 for each in rechunk)):
            raise StzError(f"rechunk={rechunk!r}: give a number of 1 or more for each axis", _ARGUMENT)
        self._rules, self._rechunk, self._again, self._max_error = rules, rechunk, again, max_error
        check_use(rules, {"rechunk": isinstance(rechunk, tuple), "again": again})
        self._contents = Contents(file, lost)
        paths = [path for each in self._contents.paths.values() for path in each]
        self._chosen = [set(patterns.chosen_paths(rule.pattern, paths)) for rule in rules]
        for rule, chosen in zip(rules, self._chosen, strict=True):
            for name in ("data", "chunks", "dtype", "fill_value"):
                if name in (rule.options or ()):
                    raise StzError(f"{name}= is taken from each dataset: leave it out (rechunk= sets the chunks)", _ARGUMENT)
            try:
                check_options(rule.options)
            except StzError as error:
                raise error if rule.pattern == "*" else error.within(rule.pattern) from None
            if rule.pattern != "*" and not chosen:
                raise no_dataset_like(file, rule.pattern, paths)

        if isinstance(rechunk, tuple):
            self._check_chunks(file, lost)

    def _check_chunks(self, file: h5py.File, lost: Lost | None) -> None:
        """Raises StzError if a dataset cannot have the requested chunks."""
        for dataset in datasets(file, lost):
            try:
                rule = self._rule_of(dataset)
                if rule is None or rule.options is None or self._reason(dataset, self._is_named(rule, dataset)) is not None:
                    continue
            except HDF5_ERRORS as error:
                if lost is None:
                    raise
                lost(name_of(dataset), error)
                continue
            self._chunks_of(dataset)

    def _rule_of(self, dataset: h5py.Dataset) -> Rule | None:
        paths = self._contents.paths[identity(dataset)]
        return next((rule for rule, chosen in zip(self._rules, self._chosen, strict=True) if chosen.intersection(paths)), None)

    def _is_named(self, rule: Rule, dataset: h5py.Dataset) -> bool:
        return any(map(rule.is_exact, self._contents.paths[identity(dataset)]))

    @property
    def array_bytes(self) -> int:
        """Size of the samples of all datasets in memory, in bytes."""
        return self._contents.array_bytes

    def decide(self, dataset: h5py.Dataset) -> Decision:
        """Decides about a dataset.

        Raises:
            StzError: (a ValueError) the options do not suit the dataset.
        """
        if self._max_error is not None and has_layers(dataset):
            self._check_shortened(dataset)
            shorter = options_at_error(dataset, self._max_error)
            return Decision("less precise") if shorter is None else Decision(None, shorter, tuple(dataset.chunks or ()), True)
        paths = self._contents.paths[identity(dataset)]
        rule = self._rule_of(dataset)
        if rule is None or rule.options is None:
            return Decision("not chosen")
        if reason := self._reason(dataset, self._is_named(rule, dataset)):
            return Decision(reason)
        options: dict[str, Any] = {**rule.options}
        if h5py.check_enum_dtype(dataset.dtype) is not None:
            options.pop("integers", None)  # neighbours of an enumeration's value mean something else
        missing = missing_values(dataset)
        exact = options.get("lossless") or (dataset.dtype.kind in "iub" and not options.get("integers"))
        most = 0 if dataset.dtype.kind == "c" else 1  # that the codec keeps
        if not exact and len(missing) > most and len(missing := occurring(dataset, missing)) > most:
            return Decision("missing values")
        if missing and (dataset.dtype.kind in "iu" or elements.is_floating(dataset.dtype)):
            options["fill_value"] = missing[0]
        if not exact and (ends := valid_range(lambda name: attribute(dataset, name))):
            options.setdefault("valid_range", ends)
        try:
            return self._with_options(dataset, options)
        except StzError as error:
            if reason := without_bound(error, options):
                return Decision(reason)
            raise type(error)(f"{paths[0]}: {error}", error.code) from None

    def _check_shortened(self, dataset: h5py.Dataset) -> None:
        """Raises StzError if a dataset that only loses layers should have options that it does not have."""
        rule = self._rule_of(dataset)
        path = name_of(dataset)
        for name in other_options(dataset, {} if rule is None or rule.options is None else rule.options):
            raise StzError(
                f"{path}: max_error= removes its precision layers, and encodes nothing, so {name}= has no effect: leave it "
                f"out, or give {path} the rule none",
                _ARGUMENT,
            )

    def _with_options(self, dataset: h5py.Dataset, options: dict[str, Any]) -> Decision:
        chunks = self._chunks_of(dataset)
        if options.keys().isdisjoint(MEASURED):
            return Decision(None, STZ(**cast(Options, options | {"dtype": dataset.dtype})), chunks)
        if "fill_value" in options and has_other_marker(dataset, options["fill_value"]):
            return Decision("missing values")
        try:
            return Decision(None, STZ(**cast(Options, options | {"data": dataset, "chunks": chunks})), chunks)
        except NoRangeError:
            return Decision(None, lossless_instead(options, dataset.dtype), chunks, note="no range")

    def _reason(self, dataset: h5py.Dataset, by_name: bool) -> str | None:
        """The reason not to compress the dataset; None if it is compressed."""
        properties = dataset.id.get_create_plist()
        if not _has_numbers(dataset):
            return "type"
        if not dataset.shape or dataset.nbytes < SMALLEST:
            return "small"
        if dataset.is_virtual or properties.get_external_count():
            return "layout"
        if not _can_be_read(properties):
            return "filter"
        if not by_name and identity(dataset) in self._contents.coordinates:
            return "coordinate"
        if not by_name and any(name in dataset.attrs for name in cf_names.FLAGS) and dataset.dtype.kind in "fc":
            return "flags"
        if not by_name and sum(extent > 1 for extent in dataset.shape) < 2:
            return "one axis"
        if not self._again and is_lossy(dataset):
            return "compressed with loss"
        return None

    def _chunks_of(self, dataset: h5py.Dataset) -> tuple[int, ...]:
        if isinstance(self._rechunk, tuple):
            if len(self._rechunk) != dataset.ndim:
                axes = counted(dataset.ndim, "axis", "axes")
                raise StzError(f"rechunk={self._rechunk} does not have the {axes} of {name_of(dataset)}", _ARGUMENT)
            if (size := math.prod(self._rechunk) * dataset.dtype.itemsize) > _LARGEST_CHUNK:
                text = f"rechunk={self._rechunk} makes chunks of {size} bytes of {name_of(dataset)}: HDF5 takes less than 4 GiB"
                raise StzError(text, _ARGUMENT)
            limits = [
                chunk if most is None else max(most, 1)
                for chunk, most in zip(self._rechunk, dataset.maxshape or (), strict=True)
            ]
            return tuple(map(min, self._rechunk, limits))
        if dataset.chunks is not None:
            size = math.prod(dataset.chunks) * dataset.dtype.itemsize
            if self._rechunk == "never" or GOOD[0] <= size <= GOOD[1]:
                return tuple(dataset.chunks)
        return suggest_chunks(dataset.shape, dataset.dtype)


def without_bound(error: StzError, options: Mapping[str, Any]) -> str | None:
    """The key of REASONS if an error says that the options give a dataset no bound; None for other errors."""
    if isinstance(error, RangeError):
        return "range"
    return "nothing valid" if "relative" in options and error.code == _core.ERROR_CODES["STZ_ERROR_BOUND"] else None


def lossless_instead(options: Mapping[str, Any], dtype: DType) -> STZ:
    """Lossless options that replace others for which the data have no bound."""
    others = {name: value for name, value in options.items() if name not in (*MEASURED, *_OF_LOSS)}
    return STZ(**cast(Options, {**others, "lossless": True, "dtype": dtype}))


def check_options(options: Options | None) -> None:
    """Raises StzError if the options of a Rule are invalid for every dataset."""
    if options is None:
        return
    if not options.keys() <= Options.__annotations__.keys():
        STZ(**options)  # which says what was meant
    kind, _ = checked_bound({name: options.get(name) for name in BOUNDS}, options.get("lossless", False))
    given: dict[str, Any] = {**options}
    if kind in MEASURED:  # which STZ looks at with the data
        checked_enhance(given.pop("enhance", None), kind, given.get("layers", 1))
        given = {name: value for name, value in given.items() if name not in MEASURED} | {"absolute": 0.0}
    STZ(**cast(Options, given))


def _has_numbers(dataset: h5py.Dataset) -> bool:
    """True if NumPy and the codec support the type of a dataset, and the filter accepts it as HDF5 stores it."""
    if short_float_of(dataset):
        return isinstance(dataset, ShortFloats)  # else ml_dtypes is missing
    if not has_numpy_type(dataset):
        return False
    dtype = dataset.dtype
    return (dtype.kind == "b" or f"{dtype.kind}{dtype.itemsize}" in _core.DTYPES) and _is_taken(dataset.id.get_type())


def _is_taken(stored: h5py.h5t.TypeID) -> bool:
    """True if the filter accepts a type; for example, integers must use all bits. Asks the filter, with a file in memory."""
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_chunk((1,))
    creation.set_filter(_core.FILTER_ID, h5py.h5z.FLAG_MANDATORY, STZ(lossless=True).filter_options)
    with h5py.File("h5stz types", "w", driver="core", backing_store=False) as file:
        try:
            h5py.h5d.create(file.id, b"x", stored.copy(), h5py.h5s.create_simple((1,)), creation)
        except (ValueError, RuntimeError, OSError, TypeError):
            return False
    return True


def _can_be_read(properties: h5py.h5p.PropDCID) -> bool:
    """True if the filters of a dataset are installed. Imports hdf5plugin, which registers its filters."""
    filters = {properties.get_filter(index)[0] for index in range(properties.get_nfilters())}
    if all(map(h5py.h5z.filter_avail, filters)):
        return True
    with contextlib.suppress(ImportError):
        importlib.import_module("hdf5plugin")
    return all(map(h5py.h5z.filter_avail, filters))


def check_use(rules: Sequence[Rule], given: Mapping[str, Any]) -> None:
    """Raises StzError if nothing is encoded by the rules, although an option for that is given."""
    unused = [name for name, value in given.items() if value]
    if unused and not any(rule.options for rule in rules):
        raise StzError(
            f"{unused[0]}= has no effect without a bound (max_error= removes precision layers, and encodes nothing): give a "
            "bound such as relative=1e-3, or leave it out",
            _ARGUMENT,
        )


def all_rules(rules: Sequence[Rule], options: Options, max_error: float | None = None) -> list[Rule]:
    """`rules`, then a rule with `options`, if any, for all other datasets. Raises StzError if there is nothing to do."""
    if options.keys().isdisjoint((*BOUNDS, "lossless")) and max_error is not None:
        check_use(rules, options)
    rules = [*rules, *([Rule("*", options)] if options else [])]
    if not rules and max_error is None:
        raise StzError("give a bound such as relative=1e-3, or rules, or max_error= for datasets with layers", _ARGUMENT)
    return rules
