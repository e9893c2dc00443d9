"""Residual feedback: what is added to the predictions of a class, from its codes."""

import numpy as np

from reference_decoder.header import UNIFORM


class SmallCodes:
    """Residuals that are 16-bit integers, in units of 2^-bits steps."""

    residual = np.int64  # of 16 bits: every result is saturated

    def __init__(self, real, step, feedback, codes):
        self.real = real
        self.unit = step / real(2**feedback.bits)
        largest = 32767 >> feedback.bits
        counts = ~codes.outlier & (np.abs(codes.code) <= 127)
        self.codes = np.clip(np.where(counts, codes.code, 0).astype(np.int64), -largest, largest) << feedback.bits

    @staticmethod
    def add(a, b):
        """A sum of residuals."""
        return np.clip(a + b, -32768, 32767)

    @staticmethod
    def weighted(residuals, weight):
        """Half of what they count."""
        return (residuals * weight + 64) >> 7

    def whole(self, half):
        """Sums from their halves."""
        return self.add(half, half)

    def in_samples(self, sums):
        """Sums in the units of samples."""
        return sums.astype(self.real) * self.unit


class AllCodes:
    """Residuals that are real numbers, in the units of samples."""

    def __init__(self, real, step, feedback, codes):
        self.real = self.residual = real
        self.codes = np.where(codes.outlier, 0, codes.code).astype(real) * step

    @staticmethod
    def add(a, b):
        """A sum of residuals."""
        return a + b

    def weighted(self, residuals, weight):
        """What they count."""
        return residuals * self.real(weight / 64)

    @staticmethod
    def whole(sums):
        """Sums are whole."""
        return sums

    @staticmethod
    def in_samples(sums):
        """Sums are in the units of samples."""
        return sums


def feedback_sums(header, level, feedback, codes):
    """F of all samples of a class of a block, at level number `level`."""
    real = header.real
    step = real(2 * header.level_bounds[level]) if header.quantizer == UNIFORM else real(header.step)
    form = (AllCodes if feedback.all_codes else SmallCodes)(real, step, feedback, codes)
    shape = codes.code.shape
    sums, residuals = np.zeros(shape, form.residual), np.zeros(shape, form.residual)
    zeros = np.zeros(shape[3], form.residual)
    for row in np.ndindex(*shape[:3]):
        own = residuals[row]
        for parity, start in enumerate((slice(0, None, 2), slice(1, None, 2))):
            terms = []
            for axis, weight in feedback.before[parity].items():
                index = list(row)
                index[axis] -= 1
                before = residuals[tuple(index)] if index[axis] >= 0 else zeros
                terms.append(form.weighted(before, weight)[start])
            total = terms[0] if terms else zeros[start]
            for term in terms[1:]:
                total = form.add(total, term)
            if parity:
                beside = own[0::2]
                behind = np.append(beside[1:], form.residual(0))[: len(total)]
                total = form.add(total, form.weighted(form.add(beside[: len(total)], behind), feedback.beside))
            sums[row][start] = form.whole(total)
            own[start] = form.add(sums[row][start], form.codes[row][start])
    return form.in_samples(sums)
