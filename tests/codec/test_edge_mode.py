"""Edge mode: layers, labels, masks and sparse data get it, keep their bound and are read in parts; other data never gets it."""

import numpy as np
import pytest

import h5stz
import reference_decoder
from h5stz import _core
from support import boxes, cases, exact
from support.arrangements import has_edges


def layered(*shape, seed=1):
    """Layers of constant values that dip, with a fault."""
    places = np.indices(shape).astype(float)
    depth = sum(places[axis] * (0.9 - 0.25 * axis) for axis in range(len(shape))) + 3 * np.sin(places[-1] / 9)
    depth = np.where(places[-1] > shape[-1] * 0.6 + 0.2 * places[0], depth + 4, depth)
    values = np.random.default_rng(seed).normal(50, 30, 4000)
    return np.abs(values[(depth / 6).astype(int) + 1000])


def sloped(*shape):
    """The same with a gradient inside the layers."""
    return layered(*shape) + 0.05 * np.indices(shape).sum(axis=0)


def sparse(*shape):
    """Zeros with a few bumps."""
    rng, total = np.random.default_rng(3), np.zeros(shape)
    for _ in range(4):
        centre = [rng.uniform(0, extent) for extent in shape]
        distance = sum((place - c) ** 2 for place, c in zip(np.indices(shape), centre, strict=True)) / 40
        total += rng.uniform(5, 90) * np.maximum(0, 1 - distance) ** 2
    return total


def options_of(dtype):
    modes = [{"lossless": True}, {"absolute": 0.4}, {"absolute": 3.0}]
    return modes + ([{"pointwise_relative": 0.01}] if np.dtype(dtype).kind in "fc" else [])


@pytest.mark.parametrize("dtype", cases.ONCE, ids=str)
def test_every_type_keeps_its_promise(dtype):
    """The second decoder, which is slow, takes one stream of each shape."""
    for place, shape in enumerate([(900,), (60, 70), (11, 12, 13), (6, 7, 8, 9)], cases.ONCE.index(dtype)):
        array = cases.rounded(layered(*shape).ravel().repeat(2 if dtype.kind == "c" else 1), dtype)
        array = cases.from_numbers(array, shape, dtype)
        for number, options in enumerate(options_of(dtype)):
            stream = cases.keeps(array, **options)
            if number == place % 3:
                assert exact.same_bits(h5stz.decompress(stream), reference_decoder.decode(stream)), (shape, options)
            if len(shape) == 2 and dtype.kind != "c":
                assert has_edges(stream), options


