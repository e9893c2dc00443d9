"""Floating-point types: their fields, and numbers rounded to those of fewer than 32 bits."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Floats:
    """A floating-point type: e exponent bits, m mantissa bits."""

    e: int
    m: int
    has_infinity: bool = True

    @property
    def is_short(self):
        """Whether it is a short float."""
        return 1 + self.e + self.m < 32

    @property
    def sign(self):
        """The bit of the sign."""
        return 1 << self.e + self.m

    @property
    def first_special(self):
        """The first magnitude that is no number."""
        return self.sign - (1 << self.m) if self.has_infinity else self.sign - 1

    @property
    def bias(self):
        """What is added to exponents."""
        return 2 ** (self.e - 1) - 1

    @property
    def largest(self):
        """The largest number."""
        return float(self.numbers(np.array(self.first_special - 1)))

    def numbers(self, words):
        """The finite numbers of words as doubles."""
        magnitudes = words.astype(np.int64) & self.sign - 1
        exponents, mantissas = magnitudes >> self.m, magnitudes & (1 << self.m) - 1
        digits = np.where(exponents > 0, mantissas + (1 << self.m), mantissas)
        found = np.ldexp(digits.astype(np.float64), np.maximum(exponents, 1) - self.bias - self.m)
        return np.where(words & self.sign, -found, found)

    def rounded(self, numbers):
        """Doubles rounded to numbers of the type (ties to even); beyond them infinity, or the largest number."""
        _, exponents = np.frexp(numbers)
        unit = np.maximum(exponents - 1, 1 - self.bias) - self.m
        found = np.ldexp(np.rint(np.ldexp(numbers, -unit)), unit)
        beyond = np.inf if self.has_infinity else self.largest
        found = np.where(np.abs(found) > self.largest, np.copysign(beyond, numbers), found)
        return np.where(np.isnan(numbers), numbers, found)

    def quiet(self, numbers):
        """What the mantissa of a quiet NaN has: the upper bits of that of a double."""
        if not self.has_infinity:
            return 0
        upper = (np.ascontiguousarray(numbers, np.float64).view(np.int64) & (1 << 52) - 1) >> 52 - self.m
        return upper | 1 << self.m - 1

    def words(self, numbers):
        """The bits of doubles that are numbers of the type or infinite."""
        magnitudes = np.abs(numbers)
        _, exponents = np.frexp(magnitudes)
        unit = np.maximum(exponents - 1, 1 - self.bias)
        digits = np.ldexp(magnitudes, self.m - unit)
        normal = digits >= 1 << self.m
        found = np.where(normal, (unit + self.bias - 1 << self.m) + digits, digits)
        found = np.where(np.isfinite(magnitudes), found, self.first_special).astype(np.int64)
        found |= np.where(np.isnan(numbers), self.quiet(numbers), 0)
        return np.where(np.signbit(numbers), found | self.sign, found).astype(f"u{(self.e + self.m + 1) // 8}")


FLOATS = {
    "f2": Floats(5, 10),
    "f4": Floats(8, 23),
    "f8": Floats(11, 52),
    "bfloat16": Floats(8, 7),
    "float8_e4m3fn": Floats(4, 3, has_infinity=False),
    "float8_e5m2": Floats(5, 2),
}
