"""Lossy filters of HDF5, and the parameters that make some of them lossy.

The numbers are registered by the HDF Group. N-bit (5) is not in the list: it omits only bits that the type of the dataset does
not have, and HDF5 rounds to that type before any filter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

import h5py
import numpy as np

from h5stz.hdf5.written_parts import written_boxes
from h5stz.slabs import STORED_BYTES, slab_extents
from h5stz.unreadable import naming

SCALE_OFFSET = h5py.h5z.FILTER_SCALEOFFSET
_FLOAT, _BITS = 1, 8

#: Names by number, of all filters that lose something with some of their parameters.
NAMES = {
    SCALE_OFFSET: "scaleoffset",
    32005: "APAX",
    32007: "JPEG-XR",
    32012: "JPEG-LS",
    32013: "ZFP",
    32014: "fpzip",
    32016: "B3D",
    32017: "SZ",
    32019: "JPEG",
    32021: "FAPEC",
    32022: "BitGroom",
    32023: "Granular BitRound",
    32024: "SZ3",
    32026: "blosc2",
    32028: "SPERR",
    32030: "FFMPEG",
    32031: "JPEG 2000",
    32032: "BitRound",
}
#: Names that filters without a number in the table give themselves.
_TELLING = re.compile(r"bit\W?(round|groom|shav|trim)|lossy|quanti[sz]|\bsz3?\b|zfp", re.IGNORECASE)


def _scale_offset_loses(words: Sequence[int]) -> bool:
    """Lossy for floating-point numbers; for integers if the number of bits was given and is less than that of the type."""
    if len(words) < 5:
        return True
    _, factor, _, kind, size = words[:5]
    return kind == _FLOAT or 0 < factor < _BITS * size


def _zfp_loses(words: Sequence[int]) -> bool:
    """Lossy except in its reversible mode. The parameters contain the header of its streams, which has the mode."""
    return len(words) < 4 or words[3] >> 20 != 2176


def _blosc2_loses(words: Sequence[int]) -> bool:
    """Lossy if it truncates bits (filter 4) or uses a plug-in codec (32 or more). Its own codecs are lossless."""
    return len(words) > 5 and (words[5] == 4 or (len(words) > 6 and words[6] >= 32))


_LOSES: dict[int, Callable[[Sequence[int]], bool]] = {
    SCALE_OFFSET: _scale_offset_loses,
    32013: _zfp_loses,
    32026: _blosc2_loses,
}


def lossy_filters(dataset: h5py.Dataset) -> list[tuple[int, tuple[int, ...]]]:
    """Number and parameters of the lossy filters of a dataset, without h5stz."""
    properties = dataset.id.get_create_plist()
    found = []
    for index in range(properties.get_nfilters()):
        number, _, words, name = properties.get_filter(index)
        if number in NAMES:
            loses = _LOSES[number](words) if number in _LOSES else True
        else:
            loses = number >= h5py.h5z.FILTER_RESERVED and _TELLING.search(name.decode(errors="replace")) is not None
        if loses:
            found.append((number, tuple(words)))
    return found


def lost_to(dataset: h5py.Dataset, filters: Sequence[tuple[int, tuple[int, ...]]]) -> float:
    """Bound on the error of finite samples against the written ones; infinity if it is unknown.

    HDF5 documents the error of scale-offset for floating-point numbers. Other filters do not guarantee the errors that they
    are asked for. All samples are read, to find the largest.

    Args:
        dataset: dataset of real numbers.
        filters: the result of lossy_filters().
    """
    if not filters:
        return 0.0
    if len(filters) > 1 or filters[0][0] != SCALE_OFFSET or dataset.dtype.kind != "f" or dataset.dtype.itemsize not in (4, 8):
        return math.inf
    factor = int(np.uint32(filters[0][1][1]).astype(np.int32))
    # Half a unit is lost to rounding, and up to a whole one near the fill value, which takes the place of such numbers. HDF5
    # multiplies, subtracts, divides and adds in the type of the dataset: eight roundings of numbers up to twice the largest.
    epsilon = float(np.finfo(dataset.dtype).eps)
    return 10.0**-factor * (1 + 16 * epsilon) + 8 * epsilon * _largest(dataset) if abs(factor) < 300 else math.inf


def _largest(dataset: h5py.Dataset) -> float:
    """The largest magnitude. Infinity if a sample is not finite, because HDF5 does not document the effect on other samples."""
    largest = abs(float(dataset.fillvalue))
    for box in written_boxes(slab_extents(dataset, STORED_BYTES), dataset):
        with naming(dataset, box):
            part = np.asarray(dataset[box])
        largest = max(largest, float(np.max(np.abs(part), initial=0)), key=lambda number: (math.isnan(number), number))
        if not math.isfinite(largest):
            break
    return largest if math.isfinite(largest) else math.inf
