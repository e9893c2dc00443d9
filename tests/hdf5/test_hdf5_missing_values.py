"""The value for "no data" that nobody has named (filter/api/missing_value.cpp), in chunks written through h5py."""

import h5py
import numpy as np
import pytest

from support import host_tools
from support.host_tools import ABSOLUTE, FILTER_ID, LOSSLESS, bits, field, largest_error, short_form, stream_info

h5py.h5pl.prepend(host_tools.plugin_directory().encode())

BOUND = 0.01
MISSING = slice(3, None, 11)


def write(path, data, words, **more):
    """The first chunk of `data` as stored, and all of it as read back."""
    with h5py.File(path, "w") as file:
        file.create_dataset("d", data=data, chunks=data.shape, compression=FILTER_ID, compression_opts=words, **more)
    with h5py.File(path) as file:
        return file["d"].id.read_direct_chunk((0,) * data.ndim)[1], file["d"][()]


def with_missing(dtype, value, shape=(90, 101)):
    data = field(shape, dtype)
    data[MISSING] = value
    return data


@pytest.mark.parametrize("words", [short_form(ABSOLUTE, BOUND), short_form(LOSSLESS)], ids=["absolute", "lossless"])
@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("<f4", 1e20),
        (">f4", 9.96921e36),
        ("<f8", -9999.0),
        (">f8", -1e34),
        ("<i2", -32768),
        (">i2", 32767),
        ("<i4", -(2**31)),
        (">i8", -(2**63)),
    ],
)
def test_missing_value_is_found_and_returned_bit_for_bit(tmp_path, dtype, value, words):
    data = with_missing(dtype, value)
    stream, decoded = write(tmp_path / "f.h5", data, words)
    info = stream_info(stream)
    assert (info.has_fill, info.fill) == (1, bits(np.array(value, dtype)[()]))
    assert decoded[MISSING].tobytes() == data[MISSING].tobytes()
    assert largest_error(data, decoded) <= (BOUND if words[1] else 0)


@pytest.mark.parametrize("dtype", ["<f4", "<f8"])
def test_found_costs_no_more_than_named(tmp_path, dtype):
    data, words = with_missing(dtype, 1e20), short_form(ABSOLUTE, BOUND)
    found, _ = write(tmp_path / "found.h5", data, words)
    named, _ = write(tmp_path / "named.h5", data, words, fillvalue=1e20)
    assert len(found) == len(named) < data.nbytes / 3


def test_missing_value_far_into_a_chunk_is_found(tmp_path):
    data = field((400, 100))
    data[390:] = 1e20
    assert stream_info(write(tmp_path / "f.h5", data, short_form(ABSOLUTE, BOUND))[0]).has_fill == 1


def outlier(data):
    data[1, 2] = 1e20
    return data


@pytest.mark.parametrize(
    "data",
    [
        field((64, 64)),
        np.clip(field((64, 64)), -20, 20),  # the extremes occur often, but belong to the data
        with_missing("<f4", 250.0),  # within reach of the data
        outlier(field((64, 64))),  # once only
        np.full((64, 64), 7.0),
        np.full((64, 64), np.nan),
        (field((64, 64)) > 0).astype("f4"),
    ],
    ids=["plain", "clipped", "near", "once", "constant", "nan", "mask"],
)
def test_no_missing_value_is_found_in(tmp_path, data):
    stream, decoded = write(tmp_path / "f.h5", data, short_form(ABSOLUTE, BOUND))
    assert stream_info(stream).has_fill == 0
    known = ~np.isnan(data)
    assert np.array_equal(known, ~np.isnan(decoded))
    assert np.all(np.abs(data[known] - decoded[known]) <= BOUND)


def test_distance_counts_in_bounds_too(tmp_path):
    data = np.zeros((64, 64))
    data[::2] = 1e-9
    data[MISSING] = 1e-3
    assert stream_info(write(tmp_path / "a.h5", data, short_form(ABSOLUTE, BOUND))[0]).has_fill == 0
    assert stream_info(write(tmp_path / "b.h5", data, short_form(ABSOLUTE, 1e-6))[0]).has_fill == 1


def test_a_named_fill_value_is_preferred(tmp_path):
    data = with_missing("<f4", 1e20)
    stream, _ = write(tmp_path / "f.h5", data, short_form(ABSOLUTE, BOUND), fillvalue=-1.0)
    assert stream_info(stream).fill == bits(np.float32(-1))
