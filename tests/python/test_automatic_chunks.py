"""Chunks that h5py chooses: a warning, once per process, names them and better ones, and the user's line."""

import copy
import pickle
import re
import subprocess
import sys
import threading
import warnings

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.options import automatic_chunks
from support.requirements import needs_packages

SHAPE, GUESSED, BETTER = (128, 128, 128), (16, 16, 32), (128, 128, 128)  # of float32


@pytest.fixture(autouse=True)
def nobody_was_told(monkeypatch):
    monkeypatch.setattr(automatic_chunks, "_told", threading.Lock())


@pytest.fixture
def file():
    with h5py.File("memory.h5", "w", driver="core", backing_store=False) as opened:
        yield opened


def create(file, shape=SHAPE, dtype="f4", name="x", **more):
    return file.create_dataset(name, shape, dtype, **{**h5stz.STZ(absolute=1e-3), **more})


def named(message):
    """(automatic chunks, suggested chunks) of a warning."""
    found = re.search(
        r"h5py chose chunks (\(.*?\)) of .* Pass chunks=(\(.*?\)), as h5stz.suggest_chunks suggests", str(message)
    )
    return tuple(tuple(int(extent) for extent in re.findall(r"\d+", text)) for text in found.groups())


@pytest.fixture
def silent():
    """Fails for a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        yield


@pytest.mark.parametrize("chunks", [{}, {"chunks": None}, {"chunks": True}])
def test_automatic_chunks_are_warned_of_once(file, chunks):
    with pytest.warns(UserWarning) as warned:
        dataset = create(file, **chunks)
        create(file, name="y", **chunks)
    assert [one.category for one in warned] == [UserWarning]
    assert named(warned[0].message) == (dataset.chunks, h5stz.suggest_chunks(SHAPE, "f4")) == (GUESSED, BETTER)
    assert warned[0].filename == __file__
    assert f"of 32 KiB for a dataset of shape {SHAPE}" in str(warned[0].message)


@pytest.mark.parametrize(
    "options",
    [
        {"compression": h5stz.STZ(absolute=1e-3)},
        {"compression": h5stz.FILTER_ID, "compression_opts": h5stz.cd_values(absolute=1e-3)},
        pickle.loads(pickle.dumps(dict(h5stz.STZ(absolute=1e-3)))),
        copy.deepcopy(dict(h5stz.STZ(absolute=1e-3))),
        {**h5stz.STZ(absolute=1e-3), "fletcher32": True, "fillvalue": 7},
    ],
)
@pytest.mark.parametrize("method", ["create_dataset", "require_dataset"])
def test_every_way_to_give_the_options(file, options, method):
    with pytest.warns(UserWarning) as warned:
        getattr(file, method)("x", SHAPE, "f4", **options)
    assert named(warned[0].message) == (GUESSED, BETTER)
    assert warned[0].filename == __file__


def test_the_shape_and_type_of_data(file):
    with pytest.warns(UserWarning) as warned:
        file.create_dataset("x", data=np.zeros((300, 1000)), **h5stz.STZ(absolute=1e-3))
    assert named(warned[0].message) == (file["x"].chunks, (300, 1000))


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("chunks", [GUESSED, (8, 8, 8), BETTER, (1, 128, 128)])
def test_chosen_chunks_are_not_warned_of(file, chunks):
    """Not even if they are those that h5py would choose."""
    assert create(file, chunks=chunks).chunks == chunks
    like = file.create_dataset_like("y", file["x"], **h5stz.STZ(absolute=1e-3))
    assert like.chunks == chunks


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize(
    "shape, dtype, more",
    [
        ((511, 512), "f4", {}),  # less than 1 MiB
        ((1000,), "f8", {"maxshape": (None,)}),
        ((0,), "f8", {"maxshape": (None,)}),
        ((0, 80, 80), "f4", {"maxshape": (None, 80, 80)}),
        ((0, 512, 512), "f4", {}),  # empty for ever
        ((0, 512, 512), "f4", {"maxshape": (0, 512, 512)}),
        ((10, 10), "f4", {"maxshape": (10**6, 10**6)}),  # small, whatever it may become
        ((1 << 15, 1 << 15), "f8", {}),  # the automatic chunks have 512 KiB
    ],
)
def test_small_datasets_and_large_chunks_are_not_warned_of(file, shape, dtype, more):
    create(file, shape, dtype, **more)


@pytest.mark.usefixtures("silent")
def test_other_filters_and_none_are_not_warned_of(file):
    file.create_dataset("x", SHAPE, "f4", compression="gzip")
    file.create_dataset("y", SHAPE, "f4", chunks=True)
    with pytest.raises(TypeError, match="Scalar"):
        create(file, ())


@pytest.mark.parametrize(
    "shape, limits, suggested",
    [
        ((512, 512), (None, 512), (512, 512)),
        ((0, 512, 512), (None, 512, 512), (8, 512, 512)),
        ((0, 512, 512), (4, 512, 512), (4, 512, 512)),
        ((512, 0, 512), (None, None, None), (512, 8, 512)),
        ((0, 0, 512), (None, None, h5py.h5s.UNLIMITED), (32, 32, 512)),
        ((1_000_000,), (None,), (1_000_000,)),
        ((1_000_000,), 10**9, (1_000_000,)),
    ],
)
def test_resizable_datasets(file, shape, limits, suggested):
    """h5py takes the named chunks, and then nothing is said."""
    with pytest.warns(UserWarning) as warned:
        dataset = create(file, shape, maxshape=limits)
    assert named(warned[0].message) == (dataset.chunks, suggested)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert create(file, shape, maxshape=limits, chunks=suggested, name="y").chunks == suggested


def test_a_warning_as_error_creates_nothing(tmp_path):
    """It is raised again until another filter of warnings lets it pass."""
    with h5py.File(tmp_path / "f.h5", "w") as file:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(2):
                with pytest.raises(UserWarning, match="h5py chose chunks"):
                    create(file)
        assert "x" not in file
        with pytest.warns(UserWarning, match="h5py chose chunks"):
            create(file)[...] = 1
    with h5py.File(tmp_path / "f.h5") as file:
        assert list(file) == ["x"] and abs(file["x"][...] - 1).max() <= 1e-3


def test_threads_are_warned_once_together(file):
    barrier = threading.Barrier(8)

    def run(name):
        barrier.wait()
        create(file, name=name)

    with pytest.warns(UserWarning) as warned:
        threads = [threading.Thread(target=run, args=(str(number),)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(warned) == 1 and len(file) == 8


PROGRAM = """
import os, sys
import h5py, h5stz
def create(name):
    with h5py.File(name, "w", driver="core", backing_store=False) as file:
        file.create_dataset("x", (128, 128, 128), "f4", **h5stz.STZ(absolute=1))
