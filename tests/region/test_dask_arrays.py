"""h5stz.dask_array: the samples of the view under every scheduler, in chunks that end where those of the file end."""

import io
import os
import pickle
import subprocess
import sys

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz
from h5stz.dask.arrays import _aligned, _Blocks
from support.region_files import opened, same, smooth, write
from support.requirements import needs_packages

SHAPE, CHUNKS = (5, 100, 130), (1, 64, 64)

pytestmark = needs_packages("dask")


@pytest.fixture(autouse=True)
def no_files_left_open():
    yield
    h5stz.close_files()


@pytest.fixture
def path(tmp_path):
    """A file with the dataset "x": a series of planes."""
    return write(tmp_path / "x.h5", np.stack([smooth(SHAPE[1:], "f4", seed) for seed in range(5)]), CHUNKS)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_schedulers_of_this_process(path, scheduler):
    with opened(path) as dataset:
        full, view = dataset[...], h5stz.view(dataset)
        lazy = h5stz.dask_array(view, chunks=(2, 64, 64))
        assert lazy.dtype == full.dtype and lazy._meta.dtype == full.dtype and lazy.shape == full.shape
        assert view.stats.bytes_read == 0, "nothing is read before compute()"
        assert same(full, lazy.compute(scheduler=scheduler))
        assert view.stats.bytes_read > 0, "through the dataset that was given"
        thinned = h5stz.dask_array(view, level=2, axes=(1, 2))
        assert same(full[:, ::4, ::4], thinned.compute(scheduler=scheduler))
        assert same(full[:, ::4, ::4][1:3, 5, ::-1], thinned[1:3, 5, ::-1].compute(scheduler=scheduler))
        assert np.isclose(lazy.mean().compute(scheduler=scheduler), full.mean())
        some = np.array([3, 77, 5])
        assert same(full[:, some], lazy[:, some].compute(scheduler=scheduler)), "lists and arrays are for dask to select"


def test_only_what_is_computed_is_read(path):
    with opened(path) as dataset:
        full, view = dataset[...], h5stz.view(dataset)
        lazy = h5stz.dask_array(view)
        assert lazy.npartitions == 1
        assert same(full[3, 5], lazy[3, 5].compute(scheduler="synchronous"))
        assert view.stats.bytes_touched_chunks < dataset.id.get_storage_size() / 3, "the slice, not the block of dask"


def test_lists_within_slices(path):
    """What dask makes of x[2:][:, [3, 1]]: one index with a list."""
    with opened(path) as dataset:
        full, blocks = dataset[...], _Blocks(h5stz.view(dataset))
        for index in [([4, 0, 0], np.s_[3:9], np.s_[:]), (2, [9, 3], np.s_[::7]), (np.s_[1:3], 5, np.array([8])), ([], 1, 2)]:
            at = tuple(np.array(item, int) if isinstance(item, list) else item for item in index)
            wanted = full[at[0]][:, 3:9] if index[0] == [4, 0, 0] else full[at]
            assert same(wanted, blocks[index])


def test_processes_and_a_file_that_was_closed(path):
    with opened(path) as dataset:
        full = dataset[...]
        lazy = h5stz.dask_array(dataset, level=1, axes=-1, chunks=(5, 100, -1))
    assert same(full[..., ::2], lazy.compute(scheduler="processes", num_workers=1)), "dask begins processes by spawn"
    assert same(full[..., ::2], lazy.compute(scheduler="threads"))


def open_files(path):
    """How many descriptors this process has of a file."""
    return sum(os.path.realpath(f"/proc/self/fd/{fd}") == os.path.realpath(path) for fd in os.listdir("/proc/self/fd"))


@needs_packages("distributed")
def test_distributed(path):
    import distributed

    with opened(path) as dataset:
        full = dataset[...]
        lazy, coarse = h5stz.dask_array(dataset, chunks=CHUNKS), h5stz.dask_array(dataset, level=1)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=3, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert same(full, lazy.compute()) and same(full[::2, ::2, ::2], coarse.compute())
        assert list(client.run(open_files, str(path)).values()) == [2], "HDF5's and that for ranges, however many tasks"
        client.run(h5stz.close_files)
        assert max(client.run(open_files, str(path)).values()) <= 1, "HDF5 has closed it"
        assert np.isclose(lazy.max().compute(), full.max())


def test_what_other_processes_cannot_open_is_read_by_threads(path):
    with h5py.File(io.BytesIO(path.read_bytes())) as file:
        lazy = h5stz.dask_array(file["x"])
        assert same(file["x"][...], lazy.compute(scheduler="threads"))
        with pytest.raises(h5stz.StzError, match="open the file by its name"):
            pickle.dumps(lazy.dask)
        view = h5stz.view(file["x"])
        assert h5stz.dask_array(view).name != h5stz.dask_array(view).name, "nothing tells what is in it"


NAME = """
import h5py, h5stz, sys
with h5py.File(sys.argv[1]) as file:
    print(h5stz.dask_array(h5stz.view(file["x"], threads=2), level=1).name)
"""


