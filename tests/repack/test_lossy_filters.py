"""Datasets that another lossy filter has compressed: `repack` leaves them; with `again=` the new file says what was lost."""

import math

import h5py
import numpy as np
import pytest
from h5py import h5z

import h5stz
from h5stz.hdf5.lossy_filters import NAMES, lossy_filters
from support import exact
from support.requirements import needs_packages

FIELD = (np.random.default_rng(0).normal(280, 3, (128, 128)) + np.add.outer(np.arange(128), np.arange(128)) / 64).astype("f4")


def reason(path, **options):
    options = options if {"lossless", "absolute", "pointwise_relative"} & options.keys() else {"absolute": 1e-2, **options}
    return h5stz.repack(path, path.with_name("new.h5"), overwrite=True, **options).outcomes[0].reason


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8"])
@pytest.mark.parametrize("digits", [0, 2, 4])
@pytest.mark.parametrize("near_fill", [False, True])
@pytest.mark.parametrize("options", [{"absolute": 0.5}, {"lossless": True}, {"pointwise_relative": 1e-2}])
def test_scale_offset_is_lossy_and_says_how_much(dtype, digits, near_fill, options, tmp_path):
    """Of floating-point numbers: each sample may be a unit of the last digit away, near the fill value."""
    path = tmp_path / "a.h5"
    field = (FIELD - 280 if near_fill else FIELD * 1000).astype(dtype)
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=field, chunks=(50, 128), scaleoffset=digits)
    assert reason(path, **options) == "compressed with loss"
    assert h5stz.plan_repack(path, **options)[0].reason == "compressed with loss"
    if reason(path, again=True, rechunk=(64, 128), **options) == "larger":
        return
    with h5py.File(tmp_path / "new.h5") as file:
        for start in (0, 64):
            stated = h5stz.info(file["x"].id.read_direct_chunk((start, 0))[1]).accumulated_bound
            assert stated > 0 and (stated < math.inf or "pointwise_relative" in options)
            if stated < math.inf:
                assert exact.largest_error(field[start : start + 64], file["x"][start : start + 64], stated) <= 1
                assert stated < 1.1 * (10.0**-digits + options.get("absolute", 0)) + 1e-6 * np.abs(field).max()


@pytest.mark.parametrize(("number", "place"), [(np.nan, 500), (np.inf, 500), (-np.inf, 0)])
def test_scale_offset_beside_numbers_that_are_not_finite(number, place, tmp_path):
    """Which HDF5 does not keep, nor others in the chunk: what is stated holds for them, or is unknown."""
    field = FIELD.copy()
    field.flat[place] = number
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=field, chunks=(128, 128), scaleoffset=2)
    if reason(tmp_path / "a.h5", again=True, rechunk=(64, 128)) == "larger":
        return
    with h5py.File(tmp_path / "new.h5") as file:
        for start in (0, 64):
            stated = h5stz.info(file["x"].id.read_direct_chunk((start, 0))[1]).accumulated_bound
            before, after = (each[start : start + 64].astype("f8") for each in (field, file["x"]))
            finite = np.isfinite(before)
            assert stated == math.inf or np.abs(after[finite] - before[finite]).max() <= stated


def test_scale_offset_of_integers(tmp_path):
    """Is exact if HDF5 chooses the bits, or they are all of the type."""
    for bits, found in ((0, None), (5, "compressed with loss"), (16, None)):
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file.create_dataset("x", data=FIELD.astype("i2"), chunks=(64, 128), scaleoffset=bits)
        assert reason(tmp_path / "a.h5", lossless=True) == found


@needs_packages("hdf5plugin")
def test_what_parameters_say_is_exact(tmp_path):
    import hdf5plugin

    for options, found in (
        (hdf5plugin.Zfp(reversible=True), None),
        (hdf5plugin.Zfp(accuracy=0.5), "compressed with loss"),
        (hdf5plugin.Zfp(rate=8), "compressed with loss"),
        (hdf5plugin.SZ3(absolute=0.5), "compressed with loss"),
        (hdf5plugin.Blosc2(), None),
        (hdf5plugin.Blosc2(filters=hdf5plugin.Blosc2.TRUNC_PREC), "compressed with loss"),
        (hdf5plugin.Zstd(), None),
    ):
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file.create_dataset("x", data=FIELD, chunks=(64, 128), **options)
        assert reason(tmp_path / "a.h5") == found, options
        if found and reason(tmp_path / "a.h5", again=True) is None:
            with h5py.File(tmp_path / "new.h5") as file:
                assert h5stz.info(file["x"].id.read_direct_chunk((0, 0))[1]).accumulated_bound == math.inf


def test_filters_are_known_by_number_and_by_name():
    """Also those that are not to be had here, such as those of CCR."""

    class Stored:  # a dataset of which only the filters are looked at
        def __init__(self, number, name):
            self.id, self.found = self, (number, 0, (3,), name)

        def get_create_plist(self):
            return self

        def get_nfilters(self):
            return 1

        def get_filter(self, index):
            return self.found

    assert all(lossy_filters(Stored(number, b"")) for number in NAMES if number not in (6, 32026))
    for number, name, lossy in (
        (37373, b"BitRound filter", True),
        (40000, b"Bit Shaving", True),
        (40000, b"BitShave", True),
        (32015, b"Zstandard", False),
        (32008, b"bitshuffle; see https://github.com/kiyo-masui/bitshuffle", False),
        (h5z.FILTER_NBIT, b"nbit", False),
    ):
        assert bool(lossy_filters(Stored(number, name))) == lossy, name
