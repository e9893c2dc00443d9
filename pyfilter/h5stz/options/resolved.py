"""The result of resolving options: the settings of the codec, the requested bound, and the origin of the fill value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from h5stz import _core, elements
from h5stz.elements import DType
from h5stz.errors import StzError
from h5stz.options import bounds
from h5stz.options.fill import Scan
from h5stz.options.option_checks import (
    check_bound_of_enhance,
    check_favour,
    checked_bound,
    checked_chunks,
    checked_enhance,
    checked_layer_bounds,
    checked_option,
    checked_valid_range,
)
from h5stz.options.ratio_bounds import ratio_bound
from h5stz.options.settings import Settings

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_MODE = _core.ERROR_CODES["STZ_ERROR_MODE"]

_FIRST_EFFORT_FOR_SIZE = 7  # that tries favour="size" by itself (filter/encoder/plan/effort.h)

#: Bounds that become an absolute one for given data.
MEASURED = ("relative", "psnr", "ratio")


@dataclass(frozen=True)
class Resolved:
    """Settings, and where they came from.

    Attributes:
        settings: the settings of the codec.
        asked: the bound as given.
        dtype: dtype of the dataset; None if unknown.
        fill_origin: origin of the fill value: "given", "masked array" or "detected"; None without a fill value.
    """

    settings: Settings
    asked: str
    dtype: DType | None = None
    fill_origin: str | None = None

    @property
    def fill_value(self) -> int | float | None:
        """The fill value as a number, or None."""
        if self.settings.fill is None or self.dtype is None:
            return None
        return elements.fill_number(self.settings.fill, self.dtype)

    def text(self) -> str:
        """The options as text for STZ.from_string(). A fill value that is NaN or infinite (xarray's) is left out."""
        dtype = 0 if self.dtype is None else elements.element_type(elements.storage_dtype(self.dtype))[0]
        fill = self.fill_value
        settings = self.settings if fill is None or math.isfinite(fill) else self.settings.replace(fill=None)
        return settings.text(dtype)

    def described(self) -> str:
        """One line: the options as an STZ, the requested bound if it differs, and the origin of the fill value."""
        line = f"h5stz.STZ({self.text()!r})"
        exact_integers = self.asked.partition("=")[0] != "lossless" and self.settings.mode == _core.MODES["lossless"]
        if exact_integers:
            line += f": {self.asked} does not apply to {self.dtype} without integers='lossy'"
        elif self.asked.startswith(tuple(f"{kind}=" for kind in MEASURED)):
            line += f" for {self.asked}"
        if self.fill_origin not in (None, "given"):
            line += f", fill value: {self.fill_origin}"
        return line


def bound_for(kind: str, number: float, dtype: DType | None, integers: int) -> tuple[str, float]:
    """The bound for data of this dtype: integers are lossless unless integers="lossy", bool always is. None: not known."""
    if dtype is None:
        return kind, number
    storage = elements.storage_dtype(dtype).kind
    if storage in "iu" and (dtype.kind == "b" or not integers):
        return "lossless", 0.0
    if storage in "iu" and kind == "pointwise_relative":
        raise StzError(f"pointwise_relative= is for floating-point data, these are {dtype}: use absolute=", _MODE)
    return kind, number


def with_nothing_found(settings: Settings, dtype: DType | None) -> Resolved:
    """The Resolved for numbers of the core, without data."""
    mode = elements.name_of(_core.MODES, settings.mode)
    asked = mode if mode == "lossless" else f"{mode}={settings.bound!r}"
    return Resolved(settings, asked, dtype, None if settings.fill is None else "given")


def settings_of(meaning: Mapping[str, Any]) -> Settings:
    """The Settings that the core parsed from client data or text."""
    return Settings(**{name: value for name, value in meaning.items() if name not in ("dtype", "byte_order", "shape")})


def measured_in(text: str) -> tuple[str, str] | None:
    """The first option in a text that only data can resolve, and its value; None if there is none."""
    items = [item.replace(":", "=").partition("=") for item in text.split(",")]
    return next(((key.strip(), value.strip()) for key, _, value in items if key.strip() in MEASURED), None)


def of_text(text: str, others: Mapping[str, Any], defaults: Mapping[str, Any]) -> Resolved:
    """The Resolved of a text. `others` are the options given beside it, of which only dtype is permitted.

    `defaults`: defaults of the options of STZ.
    """
    if not isinstance(text, str):
        raise TypeError(f"options are text such as 'absolute=1e-3', this is {type(text).__name__}")
    beside = [name for name, value in others.items() if name != "dtype" and value is not defaults[name]]
    if beside:
        name = beside[0]
        of_data = name in ("data", "chunks", *MEASURED)
        instead = f"give all as keywords, STZ(..., {name}=...)" if of_data else f"write all of them in the text {text!r}"
        raise StzError(f"{name}= beside a text of options: {instead}", _ARGUMENT)
    if found := measured_in(text):
        kind, number = found
        raise StzError(
            f"{text!r}: {kind} refers to the whole dataset, which text cannot name: give all options as keywords, "
            f"STZ({kind}={number or '...'}, data=array)",
            _MODE,
        )
    dtype = others["dtype"]
    dataset_dtype = None if dtype is None else elements.as_dtype(dtype)
    code = 0 if dataset_dtype is None else elements.element_type(elements.storage_dtype(dataset_dtype))[0]
    meaning, code = _core.parse_text(text, code)
    if dataset_dtype is None and code:
        dataset_dtype = elements.dtype_of(code, _core.LITTLE)
    mode = elements.name_of(_core.MODES, meaning["mode"])
    if mode != "lossless":
        checked_bound({mode: meaning["bound"]}, lossless=False)
    if meaning["enhance"]:
        check_bound_of_enhance(mode)
    asked = with_nothing_found(settings_of(meaning), dataset_dtype)
    if dataset_dtype is None or mode == "lossless":
        return asked
    kind, bound = bound_for(mode, meaning["bound"], dataset_dtype, meaning["integers"])
    return replace(asked, settings=asked.settings.replace(mode=_core.MODES[kind], bound=bound))


def with_measured(
    kind: str, number: float, scan: Scan, settings: Settings, chunks: tuple[int, ...] | None, choose: bool
) -> Settings:
    """Settings with the absolute bound for a kind that is measured. `choose`: also the enhancement, by the number of bytes."""
    extremes = scan.extremes(() if settings.fill is None else (settings.fill,))
    if kind == "relative":
        if extremes is None and 0 not in scan.source.shape:
            raise StzError(bounds.nothing_valid("relative"), _core.ERROR_CODES["STZ_ERROR_BOUND"])
        return settings.replace(bound=bounds.relative_bound(number, extremes))
    settings = _with_low_mean_error(settings)
    shape = checked_chunks(chunks, scan.source)
    # Where layers are cut is of no use before the bound is known, nor is a check of what is not stored.
    plain = settings.replace(layer_bounds=(), check=0)
    settings = settings.replace(learn=_core.CHOICES["learn"][False])  # what is measured here has to hold in the file
    if kind == "ratio":
        return settings.replace(bound=ratio_bound(number, scan.source, extremes, plain, shape))
    # With layers another way to code may be the shorter one, with other values.
    plain = plain.replace(layer_bounds=settings.layer_bounds)
    candidates = [plain]
    if choose and settings.enhance:
        candidates += [plain.replace(enhance=_core.CHOICES["enhance"][kind]) for kind in ("relaxed", "none")]
    found = bounds.psnr_settings(number, scan.source, extremes, candidates, shape)
    return settings.replace(bound=found.bound, enhance=found.enhance)


def _with_low_mean_error(settings: Settings) -> Settings:
    """Settings that never save bytes by a larger mean error, for a psnr or ratio."""
    if settings.favour == 0 and settings.effort >= _FIRST_EFFORT_FOR_SIZE:
        return settings.replace(favour=_core.CHOICES["favour"]["quality"])
    return settings


def without_data(kind: str, number: float, given: Mapping[str, Any], rank: int | None) -> Settings:
    """The Settings before anything is looked for in data: without a fill value, and with a bound that may still be measured."""
    layers = given["layers"]
    cuts = checked_layer_bounds(given["layer_bounds"], layers)
    one_by_one = {**given, "layers": 1 if cuts else layers}
    numbers: dict[str, Any] = {
        name: checked_option(name, one_by_one[name], rank) for name in _core.OPTIONS if name != "enhance"
    }
    numbers["enhance"] = checked_enhance(given["enhance"], kind, len(cuts) + 1 if cuts else layers or 1)
    check_favour(numbers["favour"], kind, numbers["enhance"])
    mode = _core.MODES["absolute" if kind in MEASURED else kind]
    return Settings(mode, number, layer_bounds=cuts, valid_range=checked_valid_range(given["valid_range"]), **numbers)
