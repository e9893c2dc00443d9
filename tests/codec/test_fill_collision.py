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


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("share", [0, 0.2])
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
