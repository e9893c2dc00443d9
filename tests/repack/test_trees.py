"""Groups with many links and objects with many attributes, which HDF5 stores elsewhere than few, are kept by every copy."""

import random

import h5py
import numpy as np
import pytest
from h5py import h5g, h5p
from hypothesis import given
from hypothesis import strategies as st
from repack.test_copy_tree import described

import h5stz
from support import host_tools
from support.requirements import needs_programs

COPIES = {
    "repack": lambda a, b: h5stz.repack(a, b, lossless=True, overwrite=True),
    "unpack": lambda a, b: h5stz.unpack(a, b, overwrite=True),
    "salvage": lambda a, b: h5stz.salvage(a, b, overwrite=True),
}


def creation(draw, kind):
    """Creation properties that order and store links and attributes in some way."""
    made = h5p.create(h5p.GROUP_CREATE if kind == "group" else h5p.DATASET_CREATE)
    tracked = h5p.CRT_ORDER_TRACKED
    if kind == "group":
        made.set_link_creation_order(draw.choice([0, tracked, tracked | h5p.CRT_ORDER_INDEXED]))
    made.set_attr_creation_order(draw.choice([0, tracked, tracked | h5p.CRT_ORDER_INDEXED]))
    if draw.random() < 0.4:
        made.set_attr_phase_change(*draw.choice([(0, 0), (3, 2), (20, 10)]))
    return made


def fill(draw, group, depth):
    """Fills a group with groups, datasets, named types and links, and gives it attributes."""
    for number in range(draw.choice([0, 2, 9])):
        group.attrs[f"{draw.randrange(1000)} {number}"] = number
    names = [f"{draw.randrange(1000)} {number}" for number in range(draw.choice([0, 1, 8, 9, 12]))]
    for number, name in enumerate(names):
        kind = draw.random()
        if kind < 0.2 and depth:
            h5g.create(group.id, name.encode(), gcpl=creation(draw, "group"))
            fill(draw, group[name], depth - 1)
        elif kind < 0.6:
            h5py.h5d.create(
                group.id, name.encode(), h5py.h5t.STD_I32LE, h5py.h5s.create_simple((2,)), creation(draw, "dataset")
            )
            for each in range(draw.choice([0, 2, 10])):
                group[name].attrs[f"{draw.randrange(1000)} {each}"] = each
        elif kind < 0.7:
            group[name] = np.dtype("f4")
            group[name].attrs["of a type"] = number
        elif kind < 0.8:
            group[name] = h5py.SoftLink("/nowhere")
        else:
            first = group.get(names[0])
            group[name] = group if first is None else first


def make(path, seed):
    """Makes a file with a tree of groups that follows from `seed`."""
    draw = random.Random(seed)
    with h5py.File(path, "w", libver=draw.choice(["earliest", "latest"]), track_order=draw.choice([True, False])) as file:
        fill(draw, file, 2)


@pytest.mark.slow
@given(st.integers(0, 2**32))
def test_trees(tmp_path_factory, seed):
    directory = tmp_path_factory.mktemp("trees")
    make(directory / "a.h5", seed)
    with h5py.File(directory / "a.h5") as file:
        before = described(file)
    for name, copy in COPIES.items():
        done = copy(directory / "a.h5", directory / "b.h5")
        if name == "salvage":
            assert done.sound and not done.notes, done
        with h5py.File(directory / "b.h5") as file:
            assert described(file) == before, name


@pytest.mark.parametrize("name", COPIES)
@needs_programs("ncgen", "ncdump")
def test_groups_of_netcdf(name, tmp_path):
    """A netCDF-4 group with more than 8 variables, with its order."""
    variables = "".join(f'float v{number}(x); v{number}:units = "m"; ' for number in range(20, 0, -1))
    values = "".join(f"v{number} = {number}, 1, 2; " for number in range(20, 0, -1))
    text = f"netcdf a {{ group: g {{ dimensions: x = 3; variables: {variables} data: {values} }} }}"
    (tmp_path / "a.cdl").write_text(text)
    host_tools.run("ncgen", "-4", "-o", tmp_path / "a.nc", tmp_path / "a.cdl")
    COPIES[name](tmp_path / "a.nc", tmp_path / "b.nc")
    before, after = (host_tools.run("ncdump", tmp_path / f"{each}.nc").partition("\n")[2] for each in "ab")
    assert before == after