if sys.argv[1] == "after":
    create("a")
if child := os.fork():
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
else:
    create("b")
    sys.exit()
create("c")
sys.exit(status)
"""


@pytest.mark.parametrize("order, warnings_printed", [("before", 2), ("after", 1)])
def test_a_fork_knows_whether_its_parent_was_warned(order, warnings_printed):
    done = subprocess.run([sys.executable, "-c", PROGRAM, order], capture_output=True, text=True, check=True)
    assert done.stderr.count("h5py chose chunks (16, 16, 32)") == warnings_printed, done.stderr


def test_an_h5py_with_other_names_is_not_warned_of(file, monkeypatch):
    original = h5py.filters.fill_dcpl

    def fill(properties, extents, kind, *rest, **more):
        return original(properties, extents, kind, *rest, **more)

    monkeypatch.setattr("h5py._hl.filters.fill_dcpl", fill)  # whose caller has no `chunks`
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert create(file).chunks == GUESSED


def through_xarray(path, array, options):
    import xarray

    dataset = xarray.Dataset({"x": (("z", "y", "x"), array)})
    dataset.to_netcdf(path, engine="h5netcdf", encoding={"x": options})


def through_h5netcdf(path, array, options):
    import h5netcdf

    with h5netcdf.File(path, "w") as file:
        file.dimensions = dict(zip("zyx", array.shape, strict=True))
        file.create_variable("x", tuple("zyx"), data=array, **options)


def through_anndata(path, array, options):
    import anndata

    anndata.AnnData(array.reshape(array.shape[0], -1)).write_h5ad(path, **options)


def through_dask(path, array, options):
    import dask.array

    dask.array.to_hdf5(path, "/x", dask.array.from_array(array), chunks=None, **options)


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(through_xarray, marks=needs_packages("xarray", "h5netcdf")),
        pytest.param(through_h5netcdf, marks=needs_packages("h5netcdf")),
        pytest.param(through_anndata, marks=needs_packages("anndata")),
        pytest.param(through_dask, marks=needs_packages("dask")),
    ],
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_packages_that_use_h5py(tmp_path, write):
    """The line is the one that called the package."""
    with pytest.warns(UserWarning, match="h5py chose chunks") as warned:
        write(tmp_path / "f.h5", np.zeros(SHAPE, "f4"), dict(h5stz.STZ(absolute=1e-3)))
    assert [one.filename for one in warned if "h5py chose" in str(one.message)] == [__file__]


@pytest.mark.usefixtures("silent")
def test_own_writers_do_not_warn(tmp_path):
    """They choose chunks themselves, also for files that have small ones."""
    array = np.linspace(0, 1, 1 << 20, dtype="f4").reshape(64, 128, 128)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("automatic", data=array, chunks=True)
        h5stz.write(file, "written", array, absolute=1e-3)
        h5stz.write(file, "also", array, chunks=True, absolute=1e-3)
    h5stz.repack(tmp_path / "f.h5", tmp_path / "g.h5", absolute=1e-3)
    h5stz.unpack(tmp_path / "g.h5", tmp_path / "h.h5")


@pytest.mark.usefixtures("silent")
@needs_packages("xarray", "h5netcdf")
def test_to_netcdf_does_not_warn(tmp_path):
    import xarray

    dataset = xarray.Dataset({"x": (("z", "y", "x"), np.zeros((64, 128, 128), "f4"))})
    h5stz.to_netcdf(dataset, tmp_path / "f.nc", absolute=1e-3)
    with xarray.open_dataset(tmp_path / "f.nc", engine="h5stz") as opened:
        h5stz.to_netcdf(opened, tmp_path / "g.nc", absolute=1e-3, unlimited_dims=["z"])
