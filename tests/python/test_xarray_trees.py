"""Files with groups through xarray's engine "h5stz": open_datatree and open_groups, at any level."""

import pickle

import numpy as np
import pytest

import h5stz
from support.requirements import needs_packages

pytestmark = needs_packages("xarray", "h5netcdf", "dask")
GROUPS = ["/", "/fine", "/fine/flags", "/other"]


def smooth(*shape):
    grid = np.meshgrid(*map(np.arange, shape), indexing="ij")
    return sum(np.sin(part / 7.0) for part in grid).astype("f4")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Groups, one with a dimension and a coordinate of the group above it, one with others, one not compressed."""
    import xarray

    target = tmp_path_factory.mktemp("tree") / "tree.nc"
    root = xarray.Dataset({"rho": (("y", "x"), smooth(70, 90))}, {"x": np.arange(90.0), "y": np.arange(70.0)}, {"run": "A"})
    fine = xarray.Dataset({"u": (("z", "y", "x"), smooth(20, 70, 90))}, {"z": np.arange(20.0)})
    other = xarray.Dataset({"t": (("time", "row"), smooth(30, 50))})
    h5stz.to_netcdf(root, target, absolute=1e-3)
    for group, dataset in {"fine": fine, "other": other}.items():
        h5stz.to_netcdf(dataset, target, absolute=1e-3, writing={"group": group, "mode": "a"})
    xarray.Dataset({"mask": ("x", np.arange(90, dtype="i1"))}).to_netcdf(
        target, group="fine/flags", mode="a", engine="h5netcdf"
    )
    return target


def tree(path, engine="h5stz", **options):
    import xarray

    return xarray.open_datatree(path, engine=engine, **options)


def test_the_tree_is_that_of_h5netcdf(path):
    with tree(path) as read, tree(path, "h5netcdf") as expected:
        assert sorted(read.groups) == GROUPS
        assert read.identical(expected)
        assert read["fine/u"].encoding["compression"] == h5stz.FILTER_ID and read.attrs["run"] == "A"


def test_a_group_as_the_root(path):
    with tree(path, group="fine") as read, tree(path, "h5netcdf", group="fine") as expected:
        assert read.groups == expected.groups == ("/", "/flags")
        assert read.identical(expected)


def test_groups_as_a_dictionary(path):
    import xarray

    read = xarray.open_groups(path, engine="h5stz")
    assert sorted(read) == GROUPS
    for name, dataset in read.items():
        with xarray.open_dataset(path, engine="h5netcdf", group=name) as expected:
            assert dataset.identical(expected)
    read["/"].close()


@pytest.mark.parametrize("options", [{}, {"axes": ("y", "z")}, {"axes": "time"}], ids=str)
def test_levels(path, options):
    axes = options.get("axes", ("time", "row", "z", "y", "x"))
    with tree(path, level=2, **options) as read, tree(path, "h5netcdf") as whole:
        for group in GROUPS:
            expected = whole[group].to_dataset()
            steps = {dim: slice(None, None, 4) for dim in expected.dims if dim in axes}
            assert read[group].to_dataset().equals(expected.isel(steps))


def test_it_is_lazy_and_can_be_pickled(path):
    with tree(path, chunks={}) as read, tree(path, "h5netcdf") as expected:
        part = {"z": 3, "y": slice(4, 9)}
        assert read["fine/u"].chunks is not None
        again = pickle.loads(pickle.dumps(read))
        assert again["fine/u"].isel(part).equals(expected["fine/u"].isel(part))


def test_after_closing_the_file_can_be_written(path, tmp_path):
    import xarray

    target = tmp_path / "a.nc"
    target.write_bytes(path.read_bytes())
    tree(target).close()
    xarray.Dataset({"v": ("n", np.arange(3))}).to_netcdf(target, group="new", mode="a", engine="h5netcdf")
    with tree(target) as read:
        assert "/new" in read.groups


def test_a_dimension_that_no_group_has(path):
    with pytest.raises(h5stz.StzError, match=r"no dimension 'lat'; it has .*z.*time"):
        tree(path, level=1, axes=("y", "lat"))
