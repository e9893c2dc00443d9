"""append_axis: an array that still grows is stored exactly, and with its bound when it is complete."""

import h5py
import numpy as np
import pytest

import h5stz
from support import exact, fields

SHAPE = (8, 24, 30)


def series(dtype="f4", shape=SHAPE):
    field = 100 + 30 * fields.random_field(shape, 4, 1)
    return (field + 1j * field[::-1]).astype(dtype) if np.dtype(dtype).kind == "c" else field.astype(dtype)


def cut(array, axis, planes, rest=0):
    """The array of which only the first planes along an axis have been written."""
    result = np.full_like(array, rest)
    kept = tuple(slice(planes) if each == axis else slice(None) for each in range(array.ndim))
    result[kept] = array[kept]
    return result


@pytest.mark.parametrize("rest", [0, -9999.0, np.nan])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "f2", "c8"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_exact_until_it_is_complete(axis, dtype, rest):
    array = series(dtype)
    options = {"absolute": 1.0, "append_axis": axis, "fill_value": False}
    for planes in (1, SHAPE[axis] // 2, SHAPE[axis] - 1):
        grown = cut(array, axis, planes, rest)
        stream = h5stz.compress(grown, **options)
        assert exact.same_bits(grown, h5stz.decompress(stream)) and h5stz.info(stream).mode == "lossless"
    stream = h5stz.compress(array, **options)
    assert stream == h5stz.compress(array, absolute=1.0, fill_value=False), "a complete array is what it was"
    assert h5stz.info(stream).mode == "absolute"


def test_what_ends_along_other_axes_is_no_growth():
    """Edge chunks of datasets of fixed size pay nothing."""
    array = cut(series(), 2, 17)
    assert h5stz.compress(array, absolute=1.0, append_axis=0) == h5stz.compress(array, absolute=1.0)
    both = cut(array, 0, 5)
    assert exact.same_bits(both, h5stz.decompress(h5stz.compress(both, absolute=1.0, append_axis=0)))


@pytest.mark.parametrize("shape", [(5,), (9,), (40,), (63,), (64,), (7, 9), (3, 2, 2)], ids=str)
def test_small_arrays(shape):
    array = series("f8", shape)
    grown = cut(array, 0, shape[0] - 1)
    assert exact.same_bits(grown, h5stz.decompress(h5stz.compress(grown, absolute=1.0, append_axis=0)))
    assert h5stz.compress(array, absolute=1.0, append_axis=0) == h5stz.compress(array, absolute=1.0)


def test_nothing_written_yet():
    stream = h5stz.compress(np.zeros(SHAPE, "f4"), absolute=1.0, append_axis=0)
    assert (h5stz.info(stream).form, h5stz.info(stream).mode) == ("constant", "lossless")


def test_an_axis_that_the_array_does_not_have():
    with pytest.raises(h5stz.StzError, match="the data have 3 axes"):
        h5stz.compress(series(), absolute=1.0, append_axis=3)


@pytest.mark.usefixtures("every_chunk_fitted")
@pytest.mark.parametrize("chunk", [(8, 24, 30), (8, 10, 30), (5, 24, 30)], ids=str)
def test_frame_by_frame_through_hdf5(tmp_path, chunk):
    """Every frame in a session of its own: the bound of each sample is used once, also in chunks that stay incomplete."""
    array = series(shape=(20, 24, 30))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        options = h5stz.STZ(absolute=1.0, append_axis=0)
        file.create_dataset("x", (0, 24, 30), "f4", maxshape=(None, 24, 30), chunks=chunk, **options)
    for step, frame in enumerate(array, 1):
        with h5py.File(tmp_path / "x.h5", "r+") as file:
            file["x"].resize(step, 0)
            file["x"][step - 1] = frame
    with h5py.File(tmp_path / "x.h5") as file:
        assert exact.largest_error(array, file["x"][...], 1.0) <= 1
        whole = h5py.File("whole.h5", "w", driver="core", backing_store=False)
        target = whole.create_dataset("x", data=array, maxshape=(None, 24, 30), chunks=chunk, **options)
        whole.flush()
        complete = [(0, 0, 0), (chunk[0], 0, 0)] if chunk[0] < 8 else [(0, 0, 0), (8, 0, 0)]
        for place in complete:
            assert file["x"].id.read_direct_chunk(place) == target.id.read_direct_chunk(place), "as if written at once"
