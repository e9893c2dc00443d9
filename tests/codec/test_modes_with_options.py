"""Modes with options and operations: what is stated is what holds (exhaustive/modes.py draws such cases at random)."""

import h5py
import numpy as np
import pytest

import h5stz


def walk(shape=(64, 64)):
    return np.random.default_rng(0).standard_normal(shape).cumsum(-1).astype("f4")


def psnr(array, decoded):
    error = np.mean((array.astype("f8") - decoded.astype("f8")) ** 2)
    return np.inf if error == 0 else 20 * np.log10(float(np.ptp(array))) - 10 * np.log10(error)


@pytest.mark.parametrize("check", [False, True])
def test_what_was_kept_of_a_looser_stream_keeps_its_bound_in_the_header(check):
    last = walk()
    stream = h5stz.compress(last, absolute=1.0)
    array = h5stz.decompress(stream)
    array[:8] = last[:8] = 0.5
    new = h5stz.rewrite(array, stream, absolute=1e-3, check=check)
    assert h5stz.info(new).bound == h5stz.info(new).accumulated_bound == 1.0
    with pytest.raises(h5stz.StzError, match="less than what was kept"):
        h5stz.decompress(new, max_error=0.01)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8"])
def test_what_a_point_wise_bound_lost_is_recorded_without_loss(dtype):
    first = (np.abs(walk()) + 1).astype(dtype)
    stream = h5stz.compress(first, pointwise_relative=1e-2)
    array = h5stz.decompress(stream)
    last = first.copy()
    array[:8] = last[:8] = 7
    exact = h5stz.rewrite(array, stream, lossless=True)
    info, kept = h5stz.info(exact), abs(array[8:].astype("c16")).max()
    assert info.mode == "lossless" and info.bound_used
    assert abs(last.astype("c16") - h5stz.decompress(exact)).max() <= np.sqrt(2) * info.accumulated_bound
    assert info.accumulated_bound <= 1e-2 / 0.99 * kept * (1 + 1e-12)
    assert h5stz.info(h5stz.rewrite(array, exact, lossless=True)).accumulated_bound == info.accumulated_bound


def test_a_point_wise_bound_does_not_claim_what_had_lost_more_before():
    first = np.abs(walk()) + 1
    stream = h5stz.compress(first, pointwise_relative=1e-1)
    array, last = h5stz.decompress(stream), first.copy()
    array[:8] = last[:8] = 7
    exact = h5stz.rewrite(array, stream, lossless=True)
    array[8:60] = last[8:60] = first[4:56] * 3
    new = h5stz.rewrite(array, exact, pointwise_relative=1e-2)
    info, error = h5stz.info(new), abs(last - h5stz.decompress(new))
    assert info.bound_used and (error > 0.02 * last).any(), "what was kept has its errors"
    assert info.mode == "absolute" and error.max() <= info.accumulated_bound


SINGLE_LAYERS = {
    "float16": (walk().astype("f2"), {"absolute": 0.1}, 0.1, None),
    "enhanced": (walk(), {"absolute": 3.0, "enhance": "relaxed"}, None, None),
    "palette": (np.round(walk()), {"absolute": 1e-3, "layers": 3}, 0.0, 0.0),
    "constant": (np.ones((64, 64), "f4"), {"absolute": 1e-3, "layers": 3}, 0.0, 0.0),
    "lossless": (walk(), {"lossless": True}, 0.0, 0.0),
    "point-wise": (walk(), {"pointwise_relative": 1e-3}, None, None),
}


@pytest.mark.parametrize("name", SINGLE_LAYERS)
def test_a_single_layer_says_what_is_promised(name):
    array, options, error, rmse = SINGLE_LAYERS[name]
    stream = h5stz.compress(array, **options)
    info = h5stz.info(stream)
    (layer,) = info.layers
    assert (layer.max_error, layer.rmse) == (info.relaxed_bound if name == "enhanced" else error, rmse)
    if layer.max_error is not None:
        assert abs(array.astype("f8") - h5stz.decompress(stream)).max() <= layer.max_error


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("check", [False, True])
def test_a_rewrite_adds_the_content_check_that_is_asked_for(changed, check):
    stream = h5stz.compress(walk(), absolute=1e-2, content_check=False)
    array = h5stz.decompress(stream)
    if changed:
        array[:8] = 3
    new = h5stz.rewrite(array, stream, absolute=1e-2, content_check=True, check=check)
    assert h5stz.info(new).content_check and h5stz.verify(new) > 0


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_a_psnr_is_that_of_the_layers_that_are_written(layers):
    x = np.arange(4136).reshape(2, 2, 2, 517)
    array = np.round(10 * np.sin(x * 0.9) + 10 * np.sin(x * 1.7 + 1), 1).astype("f4")
    assert psnr(array, h5stz.decompress(h5stz.compress(array, psnr=80, layers=layers))) >= 80


def test_a_psnr_holds_in_chunks_of_any_shape(tmp_path):
    y, x = np.mgrid[:256, :256]
    array = (10 * np.sin(0.02 * x + 0.01 * y) + np.sin(0.1 * x)).astype("f4")
    options = h5stz.STZ(psnr=40, data=array)
    for chunks in ((256, 256), (100, 100), (64, 64), (256, 8), (3, 200)):
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file.create_dataset("a", data=array, chunks=chunks, **options)
        with h5py.File(tmp_path / "a.h5") as file:
            assert psnr(array, file["a"][...]) >= 40, chunks


def test_an_estimate_leaves_fill_values_out_of_the_error():
    array = walk()
    array[:40] = 1e20
    found = h5stz.estimate(array, absolute=0.05)
    decoded = h5stz.decompress(h5stz.compress(array, absolute=0.05))
    assert found.psnr == pytest.approx(psnr(array[40:], decoded[40:]), abs=1e-6)


def test_effort_9_is_never_longer_than_the_default():
    array = np.maximum(walk((64, 4096)) - 20, 0)
    assert len(h5stz.compress(array, absolute=0.1, effort=9)) <= len(h5stz.compress(array, absolute=0.1))


@pytest.mark.parametrize("enhance", ["no", 0, []])
def test_a_view_refuses_what_is_no_switch(tmp_path, enhance):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=walk(), chunks=(64, 64), **h5stz.STZ(absolute=0.1))
    with h5py.File(tmp_path / "a.h5") as file, pytest.raises(h5stz.StzError, match="enhance"):
        h5stz.view(file["a"]).read(..., enhance=enhance)
