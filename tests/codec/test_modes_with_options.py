"""Modes with options and operations: what is stated is what holds (exhaustive/modes.py draws many more such cases)."""

import tempfile
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import h5stz
from exhaustive import memory, modes, modes_in_files
from exhaustive.promises import Tally
from exhaustive.source import Source
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


SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize("layers, target", [(3, 80), pytest.param(1, 80, marks=SLOW), pytest.param(2, 150, marks=SLOW)])
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


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("fill", [{"fill_value": False}, {"fill_value": -102}], ids=str)
@pytest.mark.parametrize("fillvalue", [None, 0])
def test_psnr_is_reached_in_one_chunk_whether_or_not_the_filter_finds_a_mark(dtype, fill, fillvalue, tmp_path):
    """A few distinct values: the filter takes 20000 for a mark, and then quantizes the others, which were ranks before."""
    array = np.random.default_rng(0).choice(np.array([7, 6, -102, 3, 20000], dtype), (40, 40))
    valid = array != -102 if fill["fill_value"] else np.full(array.shape, True)
    options = h5stz.STZ(psnr=80, data=array, chunks=array.shape, integers="lossy", **fill)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=array, chunks=array.shape, fillvalue=fillvalue, **options)
        assert psnr(array[valid], file["a"][...][valid]) >= 80


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


@pytest.mark.parametrize("operation", modes_in_files.OPERATIONS)
@settings(max_examples=12)
@given(number=st.integers(0, 2**32))
def test_an_operation_on_a_file_keeps_what_is_stated(operation, number):
    source = Source("test", operation, number)
    array, fill, options = modes.draw(source)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = modes_in_files.Case(source, Tally(), array, fill, options, Path(folder))
        try:
            modes_in_files.OPERATIONS[operation](case)
        except (memory.Expected, h5stz.StzError) as error:
            assert any(text in str(error) for texts in memory.MAY_FAIL.values() for text in texts), error


@pytest.mark.parametrize("ratio", [2, 10, 20])
def test_a_ratio_is_met_or_refused_beside_numbers_as_large_as_there_are(ratio):
    array = np.exp(walk((385, 9)).astype("f8") / 9)
    array[2::5] = -1.7976931348623157e308
    try:
        stream = h5stz.compress(array, ratio=ratio, fill_value=False)
    except h5stz.StzError as error:
        assert "no bound gives" in str(error)
    else:
        assert len(stream) * ratio <= array.nbytes


def test_errors_of_layers_count_what_was_kept():
    first = walk().astype("f8") * 1e-80
    stream = h5stz.compress(first, absolute=1e-30, layers=3)
    array, last = h5stz.decompress(stream), first.copy()
    array[:60] = last[:60] = walk()[:60]
    new = h5stz.rewrite(array, stream, absolute=1e-30, layers=3, check=True)
    for layer in h5stz.info(new).layers:
        assert abs(last - h5stz.decompress(new, max_error=max(layer.max_error, 1e-30))).max() <= layer.max_error


def test_what_became_a_fill_value_counts_among_what_was_kept():
    first = np.zeros((16, 16), "f4")
    first[::2] = np.float32(1.7014117e38)
    first[1] = np.linspace(1, 2, 16)
    stream = h5stz.compress(first, pointwise_relative=3e-3, fill_value=False)
    array, last = h5stz.decompress(stream), first.copy()
    array[4:6] = last[4:6] = 1
    for fill in (False, float(array[0, 0])):
        exact = h5stz.rewrite(array, stream, lossless=True, fill_value=fill)
        error = abs(last.astype("f8") - h5stz.decompress(exact)).max()
        assert error <= (h5stz.info(exact).accumulated_bound or 0)


@pytest.mark.parametrize("first", [{"pointwise_relative": 1e-4}, {"lossless": True}])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_an_accumulated_bound_counts_what_was_written_later_under_a_larger_bound(first, dtype):
    """A stream without loss that is made of the patched one records the largest of all bounds."""
    rng = np.random.default_rng(1)
    integers = {"integers": "lossy"} if dtype == "i4" else {}
    if dtype == "i4" and "lossless" not in first:
        first = {"absolute": 2}
    small, large = (3, 500) if dtype == "i4" else (1e-3, 0.5)
    want = (1000 * rng.standard_normal(4096).cumsum()).astype(dtype)
    stream = h5stz.compress(want, absolute=small, **integers)
    steps = [
        (100, 120, first),
        (1000, 1300, {"absolute": large}),
        (200, 900, {"lossless": True}),
        (2000, 4000, {"lossless": True}),
    ]
    for start, stop, options in steps:
        part = slice(start, stop)
        array = h5stz.decompress(stream)
        array[part] = want[part] = (1000 * rng.standard_normal(array[part].size)).astype(dtype)
        stream = h5stz.rewrite(array, stream, **options, **({} if "lossless" in options else integers))
        info = h5stz.info(stream)
        error = np.abs(h5stz.decompress(stream).astype("f8") - want.astype("f8")).max()
        assert error <= max(info.bound, info.accumulated_bound or 0)
        if info.mode == "absolute" and info.accumulated_bound is not None:
            assert info.accumulated_bound >= info.bound


@pytest.mark.parametrize("chunks", [(40, 40), (33, 64), (31, 43), (64, 33)])
@pytest.mark.parametrize("options", [{}, {"layers": 3}, {"enhance": True}], ids=["plain", "layers", "enhanced"])
def test_a_ratio_holds_with_chunks_that_reach_beyond_the_end(tmp_path, chunks, options):
    """HDF5 stores whole chunks."""
    array = walk()
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("a", data=array, chunks=chunks, **h5stz.STZ(ratio=6, data=array, chunks=chunks, **options))
    with h5py.File(tmp_path / "a.h5") as file:
        assert 6 <= array.nbytes / file["a"].id.get_storage_size() <= 6 * 1.03
