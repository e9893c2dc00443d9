"""h5stz.write: datasets have the chunks of the filter, byte for byte, whatever the data are and however many threads write."""

import io

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import h5stz
from h5stz.hdf5.registration import plugin
from support.written import CHUNKS, FIELD, stored


@pytest.fixture(autouse=True)
def unlearned(monkeypatch):
    """The filter learns from chunk to chunk, in their order; h5stz.write takes only predictions of the client data."""
    monkeypatch.setenv("H5STZ_LEARN", "0")


def trained(stz, array, chunks, creation):
    """The options with predictions for small chunks, as write() trains them."""
    known = "dtype" not in creation or creation["dtype"] == array.dtype
    return stz.trained(array, chunks) if known and array.dtype.kind != "V" else stz


def check_as_by_the_filter(array, chunks, creation=None, threads=2, plain=None, **options):
    """write() makes what create_dataset() makes."""
    creation, of_stz = creation or {}, {**options, **({"chunks": chunks} if "data" in options else {})}
    plugin().stz_h5_forget()  # chunks of other tests, of which HDF5's addresses may remind the filter
    with h5py.File(io.BytesIO(), "w") as file:
        masked = {} if plain is None else {"fillvalue": options.get("fill_value", array.fill_value)}
        wanted = file.create_dataset(
            "wanted",
            data=array if plain is None else plain,
            chunks=chunks,
            **{**masked, **creation},
            **trained(h5stz.STZ(**of_stz), array, chunks, creation),
        )
        given = {key: value for key, value in options.items() if key not in ("data", "dtype", "chunks")}
        made = h5stz.write(file, "made", array, chunks=chunks, threads=threads, **creation, **given)
        assert made.id.get_create_plist().get_filter(0) == wanted.id.get_create_plist().get_filter(0)
        assert (made.dtype, made.shape, made.chunks, made.maxshape) == (
            wanted.dtype,
            wanted.shape,
            wanted.chunks,
            wanted.maxshape,
        )
        assert made.fillvalue == wanted.fillvalue or made.fillvalue != made.fillvalue
        assert stored(made) == stored(wanted)
        assert made[...].tobytes() == wanted[...].tobytes()


def with_missing(dtype="f4"):
    values = FIELD.astype(dtype)
    values[::3, :5] = -999
    return values


