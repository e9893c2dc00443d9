"""Streams with many blocks on several levels: a damaged block costs what depends on it and nothing else, in every form.

What depends on a block is found out here by decoding: a stream with a damaged block is compared with one that has other, whole
bytes in its place only through what a reader says, so the tests of exact costs count samples.
"""

import warnings
from itertools import pairwise

import numpy as np
import pytest

import h5stz
from support import cases, exact
from support.fields import random_field


def volume(shape=(70, 72, 74), dtype="f4"):
    return cases.make("rough", shape, dtype)


def masked(shape):
    array = cases.make("rough", shape, "f4")
    rng = np.random.default_rng(3)
    array[rng.random(shape) < 0.1] = np.inf
    array[tuple(slice(extent // 3, extent // 2) for extent in shape)] = -np.inf
    return array


PLANE = (330, 350)
STREAMS = {
    "1-D": (volume((100000,)), {"absolute": 1.0}),
    "2-D": (volume(PLANE), {"absolute": 0.5, "block": "region"}),
    "3-D": (volume(), {"absolute": 0.5, "block": "region"}),
    "4-D": (volume((20, 21, 36, 38)), {"absolute": 0.5, "block": "region"}),
    "default blocks": (volume((110, 100, 90)), {"absolute": 0.5}),
    "throughput": (volume((110, 100, 90)), {"absolute": 0.5, "block": "throughput"}),
    "float64": (volume(PLANE, ">f8"), {"absolute": 0.1, "block": "region"}),
    "half precision": (cases.make("walk", PLANE, "f2"), {"absolute": 0.05, "block": "region"}),
    "complex": (volume((44, 46, 48), "c8"), {"absolute": 0.5, "block": "region"}),
    "masked": (masked(PLANE), {"absolute": 0.5, "block": "region"}),
    "masked volume": (masked((70, 72, 74)), {"absolute": 0.5, "block": "region"}),
    "integers": (volume(PLANE, "i4"), {"lossless": True, "block": "region"}),
    "wide integers": (volume(PLANE, "i8"), {"lossless": True, "block": "region"}),
    "lossless": (cases.make("walk", PLANE, "f4"), {"lossless": True, "block": "region"}),
    "remainders": (random_field(PLANE, 5, 1).astype("f4"), {"lossless": True, "block": "region"}),
    "remainders of a volume": (random_field((40, 42, 44), 6, 1), {"lossless": True, "block": "region"}),
    "point-wise": (np.abs(volume(PLANE)) + 1, {"pointwise_relative": 1e-3, "block": "region"}),
    "edges": (cases.make("layers", (420, 440), "f4"), {"absolute": 0.5, "block": "region"}),
    "labels": (cases.make("layers", (60, 70, 72), "i4"), {"lossless": True, "block": "region"}),
    "layers": (volume((70, 72, 74)), {"absolute": 0.1, "layers": 3, "block": "region"}),
    "enhanced": (volume(PLANE), {"absolute": 10.0, "enhance": "relaxed", "block": "region"}),
    "enhanced volume": (volume(), {"absolute": 10.0, "enhance": "relaxed", "block": "region"}),
}


def decompressed(stream, mark, **options):
    """What is whole, and the damage."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        array = h5stz.decompress(stream, on_error=mark, **options)
    assert len(told) <= 1
    return array, told[0].message.damage if told else []


def components(array):
    """The bits of components: one more axis."""
    width = array.dtype.itemsize // (2 if array.dtype.kind == "c" else 1)
    return np.ascontiguousarray(array).view(f"u{width}").reshape(*array.shape, -1)


@pytest.mark.parametrize("name", STREAMS)
def test_what_is_not_reported_has_its_bits(name):
    """Single bits everywhere: of each level, in its first bytes, which are its directory, and at random."""
    array, options = STREAMS[name]
    stream = h5stz.compress(array, fill_value=False, content_check=False, **options)
    whole, info = h5stz.decompress(stream), h5stz.info(stream)
    assert info.enhanced == ("enhance" in options)
    mark = {"f": -12345.0, "c": -12345.0 - 12345.0j}.get(whole.dtype.kind, -12345)
    marked = components(np.full((), mark, whole.dtype))
    assert not (components(whole) == marked).any()
    rng = np.random.default_rng(len(name))
    ends = [*info.level_bytes[::-1], len(stream)]
    places = {end - 5 for end in ends} | {end + 3 for end in ends[:-1]}
    for begin, end in pairwise(ends):
        places |= {int(rng.integers(begin, end)) for _ in range(3)} if end - begin > 10 else set()
    partial = 0
    for place in sorted(place for place in places if info.level_bytes[-1] - 6 <= place < len(stream)):
        broken = bytearray(stream)
        broken[place] ^= 1 << int(rng.integers(8))
        decoded, found = decompressed(broken, mark)
        lost = components(decoded) == marked
        assert exact.same_bits(components(decoded)[~lost], components(whole)[~lost])
        assert len(found) == 1 and found[0].lost == lost.sum() > 0
        partial += lost.sum() < 0.6 * lost.size
    assert partial > 2, "some of it costs little"
