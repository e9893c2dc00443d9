"""The candidates of one array: bounds from fine to coarse, which are compressed when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from h5stz import codec, elements, validity
from h5stz.counts import counted
from h5stz.elements import Array
from h5stz.errors import StzError
from h5stz.options.option_checks import checked_number
from h5stz.options.stz import STZ
from h5stz.tuning.given import read_back

#: Fractions of the standard deviation, from 1e-6 to 1. Two of them cost a bit per sample, or less.
LADDER = tuple(2 ** (-half / 2) for half in range(40, -1, -1))
_START = 1 / 8  # the fraction that is tried first
_LEAP = 4  # fractions, where the effect is far from the budget
#: A metric that does not notice errors of this fraction does not use the array.
_NOTICED = 0.5


@dataclass(frozen=True)
class Candidate:
    """A bound for an array, and what it does.

    Attributes:
        options: the bound.
        fraction: the bound over the standard deviation; for bounds relative to each sample the bound itself. 0.0: lossless.
        bytes: size of the stream.
        effect: rise of the metric while all other arrays are exact, or the rise at a finer bound if that is greater.
        stream: the compressed array; None: it is exact.
    """

    options: STZ
    fraction: float
    bytes: int
    effect: float
    stream: elements.BytesLike | None


class Ladder:
    """The bounds of one array.

    Attributes:
        exact: the candidate without loss.
        fractions: the bounds in units of the standard deviation, rising. Empty if the array stays lossless.
        reason: why it stays lossless; "" otherwise.
    """

    def __init__(
        self,
        name: str,
        array: Array,
        fractions: Sequence[float],
        *,
        pointwise: bool,
        smallest: int,
        options: Mapping[str, Any],
    ) -> None:
        self.name, self.array, self._options = name, array, dict(options)
        self._kind = "pointwise_relative" if pointwise else "absolute"
        self.fractions: Sequence[float] = ()
        self._unit = 1.0
        self.reason = self._look(pointwise, smallest)
        if not self.reason:
            self.fractions = [each for each in fractions if each < 1 or not pointwise]
        self.exact = Candidate(STZ(lossless=True), 0.0, len(self._compressed(lossless=True)), 0.0, None)

    def _look(self, pointwise: bool, smallest: int) -> str:
        """Finds the missing samples and the standard deviation of the others; returns why the array stays lossless, or ""."""
        if self.array.dtype.kind in "iub":
            self._options["fill_value"] = None  # which is for the others
            return "integers"
        if self.array.size < smallest:
            return f"fewer than {counted(smallest, 'sample')}"
        given = self._options["fill_value"]
        try:
            bits = None
            if given is not None and given is not False:
                bits = elements.fill_bits(checked_number("fill_value", given), self.array.dtype)
            if not validity.numbers(self.array, () if bits is None else (bits,)).size:
                return "no finite numbers"
            found = STZ(relative=1.0, data=self.array, fill_value=given).resolved
        except StzError as error:
            raise error.within(repr(self.name)) from None
        if found.fill_value is not None:
            self._options["fill_value"] = found.fill_value
        fill = found.settings.fill
        values = validity.numbers(self.array, () if fill is None else (fill,))
        deviation = _standard_deviation(values)
        self._unit = 1.0 if pointwise else deviation
        return "" if deviation else "all numbers are equal"

    def _compressed(self, **bound: Any) -> bytes:
        try:
            return codec.compress(self.array, **bound, **self._options)
        except StzError as error:
            raise error.within(repr(self.name)) from None

    def at(self, index: int) -> Candidate:
        """The candidate of a fraction, without an effect yet."""
        bound: dict[str, Any] = {self._kind: self.fractions[index] * self._unit}
        stream = self._compressed(**bound)
        fill = self._options["fill_value"]
        without = fill is None or fill is False
        options = STZ(**bound) if without else STZ(**bound, fill_value=fill, dtype=self.array.dtype)
        return Candidate(options, self.fractions[index], len(stream), 0.0, stream)

    def decoded(self, candidate: Candidate) -> Array:
        """The array as a reader will have it."""
        if candidate.stream is None:
            return self.array
        return read_back(candidate.stream, self.array, self._options["threads"])

    def measured(self, rise: Callable[[Candidate], float], budget: float, floor: float) -> list[Candidate]:
        """The candidates within the budget, from fine to coarse; the exact one is the first.

        Args:
            rise: measures the effect of a candidate of this array.
            budget: largest effect of interest.
            floor: effects below it do not matter, so that no finer bounds are needed.
        """
        tried: dict[int, Candidate] = {}

        def effect(index: int) -> float:
            if index not in tried:
                candidate = self.at(index)
                tried[index] = replace(candidate, effect=rise(candidate))
            return tried[index].effect

        if self.fractions:
            start = next((at for at, each in enumerate(self.fractions) if each >= _START), len(self.fractions) - 1)
            _climb(effect, len(self.fractions), start, budget, floor)
            if self._is_unnoticed(tried):
                self.reason = "the metric does not use it"
                return [self.exact]
        found, worst = [self.exact], 0.0
        for _, candidate in sorted(tried.items()):
            worst = max(worst, candidate.effect)  # a coarse bound that helps by luck costs what finer ones cost
            if worst <= budget:
                found.append(replace(candidate, effect=worst))
        return found

    def _is_unnoticed(self, tried: dict[int, Candidate]) -> bool:
        """True if the metric is the same although the array is another one."""
        coarsest = tried[max(tried)]
        if coarsest.fraction < _NOTICED or any(each.effect for each in tried.values()):
            return False
        return not np.array_equal(np.asarray(self.decoded(coarsest)), np.asarray(self.array), equal_nan=True)


def _climb(effect: Callable[[int], float], count: int, start: int, budget: float, floor: float) -> None:
    """Measures the effects that matter, of bounds 0, 1, ... that get coarser: from about `floor` to above `budget`."""
    fine = start
    while effect(fine) > budget and fine > 0:
        fine = max(0, fine - _LEAP)
    if effect(fine) > budget:
        return
    while fine + _LEAP < count and effect(fine) <= floor and effect(fine + _LEAP) <= floor:
        fine += _LEAP
    coarse = fine
    while coarse + 1 < count and effect(coarse) <= budget:
        coarse += 1
    effect(coarse)
    while fine > 0 and max(effect(fine), effect(fine - 1)) > floor:  # one may be small by luck
        fine -= 1


def _standard_deviation(values: Array) -> float:
    """Of floating-point numbers, also of those near the ends of float64."""
    largest = float(np.abs(values).max())
    return float(np.std(values.astype("f8") / largest)) * largest if largest else 0.0
