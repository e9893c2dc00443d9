"""The decoder written from docs/format.md alone (reference_decoder/) and the library read every stream to the same bits.

Golden streams are in test_golden_features.py.
"""

import json

import numpy as np
import pytest

import h5stz
import reference_decoder
import reference_decoder.sections
from support import exact
from support.fields import random_field
from support.paths import GOLDEN
from support.stream_bytes import varint, with_crc

VERSION = GOLDEN / f"version_{h5stz.FORMAT_VERSION}"
GOLDEN = sorted(json.loads((VERSION / "arrays.json").read_text()))


def agree(stream):
    """Asserts that both decoders give the same bits; returns what the library says of the stream."""
    assert exact.same_bits(h5stz.decompress(stream), reference_decoder.decode(stream))
    return h5stz.info(stream)


def smooth(*shape, seed=1):
    """A smooth field with a little noise, about -3 to 3."""
    return random_field(shape, 4, seed) + 0.02 * np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith("feedback")])
def test_golden_streams_have_feedback(name, monkeypatch):
    seen, sums = [], reference_decoder.sections.feedback_sums
    monkeypatch.setattr(reference_decoder.sections, "feedback_sums", lambda *arguments: seen.append(name) or sums(*arguments))
    reference_decoder.decode((VERSION / f"{name}.stz").read_bytes())
    assert seen


def masked_float():
    array = smooth(24, 26, 9).astype("f4")
    array[array > 1] = np.nan
    array[3, 3, 3], array[4, 4, 4] = np.inf, -np.inf
    array.view("u4")[5, 5, :4] = 0x7FC00001 + np.arange(4)
    return array


def masked_blocks():
    array = smooth(280, 270).astype("f4")
    array[smooth(280, 270, seed=2) > 0.5] = -9999
    array[100, 100] = np.nan
    return array


def with_rectangle(array, number):
    array[14:40, 3:9] = number
    return array


def padded(array, shape, number):
    whole = np.full(shape, number, array.dtype)
    whole[tuple(slice(extent) for extent in array.shape)] = array
    return whole


def with_outliers():
    array = smooth(70, 60)
    array[::7, ::11] *= 1e200
    return array


def logarithms_of_negative_numbers():
    array = -np.exp(20 * smooth(40, 30))
    array[0], array[20, 5] = 0, np.nan
    return array


def two_plateaus():
    return np.where(smooth(70, 60) > 0, 100.0, -30.0) + 0.3 * smooth(70, 60, seed=2)


# name: (function that makes the array, options)
FRESH = {
    "f4_1d": (lambda: smooth(3000).astype("f4"), {"absolute": 1e-3}),
    "f4_2d": (lambda: smooth(60, 70).astype("f4"), {"absolute": 0.02}),
    "f4_big_endian_3d": (lambda: smooth(14, 15, 16).astype(">f4"), {"absolute": 0.01}),
    "f8_4d": (lambda: smooth(7, 8, 9, 8), {"absolute": 0.03}),
    "f4_5d": (lambda: smooth(2, 3, 8, 9, 10).astype("f4"), {"absolute": 0.05}),
    "f2": (lambda: smooth(40, 50).astype("f2"), {"absolute": 0.01}),
    "f2_lossless": (lambda: smooth(30, 40).astype("f2"), {"lossless": True}),
    "f2_values_lossless": (lambda: smooth(30, 40).astype("f2").astype("f4"), {"lossless": True}),
    "f4_lossless": (lambda: smooth(30, 40).astype("f4"), {"lossless": True}),
    "f8_lossless": (lambda: smooth(30, 40), {"lossless": True}),
    "c8": (lambda: (smooth(30, 40) + 1j * smooth(30, 40, seed=2)).astype("c8"), {"absolute": 0.02}),
    "lattice": (lambda: np.round(10 * smooth(40, 50)) * 0.1, {"lossless": True}),
    "lattice_f4": (lambda: (np.round(8 * smooth(40, 50)) / 8).astype("f4"), {"absolute": 0.3}),
    "i2_lossless": (lambda: (100 * smooth(40, 50)).astype("i2"), {"lossless": True}),
    "i2_absolute": (lambda: (1000 * smooth(40, 50)).astype("i2"), {"absolute": 3}),
    "i8_absolute": (lambda: (1e12 * smooth(40, 50)).astype("i8"), {"absolute": 1000}),
    "i8_lossless": (lambda: (1e6 * smooth(40, 50)).astype("i8"), {"lossless": True}),
    "i8_wide_step": (lambda: np.clip(4e18 * smooth(40, 50), -9.2e18, 9.2e18).astype("i8"), {"absolute": 6e18}),
    "i8_extremes": (lambda: np.clip(6e18 * smooth(40, 50), -9.2e18, 9.2e18).astype("i8"), {"absolute": 1e15}),
    "u8_masked": (lambda: with_rectangle((5e10 * (4 + smooth(50, 40))).astype("u8"), 7), {"absolute": 200, "fill_value": 7}),
    "i4_masked": (lambda: with_rectangle((500 * smooth(50, 40)).astype("i4"), -1), {"absolute": 2, "fill_value": -1}),
    "f4_masked": (masked_float, {"absolute": 0.02}),
    "f4_masked_lossless": (lambda: masked_float()[:12, :13], {"lossless": True}),
    "pointwise": (lambda: np.exp(smooth(40, 50)).astype("f4"), {"pointwise_relative": 1e-3}),
    "pointwise_signs": (lambda: smooth(40, 50).astype("f4"), {"pointwise_relative": 1e-3}),
    "pointwise_negative": (logarithms_of_negative_numbers, {"pointwise_relative": 1e-3}),
    "padded": (lambda: padded(smooth(35, 41).astype("f4"), (48, 64), -1), {"absolute": 0.02}),
    "padded_nan": (lambda: padded(smooth(9, 11, 10), (16, 11, 16), np.nan), {"absolute": 0.02}),
    "two_plateaus": (two_plateaus, {"absolute": 0.1}),
    "stored_samples": (with_outliers, {"absolute": 1e-5}),
    "thin_blocks": (lambda: smooth(600, 3).astype("f4"), {"absolute": 0.01}),
    "unrelated_maps": (lambda: np.stack([smooth(60, 64, seed=k) for k in range(6)]).astype("f4"), {"absolute": 0.1}),
    "blocks_2d": (lambda: smooth(300, 280).astype("f4"), {"absolute": 0.01}),
    "blocks_masked": (masked_blocks, {"absolute": 0.02, "fill_value": -9999}),
    "blocks_i8": (lambda: (1e6 * smooth(2, 300, 270)).astype("i8"), {"lossless": True}),
    "blocks_random_i8": (
        lambda: np.random.default_rng(1).integers(-(2**63), 2**63 - 1, size=(300, 270), dtype="i8") >> 3,
        {"absolute": 2.0**40},
    ),
    "blocks_3d": (lambda: smooth(70, 68, 66).astype("f4"), {"absolute": 0.05}),
    "blocks_1d": (lambda: smooth(70000).astype("f4"), {"absolute": 0.1}),
    "regions": (lambda: smooth(40, 34, 36).astype("f4"), {"absolute": 0.01, "block": "region"}),
    "feedback_across_a_gap": (lambda: np.cumsum(smooth(24, 2, 24, 24), 0).astype("f4"), {"absolute": 0.1}),
    "throughput": (lambda: smooth(40, 70, 300).astype("f4"), {"absolute": 0.01, "block": "throughput"}),
    "standard": (lambda: smooth(40, 70, 140).astype("f4"), {"absolute": 0.01}),
    "regions_4d": (lambda: smooth(36, 9, 10, 33).astype("f4"), {"absolute": 0.03, "block": "region"}),
}


