"""One candidate for each array, so that they have the fewest bytes and their effects do not exceed a budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from h5stz.elements import Array

_GRID = 1000  # parts of the budget
_GRID_OF_ARRAY = 50  # more of them for each array, because effects are rounded up


def fewest_bytes(candidates: Sequence[Sequence[tuple[int, float]]], budget: float) -> list[int]:
    """The numbers of the chosen candidates, one for each array.

    Args:
        candidates: (bytes, effect) of each candidate of each array. Effects are 0 or more, and one of each array is 0.
        budget: the largest sum of effects; 0 or more.
    """
    grid = _GRID + _GRID_OF_ARRAY * len(candidates)
    least: Array = np.zeros(grid + 1)  # bytes for each budget, of the arrays so far
    picked: list[tuple[Array, list[int]]] = []
    for options in candidates:
        costs = [_parts(effect, budget, grid) for _, effect in options]
        totals = np.full((len(options), grid + 1), np.inf)
        for row, (size, _), cost in zip(totals, options, costs, strict=True):
            if cost <= grid:
                row[cost:] = least[: grid + 1 - cost] + size
        choice = totals.argmin(axis=0)
        least = totals.min(axis=0)
        picked.append((choice, costs))
    chosen, left = [], grid
    for choice, costs in reversed(picked):
        chosen.append(int(choice[left]))
        left -= costs[chosen[-1]]
    return chosen[::-1]


def _parts(effect: float, budget: float, grid: int) -> int:
    """An effect in parts of the budget, rounded up; more than all of them if it is above the budget."""
    if effect == 0:
        return 0
    return grid + 1 if effect > budget else min(grid, int(np.ceil(effect / budget * grid)))
