"""Datasets of bfloat16 and float8 in HDF5: its own types, Keras' opaque bytes, and what commands make of both; long doubles."""

import ctypes
import json
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.hdf5.short_floats import hdf5_type
from support import commands, host_tools
from support.requirements import needs_packages
from support.short_floats import NAMES, check, doubles, dtype_of, field, same, words

pytestmark = needs_packages("ml_dtypes")
HDF5_NAMES = {
    "H5T_FLOAT_BFLOAT16LE_g": "<bfloat16",
    "H5T_FLOAT_BFLOAT16BE_g": ">bfloat16",
    "H5T_FLOAT_F8E4M3_g": "<float8_e4m3fn",
    "H5T_FLOAT_F8E5M2_g": "<float8_e5m2",
}


def write_raw(dataset, array):
    """Writes an array to a dataset without conversion, as programs in C do that have such numbers."""
    dataset.id.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(words(array)), dataset.id.get_type())


@pytest.fixture
def plain(tmp_path):
    """A file with the types of HDF5, with opaque bytes as of Keras, and with other opaque bytes; and the arrays."""
    arrays = {name: field(name, (120, 130)) for name in NAMES}
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        for name, array in arrays.items():
            write_raw(file.create_dataset(f"native/{name}", array.shape, h5py.Datatype(hdf5_type(array.dtype))), array)
            opaque = array.view(f"V{array.dtype.itemsize}")
            file.create_dataset(f"keras/{name}", data=opaque).attrs["dtype"] = name
            file.create_dataset(f"opaque/{name}", data=opaque)
    return tmp_path / "plain.h5", arrays


@pytest.mark.parametrize("symbol", HDF5_NAMES)
def test_the_types_are_those_of_hdf5_2(symbol):
    library = ctypes.CDLL(host_tools.mapped_library("libhdf5", "h5py"))
    if not hasattr(library, symbol):
        pytest.skip("needs HDF5 2.0 or newer in h5py")
    named = h5py.h5t.TypeFloatID(ctypes.c_int64.in_dll(library, symbol).value).copy()
    order, name = HDF5_NAMES[symbol][0], HDF5_NAMES[symbol][1:]
    assert hdf5_type(dtype_of(name).newbyteorder(order)).equal(named)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", [{"lossless": True}, {"absolute": 3.0}, {"relative": 0.02}], ids=str)
def test_written_and_read(tmp_path, name, options):
    array = field(name, (100, 130))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = h5stz.write(file, "x", array, chunks=(32, 64), **options)
        bound = h5stz.STZ.from_dataset(dataset).bound
        assert dataset.id.get_storage_size() < array.nbytes
        check(array, h5stz.read(dataset), bound)
    with h5py.File(tmp_path / "x.h5") as file:
        whole = h5stz.read(file["x"])
        check(array, whole, bound)
        assert same(np.ascontiguousarray(whole[7:90:3, 5]), h5stz.read(file["x"], np.s_[7:90:3, 5]))
        assert same(whole[[1, 4]], h5stz.read(file["x"], [1, 4]))
        assert h5stz.read(file["x"], (50, 60)) == whole[50, 60]
        out = np.empty(array.shape, array.dtype)
        assert h5stz.read(file["x"], out=out) is out and same(out, whole)
        if name != "float8_e4m3fn":  # HDF5 takes its largest numbers for infinities
            with np.errstate(invalid="ignore"):
                assert np.array_equal(file["x"][...], whole.astype(file["x"].dtype), equal_nan=True)


def test_the_other_byte_order(tmp_path):
    array = field("bfloat16").astype(dtype_of("bfloat16").newbyteorder(">"))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = h5stz.write(file, "x", array, absolute=3.0)
        assert dataset.id.get_type().get_order() == h5py.h5t.ORDER_BE
        check(array, h5stz.read(dataset), 3.0)


def test_other_floats_are_converted(tmp_path):
    numbers = np.linspace(-3, 3, 9000).reshape(90, 100)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = h5stz.write(file, "x", numbers, dtype="bfloat16", lossless=True)
        assert same(h5stz.read(dataset), numbers.astype(dtype_of("bfloat16")))


def test_the_filter_gets_the_type_and_takes_every_write(tmp_path):
    array = field("bfloat16")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        options = h5stz.STZ(absolute=3.0)
        dataset = file.create_dataset("x", array.shape, h5py.Datatype(hdf5_type(array.dtype)), chunks=(30, 40), **options)
        write_raw(dataset, array)
    with h5py.File(tmp_path / "x.h5") as file:
        check(array, h5stz.read(file["x"]), 3.0)
        assert h5stz.STZ.from_dataset(file["x"]).resolved.dtype == array.dtype


