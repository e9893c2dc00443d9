"""What `choose_bounds` returns: an STZ for each array and the table of what the bounds do; and its error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from h5stz.counts import counted
from h5stz.errors import StzError
from h5stz.options.stz import STZ
from h5stz.tuning.tables import Table, short


@dataclass(frozen=True)
class ChosenBound:
    """The bound of one array.

    Attributes:
        name: name of the array.
        options: the bound as an STZ.
        fraction: the absolute bound over the standard deviation of the valid numbers; the bound itself if it is relative to
            each sample; 0.0 if the array stays lossless.
        samples, array_bytes, bytes: number of samples, size of the array, and size of it compressed as a whole.
        effect: rise of the metric by this bound while all other arrays are exact. If a finer bound raised the metric more, it
            is that rise. 0.0 if the array stays lossless.
        reason: why the array was not searched and stays lossless; "" otherwise.
    """

    name: str
    options: STZ
    fraction: float
    samples: int
    array_bytes: int
    bytes: int
    effect: float
    reason: str

    @property
    def bits(self) -> float:
        """Bits per sample."""
        return 8 * self.bytes / self.samples if self.samples else 0.0


@dataclass(frozen=True)
class Judgement:
    """A metric of the exact arrays, and of the arrays with all chosen bounds.

    Attributes:
        exact, chosen: values of the metric.
    """

    exact: float
    chosen: float

    @property
    def rise(self) -> float:
        """chosen - exact."""
        return self.chosen - self.exact


@dataclass(frozen=True, repr=False)
class ChosenBounds(Mapping[str, STZ]):
    """The bounds that `choose_bounds` found: a mapping from the names of the arrays to STZ objects.

    ``file.create_dataset(name, data=array, chunks=True, **chosen[name])`` uses one. ``print(chosen)`` shows a table: the bound
    of each array, bits per sample and effect, and the rise of the metric with all bounds together, on the data of the search
    and on those of `verify`. Notebooks show it as HTML.

    Attributes:
        rows: a ChosenBound for each array.
        budget: the permitted rise of the metric.
        search: the Judgement of `metric`.
        verify: the Judgement of `verify`; None if it was not given.
        evaluations: number of calls of `metric`.
    """

    rows: tuple[ChosenBound, ...]
    budget: float
    search: Judgement
    verify: Judgement | None
    evaluations: int

    def __getitem__(self, name: str) -> STZ:
        for row in self.rows:
            if row.name == name:
                return row.options
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (row.name for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def array_bytes(self) -> int:
        """Size of all arrays."""
        return sum(row.array_bytes for row in self.rows)

    @property
    def bytes(self) -> int:
        """Size of all arrays, each compressed as a whole."""
        return sum(row.bytes for row in self.rows)

    @property
    def bits(self) -> float:
        """Bits per sample of all arrays together."""
        samples = sum(row.samples for row in self.rows)
        return 8 * self.bytes / samples if samples else 0.0

    @property
    def ratio(self) -> float:
        """Compression ratio: array_bytes / bytes."""
        return self.array_bytes / self.bytes if self.bytes else 1.0

    def _tables(self) -> tuple[Table, Table]:
        rows = [
            (
                row.name,
                str(row.samples),
                _bound(row.options),
                short(row.fraction),
                f"{row.bits:.2f}",
                short(row.effect),
                row.reason,
            )
            for row in self.rows
        ]
        samples = sum(row.samples for row in self.rows)
        rows.append(("all", str(samples), "", "", f"{self.bits:.2f}", short(self.search.rise), f"ratio {self.ratio:.1f}"))
        judged = [("search", self.search), *([("verify", self.verify)] if self.verify else [])]
        lines = [f"{counted(self.evaluations, 'call')} of metric"]
        if self.verify is None:
            lines.append("No verify= was given: the rise on data that the search has not seen is unknown.")
        return (
            Table(("array", "samples", "bound", "of deviation", "bits/sample", "effect", ""), rows),
            Table(
                ("data of", "exact", "chosen", "rise", "budget"),
                [(f"{n}", f"{j.exact:.6g}", f"{j.chosen:.6g}", short(j.rise), short(self.budget)) for n, j in judged],
                lines,
            ),
        )

    def __str__(self) -> str:
        return "\n\n".join(table.text() for table in self._tables())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(table.html() for table in self._tables())


def _bound(options: STZ) -> str:
    """The bound with few digits."""
    name, bound = next(iter(options.get_config().items()))
    return name if bound is True else f"{name}={short(bound)}"


class StzBudgetError(StzError):
    """The chosen bounds raise `verify` by more than the budget.

    Attributes:
        chosen: the ChosenBounds.
    """

    chosen: ChosenBounds

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.code), {"chosen": self.chosen}
