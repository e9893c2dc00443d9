"""A largest error where the bound is relative to each sample: what is read is within it, or an error says why not."""

import h5py
import numpy as np
import pytest

import h5stz
from support import exact
from support.requirements import needs_packages

RELATIVE = 1e-2


@pytest.fixture(scope="module")
def array():
    """Its first rows are small numbers."""
    return np.exp(np.linspace(-9, 4, 64)[:, None] + np.random.default_rng(1).standard_normal((64, 64)) / 4).astype("f4")


@pytest.fixture(scope="module")
def path(tmp_path_factory, array):
    path = tmp_path_factory.mktemp("pointwise") / "a.h5"
    with h5py.File(path, "w") as file:
        for layers in (1, 3):
            options = h5stz.STZ(pointwise_relative=RELATIVE, layers=layers)
            file.create_dataset(f"x{layers}", data=array, chunks=(16, 64), **options)
    return path


def check(array, read, max_error):
    """`read()` gives samples within max_error, or says that it cannot."""
    try:
        found = read()
    except h5stz.StzError as error:
        assert f"max_error={max_error:g} is less than what was kept" in str(error)
        return False
    assert exact.largest_error(array, found, max_error) <= 1
    return True


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("max_error", [0.0, 1e-6, 1e-4, 0.1, 10.0])
def test_views_and_streams(path, array, layers, max_error):
    kept = []
    stream = h5stz.compress(array, pointwise_relative=RELATIVE, layers=layers)
    kept.append(check(array, lambda: h5stz.decompress(stream, max_error=max_error), max_error))
    with h5py.File(path) as file:
        view = h5stz.view(file[f"x{layers}"])
        for part in (np.s_[:], np.s_[:16], np.s_[3:9, 5], np.s_[40:, ::3]):
            kept.append(check(array[part], lambda part=part: view.read(part, max_error=max_error), max_error))
            kept.append(check(array[part], lambda part=part: view.at_error(max_error)[part], max_error))
        kept.append(check(array[::2, ::2], lambda: view.read(..., 1, max_error=max_error), max_error))
        with h5stz.partial_reads(max_error=max_error):
            kept.append(check(array[:16], lambda: file[f"x{layers}"][:16], max_error))
    assert any(kept) == (max_error >= 1e-4) and all(kept) == (max_error >= 10)


def test_the_error_that_is_named_is_enough(path, array):
    """It says what to ask for instead."""
    stream = h5stz.compress(array, pointwise_relative=RELATIVE)
    with pytest.raises(h5stz.StzError, match=r"the bound is 0\.01 of each sample.*with layers=2 or more") as told:
        h5stz.decompress(stream, max_error=1e-3)
    named = float(str(told.value).split("errors of up to ")[1].split(" ")[0])
    assert check(array, lambda: h5stz.decompress(stream, max_error=named * (1 + 1e-5)), named * (1 + 1e-5))
    with pytest.raises(h5stz.StzError, match="is less than what was kept"):
        h5stz.drop_layers(stream, 1e-3)
    assert h5stz.drop_layers(stream, 10.0) == stream


def test_other_layers_than_the_errors_tell(array):
    """Patches may have taken away what is known of the errors of layers: then all are read."""
    stream = h5stz.compress(array, pointwise_relative=RELATIVE, layers=3)
    changed = h5stz.decompress(stream)
    written = array.copy()
    changed[:2, :9] = written[:2, :9] = 3
    again = h5stz.rewrite(changed, stream, pointwise_relative=RELATIVE, layers=3)
    assert h5stz.info(again).patches and h5stz.info(again).layers[0].max_error is None
    assert check(written, lambda: h5stz.decompress(again, max_error=10.0), 10.0)
    assert not check(written, lambda: h5stz.decompress(again, max_error=1e-3), 1e-3)


def test_fill_values_do_not_count(array):
    with_fill = array.copy()
    with_fill[::3] = 1e30
    stream = h5stz.compress(with_fill, pointwise_relative=RELATIVE, fill_value=1e30)
    assert check(with_fill, lambda: h5stz.decompress(stream, max_error=10.0), 10.0)


@pytest.mark.parametrize("options", [{"pointwise_relative": RELATIVE}, {"absolute": RELATIVE}, {"lossless": True}])
def test_a_file_that_is_open_for_writing(array, options, tmp_path):
    """h5py reads it, all of it: a bound that allows more is an error there too."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        view = h5stz.view(file.create_dataset("x", data=array, chunks=(16, 64), **h5stz.STZ(**options)))
        assert check(array, lambda: view.read(..., max_error=10.0), 10.0)
        if "lossless" in options:
            assert check(array, lambda: view.read(..., max_error=0.0), 0.0)
        else:
            with pytest.raises(h5stz.StzError, match=r"max_error=0.0001 is less than"):
                view.read(..., max_error=1e-4)


@needs_packages("zarr", "xarray")
def test_zarr_and_xarray(path, array):
    import xarray
    import zarr

    from h5stz.zarr import StzCodec

    for max_error, is_kept in ((1e-4, False), (10.0, True)):
        codec = StzCodec(pointwise_relative=RELATIVE, max_error=max_error)
        stored = zarr.create_array({}, shape=array.shape, chunks=(32, 64), dtype="f4", serializer=codec, compressors=None)
        stored[...] = array
        for part in (np.s_[...], np.s_[40:, 3:9]):
            assert check(array[part], lambda part=part, stored=stored: stored[part], max_error) == is_kept
        with xarray.open_dataset(path, engine="h5stz", max_error={"x1": max_error}) as dataset:
            assert check(array, lambda dataset=dataset: dataset["x1"].values, max_error) == is_kept
