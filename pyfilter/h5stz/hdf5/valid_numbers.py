"""Finds the range of valid numbers that the CF attributes of a variable name: valid_range, or valid_min and valid_max."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def valid_range(attribute: Callable[[str], Any]) -> tuple[float | None, float | None] | None:
    """The smallest and the largest valid number as the file stores them, for the option of STZ. None: nothing is known.

    `attribute`: returns the value of an attribute, or None.
    """
    both = _numbers(attribute("valid_range"))
    low, high = both if len(both) == 2 else (_one(attribute("valid_min")), _one(attribute("valid_max")))
    if low is None and high is None:
        return None
    return None if low is not None and high is not None and not low < high else (low, high)


def _numbers(value: Any) -> tuple[float, ...]:
    numbers = np.ravel(np.asarray(value))
    return tuple(float(number) for number in numbers) if numbers.dtype.kind in "iuf" and np.all(np.isfinite(numbers)) else ()


def _one(value: Any) -> float | None:
    numbers = _numbers(value)
    return numbers[0] if len(numbers) == 1 else None
