"""Decimals of few digits, for which fixed-point samples may stand."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from reference_decoder.conventions import require, require_version, rint

PLACES, SIGNIFICANT = 1, 2
MOST_PLACES = 31


@dataclass(frozen=True)
class Decimals:
    """The payload of record 15."""

    kind: int
    digits: int
    lowest: int = 0

    def numbers(self, samples):
        """The decimals of samples, as doubles."""
        if self.kind == PLACES:
            return samples.astype(np.float64) / 10.0**self.digits
        indices = np.clip(rint(samples.astype(np.float64)), -(2**50), 2**50).astype(np.int64)
        distinct, places = np.unique(indices, return_inverse=True)
        return np.array([self._significant(int(k)) for k in distinct])[places].reshape(samples.shape)

    def _significant(self, k):
        """The decimal number k: 0 is the number 0."""
        if k == 0:
            return 0.0
        first = 10 ** (self.digits - 1)
        decade, rest = divmod(abs(k) - 1, 9 * first)
        power = max(-MOST_PLACES, min(MOST_PLACES, self.lowest + decade - self.digits + 1))
        size = float((first + rest) * Fraction(10) ** power)
        return size if k > 0 else -size


def read_decimals(payload):
    """The decimals of a record."""
    kind, digits = payload.integer(1), payload.integer(1)
    require_version(kind in (PLACES, SIGNIFICANT), "kind of decimals")
    if kind == PLACES:
        require(digits <= 22, "places of decimals")
        return Decimals(kind, digits)
    require(1 <= digits <= 15, "significant digits")
    lowest = (payload.integer(1) ^ 0x80) - 0x80
    require(-MOST_PLACES <= lowest <= MOST_PLACES + 15, "lowest exponent")
    return Decimals(kind, digits, lowest)


def require_decimals(header, fixed_point):
    """Raises Damaged unless the header's other fields allow decimals."""
    require(fixed_point and (header.decimals.kind == PLACES or header.step == 1), "decimals: header")
