"""One small stream of every form, to damage and to read parts of."""

import numpy as np

import h5stz
from support import cases, field_streams
from support.fields import random_field


def streams(content_check=True):
    """{name: (array, stream)}: every form, each small."""
    rng = np.random.default_rng(1)
    volume = cases.make("rough", (13, 14, 15), "f4")
    masked = cases.make("walk", (50, 60), "f8")
    masked[rng.random(masked.shape) < 0.2] = np.nan
    masked[3:9, 4:20] = -np.inf
    payloads = cases.make("smooth", (600,), "f4")
    payloads[::9] = (np.arange(67, dtype="u4") + 0x7FC00000).view("f4")
    filled = cases.make("smooth", (20, 130), ">i2")
    filled[:, 100:] = -99
    padded = cases.make("rough", (40, 70), ">f4")
    padded[:, 51:] = np.nan
    ranks = np.round(cases.make("smooth", (50, 60), "f8") / 2)
    hole = np.hypot(*np.mgrid[-20:40, -25:25]) < 12
    ordered = cases.make("walk", (700,), "f8")
    grained = (random_field((50, 60), 3.5, 1) + 0.1 * rng.standard_normal((50, 60))).astype("f4")
    plans = {
        "raw": (cases.make("random bits", (40,), "i8"), {"lossless": True}),
        "empty": (np.zeros((3, 0)), {"absolute": 1.0}),
        "scalar": (np.float64(2.5), {"lossless": True}),
        "constant": (np.full((5, 6), 1 + 2j, "c16"), {"absolute": 0.1}),
        "base section alone": (cases.make("smooth", (300,), "f4"), {"absolute": 0.5}),
        "levels": (cases.make("smooth", (3000,), "f4"), {"absolute": 0.5}),
        "float32": (volume, {"absolute": 3.0}),
        "float64": (cases.make("rough", (3000,), "f8"), {"absolute": 5.0}),
        "float16": (cases.make("walk", (50, 55), "f2"), {"absolute": 1.0}),
        "complex": (cases.make("rough", (40, 40), "c8"), {"absolute": 20.0}),
        "integers": (cases.make("rough", (52, 53), "i4"), {"absolute": 6.0}),
        "wide integers": (cases.make("walk", (2500,), "u8"), {"lossless": True}),
        "lattice": (np.round(cases.make("smooth", (2500,), "f4"), 1), {"lossless": True}),
        "palette": (ranks.astype("f4") ** 3 - np.float32(1e5), {"lossless": True}),
        "lossless": (ordered, {"lossless": True}),
        "lossless float16": (cases.make("smooth", (600,), "f2"), {"lossless": True}),
        "point-wise": (np.abs(ordered) + 1, {"pointwise_relative": 0.1}),
        "point-wise, both signs": (ordered, {"pointwise_relative": 0.1}),
        "masked": (masked, {"absolute": 2.0}),
        "payloads": (payloads, {"absolute": 0.5}),
        "fill value": (filled, {"absolute": 2.0, "fill_value": -99}),
        "padded": (padded, {"absolute": 20.0}),
        "edges": (cases.make("layers", (50, 60), "f4"), {"absolute": 0.5}),
        "edges, lossless": (np.where(hole, np.nan, cases.make("layers", (60, 50), "f8")), {"lossless": True}),
        "edges of labels": (cases.make("layers", (9, 20, 21), "i4"), {"lossless": True}),
        "layers": (cases.make("rough", (50, 60), "f4"), {"absolute": 0.1, "layers": 3}),
        "enhanced": (grained, {"absolute": 0.3, "enhance": "relaxed"}),
        "strict and enhanced": (grained, {"absolute": 0.5, "enhance": "both"}),
        "enhanced, masked": (masked, {"absolute": 2.0, "enhance": "relaxed"}),
        "layers, lossless": (cases.make("walk", (700,), "f8"), {"lossless": True, "layers": 4}),
        "layers, masked": (masked, {"absolute": 0.01, "layers": 3}),
        "layers of integers": (cases.make("smooth", (40, 44), "i2"), {"absolute": 2.0, "layers": 2}),
        "regions": (cases.make("smooth", (36, 35, 34), "f4"), {"absolute": 20.0, "block": "region"}),
        "remainders": (random_field((34, 30), 5, 1).astype("f4"), {"lossless": True}),
        "remainders, masked": (np.where(hole[:30, :20], np.nan, random_field((30, 20), 5, 2)), {"lossless": True}),
        "fields": (rng.standard_normal((20, 30)).astype(">f4"), {"lossless": True}),
        "fields of several kinds": (weights(rng, 700), {"lossless": True}),
    }
    made = {}
    for name, (array, options) in plans.items():
        options.setdefault("fill_value", False)
        options.setdefault("integers", "lossy")
        stream = h5stz.compress(array, content_check=content_check, **options)
        made[name] = (h5stz.decompress(stream), stream)
    made["fields in blocks"] = several_blocks(rng)
    return made


def weights(rng, count):
    """Numbers that nothing predicts: zeros, numbers that were float32 once, NaN, numbers of every magnitude."""
    array = rng.standard_normal(count)
    array[::3] = 0
    array[1::4] = array[1::4].astype("f4")
    array[5::30] = np.nan
    array[7::90] *= 10.0 ** rng.integers(-290, 290, len(array[7::90]))
    return array


def several_blocks(rng):
    """(array, stream) of floating-point fields in blocks of 128 numbers, fewer than the encoder takes."""
    array = weights(rng, 7 * 80).reshape(7, 80)
    return array, field_streams.stream_of(array, 7, log_lanes=2, short_zeros=29, most_symbols=20)


STREAMS = streams()
STREAMS_WITHOUT_TRAILER = streams(content_check=False)
