"""The filter through h5py: writing with h5stz.STZ, reading with nothing but the import, what is refused."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import h5stz
from support import exact, fields

DTYPES = [order + kind for kind in ("f2", "f4", "f8", "i2", "u2", "i4", "u4", "i8", "u8", "c8", "c16") for order in "<>"]
DTYPES += ["i1", "u1"]


def file_in_memory():
    """An HDF5 file that never reaches a disk."""
    return h5py.File("memory.h5", "w", driver="core", backing_store=False)


def written(array, chunks, **options):
    """(array as read back, stored bytes) through a file in memory."""
    with file_in_memory() as file:
        file.create_dataset("x", data=array, chunks=chunks, **options)
        file.flush()
        dataset = file["x"]
        dataset.id.refresh()  # read what is stored, not what is cached
        return dataset[...], dataset.id.get_storage_size()


@given(data=st.data(), dtype=st.sampled_from(DTYPES), bound=st.floats(0, 1e3))
def test_the_bound_holds_for_any_chunks(data, dtype, bound):
    array = data.draw(npst.arrays(dtype, npst.array_shapes(min_dims=1, max_dims=4, max_side=7)))
    chunks = tuple(data.draw(st.integers(1, extent)) for extent in array.shape)
    decoded, _ = written(array, chunks, **h5stz.STZ(absolute=bound, integers="lossy"))
    exact.largest_error(array, decoded, bound)


@pytest.mark.parametrize("name", fields.names())
def test_fields_keep_the_bound_of_the_whole_dataset_in_every_chunk(name):
    field = fields.load(name)
    middle = tuple(slice(max(0, extent // 2 - 35), extent // 2 + 35) for extent in field.array.shape)
    array, valid = np.ascontiguousarray(field.array[middle]), field.valid[middle]
    options = h5stz.STZ(relative=1e-3, data=array, integers="lossy")
    chunks = tuple(min(extent, 32) for extent in array.shape)
    decoded, stored = written(array, chunks, **options)
    assert exact.largest_error(array, decoded, options.bound) <= 1
    assert exact.same_bits(array[~valid], decoded[~valid])
    assert stored < array.nbytes


SMOOTH_AND_ROUGH = ["smooth_3d", "rough_3d"] if "smooth_3d" in fields.names() else ["turb_wmag_91", "geo_vorticity_41x128x128"]


@pytest.mark.parametrize("name", SMOOTH_AND_ROUGH)
def test_psnr_holds_for_chunks_of_any_size(name):
    """Of one bound for every size, and of one that was found for these chunks."""
    array = np.ascontiguousarray(fields.load(name).array[:64, :64, :64])
    of_any = h5stz.STZ(psnr=60, data=array)
    for side, known in ((16, False), (24, False), (64, False), (24, True)):
        chunks = tuple(min(extent, side) for extent in array.shape)
        decoded, _ = written(array, chunks, **(h5stz.STZ(psnr=60, data=array, chunks=chunks) if known else of_any))
        assert 60 <= exact.psnr(array, decoded) <= 60.8


@pytest.mark.parametrize(
    "options", [{"lossless": True}, {"pointwise_relative": 1e-3}, {"absolute": 1e-3, "block": "region", "threads": 2}]
)
def test_modes(options):
    array = fields.random_field((20, 30, 40), 3, 1).astype("f4")
    decoded, _ = written(array, (16, 16, 16), **h5stz.STZ(**options))
    bound = max(options.get("absolute", 0), options.get("pointwise_relative", 0))
    exact.largest_error(array, decoded, bound, pointwise="pointwise_relative" in options)


def test_both_ways_to_give_the_options():
    array = fields.random_field((20, 30), 3, 1)
    with file_in_memory() as file:
        first = file.create_dataset("a", data=array, chunks=(16, 16), **h5stz.STZ(absolute=1e-3))
        second = file.create_dataset("b", data=array, chunks=(16, 16), compression=h5stz.STZ(absolute=1e-3))
        assert first.id.get_create_plist().get_filter(0) == second.id.get_create_plist().get_filter(0)
        automatic = file.create_dataset("c", data=array, **h5stz.STZ(absolute=1e-3))
        assert automatic.chunks


def test_a_stored_chunk_is_a_stream():
    array = fields.random_field((20, 30), 3, 1)
    with file_in_memory() as file:
        dataset = file.create_dataset("x", data=array, chunks=(16, 16), **h5stz.STZ(absolute=1e-3))
        file.flush()
        _, stream = dataset.id.read_direct_chunk((0, 16))
        exact.largest_error(array[:16, 16:], h5stz.decompress(stream)[:, :14], 1e-3)
        assert h5stz.info(stream).shape == (16, 16)


def test_enumerations_and_bool():
    with file_in_memory() as file:
        flags = np.arange(200).reshape(10, 20) % 3 == 0
        file.create_dataset("flags", data=flags, chunks=(8, 8), **h5stz.STZ(lossless=True))
        colours = h5py.enum_dtype({"red": 0, "green": 1, "blue": 2}, basetype="i2")
        values = (np.arange(200) % 3).astype("i2").reshape(10, 20)
        file.create_dataset("colours", data=values, dtype=colours, chunks=(8, 8), **h5stz.STZ(absolute=5))
        file.flush()
        assert exact.same_bits(flags, file["flags"][...])
        assert np.array_equal(values, file["colours"][...])


def test_extending_and_overwriting():
    array = fields.random_field((30, 20), 3, 1).astype("f4")
    with file_in_memory() as file:
        dataset = file.create_dataset("x", (10, 20), "f4", maxshape=(None, 20), chunks=(8, 8), **h5stz.STZ(absolute=1e-2))
        dataset[...] = array[:10]
        dataset.resize((30, 20))
        dataset[10:] = array[10:]
        dataset[3, 4] = 5
        file.flush()
        dataset.id.refresh()
        assert abs(dataset[3, 4] - 5) <= 1e-2
        changed = np.array(array)
        changed[3, 4] = 5
        assert exact.largest_error(changed, dataset[...], 1e-2) <= 1


def test_a_masked_array_and_the_fill_value_of_the_dataset():
    array = np.ma.masked_greater(fields.random_field((40, 50), 3, 1).astype("f4"), 0.4)
    array.fill_value = -9999
    options = h5stz.STZ(relative=1e-3, data=array)
    decoded, _ = written(array.filled(), (16, 16), fillvalue=np.float32(-9999), **options)
    assert np.array_equal(decoded == -9999, array.mask)
    exact.largest_error(array.filled(), decoded, options.bound)
    with file_in_memory() as file:
        dataset = file.create_dataset("x", (40, 50), "f4", fillvalue=-9999, chunks=(16, 16), **h5stz.STZ(absolute=1.5))
        dataset[:20] = array.filled()[:20]
        file.flush()
        dataset.id.refresh()
        assert np.array_equal(dataset[:20] == -9999, array.mask[:20])
        assert (dataset[32:] == -9999).all()


@pytest.mark.parametrize(
    "refused",
    [
        {"data": np.array([b"text", b"more"])},
        {"data": np.zeros(5, "f4,i2")},
        {"data": np.zeros(50, "f4"), "shuffle": True},
        {"data": np.zeros(50, "i4"), "scaleoffset": 3},
    ],
    ids=["bytes", "compound", "shuffle", "scaleoffset"],
)
def test_what_the_filter_cannot_do_fails_when_the_dataset_is_created(refused):
    with file_in_memory() as file, pytest.raises((ValueError, OSError, RuntimeError, TypeError)):
        file.create_dataset("x", chunks=(2,), **refused, **h5stz.STZ(absolute=1e-3))


def test_a_checksum_behind_the_filter_is_fine():
    array = fields.random_field((30, 20), 3, 1)
    decoded, _ = written(array, (16, 16), fletcher32=True, **h5stz.STZ(absolute=1e-3))
    exact.largest_error(array, decoded, 1e-3)


READ = "import sys, h5py, h5stz; print(float(h5py.File(sys.argv[1])['x'][3, 4]))"


def python(script, *arguments, **environment):
    """Runs a fresh Python, without a plug-in path unless given; returns the finished process."""
    inherited = {name: value for name, value in os.environ.items() if name != "HDF5_PLUGIN_PATH"}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, env=inherited | environment, text=True, capture_output=True, timeout=120)


@pytest.fixture
def compressed_file(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.full((10, 10), 2.5), chunks=(5, 5), **h5stz.STZ(absolute=1e-3))
    return path


@pytest.mark.parametrize(
    "environment", [{}, {"HDF5_PLUGIN_PATH": h5stz.plugin_path()}], ids=["import alone", "and plug-in path"]
)
def test_reading_needs_the_import_alone(compressed_file, environment):
    done = python(READ, compressed_file, **environment)
    assert done.stdout == "2.5\n", done.stderr


def test_reading_needs_the_plugin_path_alone(compressed_file):
    done = python(READ.replace(", h5stz", ""), compressed_file, HDF5_PLUGIN_PATH=h5stz.plugin_path())
    assert done.stdout == "2.5\n", done.stderr


def test_registering_again_is_harmless():
    h5stz.register()
    h5stz.register()
    assert h5py.h5z.filter_avail(h5stz.FILTER_ID)


def test_the_import_says_that_the_plugin_is_missing(tmp_path):
    shutil.copytree(Path(h5stz.__file__).parent, tmp_path / "h5stz", ignore=shutil.ignore_patterns("plugins"))
    done = python("import sys; sys.path.insert(0, sys.argv[1]); import h5stz", tmp_path)
    assert done.returncode == 1
    assert "ImportError" in done.stderr and "libh5stz.so" in done.stderr and "pip install" in done.stderr


@pytest.mark.usefixtures("every_chunk_fitted")
def test_the_same_chunks_for_every_number_of_threads(monkeypatch):
    field, found = fields.random_field((40, 64, 50), 4, 1).astype("f4"), set()
    asked = [(environment, None) for environment in (None, "1", "2", "3", "7", "0", "many", "-2", "9999999999")]
    for environment, threads in [*asked, (None, 3), ("2", 1), ("1", 7)]:
        if environment is None:
            monkeypatch.delenv("H5STZ_THREADS", raising=False)
        else:
            monkeypatch.setenv("H5STZ_THREADS", environment)
        with file_in_memory() as file:
            dataset = file.create_dataset("x", data=field, chunks=(32, 32, 32), **h5stz.STZ(absolute=1e-3, threads=threads))
            file.flush()
            dataset.id.refresh()
            places = [dataset.id.get_chunk_info(number).chunk_offset for number in range(dataset.id.get_num_chunks())]
            found.add((*(dataset.id.read_direct_chunk(place)[1] for place in places), dataset[...].tobytes()))
    assert len(found) == 1
