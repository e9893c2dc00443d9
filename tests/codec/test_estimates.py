"""Estimates: exact where they are cheap, near the truth where they are samples, and bounds for a wanted ratio."""

import math

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.slabs import boxes
from support.fields import random_field

MOST_COMPRESSED = 1 << 21  # elements, up to which estimating means compressing
WORST = 0.12  # of the size


@pytest.fixture(scope="module")
def volume():
    """More samples than are compressed to estimate them."""
    rough = random_field((160, 144, 96), 5, 3) + 0.02 * np.random.default_rng(1).standard_normal((160, 144, 96))
    assert rough.size > MOST_COMPRESSED
    return rough.astype("f4")


def psnr(array, decoded):
    valid = np.isfinite(array)
    before, after = array[valid].astype("f8"), decoded[valid].astype("f8")
    return 20 * math.log10(np.ptp(before) / math.sqrt(np.mean((before - after) ** 2)))


def check_near(array, worst=WORST, **options):
    stream = h5stz.compress(array, **options)
    found = h5stz.estimate(array, **options)
    assert not found.exact
    assert found.array_bytes == array.nbytes
    assert found.bytes == pytest.approx(len(stream), rel=worst)
    decoded = h5stz.decompress(stream)
    if np.array_equal(decoded, array, equal_nan=array.dtype.kind == "f"):
        assert found.psnr == math.inf
        assert found.rmse == 0
    else:
        assert found.psnr == pytest.approx(psnr(array, decoded), abs=3 if "pointwise_relative" in options else 1)
    return found


@pytest.mark.parametrize("bound", [0.1, 1e-3])
def test_volumes(volume, bound):
    check_near(volume, absolute=bound)


@pytest.mark.parametrize(
    "options", [{"lossless": True}, {"absolute": 1e-2, "effort": 1}, {"pointwise_relative": 1e-3}], ids=str
)
def test_modes(volume, options):
    check_near(volume, **options)


def test_other_kinds(volume):
    check_near(np.where(random_field(volume.shape, 6, 5) > 0.6, np.nan, volume).astype("f8"), absolute=1e-2)
    check_near(np.round(300 * volume).astype("i2"), lossless=True)
    check_near(np.concatenate([volume] * 2).reshape(-1, volume.shape[2]), absolute=1e-2)


