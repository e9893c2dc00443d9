"""Bounds chosen by their measured effect: `choose_bounds`.

As in DeepSZ (Jin et al., 2019), but for any arrays and any metric. The effect of each array is measured alone, for bounds from
fine to coarse. A knapsack then chooses a bound for each, and the effect of all together is measured. Effects do not add up
exactly, so the search ends where the measured one fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

from h5stz import _core
from h5stz.elements import Array, Real
from h5stz.errors import StzError
from h5stz.options.option_checks import checked_number
from h5stz.progress import Meter, Progress
from h5stz.signatures import checked
from h5stz.tuning.chosen import ChosenBound, ChosenBounds, Judgement, StzBudgetError
from h5stz.tuning.given import ARGUMENT, checked_arrays, checked_function, checked_names, checked_sequence, number_of
from h5stz.tuning.knapsack import fewest_bytes
from h5stz.tuning.ladder import LADDER, Candidate, Ladder

_BOUND = _core.ERROR_CODES["STZ_ERROR_BOUND"]
_SHARE = 4  # effects below the budget over the number of searched arrays, and over this, do not matter
_STEPS = 16  # of the progress of an array
_TOGETHER = 10  # times that all arrays are judged together
_REPEATS = 100  # two calls for the same arrays differ by less than the budget over this

Metric = Callable[[dict[str, Array]], Any]


@checked
def choose_bounds(
    arrays: Mapping[str, Any],
    metric: Metric,
    budget: Real,
    *,
    verify: Metric | None = None,
    aim: Real = 0.7,
    ladder: Sequence[float] = LADDER,
    smallest: int = 1024,
    pointwise: Collection[str] = (),
    fill_value: Real | Literal[False] | None = None,
    effort: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> ChosenBounds:
    """Chooses a bound for each of several arrays by what the bounds do to a metric (docs/choosing_by_effect.md).

    Suits weights of a network, variables of a file, or any other arrays from which a number is computed. The same arguments
    give the same bounds. Arrays of integers, those without finite numbers or with equal ones, small ones, and those that
    `metric` does not use stay lossless; the table says so.

    Args:
        arrays: {name: array}. Arrays are of any shape and of the dtypes of `compress`, in memory, also masked ones.
        metric: function of such a dict, in which some arrays are decompressed ones, that returns a number in any unit; smaller
            is better. It must not change the arrays. It returns infinity for what is not acceptable.
        budget: how much the metric may rise, in its unit; above 0.
        verify: another metric, for data that `metric` does not look at. It is called twice, and its rise must be within the
            budget too. None: nobody knows if the bounds suit other data.
        aim: the part of the budget that the search may use on its own data, above 0, at most 1. Other data need the rest:
            bounds that are chosen on some data are better there than elsewhere.
        ladder: bounds to try, as fractions of the standard deviation of the valid numbers of each array; above 0.
        smallest: arrays of fewer samples stay lossless.
        pointwise: names of arrays for which the fractions are bounds relative to each sample. Zeros and signs are then exact,
            which numbers need that must not become negative: densities, second moments of Adam.
        fill_value, effort, threads: as for `compress`.
        progress: called as ``progress(name, done, total)`` after each call of `metric`, with a measure of the work in bytes
            of arrays; name is "" while all arrays are judged together. If it raises an exception, the call ends with it.

    Returns:
        ChosenBounds: a mapping {name: STZ} with a table of bounds, bits per sample and effects.

    Raises:
        StzBudgetError: (a StzError) `verify` rises by more than the budget. The attribute `chosen` has the result.
        StzError: (a ValueError) `metric` is NaN (the message names the array and the bound), or differs between two calls
            with the same arrays; an argument is out of range.
        StzTypeError: (also a TypeError) an array has a dtype that cannot be compressed, or a metric returns no number.
        Any exception of `metric`, `verify` or `progress`.
    """
    given = checked_arrays(arrays)
    relative_to_samples = checked_names("pointwise", pointwise, given)
    target = _positive("aim", aim, 1.0) * _positive("budget", budget)
    fractions = _checked_ladder(ladder)
    checked_function("metric", metric)
    if verify is not None:
        checked_function("verify", verify)
    options = {"fill_value": fill_value, "effort": effort, "threads": threads}
    ladders = {
        name: Ladder(name, array, fractions, pointwise=name in relative_to_samples, smallest=smallest, options=options)
        for name, array in given.items()
    }
    judge = _Judge("metric", metric, given, ladders)
    judge.check_repeats(float(budget))
    total = sum(array.nbytes for array in given.values())
    meter = Meter(progress, 2 * total)
    floor = target / (_SHARE * max(1, sum(1 for each in ladders.values() if each.fractions)))
    measured = {name: _measured(judge, one, target, floor, meter) for name, one in ladders.items()}
    with meter.share("", total) as add:
        picked, found = _together(judge, measured, target, lambda: add(total // _TOGETHER))
    rows = tuple(_row(ladders[name], candidate) for name, candidate in picked.items())
    judged = None
    if verify is not None:
        other = _Judge("verify", verify, given, ladders)
        judged = Judgement(other.exact, other.of(picked))
    chosen = ChosenBounds(rows, float(budget), Judgement(judge.exact, found), judged, judge.calls)
    _check_verified(chosen)
    return chosen


def _positive(name: str, value: object, largest: float = math.inf) -> float:
    number = float(checked_number(name, value))
    if not (0 < number <= largest and math.isfinite(number)):
        up_to = "" if math.isinf(largest) else f" and at most {largest:g}"
        raise StzError(f"{name}={number!r} must be above 0{up_to}", ARGUMENT)
    return number


def _checked_ladder(ladder: Sequence[float]) -> list[float]:
    """The fractions, rising."""
    fractions = sorted({_positive("ladder", each) for each in checked_sequence("ladder", ladder)})
    if not fractions:
        raise StzError("ladder= has no numbers: give fractions of the standard deviation, such as (0.01, 0.1, 1)", ARGUMENT)
    return fractions


class _Judge:
    """A metric, its value for the exact arrays, and the values for sets of candidates."""

    def __init__(self, name: str, metric: Metric, arrays: Mapping[str, Array], ladders: Mapping[str, Ladder]) -> None:
        self._name, self._metric, self._arrays, self._ladders = name, metric, arrays, ladders
        self.calls = 0
        self.exact = self._value({}, "the exact arrays")
        if not math.isfinite(self.exact):
            raise StzError(f"{name} of the exact arrays is {self.exact}: give one that is finite for them", ARGUMENT)

    def _value(self, candidates: Mapping[str, Candidate], what: str) -> float:
        decoded = {name: self._ladders[name].decoded(candidate) for name, candidate in candidates.items()}
        self.calls += 1
        found = self._metric({**self._arrays, **decoded})
        remedy = (
            "leave the array out of arrays and let the function use it itself, name it in pointwise= if its numbers must keep "
            "their sign, or return math.inf where a loss is not acceptable"
        )
        return number_of(found, f"{self._name} of {what}", remedy if candidates else "give one that is finite for them")

    def check_repeats(self, budget: float) -> None:
        """Raises StzError if a second call with the exact arrays gives another number."""
        again = self._value({}, "the exact arrays")
        if not abs(again - self.exact) <= budget / _REPEATS:
            raise StzError(
                f"{self._name} of the exact arrays is {self.exact!r} in one call and {again!r} in the next: let it use the "
                "same random numbers in each call, and not change the arrays",
                ARGUMENT,
            )

    def of(self, candidates: Mapping[str, Candidate]) -> float:
        """The value with the candidates of these arrays; the other arrays are exact."""
        lossy = {name: each for name, each in candidates.items() if each.stream is not None}
        if not lossy:
            return self.exact
        bounds = ", ".join(f"{name!r} at {each.options}" for name, each in lossy.items())
        return self._value(lossy, bounds if len(lossy) == 1 else f"all arrays together ({bounds})")


def _measured(judge: _Judge, ladder: Ladder, target: float, floor: float, meter: Meter) -> list[Candidate]:
    """The candidates of an array with their effects."""
    with meter.share(ladder.name, ladder.array.nbytes) as add:

        def rise(candidate: Candidate) -> float:
            found = max(0.0, judge.of({ladder.name: candidate}) - judge.exact)
            add(ladder.array.nbytes // _STEPS)
            return found

        return ladder.measured(rise, target, floor)


def _together(
    judge: _Judge, measured: Mapping[str, list[Candidate]], target: float, step: Callable[[], None]
) -> tuple[dict[str, Candidate], float]:
    """A candidate for each array, the fewest bytes of those sets that were found to fit; and the metric with them."""
    sizes = [[(each.bytes, each.effect) for each in candidates] for candidates in measured.values()]
    best = {name: candidates[0] for name, candidates in measured.items()}
    fits, too_much, planned = 0.0, math.inf, target
    values: dict[tuple[int, ...], float] = {}
    value = judge.exact
    for _ in range(_TOGETHER):
        picked = tuple(fewest_bytes(sizes, planned))
        chosen = {name: candidates[at] for (name, candidates), at in zip(measured.items(), picked, strict=True)}
        if picked not in values:
            values[picked] = judge.of(chosen)
            step()
        if values[picked] - judge.exact <= target:
            fits = planned
            if _bytes(chosen) <= _bytes(best):
                best, value = chosen, values[picked]
        else:
            too_much = planned
        planned = 2 * planned if math.isinf(too_much) else (fits + too_much) / 2
    return best, value


def _bytes(candidates: Mapping[str, Candidate]) -> int:
    return sum(candidate.bytes for candidate in candidates.values())


def _row(ladder: Ladder, candidate: Candidate) -> ChosenBound:
    array = ladder.array
    return ChosenBound(
        name=ladder.name,
        options=candidate.options,
        fraction=candidate.fraction,
        samples=array.size,
        array_bytes=array.nbytes,
        bytes=candidate.bytes,
        effect=candidate.effect,
        reason=ladder.reason,
    )


def _check_verified(chosen: ChosenBounds) -> None:
    """Raises StzBudgetError if the data that the search has not seen suffer more than they may."""
    if chosen.verify is None or chosen.verify.rise <= chosen.budget:
        return
    error = StzBudgetError(
        f"verify rises by {chosen.verify.rise:.3g}, more than the budget of {chosen.budget:g}, although metric rises by only "
        f"{chosen.search.rise:.3g}: the bounds suit the data of metric better than others. Let metric look at more data of the "
        "kind that verify has, or give a smaller aim=. The attribute `chosen` of this error has the bounds and their table",
        _BOUND,
    )
    error.chosen = chosen
    raise error
