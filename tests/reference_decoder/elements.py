"""From samples to elements, and masked components with their bits."""

import struct

import numpy as np

from reference_decoder.conventions import rint
from reference_decoder.header import FIXED_POINT, LOGARITHMIC, PALETTE, ULP_SHORT
from reference_decoder.masks import COMMON_NAN, FILL, MINUS_INFINITY, PLUS_INFINITY, PLUS_ZERO


def chord_table():
    """T[0 .. 64] of the octaves."""
    table = []
    for i in range(64):
        m, bits = 2**62 + i * 2**56, 0
        for _ in range(40):
            m = m * m >> 62
            bit = int(m >= 2**63)
            m >>= bit
            bits = bits << 1 | bit
        table.append(bits)
    return [*table, 2**40]


CHORDS = chord_table()
LARGEST = float(np.finfo(np.float64).max)


def number_of_octaves(v):
    """2**v by chords."""
    if not v > -1022:
        return 2.0**-1022
    if not v < 1024:
        return LARGEST
    e, t = divmod(round(v * 2.0**40), 2**40)
    if e > 1023:
        return LARGEST
    chord = max(i for i in range(64) if CHORDS[i] <= t)
    inside = (t - CHORDS[chord] << 46) // (CHORDS[chord + 1] - CHORDS[chord])
    return struct.unpack("<d", struct.pack("<Q", e + 1023 << 52 | chord << 46 | inside))[0]


def rounded(numbers, dtype):
    """Doubles clamped to the largest finite numbers of a type and rounded to it."""
    limits = np.finfo(dtype)
    return np.clip(numbers, float(limits.min), float(limits.max)).astype(dtype)


def elements(header, samples):
    """Components from samples, masks aside."""
    component = header.component
    if header.transform == PALETTE:
        return header.palette[np.clip(rint(samples), 0, len(header.palette) - 1)].view(component)
    if header.decimals:
        return rounded(header.decimals.numbers(samples), component)
    if header.transform == FIXED_POINT:
        return rounded(header.origin + samples.astype(np.float64) * header.delta, component)
    floats = header.floats
    if header.transform == LOGARITHMIC:
        numbers = np.array([number_of_octaves(float(v)) for v in samples.reshape(-1)]).reshape(samples.shape)
        numbers = -numbers if header.negative else numbers
        if floats.is_short:
            return floats.words(floats.rounded(np.clip(numbers, -floats.largest, floats.largest))).view(component)
        return rounded(numbers, component)
    if header.transform == ULP_SHORT:
        limits = np.iinfo(f"i{component.itemsize}")
        places = np.clip(rint(samples), limits.min, limits.max).astype(limits.dtype)
        return np.where(places < 0, places ^ limits.dtype.type(limits.max), places).view(component)
    if floats and floats.is_short:
        return floats.words(floats.rounded(samples.astype(np.float64))).view(component)
    if floats:
        return samples.astype(component)
    if component == np.uint64:
        return samples.view(np.uint64) ^ np.uint64(2**63)
    integers = samples if header.samples == 2 else rint(samples)
    limits = np.iinfo(component)
    return np.clip(integers, limits.min, limits.max).astype(component)


def put_masked(header, words, specials, literal_bits):
    """Gives masked components their bits."""
    words[specials == FILL] = header.fill
    words[specials == COMMON_NAN] = header.common_nan
    words[specials == PLUS_ZERO] = 0
    for kind, sign in ((PLUS_INFINITY, 0), (MINUS_INFINITY, 1)):
        if np.any(specials == kind):
            words[specials == kind] = sign * header.floats.sign | header.floats.first_special
    for place, element_bits in literal_bits.items():
        words[place] = element_bits
