"""Modes with options and operations: what is stated is what holds (exhaustive/modes.py draws such cases at random)."""

import h5py
import numpy as np
import pytest

import h5stz
from support import exact


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


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("check", [False, True])
def test_a_rewrite_adds_the_content_check_that_is_asked_for(changed, check):
    stream = h5stz.compress(walk(), absolute=1e-2, content_check=False)
    array = h5stz.decompress(stream)
    if changed:
        array[:8] = 3
    new = h5stz.rewrite(array, stream, absolute=1e-2, content_check=True, check=check)
    assert h5stz.info(new).content_check and h5stz.verify(new) > 0


def content_check(dataset):
    return h5stz.info(dataset.id.read_direct_chunk((0, 0))[1]).content_check


def test_a_copy_in_one_process_adds_the_content_check_that_is_asked_for(tmp_path):
    options = {checked: h5stz.STZ(absolute=1e-2, content_check=checked) for checked in (False, True)}
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=walk(), chunks=(64, 64), **options[False])
    with h5py.File(tmp_path / "a.h5", "r+", rdcc_nbytes=0) as file:
        found = file["a"][...]
        for name in ("b", "c"):
            file.create_dataset(name, data=found, chunks=(64, 64), **options[True])
        assert [content_check(file[name]) for name in "abc"] == [False, True, True]
        assert exact.same_bits(file["c"][...], found)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("enhanced", [False, True])
def test_layer_errors_count_what_was_written_later(tmp_path, layers, enhanced):
    """Steps of 0.2 under a bound of 0.15: the rough layers have no error until noise is written over them."""
    array = (np.floor(walk() * 10) * 0.2).astype("f4")
    options = h5stz.STZ(absolute=0.15, layers=2, enhance="strict" if enhanced else None)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=array, chunks=array.shape, **options)
    array[:4] = 10 * walk((4, 64))
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        file["a"][:4] = array[:4]
    with h5py.File(tmp_path / "a.h5") as file:
        view = h5stz.view(file["a"])
        stated = view.layer_errors()[layers - 1]
        stream = h5stz.info(file["a"].id.read_direct_chunk((0, 0))[1])
        assert stream.patches and stream.layers[layers - 1].max_error <= stated
        assert exact.error_over_bound(array, view.level(0, layers=layers)[...], stated) <= 1
        assert exact.error_over_bound(array, view.at_error(stated)[...], stated) <= 1


@pytest.mark.parametrize("layers, target", [(1, 80), (2, 150), (3, 80)])
def test_a_psnr_is_that_of_the_layers_that_are_written(layers, target):
    x = np.arange(4136).reshape(2, 2, 2, 517)
    array = np.round(10 * np.sin(x * 0.9) + 10 * np.sin(x * 1.7 + 1), 1).astype("f4")
    assert psnr(array, h5stz.decompress(h5stz.compress(array, psnr=target, layers=layers))) >= target


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
