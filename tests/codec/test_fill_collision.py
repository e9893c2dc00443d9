"""A valid sample never comes back as the fill value, however near it is and however wide the bound."""

import numpy as np
import pytest

import h5stz

CASES = [  # dtype, fill value, mean and spread of the valid samples
    ("f4", 0.0, 0.0, 1e-2),
    ("f8", 0.0, 0.0, 1e-2),
    ("f2", 0.0, 0.0, 1.0),
    ("f4", 5.0, 5.0, 3.0),
    ("i2", 0, 0, 20),
    ("u1", 255, 230, 30),
    ("i1", -128, -100, 60),
    ("u8", 0, 10, 30),
    ("i8", 7, 0, 20),
]


@pytest.mark.parametrize(("order", "share"), [("<", 0), (">", 0.2)])
@pytest.mark.parametrize("dtype, fill, mean, spread", CASES)
def test_valid_samples_stay_valid(dtype, fill, mean, spread, share, order):
    random = np.random.default_rng(3)
    samples = random.normal(mean, spread, (20, 40, 30))
    dtype = np.dtype(order + dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        samples = np.clip(np.rint(samples), limits.min, limits.max)
    array = samples.astype(dtype)
    array[random.random(array.shape) < share] = fill
    hole = array == np.array(fill, dtype)
    for bound in (0.3 * spread, spread):
        decoded = h5stz.decompress(h5stz.compress(array, absolute=bound, fill_value=fill))
        np.testing.assert_array_equal(decoded == np.array(fill, dtype), hole)
        assert np.abs(array[~hole].astype("f8") - decoded[~hole].astype("f8")).max() <= bound


def test_valid_samples_stay_valid_under_a_relative_bound():
    array = np.exp(np.random.default_rng(4).normal(size=(40, 50, 30))).astype("f4")
    array[::3] = 1.0
    hole = array == 1
    decoded = h5stz.decompress(h5stz.compress(array, pointwise_relative=0.2, fill_value=1.0))
    np.testing.assert_array_equal(decoded == 1, hole)


@pytest.mark.parametrize("dtype, fill", [("<f4", -999.0), (">f8", 1e20), ("<i4", -(2**31)), (">u2", 700), ("<f2", 5.0)])
@pytest.mark.parametrize("wanted", [{"layers": 4}, {"layer_bounds": "of the bound"}, {"layers": 3, "lossless": True}])
def test_valid_samples_stay_valid_in_every_layer(dtype, fill, wanted):
    """Next to the fill value a missing bit may make it of a valid sample: no layer is as rough as that."""
    dtype = np.dtype(dtype)
    steps = np.cumsum(np.random.default_rng(5).integers(-2, 3, (20, 24, 30)), axis=2)
    spacing = 1 if dtype.kind in "iu" else float(np.spacing(np.array(abs(fill), dtype)))
    low = 0 if fill == -(2**31) else -(10**6)
    array = (fill + np.clip(steps, low, None) * (1 if dtype.kind in "iu" else spacing)).astype(dtype)
    bound = 0.6 * spacing if dtype.kind == "f" else 1.0
    options = {"fill_value": fill, "integers": "lossy", **wanted}
    if "lossless" not in wanted:
        options["absolute"] = bound
    if "layer_bounds" in wanted:
        options["layer_bounds"] = (40 * bound, 6 * bound)
    stream = h5stz.compress(array, **options)
    hole = array == np.array(fill, dtype)
    assert 0 < np.count_nonzero(hole) < hole.size
    for layer in h5stz.info(stream).layers:
        if layer.max_error is not None:
            decoded = h5stz.decompress(stream, max_error=layer.max_error)
            np.testing.assert_array_equal(decoded == np.array(fill, dtype), hole)


@pytest.mark.parametrize("kind", ["relaxed", "both"])
@pytest.mark.parametrize("dtype, offset", [("f4", 2.0**20), (">f4", 2.0**20), ("f8", 2.0**49)])
def test_valid_samples_stay_valid_when_they_are_enhanced(dtype, offset, kind):
    """Few numbers lie within a bound of each other there: a filter would give the fill value somewhere."""
    random = np.random.default_rng(6)
    x = np.linspace(0, 9, 48)
    field = np.sin(x)[:, None, None] * np.sin(x)[:, None] * np.sin(x) + 0.1 * random.normal(size=(48, 48, 48))
    array = (offset + 8 * field).astype(dtype)
    fill = float(np.median(array))
    decoded = h5stz.decompress(h5stz.compress(array, absolute=3.0, fill_value=fill, enhance=kind))
    np.testing.assert_array_equal(decoded == np.array(fill, dtype), array == np.array(fill, dtype))


@pytest.mark.parametrize("dtype", ["f2", ">f4", "f8"])
@pytest.mark.parametrize("fill", ["largest", "smallest normal", 1.0, -5.0, -999.0])
@pytest.mark.parametrize("bound", [0.3, 1e-2])
def test_neighbours_of_the_fill_value_stay_valid_under_a_relative_bound(dtype, fill, bound):
    """In octaves several numbers are one, and those beyond the range of a type become its last one."""
    info, unsigned = np.finfo(dtype), np.dtype(f"u{np.dtype(dtype).itemsize}")
    fill = {"largest": float(info.max), "smallest normal": 2 * float(info.tiny)}.get(fill, fill)
    random = np.random.default_rng(7)
    place = int(np.array(abs(fill), info.dtype).view(unsigned)) + random.integers(-3, 4, 4000)
    numbers = np.minimum(place, int(np.array(info.max).view(unsigned))).astype(unsigned).view(info.dtype)
    numbers = np.copysign(numbers * np.where(random.random(4000) < 0.3, random.uniform(0.8, 1, 4000), 1), fill)
    array = numbers.astype(dtype).reshape(40, 100)
    hole = array == np.array(fill, dtype)
    decoded = h5stz.decompress(h5stz.compress(array, pointwise_relative=bound, fill_value=fill))
    np.testing.assert_array_equal(decoded == np.array(fill, dtype), hole)


@pytest.mark.parametrize("seed", [289, 333, 373])
def test_layers_that_are_left_after_useless_ones_keep_off_the_fill_value(seed):
    """Without the useless layers the others are coded anew, and may then decode valid samples to the fill value."""
    walk = np.cumsum(np.random.default_rng(seed).standard_normal((9, 10, 11)), axis=-1 if seed % 3 else 0)
    array = np.rint((walk - walk.min()) / np.ptp(walk) * 5).astype("u1")
    stream = h5stz.compress(array, lossless=True, fill_value=0, layers=3, check=True)
    for layer in h5stz.info(stream).layers:
        preview = h5stz.decompress(stream, max_error=layer.max_error)
        assert ((preview == 0) == (array == 0)).all()