#: Which take a second or more each.
LARGE = {"standard", "throughput", "blocks_3d", "regions_4d"}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE)) for name in FRESH])
def test_fresh_streams(name):
    make, options = FRESH[name]
    assert agree(h5stz.compress(make(), integers="lossy", **options)).form.startswith("blocks")


def with_every_level_field(stream, rank, bounds):
    """A stream (extents below 128, a bound, no fill value) that names its blocks, and its level bounds changed by `bounds`."""
    header = reference_decoder.read_header(stream)
    sizes = b"".join(varint(size) for size in header.section_sizes)
    fields = np.array(bounds(np.array(header.level_bounds)), "<f8").tobytes()
    for number in range(header.base_level):
        logs = reference_decoder.default_block(header.levels[number], number, header.block_kind)
        fields += bytes(max(1, log) for log in logs)
    front = bytearray(stream[: header.size - 4 - len(sizes)])
    front[4 + 3 + rank + 8 + 1] |= 16 | 32
    front += fields + sizes
    return with_crc(front) + stream[header.size :]


@pytest.mark.parametrize("shape", [(120, 100), (20, 24, 22)])
def test_level_bounds_and_blocks_in_the_header(shape):
    array = smooth(*shape).astype("f4")
    stream = h5stz.compress(array, absolute=0.01, fill_value=False, content_check=False)
    changed = with_every_level_field(stream, len(shape), lambda bounds: 1.125 * bounds)
    agree(changed)
    assert not exact.same_bits(h5stz.decompress(stream), h5stz.decompress(changed))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("bound", [5e-324, 1e-46, 3.3e38, 1e300, 1.7e308])
def test_steps_that_are_rounded_to_zero_or_to_infinity(dtype, bound):
    stream = h5stz.compress(smooth(60, 50).astype(dtype), absolute=0.01, fill_value=False, content_check=False)
    for levels in (slice(0, 1), slice(1, 2), slice(2, None), slice(None)):

        def changed(bounds, levels=levels):
            bounds[levels] = bound
            return bounds

        agree(with_every_level_field(stream, 2, changed))


@pytest.mark.parametrize("negative_zeros", [0.5, 0.97, 1.0])
def test_zeros_of_both_signs_among_masked_samples(negative_zeros):
    random = np.random.default_rng(1)
    array = np.where(random.random((40, 50)) < negative_zeros, -0.0, 0.0).astype("f4")
    array[random.random(array.shape) < 0.3] = np.nan
    array[10:20], array[0, :9] = np.inf, 1
    agree(h5stz.compress(array, lossless=True))


def test_the_reference_decoder_sees_damage():
    stream = h5stz.compress(smooth(30, 40).astype("f4"), absolute=0.1)
    for place in range(0, len(stream), 37):
        damaged = bytearray(stream)
        damaged[place] ^= 1
        with pytest.raises(reference_decoder.Damaged):
            reference_decoder.decode(bytes(damaged), verify=True)
