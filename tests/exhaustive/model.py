"""What a reader must find in a dataset that a program has written: the values that were written last, within the bound."""

import numpy as np

from exhaustive import promises
from support import exact


def draw_chunks(source, shape):
    """A chunk shape: all of an axis, or a part, which need not divide it."""
    return tuple(max(1, -(-n // source.pick([1, 1, 1, 2, 3]))) for n in shape)


def draw_part(source, shape):
    """Slices of a part of an array."""
    kind = source.pick(["all", "box", "box", "steps", "planes"])
    if kind == "all" or not shape:
        return (slice(None),) * len(shape)
    if kind == "planes":
        axis = source.between(0, len(shape) - 1)
        first = source.between(0, shape[axis] - 1)
        return (
            (slice(None),) * axis
            + (slice(first, source.between(first + 1, shape[axis])),)
            + (slice(None),) * (len(shape) - axis - 1)
        )
    part = []
    for extent in shape:
        first = source.between(0, extent - 1)
        part.append(slice(first, source.between(first + 1, extent), source.between(1, 3) if kind == "steps" else 1))
    return tuple(part)


class Model:
    """The values of one dataset.

    Attributes:
        values: as they were written last.
        defined: which of them are known at all.
        signs: those of all numbers that were ever written.
    """

    def __init__(self, shape, dtype, options, fill=None, fills=True):
        """`fill`: what samples hold that nobody wrote, None: zero; `fills`: whether they do."""
        self.dtype, self.options, self.fill, self.fills = np.dtype(dtype), options, fill, fills
        self.values, self.defined = self._empty(shape)
        self.signs = np.array([])

    def _empty(self, shape):
        return np.full(shape, 0 if self.fill is None else self.fill, self.dtype), np.full(shape, self.fills)

    def wrote(self, part, values):
        """Keeps what was written."""
        self.values[part], self.defined[part] = values, True
        with np.errstate(invalid="ignore"):  # signalling NaN
            self.signs = np.union1d(self.signs, np.sign(exact.components(self.values[part]).astype("f8")))

    def resize(self, shape):
        """Cuts planes off, or adds planes that nobody wrote."""
        values, defined = self._empty(shape)
        common = tuple(slice(0, min(pair)) for pair in zip(self.values.shape, shape, strict=True))
        values[common], defined[common] = self.values[common], self.defined[common]
        self.values, self.defined = values, defined

    def missing(self):
        """The number that the filter takes for that of missing samples, or None."""
        given = self.options.get("fill_value")
        fill = self.fill if given is None or given is False else given
        return None if fill is None or self.dtype.kind == "c" or not np.isfinite(fill) else fill

    def judge(self, tally, found, what, part=...):
        """Violation unless what was read keeps all promises."""
        defined = self.defined[part]
        expected, found = self.values[part][defined], np.asarray(found)[defined]
        bound = self.options.get("absolute", self.options.get("pointwise_relative", 0.0))
        if promises.kept_bits(self.options, self.dtype):
            bound = 0.0
        elif self.options.get("enhance") in ("relaxed", "both"):
            bound = promises.RELAXED * promises.Fraction(bound)
        tally.within(expected, found, bound, what, "pointwise_relative" in self.options, given=[expected, self.signs])
        if self.missing() is not None:
            tally.fill_values(expected, found, self.missing(), what)
        if self.options.get("keep_zeros"):
            tally.zeros(expected, found, what)


class Kept(Model):
    """A Model that also keeps the bits that readers of the file have found, of samples that nobody has written since."""

    def __init__(self, *given):
        super().__init__(*given)
        self.found, self.known = self.values.copy(), np.zeros(self.values.shape, bool)

    def wrote(self, part, values):
        """Keeps what was written."""
        super().wrote(part, values)
        self.known[part] = False

    def resize(self, shape):
        """Cuts planes off, or adds planes that nobody wrote."""
        before, known = self.found, self.known
        super().resize(shape)
        self.found, self.known = self.values.copy(), np.zeros(shape, bool)
        common = tuple(slice(0, min(pair)) for pair in zip(known.shape, shape, strict=True))
        self.found[common], self.known[common] = before[common], known[common]

    def copy(self):
        """That of a copy of the dataset."""
        other = Kept(self.values.shape, self.dtype, self.options, self.fill, self.fills)
        other.values, other.defined, other.signs = self.values.copy(), self.defined.copy(), self.signs
        other.found, other.known = self.found.copy(), self.known.copy()
        return other

    def look(self, tally, found, what):
        """Judges a whole dataset read from the file. Returns how many samples changed that nobody wrote.

        Those that had no error at all are counted apart: they may have been stored without loss until now (docs/rewriting.md).
        """
        self.judge(tally, found, what)
        changed = self.known & different(found, self.found)
        were_exact = changed & ~different(self.found, self.values)
        tally.seen["exact samples that were quantized"] += int(were_exact.sum())
        self.found, self.known = found, self.defined.copy()
        return int((changed & ~were_exact).sum())


def different(one, other):
    """Which elements of two arrays of one type have other bits; of complex ones, in either part."""
    numbers = [np.ascontiguousarray(each, each.dtype.newbyteorder("=")) for each in (one, other)]
    if one.dtype.kind == "c":
        numbers = [each.view(each.real.dtype).reshape(*each.shape, 2) for each in numbers]
    unequal = exact.bits(numbers[0]) != exact.bits(numbers[1])
    return unequal.any(-1) if one.dtype.kind == "c" else unequal
