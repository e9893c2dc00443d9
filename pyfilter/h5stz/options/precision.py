"""The precision of a read: which precision layers of the streams it uses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, SupportsFloat, SupportsIndex

import numpy as np

from h5stz import _core, validity
from h5stz.elements import Array
from h5stz.errors import StzError, StzTypeError
from h5stz.options.option_checks import checked_count

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_BOUND = _core.ERROR_CODES["STZ_ERROR_BOUND"]


@dataclass(frozen=True)
class Precision:
    """The requested precision: at most one of max_error and layers; neither means full precision.

    Attributes:
        max_error: largest permitted error against the compressed data, in the units of the data.
        layers: number of precision layers; all if a stream has fewer.
        lenient: True reads all layers of streams whose error exceeds max_error, instead of raising an error.
        enhance: True returns enhanced samples if the stream has an enhancement, False the samples without it.
    """

    max_error: float | None = None
    layers: int | None = None
    lenient: bool = False
    enhance: bool = True

    @property
    def is_full(self) -> bool:
        """True if all layers are read."""
        return self.max_error is None and self.layers is None

    def takes_preview(self, info: Mapping[str, Any]) -> bool:
        """True if the preview of a stream with the header `info` satisfies max_error."""
        preview = info["preview_error"]
        return preview is not None and self.max_error is not None and preview <= self.max_error

    @property
    def text(self) -> str:
        """Text for a repr."""
        if self.layers is not None:
            return f", {self.layers} layer{'s' if self.layers > 1 else ''}"
        return "" if self.max_error is None else f", errors up to {self.max_error:g}"

    def error_for(self, info: Mapping[str, Any]) -> float:
        """The error to pass to the reader of a stream with the header `info`; 0: all layers.

        Raises:
            StzError: the error of the stream is known to be larger.
        """
        layers = info["layers"]
        if self.layers is not None:
            if self.layers >= len(layers) or layers[self.layers - 1][1] < 0:
                return 0.0
            earlier = earlier_error(info)
            return float(layers[self.layers - 1][1]) + (earlier if math.isfinite(earlier) else 0.0)
        if self.max_error is None:
            return 0.0
        best = best_error(info)
        if best is None:  # check() tells once all there is was read
            return 0.0
        if best > self.max_error and not self.lenient:
            raise StzError(
                f"max_error={self.max_error:g} is less than what was kept when the data were compressed, errors of up to "
                f"{best:g}: give a max_error of at least that, or none",
                _BOUND,
            )
        return self.max_error

    def check(self, info: Mapping[str, Any], samples: Array) -> None:
        """Checks samples of a stream whose header `info` states no error in the units of the data.

        Raises:
            StzError: the bound permits an error above max_error for one of the samples, or their errors are unknown.
        """
        if self.max_error in (None, math.inf) or self.lenient or best_error(info) is not None:
            return
        self.check_pointwise(max(float(info["bound"]), info["accumulated_bound"] or 0.0), info["mode"], info["fill"], samples)

    def check_pointwise(self, bound: float, mode: int, fill: int | None, samples: Array) -> None:
        """As check(), for a pointwise relative `bound` against the compressed data. Errors of other modes are unknown."""
        assert self.max_error is not None
        if mode != _core.MODES["pointwise_relative"] or bound >= 1:
            raise StzError(
                f"max_error={self.max_error:g}: the data came from another lossy file, and their errors were not "
                "recorded: omit max_error= to read with full precision",
                _BOUND,
            )
        error = validity.absolute_error(bound, np.asarray(samples), () if fill is None else (fill,))
        if error > self.max_error:
            raise StzError(
                f"max_error={self.max_error:g} is less than what was kept: the bound is {bound:g} of each sample, which allows "
                f"errors of up to {error:g} here. Give a max_error of at least that, or none. Data compressed with layers=2 or "
                "more have errors measured in their units",
                _BOUND,
            )


EVERYTHING = Precision()


def earlier_error(info: Mapping[str, Any]) -> float:
    """The error that the samples of a stream had before compression, in the units of the data; infinity: unknown."""
    accumulated = info["accumulated_bound"]
    if accumulated is None or accumulated <= info["relaxed_bound"]:
        return 0.0
    return math.inf if info["mode"] == _core.MODES["pointwise_relative"] else float(accumulated) - float(info["relaxed_bound"])


def whole_error(info: Mapping[str, Any]) -> float | None:
    """The largest error of a stream at full precision, in the units of the data; None if its header does not state it."""
    measured, earlier = float(info["layers"][-1][1]), earlier_error(info)
    if math.isinf(earlier):
        return None
    if 0 <= measured < math.inf:
        return measured + earlier
    if info["mode"] not in (_core.MODES["lossless"], _core.MODES["absolute"]):
        return None
    return float(info["relaxed_bound"]) + earlier


def best_error(info: Mapping[str, Any]) -> float | None:
    """The smallest error with which a stream can be read, as whole_error().

    With pointwise relative bounds, fewer layers may have a smaller largest error than all layers.
    """
    whole = whole_error(info)
    if whole is None:
        return None
    return min(whole, *(float(error) + earlier_error(info) for _, error, _ in info["layers"][:-1] if error >= 0), whole)


def precision_of_environment() -> Precision:
    """The precision in the environment variable H5STZ_MAX_ERROR, for reads without an explicit precision."""
    error = _core.max_error_of_environment()
    return Precision(max_error=error, lenient=True) if error else EVERYTHING


def errors_by_layers(infos: Iterable[Mapping[str, Any]]) -> list[float]:
    """The largest error of several streams with one layer, with two, ... and with all, from their headers.

    For streams with fewer layers, all layers count. Empty if a header does not state the errors, or without streams.
    """
    errors: list[list[float]] = []
    for info in infos:
        whole = whole_error(info)
        if whole is None:
            return []
        errors.append([*(float(error) + earlier_error(info) for _, error, _ in info["layers"][:-1]), whole])
    most = max(map(len, errors), default=0)
    return [max(of_stream[min(layer, len(of_stream) - 1)] for of_stream in errors) for layer in range(most)]


def checked_precision(max_error: SupportsFloat | None, layers: SupportsIndex | None) -> Precision:
    """The Precision from the arguments of a read."""
    if max_error is not None and layers is not None:
        raise StzError("max_error= and layers= exclude each other: give one of them", _ARGUMENT)
    if layers is not None:
        return Precision(layers=checked_count("layers", layers, _core.MAX_LAYERS))
    if max_error is None:
        return EVERYTHING
    try:
        error = float(max_error)
    except (TypeError, ValueError):
        raise StzTypeError(
            f"max_error={max_error!r} must be a number, the largest error in the units of the data", _ARGUMENT
        ) from None
    if not error >= 0:
        raise StzError(f"max_error={error} must be 0 or more, in the units of the data", _BOUND)
    return Precision(max_error=error)