@pytest.mark.parametrize("options", [{"lossless": True}, {"absolute": 3.0}, {"relative": 0.02}], ids=str)
def test_whole_files(plain, tmp_path, options):
    path, arrays = plain
    report = h5stz.repack(path, tmp_path / "small.h5", **options)
    reasons = {outcome.path: outcome.reason for outcome in report.outcomes}
    compressed = {f"/{group}/{name}" for group in ("native", "keras") for name in NAMES}
    assert {path for path, reason in reasons.items() if reason is None} == compressed
    assert {reasons[f"/opaque/{name}"] for name in NAMES} == {"type"}
    with h5py.File(tmp_path / "small.h5") as file, h5py.File(path) as before:
        for name, array in arrays.items():
            for group in "native", "keras":
                dataset = file[f"{group}/{name}"]
                assert dataset.id.get_type().equal(before[f"{group}/{name}"].id.get_type())
                check(array, h5stz.read(dataset), h5stz.STZ.from_dataset(dataset).bound)
            assert file[f"keras/{name}"][...].tobytes() == h5stz.read(file[f"keras/{name}"]).tobytes()


def run(*arguments):
    done = commands.run(*arguments)
    assert done.status == 0, done
    return done.out


def test_commands(plain, tmp_path):
    path, arrays = plain
    run("compress", path, tmp_path / "small.h5", "--absolute", "3")
    assert "damaged" not in run("verify", tmp_path / "small.h5")
    described = {
        each["path"]: each["dtype"] for each in json.loads(run("info", "--json", tmp_path / "small.h5"))["files"][0]["datasets"]
    }
    assert {described[f"/{group}/{name}"] for group in ("native", "keras") for name in NAMES} == set(NAMES)
    assert "not compared: bfloat16" not in run("compare", path, tmp_path / "small.h5")
    run("decompress", tmp_path / "small.h5", tmp_path / "large.h5")
    run("salvage", tmp_path / "small.h5", tmp_path / "saved.h5")
    with h5py.File(tmp_path / "small.h5") as small:
        for other in "large.h5", "saved.h5":
            with h5py.File(tmp_path / other) as file:
                for name in arrays:
                    for group in "native", "keras":
                        assert same(h5stz.read(file[f"{group}/{name}"]), h5stz.read(small[f"{group}/{name}"]))


def test_without_ml_dtypes_datasets_are_copied(plain, tmp_path, monkeypatch):
    path, arrays = plain
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "ml_dtypes", None)
        report = h5stz.repack(path, tmp_path / "copy.h5", lossless=True)
        with h5py.File(path) as file, pytest.raises(h5stz.StzTypeError, match="pip install ml_dtypes"):
            h5stz.read(file["native/bfloat16"])
    assert {outcome.reason for outcome in report.outcomes} == {"type"}
    with h5py.File(tmp_path / "copy.h5") as file:
        assert all(same(h5stz.read(file[f"native/{name}"]), array) for name, array in arrays.items())


def test_opaque_data_are_refused_unless_client_data_name_the_type(tmp_path):
    array = field("bfloat16")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        opaque = {"data": array.view("V2"), "chunks": array.shape, "compression": h5stz.FILTER_ID}
        settings = h5stz.STZ(lossless=True).resolved.settings
        of_another = settings.full_cd_values(dtype_of("float8_e5m2"), array.shape)
        for refused in settings.pack(), of_another:
            with pytest.raises(ValueError, match="opaque"):
                file.create_dataset("x", **opaque, compression_opts=refused)
        file.create_dataset("x", **opaque, compression_opts=settings.full_cd_values(array.dtype, array.shape))
    with h5py.File(tmp_path / "x.h5") as file:
        assert file["x"][...].tobytes() == array.tobytes()
        assert file["x"].id.get_storage_size() < 0.8 * array.nbytes


LONG = np.linspace(0, 1, 6000, dtype=np.longdouble).reshape(60, 100) ** 3


@pytest.mark.skipif(LONG.dtype.itemsize != 16, reason="needs long doubles of 16 bytes")
def test_long_doubles_are_stored_without_loss(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=LONG, chunks=(30, 50), **h5stz.STZ(lossless=True))
        h5stz.write(file, "y", LONG, lossless=True)
        file.create_dataset("z", data=LONG, chunks=(30, 50), fillvalue=2.0, **h5stz.STZ(lossless=True, data=LONG))
    with h5py.File(tmp_path / "x.h5") as file:
        for name in "xyz":
            assert np.array_equal(file[name][...], LONG) and np.array_equal(h5stz.read(file[name]), LONG)
            assert file[name].id.get_storage_size() < LONG.nbytes
    assert "damaged" not in run("verify", tmp_path / "x.h5")
    run("decompress", tmp_path / "x.h5", tmp_path / "y.h5")
    with h5py.File(tmp_path / "y.h5") as file:
        assert np.array_equal(file["x"][...], LONG)


@pytest.mark.skipif(LONG.dtype.itemsize != 16, reason="needs long doubles of 16 bytes")
def test_long_doubles_have_no_bound(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        with pytest.raises(ValueError, match=r"long double.*lossless.*float64"):
            file.create_dataset("x", data=LONG, chunks=(30, 50), **h5stz.STZ(absolute=1e-3))
    with pytest.raises(h5stz.StzTypeError, match=r"lossless=True.*astype"):
        h5stz.STZ(absolute=1e-3, data=LONG)
    assert doubles(LONG).max() == 1


@needs_packages("dask")
@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_dask(tmp_path, name):
    import dask.array

    array = field(name, (100, 130))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = h5stz.write(file, "x", dask.array.from_array(array, chunks=(50, 65)), absolute=3.0, threads=2)
        check(array, h5stz.read(dataset), 3.0)
