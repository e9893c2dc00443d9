"""The plug-in among threads and processes of others: a pool of threads, several copies of HDF5, fork, exit, dlclose.

The programs are filter_pool.cpp, filter_processes.cpp and library_threads.cpp of tests/native. They print what was checked, and
end with an error at the first broken promise.
"""

import os
import subprocess

import pytest

from support import host_tools
from support.native import native_program
from support.requirements import needs_packages, needs_programs

pytestmark = needs_programs("g++")


def output(program, *words, **variables):
    words = [program, *map(str, words)]
    done = subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0 and not done.stderr, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("learn", "01")
def test_a_pool_of_threads_runs_the_callback(learn):
    assert int(output(native_program("filter_pool"), 3, H5STZ_LEARN=learn).split()[0]) >= 100


@pytest.mark.slow
def test_a_pool_of_threads_under_the_thread_sanitizer():
    output(native_program("filter_pool", "tsan"), 1, H5STZ_LEARN="1")


@pytest.mark.parametrize("learn", "01")
def test_forks_ends_and_libraries_that_are_loaded_again(learn):
    lines = output(native_program("filter_processes"), 8, H5STZ_LEARN=learn).splitlines()
    assert [line.split()[0] for line in lines] == ["8", "8", "40", "200", "200"]


@pytest.mark.slow
def test_many_of_them():
    assert output(native_program("filter_processes"), 40).count("1000 times: ") == 2


def copies_of_hdf5():
    """The libhdf5 of each of three wheels."""
    import h5py  # noqa: F401
    import netCDF4  # noqa: F401
    import tables  # noqa: F401

    return [host_tools.mapped_library("libhdf5", owner) for owner in ("h5py", "netcdf4", "tables")]


@needs_packages("h5py", "netCDF4", "tables")
def test_eight_threads_with_three_copies_of_hdf5(tmp_path):
    libraries = copies_of_hdf5()
    assert len(set(libraries)) == 3
    printed = output(native_program("library_threads"), tmp_path, 8, *libraries)
    assert len(set(printed.splitlines()[:3])) >= 2, "the wheels should bring different versions"


@pytest.mark.slow
@needs_packages("h5py", "netCDF4", "tables")
def test_eight_threads_with_three_copies_under_the_thread_sanitizer(tmp_path):
    output(native_program("library_threads", "tsan"), tmp_path, 4, *copies_of_hdf5())
