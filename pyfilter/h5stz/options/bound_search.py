"""Finds an absolute bound with a wanted property that decreases as the bound grows, such as PSNR or size.

The property is measured and may jump where the encoder decides differently. A bracket is narrowed by the secant rule in
log(bound). If it closes on a jump, bounds around it are tried.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

#: From a bound to the lowest level of any way to store the data, and how much higher the highest one is.
Measure: TypeAlias = Callable[[float], tuple[float, float]]

_ROUNDS = 14
# A bracket that closes on a jump leaves other bounds to try: those around it within a factor of _AROUND, the nearest first and
# closest together.
_AROUND = 1.5


@dataclass(frozen=True)
class Tried:
    """A bound, its level, and the distance of the level above the target."""

    bound: float
    level: float
    excess: float


@dataclass(frozen=True)
class Window:
    """The wanted levels: target + [0, width]. The search stops `margin` inside of that.

    If measurements of one bound differ by nearly `width` or more, the lowest must be within `narrowest` of the target.
    `per_decade`: approximate decrease of the level when the bound grows tenfold.
    """

    target: float
    width: float
    margin: float
    narrowest: float
    per_decade: float

    def has(self, lowest: float, spread: float) -> bool:
        """True if all levels from `lowest` to `lowest` + `spread` are wanted."""
        return lowest >= self.target and lowest + spread <= self.target + self.width


class BoundSearch:
    """Brackets the window, narrows the bracket, then tries bounds around it.

    Attributes:
        better, worse: the nearest tried bounds on either side of the target.
    """

    def __init__(self, window: Window, largest: float) -> None:
        self.window = window
        self.largest = largest  # the range of the data: hardly any error is larger
        self.better: Tried | None = None
        self.worse: Tried | None = None

    def restart(self) -> None:
        """Forgets the tried bounds."""
        self.better = self.worse = None

    def narrow(self, bound: float, measure: Measure) -> float | None:
        """A bound whose levels are in the window, from an initial guess; None if the bracket closed without one."""
        allowed = None
        margin = self.window.margin
        for _ in range(_ROUNDS):
            lowest, spread = measure(bound)
            most = max(self.window.width - spread - margin, margin + self.window.narrowest)
            above = lowest - self.window.target
            if margin <= above <= most:
                return bound
            if self.window.has(lowest, spread):
                allowed = bound
            excess = above - (margin + most) / 2
            if excess > 0:
                self.better = Tried(bound, lowest, excess)
            else:
                self.worse = Tried(bound, lowest, excess)
            following = self._next(bound)
            if following is None:
                break
            bound = following
        return allowed

    def below(self, exact: float, measure: Measure) -> float | None:
        """A bound in the window below all tried bounds, which were too large; None if there is none.

        If a few samples are much larger than all others, such bounds are a tiny fraction of the range.

        Args:
            exact: the level of lossless compression, above the window.
        """
        assert self.worse is not None
        low, high = math.log(sys.float_info.min), math.log(self.worse.bound)
        excess = exact - self.window.target - self.window.width / 2
        self.better = Tried(sys.float_info.min, exact, excess)
        return self.narrow(math.exp((low + high) / 2), measure) or self.probe(_ROUNDS, measure)

    def probe(self, count: int, measure: Measure) -> float | None:
        """The nearest of up to 2 `count` bounds around a closed bracket whose levels are in the window, or None."""
        if self.better is None or self.worse is None:
            return None
        jump = math.sqrt(self.better.bound) * math.sqrt(self.worse.bound)
        for number in range(1, count + 1):
            for share in ((number / count) ** 2, -((number / count) ** 2)):
                bound = float(jump * _AROUND**share)
                if self.window.has(*measure(bound)):
                    return bound
        return None

    def _next(self, bound: float) -> float | None:
        """The bound to try after `bound`; None if the bracket is closed."""
        if self.better is None or self.worse is None:
            tried = self.better or self.worse
            assert tried is not None
            # What is infinite, and plateaus, say only in which direction to go.
            step = 10 ** max(-2.0, min(2.0, tried.excess / self.window.per_decade))
            following = bound * max(step, 1.05) if self.better else bound * min(step, 1 / 1.05)
            # No error exceeds the range by much, and the codec takes a bound below the last bit for lossless.
            return following if self.largest * 1e-18 < following < 4 * self.largest else None
        low, high = math.log(self.better.bound), math.log(self.worse.bound)
        if high - low < 1e-6:
            return None
        above, below = self.better.excess, self.worse.excess
        share = above / (above - below) if math.isfinite(above) else 0.5
        return math.exp(low + (high - low) * min(max(share, 0.1), 0.9))
