"""Quantizers: samples from predictions and codes."""

import numpy as np

from reference_decoder.conventions import rint
from reference_decoder.header import NONE


def largest_code(bits):
    """The largest magnitude of a code of samples of so many bits."""
    return 2**31 - 1 if bits == 32 else 2**61 - 1


class Codes:
    """The codes (quantization indices) of an array of samples; where `outlier`, the sample's own `bits` instead."""

    def __init__(self, shape):
        self.code = np.zeros(shape, np.int64)
        self.outlier = np.zeros(shape, bool)
        self.bits = np.zeros(shape, np.uint64)


def reconstruct(header, level, prediction, codes):
    """The samples of level number `level` from their predictions (in Real) and codes."""
    quantize = (uniform, integer, ulp)[header.quantizer]
    samples = quantize(header, level, np.asarray(prediction, header.real), codes.code)
    outlier_samples = codes.bits.astype(np.uint32 if header.bits == 32 else np.uint64).view(header.sample)
    return np.where(codes.outlier, outlier_samples, samples)


def uniform(header, level, p, code):
    """x' = p + c * step."""
    real = header.real
    step = real(2 * header.level_bounds[level])
    near = p + code.astype(real) * step
    far = (p.astype(np.float64) + code.astype(np.float64) * np.float64(step)).astype(real)
    samples = np.where(np.abs(code) <= (2**21 if header.samples == 0 else 2**50), near, far)
    return rounded(header, samples)


def rounded(header, samples):
    """Samples that are rounded to a short float, if the elements are that."""
    if header.floats and header.floats.is_short and header.transform == NONE:
        return header.floats.rounded(np.asarray(samples, np.float64)).astype(header.real)
    return samples


def integer(header, level, p, code):
    """x' = rint(p) + c * step."""
    return (rint(p) + code * header.wrapped_step).astype(header.sample)


def ulp_index(numbers):
    """o(x): numbers as integers in ULP space, and back (of the integers as numbers)."""
    integers = numbers.view(np.int32 if numbers.itemsize == 4 else np.int64)
    return np.where(integers < 0, integers ^ np.iinfo(integers.dtype).max, integers)


def ulp(header, level, p, code):
    """q = (o(p) >> z) + c * step, shifted back."""
    word = np.int32 if header.bits == 32 else np.int64
    z = word(header.zero_bits)
    place = np.where(np.isnan(p), word(0), ulp_index(p))
    q = (place >> z) + (code * header.wrapped_step).astype(word) << z
    q = np.where(q < 0, q | ((word(1) << z) - word(1)), q)
    return ulp_index(q.view(header.sample)).view(header.sample)
