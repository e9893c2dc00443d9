"""Activity and contexts: how large the codes around a sample are."""

import numpy as np

from reference_decoder.conventions import bits_set, clamp, floor_log2
from reference_decoder.prediction import stencil

THRESHOLDS = [128, 203, 323, 512, 813, 1290, 2048, 3251, 5161, 8192, 13004, 20643, 32768, 52016, 60000]
MASKED_CONTEXT = -1


def lg(value):
    """256 log2(value), rounded down."""
    e = floor_log2(value)
    m = value >> e - 31 if e > 31 else value << 31 - e
    for _ in range(8):
        m = m * m >> 31
        bit = int(m >= 2**32)
        m >>= bit
        e = e << 1 | bit
    return e


def mean_index(total, count):
    """The index of the mean total / count."""
    if total == 0 or count == 0:
        return 0
    return clamp((4 * lg(total) - 4 * lg(count) + 128) // 256 + 81, 1, 329)


def activities(codes, mean, bits):
    """The activities of codes of samples of so many bits."""
    if mean == 0:
        right, left, factor = 0, 9, 4095
    else:
        octave, quarter = divmod(mean - 81, 4)
        factor = (4096, 3444, 2896, 2435)[quarter]
        left, right = clamp(4 - octave, 0, 9), max(0, octave - 4)
    sizes = np.where(codes.outlier, np.uint64(2 ** (31 if bits == 32 else 63)), np.abs(codes.code).astype(np.uint64))
    short = np.minimum(sizes >> np.uint64(right), np.uint64(511)).astype(np.int64)
    return np.minimum(255, (short << left) * factor >> 12).astype(np.uint8)


def contexts(block, activity_arrays, cls):
    """The contexts of a class."""
    groups = stencil(0, cls, block.level.active)
    odd = bits_set(cls)
    weights = [(4, 1, 0)[g // odd] if g < 3 * odd else 2 for g in range(len(groups))]
    total = np.zeros(block.class_extent(cls), np.int64)
    for weight, taps in zip(weights, groups, strict=True):
        unit = 256 * weight // (sum(weights) * len(taps))
        for tap in taps:
            total += unit * block.tap_view(activity_arrays, cls, tap).astype(np.int64)
    return np.searchsorted(THRESHOLDS, total, side="right")