def test_names_say_what_is_in_them(path):
    def name(**options):
        with opened(path) as dataset:
            return h5stz.dask_array(dataset, **options).name

    one = name(level=1)
    elsewhere = subprocess.run([sys.executable, "-c", NAME, path], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    assert one == name(level=1) == elsewhere
    others = [name(), name(level=2), name(level=1, axes=0), name(level=1, chunks=20)]
    assert len({one, *others}) == 5
    with opened(path, "r+") as dataset:
        dataset[0, 0, 0] = 7
    os.utime(path, ns=(1, 1))
    assert name(level=1) != one


def ends(lengths):
    return np.cumsum(lengths).tolist()


@given(
    extent=st.integers(1, 3000), unit=st.integers(1, 400), level=st.integers(0, 5), share=st.floats(0.01, 1), more=st.booleans()
)
def test_lengths_end_where_units_end(extent, unit, level, share, more):
    spacing = 1 << level
    wanted = max(1, int(extent * share))
    lengths = _aligned(extent, unit, spacing, wanted)
    assert sum(lengths) == extent and min(lengths) > 0
    assert max(lengths) <= max(wanted, -(-wanted * spacing // unit) * unit) + 1
    borders = {-(-k * unit // spacing) for k in range(extent * spacing // unit + 2)} | {extent}
    if wanted * spacing >= unit:
        assert set(ends(lengths)) <= borders, "whole chunks"
    else:
        assert {border for border in borders if 0 < border <= extent} <= set(ends(lengths)), "parts of one chunk each"


def test_automatic_chunks(tmp_path, path):
    with opened(path) as dataset:
        assert h5stz.dask_array(dataset).numblocks == (1, 1, 1)
        small = h5stz.dask_array(dataset, chunks="32 KiB")
        assert all(end % unit == 0 or end == extent for axis, unit, extent in zip(small.chunks, CHUNKS, SHAPE, strict=True)
                   for end in ends(axis))  # fmt: skip
        assert 1 < small.npartitions and max(map(np.prod, [[max(axis) for axis in small.chunks]])) * 4 <= 32 << 10
        assert h5stz.dask_array(dataset, chunks={0: 2, 1: -1, 2: 50}).chunks == ((2, 2, 1), (100,), (50, 50, 30))
        coarse = h5stz.dask_array(dataset, level=1, axes=(1, 2), chunks="4 KiB")
        assert ends(coarse.chunks[1])[-1] == 50 and 32 in ends(coarse.chunks[1])
    write(tmp_path / "odd.h5", smooth((100, 90)), (33, 31))
    with opened(tmp_path / "odd.h5") as dataset:
        lazy = h5stz.dask_array(dataset, level=1, chunks="1.2 KiB")
        assert lazy.chunks == ((17, 16, 17), (16, 15, 14)), "samples 0, 34 ... 66 and so on are in one chunk each"
        assert same(dataset[::2, ::2], lazy.compute(scheduler="synchronous"))
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["x"], file["number"], file["none"] = smooth((30, 20)), 5.5, np.empty((0, 4))
        for name in ("x", "number", "none"):
            assert same(np.asarray(file[name][()]), np.asarray(h5stz.dask_array(file[name]).compute(scheduler="synchronous")))


def test_sources_of_a_virtual_dataset_are_chunks(path, tmp_path):
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        layout = h5py.VirtualLayout((10, *SHAPE[1:]), "f4")
        layout[:5] = layout[5:] = h5py.VirtualSource(path.name, "x", SHAPE)
        file.create_virtual_dataset("x", layout)
    with opened(tmp_path / "virtual.h5") as dataset:
        full, lazy = dataset[...], h5stz.dask_array(dataset, chunks="300 KB")
        assert lazy.chunks == ((5, 5), (100,), (130,))
    name = lazy.name
    assert same(full, lazy.compute(scheduler="threads"))
    h5stz.close_files()
    os.utime(path, ns=(1, 1))
    with opened(tmp_path / "virtual.h5") as dataset:
        assert h5stz.dask_array(dataset, chunks="300 KB").name != name


@needs_packages("xarray")
def test_xarray_is_lazy(path):
    import xarray

    with opened(path, "r+") as dataset:
        dataset.attrs["units"] = "K"
    with opened(path) as dataset:
        full, view = dataset[...], h5stz.view(dataset)
        array = xarray.DataArray(h5stz.dask_array(view), dims=("time", "y", "x"), name="t", attrs=dict(view.attrs))
        part = array.isel(time=[0, 3], x=slice(None, None, 2)).sel(y=7)
        assert part.chunks is not None and view.stats.bytes_read == 0 and array.units == "K"
        assert same(full[[0, 3], 7, ::2], part.values)
        assert np.allclose(array.mean("time").values, full.mean(0))
        whole = xarray.DataArray(view)
        assert same(full, whole.values) and whole.chunks is None and whole.units == "K"


def test_without_dask(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.array.core", None)
    with opened(path) as dataset, pytest.raises(ImportError, match=r"h5stz\[dask\]"):
        h5stz.dask_array(dataset)


def test_arguments_that_are_not_possible(path):
    with opened(path) as dataset:
        with pytest.raises(h5stz.StzTypeError, match="give an h5py"):
            h5stz.dask_array(np.zeros(3))
        with pytest.raises(h5stz.StzError, match="3 axes"):
            h5stz.dask_array(dataset, level=1, axes=3)
        with pytest.raises(TypeError, match="did you mean level="):
            h5stz.dask_array(dataset, levels=1)