def near_limits(shape, dtype, seed):
    """Flat parts and noise near the largest and the smallest number of the type."""
    rng = np.random.default_rng(seed)
    limits = np.finfo(dtype) if dtype == "f2" else np.iinfo(dtype)
    flat = np.repeat(np.repeat(rng.integers(0, 2, [(n + 5) // 6 for n in shape]), 6, 0), 6, 1)[: shape[0], : shape[1]]
    span = 40.0 if dtype != "f2" else 3000.0
    noise = np.where(rng.random(shape) < 0.7, 0, rng.integers(0, span, shape))
    return np.where(flat, float(limits.max) - noise, float(limits.min) + noise).astype(dtype)


@pytest.mark.parametrize("dtype", ["f2", "u1", "i2", "u2"])
@pytest.mark.parametrize("masked", [False, True])
def test_values_between_elements(dtype, masked):
    """Extrapolated neighbours, ghost planes and stand-ins of masked samples are no elements; what is decoded is."""
    for seed in range(6):
        array = near_limits((150, 140), dtype, seed)
        bound = 1165.6 if dtype == "f2" else 3.5 + seed
        options = {"absolute": bound, "integers": "lossy", "fill_value": False, "effort": 9, "block": "region"}
        if masked:
            fill = array.ravel()[seed * 77]
            options["fill_value"] = fill if dtype == "f2" else int(fill)
        decoded = h5stz.decompress(h5stz.compress(array, **options))
        valid = array != options["fill_value"] if masked else np.ones(array.shape, bool)
        assert np.array_equal(decoded == options["fill_value"], ~valid) or not masked
        error = np.abs(decoded.astype("f8") - array.astype("f8"))[valid]
        assert np.isfinite(error).all() and error.max() <= bound


@pytest.mark.parametrize("make", [layered, sloped, sparse])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_what_it_is_for(make, dtype):
    array = make(150, 200).astype(dtype)
    for options in ({"absolute": 1e-3}, {"absolute": 1e-6}, {"lossless": True}):
        assert has_edges(cases.keeps(array, **options)), options


def test_labels_and_masks():
    labels = layered(200, 150).astype("i4")
    assert has_edges(cases.keeps(labels, lossless=True))
    places = np.indices(labels.shape)
    for mask in (labels % 2 == 0, np.sin(places[0] / 9) + np.cos(places[1] / 7) > 0.3):
        for dtype in ("u1", "f4", "i8"):
            assert has_edges(cases.keeps(mask.astype(dtype), lossless=True))


@pytest.mark.parametrize("pattern", ["smooth", "rough", "walk"])
def test_other_data_has_none(pattern):
    for bound in (1e-3, 0.1, 2.0):
        assert not has_edges(cases.keeps(cases.make(pattern, (150, 140), "f4"), absolute=bound)), bound


@pytest.mark.parametrize("options", [{"absolute": 0.3}, {"lossless": True}], ids=str)
def test_masked_samples(options):
    array = layered(90, 110).astype("f4")
    array[20:40, 30:90] = np.nan
    array[np.random.default_rng(1).random(array.shape) < 0.02] = np.inf
    array.view("u4")[50, 60:64] = 0x7FC00001 + np.arange(4)
    stream = cases.keeps(array, **options)
    assert has_edges(stream)
    assert exact.same_bits(h5stz.decompress(stream), reference_decoder.decode(stream))


def test_valid_samples_never_become_the_fill_value():
    array = layered(80, 90).astype("i2")
    array[array == 40] += 1
    array[30:50, 20:40] = 40  # the fill value is in the middle of the others
    cases.keeps(array, absolute=3, fill_value=40)
    _, decoded = cases.round_trip(array, absolute=3, fill_value=40)
    assert np.array_equal(decoded == 40, array == 40)


@pytest.mark.parametrize("block", ["default", "region"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("shape", [(900, 700), (70, 90, 80)], ids=str)
def test_parts_and_levels(shape, block, masked):
    array = layered(*shape).astype("f4")
    if masked:
        array[(slice(9, 60), slice(20, 70))] = np.nan
    stream = h5stz.compress(array, absolute=0.01, block=block)
    assert has_edges(stream)
    whole, rng = h5stz.decompress(stream), np.random.default_rng(2)
    for kept in (0, 1 << 30):
        reader = _core.Reader.of_bytes(stream, kept)
        for turn in range(12):
            request = boxes.random_request(rng, shape)
            if turn % 2:
                request = tuple(int(rng.integers(0, extent - 9)) for extent in shape), (9,) * len(shape), (1,) * len(shape)
            assert boxes.read(reader, "f4", *request).tobytes() == boxes.cut(whole, *request).tobytes(), request
    for level in range(4):
        reader = _core.Reader.of_bytes(stream, 0)
        request = (0,) * len(shape), tuple(-(-extent // 2**level) for extent in shape), (2**level,) * len(shape)
        assert boxes.read(reader, "f4", *request).tobytes() == boxes.cut(whole, *request).tobytes()
        assert reader.stats()["bytes_read"] == h5stz.info(stream).level_bytes[level]


def test_the_bytes_do_not_depend_on_threads():
    array = layered(600, 900).astype("f4")
    streams = {h5stz.compress(array, absolute=1e-3, threads=threads) for threads in (1, 2, 5)}
    assert len(streams) == 1 and has_edges(streams.pop())
