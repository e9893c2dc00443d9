"""Which datasets of a file `repack` compresses, and with which options.

A bound for a whole file must not touch what is no measured field: coordinates, scales of dimensions, indices, flags, text. What
is left alone is left for a reason, which the report names.
"""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import h5py
import numpy as np

from h5stz import _core
from h5stz.chunks import suggest_chunks
from h5stz.elements import DType
from h5stz.errors import StzError
from h5stz.options import STZ, Options, client_data

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
Rechunk: TypeAlias = Literal["auto", "never"] | tuple[int, ...]

SMALLEST = 4096  # bytes: of smaller datasets nothing is gained
GOOD_CHUNKS = (256 << 10, 64 << 20)  # bytes: chunks between these stay what they are under "auto"

#: Why a dataset is copied as it is, by the outcome that a report names.
REASONS = {
    "not chosen": "no rule names it",
    "type": "neither numbers nor complex numbers",
    "small": f"less than {SMALLEST} bytes",
    "layout": "virtual, or stored in other files",
    "coordinate": "a scale, or named as coordinates or bounds by a variable: name it in a rule to compress it",
    "one axis": "1-D: name it in a rule without wildcards to compress it",
    "compressed with loss": "has a lossy filter already, whose errors would add to those of another one",
    "missing values": "has several missing values, of which one would change: compress it lossless",
    "nothing valid": "a relative bound needs a finite number, and there is none",
    "larger": "compressed it would take more bytes than it does now",
}
_LOSSY = {_core.FILTER_ID, 32013, 32017, 32024, 32028}  # this one, ZFP, SZ, SZ3, SPERR


@dataclass(frozen=True)
class Rule:
    """Options for the datasets whose path matches a pattern.

    Attributes:
        pattern: of the whole path, as the shell has them: * and ? also stand for /.
        options: those of STZ but data, chunks, dtype and fill_value; None leaves these datasets as they are.
    """

    pattern: str
    options: Options | None

    def names(self, path: str) -> bool:
        """Whether it is about a dataset."""
        return fnmatch.fnmatchcase(path, self.pattern if self.pattern.startswith("/") else f"*/{self.pattern}")

    def is_exact(self, path: str) -> bool:
        """Whether it names this dataset and no other."""
        return self.pattern.lstrip("/") == path.lstrip("/")


@dataclass(frozen=True)
class Decision:
    """What becomes of a dataset: `options` and `chunks`, or the `reason` (a key of REASONS) why it stays as it is."""

    reason: str | None
    options: STZ | None = None
    chunks: tuple[int, ...] = ()


