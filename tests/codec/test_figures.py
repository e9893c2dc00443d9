"""The errors that streams, estimates and comparisons tell are those of the valid samples alone, as NumPy has them."""

import math

import numpy as np
import pytest

import h5stz
from h5stz import _core
from support import exact

FLOATS = ("<f4", ">f4", "<f8", ">f8", "<f2")
INTEGERS = ("i1", "<u2", ">i4", "<i8", ">u8")


def array_of(dtype, fill):
    """Half of the samples are missing; some others are not finite."""
    rng, dtype = np.random.default_rng(3), np.dtype(dtype)
    walk = np.cumsum(rng.standard_normal((40, 30)), 1) / 10
    if dtype.kind == "f":
        array = (2 + walk / 10).astype(dtype)
        array[rng.random(array.shape) < 0.1] = np.nan
        array[0, :3] = np.inf, -np.inf, np.nan
    else:
        most = float(np.iinfo(dtype).max)
        array = np.clip(most / 3 + walk * most / 20, 0, most / 2).astype(dtype)
    array[rng.random(array.shape) < 0.5] = fill
    return array


def valid(array, fill):
    return np.isfinite(array.astype("f8")) & (array != array.dtype.type(fill))


def errors(array, decoded, fill):
    """(largest, root of the mean square) over what is valid."""
    keep = valid(array, fill)
    one, other = array[keep], decoded[keep]
    apart = np.abs(one.astype(np.longdouble) - other.astype(np.longdouble))
    return float(apart.max()), float(np.sqrt(np.mean(apart**2)))


def with_layers(stream, count):
    """What a number of layers gives."""
    layers = h5stz.info(stream).layers
    if count == len(layers):
        return h5stz.decompress(stream)
    reader = _core.Reader.of_bytes(stream, 0)
    reader.max_error(layers[count - 1].max_error)
    info = h5stz.info(stream)
    out = np.empty(info.shape, info.dtype)
    reader.read((0, 0), info.shape, (1, 1), out.view("u1").reshape(-1), 1)
    return out


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("fill", [-999, 0, 1e20])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_layers(dtype, fill, check):
    fill = min(fill, 30000.0) if dtype == "<f2" else fill if np.dtype(dtype).kind == "f" else np.iinfo(dtype).max
    array = array_of(dtype, fill)
    bound = float(np.ptp(array[valid(array, fill)].astype("f8"))) * 1e-5
    options = {"absolute": bound} if dtype in FLOATS and dtype != "<f2" else {"lossless": True}
    stream = h5stz.compress(array, layers=3, fill_value=fill, integers="lossy", check=check, **options)
    layers = h5stz.info(stream).layers
    told = [layer.max_error for layer in layers]
    assert len(layers) > 1 or dtype == "i1"
    for count, layer in enumerate(layers, 1):
        if told[count - 1] is None or told[count - 1] >= min(told[: count - 1], default=math.inf):
            continue  # fewer layers are as good, and are read
        largest, root = errors(array, with_layers(stream, count), fill)
        assert largest == pytest.approx(layer.max_error, rel=1e-12)
        assert root == pytest.approx(layer.rmse, rel=1e-9)


def test_layers_are_useful_or_left_out_whatever_the_fill_value_is():
    """A layer whose errors are larger than all numbers is of no use; the fill value is none of them."""
    array = np.random.default_rng(1).standard_normal(4096).astype("f4")
    array[::2] = 1e30
    layers = h5stz.info(h5stz.compress(array, lossless=True, layers=3, fill_value=1e30)).layers
    assert all(layer.max_error <= 10 for layer in layers)


@pytest.mark.parametrize("dtype", FLOATS)
def test_an_estimate_and_a_comparison(dtype):
    fill = 30000.0
    array = array_of(dtype, fill)
    options = {"absolute": 1e-2, "fill_value": fill}
    decoded = h5stz.decompress(h5stz.compress(array, **options))
    largest, root = errors(array, decoded, fill)
    width = float(np.ptp(array[valid(array, fill)].astype("f8")))
    found = h5stz.estimate(array, **options)
    assert found.rmse == pytest.approx(root, rel=1e-9) and found.psnr == pytest.approx(20 * math.log10(width / root), abs=1e-6)
    compared = h5stz.compare(array, decoded, missing=(fill,))
    assert compared.count == np.count_nonzero(valid(array, fill)) and compared.unpaired == 0
    assert compared.rmse == pytest.approx(root, rel=1e-9) and compared.largest_error == pytest.approx(largest, rel=1e-12)


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<f2", "<c8"])
@pytest.mark.parametrize("enhance", [None, "relaxed"])
def test_what_is_promised_of_a_single_layer(dtype, enhance):
    """Its error was not measured: it is the bound, not less than the true one."""
    array = np.random.default_rng(3).standard_normal((50, 60)).astype(dtype)
    stream = h5stz.compress(array, absolute=1e-2, enhance=enhance)
    (layer,) = h5stz.info(stream).layers
    told = exact.largest_error(array, h5stz.decompress(stream), layer.max_error)
    assert 0 < told <= 1 and layer.rmse is None
