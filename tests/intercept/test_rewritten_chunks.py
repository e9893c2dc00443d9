"""Chunks that h5py wrote again in part, read by unmodified programs through the preload library and the connector."""

import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.programs import run
from support import exact, region_files
from support.requirements import each_package, needs_programs

SHAPE, CHUNKS = (100, 96, 112), (64, 96, 112)  # chunks of 2.6 MiB: HDF5 1.10 has a cache of 1 MiB
BOUND = 1e-2


def patches(dataset):
    """How many patches each chunk has."""
    chunks = dataset.id
    places = [chunks.get_chunk_info(number).chunk_offset for number in range(chunks.get_num_chunks())]
    return [h5stz.info(chunks.read_direct_chunk(place)[1]).patches for place in places]


@pytest.fixture(scope="module", params=["default", "region"])
def rewritten(request, tmp_path_factory):
    """(path, array that plain h5py finds) of a dataset with a frame, a box and columns written later."""
    path = tmp_path_factory.mktemp("rewritten") / "x.h5"
    values, later = region_files.smooth(SHAPE, "f4", 3), region_files.smooth(SHAPE, "f4", 4)
    region_files.write(path, values, CHUNKS, {"absolute": BOUND, "block": request.param})
    for box in (np.s_[7], np.s_[20:90, 30:50, 40:77], np.s_[:, 3:5, 100]):
        with region_files.opened(path, "r+", rdcc_nbytes=0) as dataset:
            dataset[box] = values[box] = later[box]
    with region_files.opened(path) as dataset:
        assert all(count >= 2 for count in patches(dataset))
        found = dataset[...]
    assert exact.error_over_bound(values, found, BOUND) <= 1
    return path, found


def through(route, words, tmp_path):
    """What `h5stz run` prints about a program's reads, which must end well."""
    command = [sys.executable, "-m", "h5stz", "run", "--stats", "--through", route, "--", *map(str, words)]
    done = subprocess.run(command, env=dict(os.environ), cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


#: Regions in new and in old samples, and across both; levels, which unmodified programs ask for by steps; everything.
PARTS = [np.s_[7], np.s_[8, 30:40, 5:9], np.s_[60:70, 20:60, 41:90:3], np.s_[3:90:7, 4, 99:102], np.s_[99, 95, 111]]
PARTS += [np.s_[::2, ::2, ::2], np.s_[::4, ::4, ::4], np.s_[8:72:8, ::8, 32:80:8], np.s_[...]]

READ = {
    "h5py": "import h5py; x = h5py.File(path, rdcc_nbytes=0)['x']",
    "netCDF4": "import netCDF4; netCDF4.set_chunk_cache(0, 1, 0.75); x = netCDF4.Dataset(path)['x']",
    "tables": "import tables; tables.parameters.CHUNK_CACHE_SIZE = 0; x = tables.open_file(path).root.x",
}


@pytest.mark.slow
@pytest.mark.parametrize("route", run.ROUTES)
@pytest.mark.parametrize("package", each_package(READ))
def test_python_packages_find_what_plain_h5py_finds(package, route, rewritten, tmp_path):
    path, expected = rewritten
    code = f"""
import numpy as np
path = {str(path)!r}
{READ[package]}
np.savez("found.npz", *[np.asarray(x[part]) for part in {PARTS!r}])
"""
    said = through(route, [sys.executable, "-c", code], tmp_path)
    with np.load(tmp_path / "found.npz") as found:
        for part, array in zip(PARTS, found.values(), strict=True):
            assert exact.same_bits(np.asarray(expected[part]), array), part
    assert re.search(f" {len(PARTS)} reads, [01] of them by HDF5 alone", said), "that of everything may be"


@needs_programs("h5dump")
@pytest.mark.parametrize("start, step, count", [((7, 0, 0), 1, (1, 96, 112)), ((16, 24, 32), 4, (16, 10, 12))])
def test_h5dump_finds_what_plain_h5py_finds(start, step, count, rewritten, tmp_path):
    path, expected = rewritten
    slab = [",".join(map(str, numbers)) for numbers in (start, (step,) * 3, count)]
    words = ["h5dump", "-d", "x", "-s", slab[0], "-S", slab[1], "-c", slab[2], "-b", "LE", "-o", "box", path]
    said = through("preload", words, tmp_path)
    box = tuple(slice(first, first + step * number, step) for first, number in zip(start, count, strict=True))
    assert (tmp_path / "box").read_bytes() == expected[box].tobytes()
    assert "0 of them by HDF5 alone" in said


@pytest.mark.parametrize("route", run.ROUTES)
def test_programs_that_write_again_keep_the_bound(route, rewritten, tmp_path):
    """A program that reads and writes parts under `h5stz run`: what it did not write keeps its bits."""
    path, before = rewritten
    own = tmp_path / "x.h5"
    own.write_bytes(path.read_bytes())
    later = region_files.smooth(SHAPE, "f4", 5)[30:50]
    np.save(tmp_path / "later.npy", later)
    code = """
import h5py, numpy as np
with h5py.File("x.h5", "r+", rdcc_nbytes=0) as file:
    file["x"][0], file["x"][70, 3:9]
    file["x"][30:50] = np.load("later.npy")
"""
    through(route, [sys.executable, "-c", code], tmp_path)
    with h5py.File(own) as file:
        after = file["x"][...]
    assert exact.error_over_bound(later, after[30:50], BOUND) <= 1
    assert exact.same_bits(after[:30], before[:30]) and exact.same_bits(after[50:], before[50:])
