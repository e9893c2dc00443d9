"""Bits that flip in memory while an array is compressed: with check=True none goes unnoticed.

tests/native/faults.cpp flips them between the stages of a build that has points for it (filter/base/faults.h);
programs of h5py do with the plug-in of that build.
"""

import os
import subprocess
import sys

import pytest

import h5stz
from support.native import native_build, native_program
from support.requirements import needs_programs

pytestmark = [needs_programs("g++"), pytest.mark.slow]  # a build of its own

# Writes one chunk through the plug-in in HDF5_PLUGIN_PATH and says whether what comes back keeps the bound, or how it was
# stored. The filter is mandatory, or optional as h5py has it: HDF5 then stores a chunk without it where it fails.
PROGRAM = """
import os
import sys
import h5py
import numpy as np
path, words = sys.argv[1], tuple(map(int, sys.argv[2].split(",")))
z, y, x = np.meshgrid(*map(np.arange, (20, 24, 28)), indexing="ij")
array = (10 * np.sin(z / 5) * np.cos(y / 7) + np.sqrt(x + 1)).astype("f4")
try:
    file = h5py.File(path, "w")
    try:
        created = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        created.set_chunk(array.shape)
        created.set_filter(FILTER, getattr(h5py.h5z, "FLAG_" + sys.argv[3]), words)
        space = h5py.h5s.create_simple(array.shape)
        dataset = h5py.Dataset(h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F32LE, space, created))
        dataset[...] = array
        file.flush()
    except (OSError, RuntimeError) as error_of_hdf5:
        print("error:", error_of_hdf5, flush=True)
        os._exit(0)  # HDF5 cannot close a file that it could not write
    del dataset
    file.close()
    with h5py.File(path) as file:
        error = np.abs(file["x"][...].astype("f8") - array).max()
        plain = file["x"].id.get_storage_size() == array.nbytes
except OSError as error_of_hdf5:
    print("error:", error_of_hdf5)
else:
    print("stored plainly" if plain else "kept" if error <= 1e-3 else "broken")
"""


def faults(*words):
    """The lines of the program's table as {point: numbers}; asserts that nothing was wrong with a check."""
    done = subprocess.run([native_program("faults", "faults"), *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)  # pytest shows it with -rP
    lines = [line.split() for line in done.stdout.splitlines()[1:]]
    return {line[0]: [int(word) for word in line[1:] if word.isdecimal()] for line in lines}


def judge(table):
    """Every point was passed; without a check many flips are noticed by nobody, with one none."""
    assert all(numbers[0] > 0 for numbers in table.values()), table
    _, _, _, unreadable, content, wrong = table["all"][:6]
    at_once, again, refused, wrong_with_check = table["all"][6:]
    assert min(unreadable, content, wrong) > 20 and wrong_with_check == 0
    assert min(again, at_once) > 100 and refused > 20


def test_no_flip_goes_unnoticed():
    judge(faults(4, 1))  # fewer trials have no flip that comes back in each attempt


def test_a_bound_that_nothing_has_is_not_stated():
    """A flip in the header of an inner stream may change its bound, which the whole would state for what was kept."""
    assert faults(8, 1, "patched")["all"][-1] == 0


def write(tmp_path, fault, check=False, flag="MANDATORY", **environment):
    """What the program of h5py says under a plan for a fault, and what the filter prints."""
    plugin = native_build(["h5stz"], preset="faults")
    words = ",".join(map(str, h5stz.STZ(absolute=1e-3, check=check).filter_options))
    command = [sys.executable, "-c", PROGRAM.replace("FILTER", str(h5stz.STZ.filter_id)), tmp_path / "x.h5", words, flag]
    variables = os.environ | {"HDF5_PLUGIN_PATH": str(plugin), "H5STZ_FAULT": fault} | environment
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_flip_that_lasts_is_an_error_of_h5py(tmp_path):
    said = write(tmp_path, "output:0:1:lasting", check=True)
    assert said.startswith("error:") and "did not decode to the array, twice: memory or processor may be faulty" in said


def test_without_the_filter_hdf5_stores_the_chunk_as_it_is(tmp_path):
    said = write(tmp_path, "output:0:1:lasting", check=True, flag="OPTIONAL", H5STZ_STDERR="1")
    assert said.startswith("stored plainly\n") and "memory or processor may be faulty" in said


def test_a_flip_that_passes_is_repaired(tmp_path):
    assert write(tmp_path, "reconstruction:0:3") == "broken\n"
    assert write(tmp_path, "reconstruction:0:3", check=True) == "kept\n"


def test_the_environment_checks_programs_that_cannot_be_changed(tmp_path):
    assert write(tmp_path, "reconstruction:0:3", H5STZ_CHECK="1") == "kept\n"
    assert write(tmp_path, "output:0:1:lasting", H5STZ_CHECK="1").startswith("error: ")
