"""The bound holds however programs in other hosts write: C, Fortran, MPI, netCDF4, xarray, several processes."""

import h5py
import numpy as np
import pytest

import h5stz
from support import exact, piecewise, piecewise_hosts
from support.fields import random_field
from support.piecewise import Task
from support.requirements import needs_packages, needs_programs, require

BOUND = 0.02
OPTIONS = {"absolute": {"absolute": BOUND}, "point-wise": {"pointwise_relative": BOUND}}
VALUES = (5 + random_field((11, 40, 48), 2.5, 1)).astype("f4")


@pytest.fixture(params=OPTIONS.values(), ids=OPTIONS)
def option(request):
    """A bound."""
    return request.param


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The executable of a program of tests/programs."""
    directory, executables = tmp_path_factory.mktemp("programs"), {}

    def executable(source):
        require(needs_programs(piecewise_hosts.COMPILERS[source]))
        if source not in executables:
            executables[source] = piecewise_hosts.build(source, directory)
        return executables[source]

    return executable


def judge(path, expected, option):
    """Asserts the bound, and that two readers find the same bits."""
    found = piecewise.read(path)
    assert exact.same_bits(found, piecewise.read(path))
    (bound,) = option.values()
    assert exact.error_over_bound(expected, found, bound, "pointwise_relative" in option) <= 1


def keeps(program, tmp_path, option, depth=8, values=VALUES):
    task = Task(tmp_path / "f.h5", values, (depth, *values.shape[1:]), h5stz.STZ(**option), cache=0)
    for path, expected in piecewise.run(program, task).items():
        judge(path, expected, option)


@pytest.mark.parametrize("order", ["append", "flush", "reopen", "columns", "strides", "points"])
def test_c(built, order, tmp_path, option):
    keeps(piecewise_hosts.in_c(built("piecewise.c"), order, cache=0), tmp_path, option)


def test_c_with_the_chunk_cache_that_hdf5_gives(built, tmp_path, option):
    """A chunk of 1.2 MiB, a cache of 1 MiB."""
    values = (5 + random_field((9, 192, 208), 4, 1)).astype("f4")
    keeps(piecewise_hosts.in_c(built("piecewise.c"), "append"), tmp_path, option, values=values)


@needs_programs("valgrind")
def test_c_under_valgrind(built, tmp_path):
    """Whose allocator answers under the names of the C library's, with sizes to the byte; it has nothing to report."""
    program = piecewise_hosts.in_c(built("piecewise.c"), "append", cache=0, under=["valgrind", "-q", "--error-exitcode=9"])
    keeps(program, tmp_path, OPTIONS["absolute"], values=VALUES[:5, :16, :24])


@needs_programs("gfortran")
def test_fortran(built, tmp_path, option):
    keeps(piecewise_hosts.in_fortran(built("piecewise.f90")), tmp_path, option)


@needs_programs("mpirun")
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_that_own_chunks_in_turn(built, ranks, tmp_path, option):
    keeps(piecewise_hosts.on_ranks(built("piecewise_mpi.c"), ranks), tmp_path, option)


@needs_packages("netCDF4")
@pytest.mark.parametrize("fill", ["fill", "nofill"])
@pytest.mark.parametrize("order", ["steps", "reopen"])
def test_netcdf4_records(fill, order, tmp_path, option):
    keeps(piecewise_hosts.netcdf_records(fill, order, cache=1000), tmp_path, option)


@needs_packages("xarray", "h5netcdf", "dask")
@pytest.mark.parametrize("blocks", [(3, 480, 672), pytest.param((8, 156, 238), marks=pytest.mark.slow)])
def test_dask_blocks_that_share_chunks(blocks, tmp_path, option):
    """Chunks of 10 MiB, a chunk cache of 8 MiB at most."""
    values = np.ascontiguousarray(np.tile(VALUES, (1, 12, 14)))
    keeps(piecewise_hosts.dask_blocks(blocks), tmp_path, option, values=values)


def test_a_process_for_each_frame(tmp_path, option):
    keeps(piecewise_hosts.new_processes(3), tmp_path, option, values=VALUES[:5])


def test_writers_that_are_killed(tmp_path, option):
    keeps(piecewise_hosts.killed(3), tmp_path, option)


def test_appends_beside_a_reader(tmp_path, option):
    """What a reader finds (SWMR) is within the bound after every flush."""
    (bound,) = option.values()

    def look(path, frames):
        with h5py.File(path, "r", libver="latest", swmr=True) as file:
            found = file["x"][...]
        assert exact.error_over_bound(VALUES[:frames], found, bound, "pointwise_relative" in option) <= 1

    keeps(piecewise_hosts.beside_a_reader(look), tmp_path, option)


@pytest.mark.parametrize("executable", ["-pie", "-no-pie"])
@pytest.mark.parametrize("shape", [(24, 30), (160, 200), (1600, 400)], ids=str)
def test_other_values_pay_nothing(shape, executable, tmp_path):
    """A program that reads a field and writes another, with many values in common: the bytes of one that has read nothing."""
    require(needs_programs("h5cc"))
    program = piecewise_hosts.build("other_values.c", tmp_path, "-fno-pie" if executable == "-no-pie" else "-fPIE", executable)
    field = np.maximum(random_field(shape, 6, 1) - 1, 0).astype("f4")
    task = Task(tmp_path / "f.h5", field, shape, h5stz.STZ(absolute=BOUND))
    piecewise.at_once(task)
    new = Task(tmp_path / "new.h5", 2 * piecewise.read(task.path), shape, h5stz.STZ(absolute=BOUND / 4))
    piecewise_hosts.call(program, task.path, new.path, *piecewise_hosts.filter_words(new))
    alone = h5stz.compress(new.values, absolute=BOUND / 4)
    with h5py.File(new.path) as file:
        stored = [dataset.id.get_chunk_info(0).size for dataset in file.values()]
    assert stored == [len(alone)] * 8