class Plan:
    """Decides about the datasets of a file; the first rule that names one counts."""

    def __init__(self, file: h5py.File, rules: Sequence[Rule], rechunk: Rechunk = "auto", again: bool = False) -> None:
        self._rules, self._rechunk, self._again = rules, rechunk, again
        self._coordinates = _coordinates(file)
        for rule in rules:
            for name in ("data", "chunks", "dtype", "fill_value"):
                if name in (rule.options or ()):
                    raise StzError(f"{name}= is known from each dataset: leave it out (rechunk= chooses chunks)", _ARGUMENT)

    def decide(self, dataset: h5py.Dataset) -> Decision:
        """The Decision about a dataset.

        Raises:
            StzError: (a ValueError) the options do not fit it.
        """
        path = str(dataset.name)
        rule = next((rule for rule in self._rules if rule.names(path)), None)
        if rule is None or rule.options is None:
            return Decision("not chosen")
        if reason := self._reason(dataset, rule.is_exact(path)):
            return Decision(reason)
        missing = missing_values(dataset)
        options: dict[str, Any] = {**rule.options}
        if len(missing) > 1 and not options.get("lossless"):
            return Decision("missing values")
        if missing or (missing := _own_fill_value(dataset)):
            options["fill_value"] = missing[0]
        chunks = self._chunks_of(dataset)
        try:
            of_data = {"data": dataset, "chunks": chunks} if {"relative", "psnr"} & options.keys() else {"dtype": dataset.dtype}
            made = STZ(**cast(Options, options | of_data))
        except StzError as error:
            if error.code == _core.ERROR_CODES["STZ_ERROR_BOUND"] and "relative" in options:
                return Decision("nothing valid")
            raise type(error)(f"{path}: {error}", error.code) from None
        return Decision(None, made, chunks)

    def _reason(self, dataset: h5py.Dataset, by_name: bool) -> str | None:
        """Why the dataset is not to be compressed; None if it is."""
        properties = dataset.id.get_create_plist()
        if not _has_numbers(dataset.dtype):
            return "type"
        if not dataset.shape or dataset.nbytes < SMALLEST:
            return "small"
        if dataset.is_virtual or properties.get_external_count():
            return "layout"
        if not by_name and dataset.name in self._coordinates:
            return "coordinate"
        if not by_name and sum(extent > 1 for extent in dataset.shape) < 2:
            return "one axis"
        if not self._again and _is_lossy(dataset):
            return "compressed with loss"
        return None

    def _chunks_of(self, dataset: h5py.Dataset) -> tuple[int, ...]:
        if isinstance(self._rechunk, tuple):
            if len(self._rechunk) != dataset.ndim:
                raise StzError(f"rechunk={self._rechunk} has not the {dataset.ndim} axes of {dataset.name}", _ARGUMENT)
            limits = [
                chunk if most is None else max(most, 1)
                for chunk, most in zip(self._rechunk, dataset.maxshape or (), strict=True)
            ]
            return tuple(map(min, self._rechunk, limits))
        if dataset.chunks is not None:
            size = math.prod(dataset.chunks) * dataset.dtype.itemsize
            if self._rechunk == "never" or GOOD_CHUNKS[0] <= size <= GOOD_CHUNKS[1]:
                return tuple(dataset.chunks)
        return suggest_chunks(dataset.shape, dataset.dtype)


def missing_values(dataset: h5py.Dataset) -> list[int | float]:
    """The different numbers that the attributes _FillValue and missing_value name, but NaN, which comes back anyway."""
    values: list[int | float] = []
    for name in ("_FillValue", "missing_value"):
        if name not in dataset.attrs:
            continue
        for value in np.ravel(np.asarray(dataset.attrs[name])):
            if value.dtype.kind not in "iuf" or value != value:
                continue
            number = value.astype(dataset.dtype).item() if dataset.dtype.kind in "iuf" else value.item()
            if number not in values:
                values.append(number)
    return values


def _own_fill_value(dataset: h5py.Dataset) -> list[int | float]:
    """The fill value that its maker chose for a dataset, which the filter keeps too where it is not told of another one."""
    chosen = dataset.id.get_create_plist().fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED
    return [dataset.fillvalue.item()] if chosen and dataset.dtype.kind in "iuf" else []


def _has_numbers(dtype: DType) -> bool:
    return dtype.kind == "b" or f"{dtype.kind}{dtype.itemsize}" in _core.DTYPES


def _is_lossy(dataset: h5py.Dataset) -> bool:
    """Whether a filter on it has changed values."""
    properties = dataset.id.get_create_plist()
    filters = {properties.get_filter(index)[0] for index in range(properties.get_nfilters())}
    words = client_data(dataset)
    if words is not None:
        return _core.parse(words)["mode"] != _core.MODES["lossless"]
    return bool(filters & _LOSSY)


def _coordinates(file: h5py.File) -> set[str]:
    """Paths of what variables name as coordinates, bounds or grid mappings (CF), and of scales of dimensions."""
    named: set[str] = set()

    def look_at(path: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset):
            return
        if item.shape is not None and h5py.h5ds.is_scale(item.id):
            named.add("/" + path)
        for name in (
            "coordinates",
            "bounds",
            "climatology",
            "ancillary_variables",
            "cell_measures",
            "grid_mapping",
            "formula_terms",
        ):
            for word in _words(item.attrs, name):
                near: Any = item.parent
                if word in near and isinstance(near[word], h5py.Dataset):
                    named.add(str(near[word].name))

    file.visititems(look_at)
    return named


def _words(attributes: Mapping[str, Any], name: str) -> list[str]:
    """The words of a text that is an attribute; those that end in a colon are keys."""
    value = attributes.get(name)
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return [word for word in text.split() if not word.endswith(":")] if isinstance(text, str) else []