@pytest.mark.parametrize("special", [np.nan, np.inf], ids=str)
def test_few_special_values_far_from_the_beginning(volume, special):
    array = volume.copy()
    array.reshape(-1)[np.random.default_rng(2).integers(array.size // 2, array.size, 20000)] = special
    found = check_near(array, absolute=1e-2)
    assert np.isfinite(found.psnr)


def test_arrays_that_are_hardly_filled(volume):
    """Planes that nothing was written to: what is left is small, and is compressed."""
    array = np.zeros_like(volume)
    array[:4] = volume[:4]
    found = h5stz.estimate(array, absolute=1e-2)
    stream = h5stz.compress(array, absolute=1e-2)
    assert found.bytes == len(stream)
    assert found.rmse == pytest.approx(np.sqrt(np.mean((h5stz.decompress(stream).astype("f8") - array) ** 2)))


def test_layers_are_estimated_in_edge_mode(volume):
    """Layers with sharp faces, for which the encoder has another mode, of far smaller streams."""
    depth = np.arange(volume.shape[0])[:, None, None] + 9 * random_field(volume.shape[1:], 5, 7)
    layers = (2 + 0.3 * np.floor(depth / 11)).astype("f4")
    found = check_near(layers + np.float32(1e-3) * layers**2, worst=0.4, absolute=1e-4)  # faces are few and far between
    assert found.ratio > 50


@pytest.mark.parametrize("dtype", ["f4", ">f8", "i2", "c8", "?"])
def test_small_arrays_are_compressed(dtype):
    for shape in ((1,), (7,), (300,), (40, 50), (31, 33, 35), (4, 9, 20, 21)):
        array = (100 * random_field(shape, 4, 1)).astype(dtype) if math.prod(shape) > 1 else np.ones(shape, dtype)
        found, stream = h5stz.estimate(array, absolute=0.5), h5stz.compress(array, absolute=0.5)
        assert (found.exact, found.bytes, found.spread) == (True, len(stream), 0), shape
        error = np.abs(h5stz.decompress(stream).astype("c16") - array.astype("c16"))
        assert found.rmse == pytest.approx(math.sqrt(np.mean(error**2) / (2 if dtype == "c8" else 1))), shape


@pytest.mark.parametrize("dtype", ["i8", "u8", ">u8"])
@pytest.mark.parametrize("offset", [0, 2**62])
def test_errors_of_large_integers_are_those_of_integers(dtype, offset):
    """float64 does not tell neighbours there."""
    array = np.random.default_rng(1).choice(np.array([1, 2, 3, 40000], "u8"), (114, 79)).astype(dtype) + np.array(offset, dtype)
    options = {"absolute": 2000, "integers": "lossy", "fill_value": False}
    found, decoded = h5stz.estimate(array, **options), h5stz.decompress(h5stz.compress(array, **options))
    error = (decoded.astype("i8") - array.astype("i8")).astype("f8")
    assert found.exact and found.rmse == pytest.approx(math.sqrt(np.mean(error**2))) and found.rmse > 100


def test_the_number_of_threads_does_not_matter(volume):
    one, several = (h5stz.estimate(volume, absolute=1e-2, threads=threads) for threads in (1, 3))
    assert (one.bytes, one.rmse) == (several.bytes, several.rmse)


class Watched:
    """An array that remembers which part of it was read."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.elements = array, array.shape, array.dtype, 0

    def __getitem__(self, box):
        part = self.array[box]
        self.elements += part.size
        return part


def test_only_sampled_chunks_are_read(volume):
    watched = Watched(volume)
    found = h5stz.estimate(watched, absolute=1e-2, chunks=(32, 32, 32), sample_bytes=20 << 17)
    assert found.sampled == watched.elements >> 15 == 20
    assert found.chunk_count == 5 * 5 * 3
    size = sum(len(h5stz.compress(np.ascontiguousarray(volume[box]), absolute=1e-2)) for box in boxes(volume.shape, (32,) * 3))
    assert found.bytes == pytest.approx(size, rel=0.1)
    assert 0 < found.spread < 0.2 * found.bytes


@pytest.mark.parametrize("chunks", [(40, 48, 48), (70, 64, 40)], ids=["whole", "over the edge"])
@pytest.mark.parametrize(
    "options", [{"relative": 1e-3}, {"relative": 1e-3, "fill_value": 5.0}, {"pointwise_relative": 1e-2}], ids=str
)
@pytest.mark.usefixtures("every_chunk_fitted")
def test_datasets(volume, tmp_path, chunks, options):
    """The chunks of the file, and what a file with them takes."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        plain = file.create_dataset("plain", data=volume, chunks=chunks, compression="gzip", compression_opts=1)
        found = h5stz.estimate(plain, **options)
        assert found.chunks == plain.chunks
        made = file.create_dataset(
            "made", data=volume, chunks=chunks, fillvalue=options.get("fill_value"), **h5stz.STZ(found.options)
        )
        assert found.exact == ("fill_value" not in options or chunks == (40, 48, 48))
        assert found.bytes == made.id.get_storage_size()
        assert found.bound == h5stz.STZ.from_dataset(made).bound
        assert found.psnr == pytest.approx(psnr(volume, made[...]), abs=1e-6)


def test_chunks_in_which_the_filter_detects_a_missing_value(tmp_path):
    """It looks at each chunk alone."""
    array = np.arange(100, dtype="f4").reshape(10, 10)
    array[::3, ::2] = -9999
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for chunks in ((5, 5), (4, 4)):
            options = h5stz.STZ(absolute=0.1, data=array, fill_value=False)
            made = file.create_dataset(str(chunks), data=array, chunks=chunks, **options)
            found = h5stz.estimate(array, chunks=chunks, absolute=0.1, fill_value=False)
            assert found.exact
            assert found.bytes == made.id.get_storage_size()


def test_a_dataset_with_a_fill_value_of_its_own_is_not_exact(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        made = file.create_dataset("x", data=np.arange(100.0).reshape(10, 10), chunks=(5, 5), fillvalue=99)
        assert not h5stz.estimate(made, absolute=0.1).exact


def test_an_axis_along_which_a_dataset_grows(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        made = file.create_dataset("x", data=np.zeros((20, 20)), chunks=(10, 10), **h5stz.STZ(absolute=0.1, append_axis=1))
        assert h5stz.estimate(made, absolute=0.1, append_axis=1).bytes == made.id.get_storage_size()


@pytest.mark.parametrize("wanted", [{"psnr": 60}, {"ratio": 40}], ids=str)
def test_bounds_for_what_is_wanted(volume, wanted):
    found = h5stz.estimate(volume, **wanted)
    decoded = h5stz.decompress(stream := h5stz.compress(volume, absolute=found.bound))
    if "psnr" in wanted:
        assert psnr(volume, decoded) == pytest.approx(wanted["psnr"], abs=1)
    else:
        assert volume.nbytes / len(stream) == pytest.approx(wanted["ratio"], rel=WORST)


@pytest.mark.parametrize(("ratio", "chunks"), [(3.5, (64, 64, 64)), (10, (160, 144, 96)), (60, (64, 64, 64))], ids=str)
def test_ratio_is_met_through_hdf5(volume, tmp_path, ratio, chunks):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        made = file.create_dataset("x", data=volume, chunks=chunks, **h5stz.STZ(ratio=ratio, data=volume, chunks=chunks))
        padding = 1 if chunks == volume.shape else 0.97  # of the chunks at the edges
        assert volume.nbytes / made.id.get_storage_size() >= ratio * padding
        assert volume.nbytes / made.id.get_storage_size() <= ratio * 1.031
        assert np.abs(made[...].astype("f8") - volume).max() <= h5stz.STZ.from_dataset(made).bound


def test_ratio_of_what_is_smaller_without_loss():
    steps = np.repeat(np.arange(32.0), 4096).reshape(32, 64, 64)
    assert h5stz.STZ(ratio=3, data=steps).bound == 0
    assert h5stz.STZ(ratio=3, data=np.full((20, 20), 7.0)).bound == 0
    assert h5stz.estimate(steps, ratio=3).bound == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 1}, "above 1"),
        ({"ratio": 0.5}, "above 1"),
        ({"ratio": math.inf}, "finite"),
        ({"ratio": "10"}, "must be a number"),
        ({"ratio": 4, "absolute": 1}, "two bounds"),
        ({"absolute": 1, "data": np.ones(4)}, "leave it out"),
        ({"absolute": 1, "sample_bytes": 0}, "sample_bytes"),
        ({"absolute": 1, "jobs": "two"}, "jobs"),
        ({"absolute": 1, "chunks": (3,)}, "chunks"),
        ({}, "no bound"),
    ],
    ids=str,
)
def test_wrong_options(options, message):
    with pytest.raises((h5stz.StzError, TypeError), match=message):
        h5stz.estimate(random_field((20, 20), 4, 1), **options)


def test_impossible_ratios():
    noise = np.random.default_rng(3).standard_normal((8, 9)).astype("f4")
    with pytest.raises(h5stz.StzError, match="cannot be met"):
        h5stz.STZ(ratio=1000, data=noise)
    with pytest.raises(h5stz.StzError, match="refers to the whole dataset"):
        h5stz.STZ(ratio=10)
    with pytest.raises(h5stz.StzError, match="nothing to estimate"):
        h5stz.estimate(np.empty((0, 3)), absolute=1)