OPTIONS = {
    "absolute": {"absolute": 1e-2},
    "pointwise": {"pointwise_relative": 1e-2},
    "lossless": {"lossless": True},
    "layers": {"absolute": 1e-2, "layers": 3},
    "layer bounds": {"absolute": 1e-3, "layer_bounds": (0.5, 0.1)},
    "enhanced": {"absolute": 1e-2, "enhance": "strict"},
    "content check": {"absolute": 1e-2, "content_check": True},
    "no content check": {"absolute": 1e-2, "content_check": False},
    "check": {"absolute": 1e-2, "check": True},
    "region": {"absolute": 1e-2, "block": "region", "effort": 2},
    "appended": {"absolute": 1e-2, "append_axis": 0},
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("chunks", [CHUNKS, (70, 60, 50), (7, 60, 13), (1, 60, 50)], ids=str)
@pytest.mark.parametrize("dtype", ["<f4", ">f8"])
@pytest.mark.parametrize("options", OPTIONS)
def test_options_and_chunks(options, dtype, chunks, threads):
    check_as_by_the_filter(FIELD.astype(dtype), chunks, threads=threads, **OPTIONS[options])


TYPES = ["<f2", ">f2", "<f4", ">f4", "<f8", ">f8", "<c8", ">c16", "?", "i1", "u1", "<i2", ">i2", "<u4", ">i4", "<i8", ">u8"]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("options", [{"absolute": 2}, {"absolute": 2, "integers": "lossy"}, {"lossless": True}], ids=str)
def test_types(dtype, options):
    data = FIELD > 0 if dtype == "?" else np.abs(FIELD).astype(dtype) if "u" in dtype else FIELD.astype(dtype)
    check_as_by_the_filter(data, CHUNKS, **options)


@pytest.mark.parametrize(
    "given, dtype",
    [("f8", "f4"), ("f4", ">f8"), ("f4", "f2"), ("f8", "i4"), ("i4", "f4"), ("i8", "i2"), ("i2", "i8"), (">f4", "<f4")],
)
def test_another_type_in_the_file(given, dtype):
    check_as_by_the_filter((FIELD * 100).astype(given), CHUNKS, {"dtype": dtype}, absolute=1e-2, integers="lossy")


@pytest.mark.parametrize("names", ["ri", ("real", "imag")])
def test_complex_numbers_as_records(names):
    record = np.dtype([(names[0], "f4"), (names[1], "f4")])
    data = np.stack([FIELD, FIELD[::-1]], -1).copy().view(record)[..., 0]
    check_as_by_the_filter(data, CHUNKS, absolute=1e-2)


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i4"])
@pytest.mark.parametrize("fillvalue", [None, -999, 0, 7])
def test_edges_have_the_fill_value(dtype, fillvalue):
    check_as_by_the_filter(with_missing(dtype), (32, 17, 50), {"fillvalue": fillvalue}, absolute=1e-2, integers="lossy")


def test_missing_values():
    check_as_by_the_filter(with_missing(), CHUNKS, relative=1e-3, data=with_missing())
    check_as_by_the_filter(with_missing(), CHUNKS, absolute=1e-3, fill_value=-999, dtype="f4")
    check_as_by_the_filter(with_missing(), CHUNKS, absolute=1e-3)
    nan = np.where(FIELD > 1, np.nan, FIELD)
    check_as_by_the_filter(nan, CHUNKS, {"fillvalue": np.nan}, absolute=1e-3)
    check_as_by_the_filter(nan, CHUNKS, psnr=60, data=nan)
    check_as_by_the_filter(FIELD, CHUNKS, ratio=8, data=FIELD)


@pytest.mark.parametrize("dtype", ["f4", ">f8", "i4", "?"])
def test_masked_arrays(dtype):
    masked = np.ma.masked_where(FIELD > 1, FIELD.astype(dtype))
    masked.fill_value = {"?": True}.get(dtype, -999)
    lossy = {"lossless": True} if dtype == "?" else {"absolute": 1e-3, "integers": "lossy"}
    check_as_by_the_filter(masked, CHUNKS, plain=masked.filled(), data=masked, **lossy)
    if dtype == "f4":
        check_as_by_the_filter(masked, CHUNKS, plain=masked.filled(-5), data=masked, fill_value=-5, **lossy)
        check_as_by_the_filter(masked, CHUNKS, plain=masked.filled(np.nan), data=masked, fill_value=np.nan, **lossy)


@pytest.mark.parametrize("fill_time", ["alloc", "never", "ifset"])
def test_fill_times_and_growing(fill_time):
    creation = {"fill_time": fill_time, "maxshape": (None, 60, 50), "fillvalue": 3}
    with h5py.File(io.BytesIO(), "w") as file:
        wanted = file.create_dataset("wanted", data=FIELD, chunks=(35, 30, 50), **creation, **h5stz.STZ(absolute=1e-2))
        extra = {"creation": {"fill_time": fill_time}, "maxshape": (None, 60, 50), "fillvalue": 3}
        made = h5stz.write(file, "made", FIELD, chunks=(35, 30, 50), threads=2, absolute=1e-2, **extra)
        assert stored(made) == stored(wanted)
        for dataset in made, wanted:
            dataset.resize(100, axis=0)
            dataset[80:90] = 5
            dataset.flush()
        assert made[...].tobytes() == wanted[...].tobytes() and stored(made) == stored(wanted)


@pytest.mark.parametrize("order", ["F", "reversed", "part", "readonly"])
def test_memory_layouts(order):
    data = {
        "F": np.asfortranarray(FIELD),
        "reversed": FIELD[::-1, ::-1, ::-1],
        "part": np.pad(FIELD, 3)[3:-3, 3:-3, 3:-3],
        "readonly": np.broadcast_to(FIELD[0], FIELD.shape),
    }[order]
    check_as_by_the_filter(data, CHUNKS, absolute=1e-2)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_shape(data):
    rank = data.draw(st.integers(1, 5))
    shape = tuple(data.draw(st.integers(1, 20 if rank < 4 else 6)) for _ in range(rank))
    chunks = tuple(data.draw(st.integers(1, extent)) for extent in shape)
    dtype = data.draw(st.sampled_from(["f4", ">f4", "f8", "i2", "u1"]))
    values = np.random.default_rng(data.draw(st.integers(0, 9))).normal(size=shape) * 50
    options = data.draw(st.sampled_from([{"absolute": 0.5, "integers": "lossy"}, {"lossless": True}]))
    creation = {"fillvalue": data.draw(st.sampled_from([None, 0, 3]))}
    check_as_by_the_filter(np.abs(values).astype(dtype), chunks, creation, data.draw(st.integers(1, 3)), **options)


@pytest.mark.parametrize("dtype", ["f4", "f2", "i2", "u1"])
def test_masked_samples_become_the_fill_value_of_the_dataset(tmp_file, dtype):
    masked = np.ma.masked_where(np.arange(600).reshape(20, 30) % 7 == 0, np.arange(600).reshape(20, 30) % 50).astype(dtype)
    made = h5stz.write(tmp_file, "given", masked, lossless=True, fillvalue=99)
    assert made.fillvalue == 99 and np.array_equal(made[...], masked.filled(99))
    made = h5stz.write(tmp_file, "option", masked, lossless=True, fill_value=77)
    assert made.fillvalue == 77 and np.array_equal(made[...], masked.filled(77))


def test_masked_samples_without_a_fill_value_have_that_of_the_array(tmp_file):
    masked = np.ma.masked_less(np.arange(600.0).reshape(20, 30), 50)
    made = h5stz.write(tmp_file, "x", masked, absolute=0.1)
    assert made.fillvalue == masked.fill_value and (made[...][masked.mask] == masked.fill_value).all()


@pytest.fixture
def tmp_file(tmp_path):
    with h5py.File(tmp_path / "masked.h5", "w") as file:
        yield file
