"""Measures how much loss an analysis notices: `effect`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from h5stz import codec, validity
from h5stz.counts import counted
from h5stz.elements import Array, Real
from h5stz.errors import StzError
from h5stz.options.option_checks import checked_bound, checked_count
from h5stz.progress import Meter, Progress
from h5stz.signatures import checked
from h5stz.tuning.given import ARGUMENT, checked_arrays, checked_function, checked_sequence, number_of, read_back
from h5stz.tuning.tables import Table, short

_MOST_SEEDS = 1_000_000
Score = Callable[[dict[str, Array], int], Any]


@dataclass(frozen=True)
class Effect:
    """What one bound does to a score.

    Attributes:
        relative: the bound over the range of each array; 0.0 for the exact arrays.
        bytes: size of all arrays, each compressed as a whole; for the exact arrays as they are.
        ratio: compression ratio.
        scores: the scores, one for each seed.
        score: their mean.
        spread: their standard deviation; NaN for one seed.
        change: score minus that of the exact arrays, which is computed with the same seeds.
        noticed: True if the change is greater than the spread of the exact arrays; for one seed, if there is a change.
    """

    relative: float
    bytes: int
    ratio: float
    scores: tuple[float, ...]
    score: float
    spread: float
    change: float
    noticed: bool


class Effects(Sequence[Effect]):
    """The rows that `effect` found: an Effect for the exact arrays, then one for each bound, from fine to coarse.

    ``print(effects)`` shows a table, and notebooks show it as HTML.
    """

    def __init__(self, rows: Sequence[Effect]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, index: int) -> Effect: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Effect, ...]: ...

    def __getitem__(self, index: int | slice) -> Effect | tuple[Effect, ...]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def _table(self) -> Table:
        rows = [
            (
                "exact" if not row.relative else f"relative={row.relative:g}",
                f"{row.ratio:.1f}",
                f"{row.score:.6g}",
                short(row.spread),
                short(row.change),
                "noticed" if row.noticed else "",
            )
            for row in self._rows
        ]
        seeds = counted(len(self._rows[0].scores), "seed")
        line = f"score: mean over {seeds}; noticed: the change is greater than the spread of the exact arrays"
        return Table(("bound", "ratio", "score", "spread", "change", ""), rows, [line])

    def __repr__(self) -> str:
        return self._table().text()

    def _repr_html_(self) -> str:
        return self._table().html()


@checked
def effect(
    arrays: Mapping[str, Any],
    score: Score,
    relative: Sequence[Real] = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
    seeds: int = 3,
    *,
    fill_value: Real | Literal[False] | None = None,
    effort: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Effects:
    """Measures how much loss an analysis notices (docs/effect_of_loss.md).

    The score is computed for the exact arrays and for each bound, with the same seeds. The first row has the score of the exact
    arrays and its spread over the seeds: what chance alone does to the score. A change below it goes unnoticed.

    Args:
        arrays: {name: array}. Arrays are of any shape and of the dtypes of `compress`, in memory, also masked ones. Integers
            stay exact, as do arrays without finite numbers.
        score: function of such a dict and a seed (0, 1, ...) that returns a finite number in any unit: it trains, simulates or
            computes with the arrays, and takes all chance from the seed. It must not change the arrays.
        relative: bounds over the range of each array, above 0.
        seeds: number of seeds. One is enough if the score depends on no chance.
        fill_value, effort, threads: as for `compress`.
        progress: called as ``progress("relative=0.001", done, total)`` after each call of `score`, with a measure of the work
            in bytes of arrays; for the exact arrays the name is "exact". If it raises an exception, the call ends with it.

    Returns:
        Effects: a sequence of Effect, whose ``print`` is a table.

    Raises:
        StzError: (a ValueError) a score is not finite (the message names the bound and the seed), or an argument is out of
            range.
        StzTypeError: (also a TypeError) an array has a dtype that cannot be compressed, or the score is no number.
        Any exception of `score` or `progress`.
    """
    given = checked_arrays(arrays)
    checked_function("score", score)
    count = checked_count("seeds", seeds, _MOST_SEEDS)
    bounds = sorted({checked_bound({"relative": each}, False)[1] for each in checked_sequence("relative", relative)})
    if not bounds or not bounds[0]:
        raise StzError("relative= must have bounds above 0, such as (1e-4, 1e-2): the exact arrays come first anyway", ARGUMENT)
    options = {"fill_value": fill_value, "effort": effort, "threads": threads}
    size = sum(array.nbytes for array in given.values())
    meter = Meter(progress, (1 + len(bounds)) * size)
    exact = _scores(score, given, "exact", count, size, meter)
    rows = [_row(0.0, size, size, exact, exact)]
    for bound in bounds:
        stored, decoded = _with_loss(given, bound, options)
        rows.append(_row(bound, size, stored, _scores(score, decoded, f"relative={bound:g}", count, size, meter), exact))
    return Effects(rows)


def _scores(score: Score, arrays: Mapping[str, Array], name: str, count: int, size: int, meter: Meter) -> tuple[float, ...]:
    """The scores of arrays, which have been made with a bound that `name` tells, for all seeds."""
    found: list[float] = []
    with meter.share(name, size) as add:
        for seed in range(count):
            what = f"score of the arrays ({name}, seed {seed})"
            number = number_of(score(dict(arrays), seed), what, "return a finite number")
            if math.isinf(number):
                raise StzError(f"{what} is {number}: return a finite number", ARGUMENT)
            found.append(number)
            add(size // count)
    return tuple(found)


def _with_loss(arrays: Mapping[str, Array], bound: float, options: Mapping[str, Any]) -> tuple[int, dict[str, Array]]:
    """Bytes of the compressed arrays, and the arrays as readers have them."""
    stored, decoded = 0, {}
    for name, array in arrays.items():
        exact = array.dtype.kind in "iub" or not validity.numbers(array).size
        given = {**options, "fill_value": None} if array.dtype.kind in "iub" else options
        try:
            stream = codec.compress(array, **({"lossless": True} if exact else {"relative": bound}), **given)
        except StzError as error:
            raise error.within(repr(name)) from None
        stored += len(stream)
        decoded[name] = array if exact else read_back(stream, array, options["threads"])
    return stored, decoded


def _row(bound: float, size: int, stored: int, scores: tuple[float, ...], exact: tuple[float, ...]) -> Effect:
    score, of_exact = statistics.fmean(scores), statistics.fmean(exact)
    several = len(scores) > 1
    change = score - of_exact
    return Effect(
        relative=bound,
        bytes=stored,
        ratio=size / stored if stored else 1.0,
        scores=scores,
        score=score,
        spread=statistics.stdev(scores) if several else math.nan,
        change=change,
        noticed=abs(change) > (statistics.stdev(exact) if several else 0.0),
    )
