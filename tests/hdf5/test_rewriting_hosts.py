"""The bound holds however programs in other hosts write: C, Fortran, MPI, netCDF4, xarray, several processes, copying tools.

Copies with the same bound have the same streams, with another one h5stz says what has accumulated.
"""

from dataclasses import replace

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from support import exact, piecewise, piecewise_hosts
from support.fields import random_field
from support.host_tools import ABSOLUTE, FILTER_ID, short_form
from support.piecewise import Task
from support.requirements import needs_packages, needs_programs, require

BOUND = 0.02
OPTIONS = {"absolute": {"absolute": BOUND}, "point-wise": {"pointwise_relative": BOUND}}
TOOLS = [pytest.param(tool, marks=needs_programs(tool)) for tool in ("h5repack", "nccopy", "ncks")]
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


def keeps(program, tmp_path, option=OPTIONS["absolute"], depth=8, values=VALUES):
    """Asserts that a program's files keep the bound."""
    task = Task(tmp_path / "f.h5", values, (depth, *values.shape[1:]), h5stz.STZ(**option), cache=0)
    for path, expected in piecewise.run(program, task).items():
        judge(path, expected, option)


@pytest.mark.parametrize("order", ["append", "flush", "reopen", "columns", "strides", "points"])
def test_c(built, order, tmp_path, option):
    """Lists of points take long: two small chunks of them."""
    program = piecewise_hosts.in_c(built("piecewise.c"), order, cache=0)
    keeps(program, tmp_path, option, *((2, VALUES[:4, :20, :24]) if order == "points" else ()))


def test_c_with_the_chunk_cache_that_hdf5_gives(built, tmp_path):
    """A chunk of 1.2 MiB, a cache of 1 MiB."""
    values = (5 + random_field((9, 192, 208), 4, 1)).astype("f4")
    keeps(piecewise_hosts.in_c(built("piecewise.c"), "append"), tmp_path, values=values)


@pytest.mark.slow
@needs_programs("valgrind")
def test_c_under_valgrind(built, tmp_path):
    """Whose allocator answers under the names of the C library's, with sizes to the byte; it has nothing to report."""
    program = piecewise_hosts.in_c(built("piecewise.c"), "append", cache=0, under=["valgrind", "-q", "--error-exitcode=9"])
    keeps(program, tmp_path, values=VALUES[:5, :16, :24])


@needs_programs("gfortran")
def test_fortran(built, tmp_path):
    keeps(piecewise_hosts.in_fortran(built("piecewise.f90")), tmp_path)


@needs_programs("mpirun")
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_that_own_chunks_in_turn(built, ranks, tmp_path):
    keeps(piecewise_hosts.on_ranks(built("piecewise_mpi.c"), ranks), tmp_path)


@needs_packages("netCDF4")
@pytest.mark.parametrize("fill", ["fill", "nofill"])
@pytest.mark.parametrize("order", ["steps", "reopen"])
def test_netcdf4_records(fill, order, tmp_path):
    keeps(piecewise_hosts.netcdf_records(fill, order, cache=1000), tmp_path)


@needs_packages("xarray", "h5netcdf", "dask")
@pytest.mark.parametrize("blocks", [(3, 480, 672), pytest.param((8, 156, 238), marks=pytest.mark.slow)])
def test_dask_blocks_that_share_chunks(blocks, tmp_path):
    """Chunks of 10 MiB, a chunk cache of 8 MiB at most."""
    values = np.ascontiguousarray(np.tile(VALUES, (1, 12, 14)))
    keeps(piecewise_hosts.dask_blocks(blocks), tmp_path, values=values)


def test_a_process_for_each_frame(tmp_path):
    keeps(piecewise_hosts.new_processes(3), tmp_path, values=VALUES[:5])


def test_writers_that_are_killed(tmp_path):
    keeps(piecewise_hosts.killed(3), tmp_path)


def test_appends_beside_a_reader(tmp_path):
    """What a reader finds (SWMR) is within the bound after every flush."""

    def look(path, frames):
        with h5py.File(path, "r", libver="latest", swmr=True) as file:
            found = file["x"][...]
        assert exact.error_over_bound(VALUES[:frames], found, BOUND) <= 1

    keeps(piecewise_hosts.beside_a_reader(look), tmp_path)


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


# Copies by tools.


def streams(path):
    """The streams of all chunks of a file by their places."""
    with h5py.File(path) as file:
        chunks = file["x"].id
        places = [chunks.get_chunk_info(number).chunk_offset for number in range(chunks.get_num_chunks())]
        return {place: chunks.read_direct_chunk(place)[1] for place in places}


@pytest.mark.parametrize("depth", [1, 4])
@pytest.mark.parametrize("tool", TOOLS)
def test_copies_of_copies_have_the_same_streams(tool, depth, tmp_path, option):
    """Three in turn, of chunks that were written at once and (by netCDF, with a chunk cache) frame by frame."""
    values = VALUES[:8] if tool == "nccopy" else VALUES  # see the next test
    task = Task(tmp_path / "f.h5", values, (depth, 40, 48), h5stz.STZ(**option))
    if tool == "h5repack":
        piecewise.at_once(task)
    else:
        piecewise_hosts.netcdf_records("fill", "steps")(task)
    first = streams(task.path)
    assert len(first) == -(-len(values) // depth)
    copied = task.path
    for number in range(3):
        original, copied = copied, tmp_path / f"copy{number}.h5"
        piecewise_hosts.copy(tool, original, copied)
        assert streams(copied) == first
    judge(copied, values, option)


@needs_programs("nccopy")
def test_nccopy_keeps_what_a_chunk_holds_that_is_not_full(tmp_path, option):
    """It asks for no fill value behind the end: this becomes a patch, once, and the samples keep their bits."""
    task = Task(tmp_path / "f.h5", VALUES, (4, 40, 48), h5stz.STZ(**option))
    piecewise_hosts.netcdf_records("fill", "steps")(task)
    copied = task.path
    for number in range(3):
        original, copied = copied, tmp_path / f"copy{number}.h5"
        piecewise_hosts.copy("nccopy", original, copied)
    assert exact.same_bits(piecewise.read(task.path), piecewise.read(copied))
    before, after = streams(task.path), streams(copied)
    assert {place for place in before if after[place] != before[place]} <= {(8, 0, 0)}
    assert len(after[8, 0, 0]) < len(before[8, 0, 0]) + 100


@pytest.mark.parametrize("tool", TOOLS)
def test_copies_of_rewritten_chunks_have_the_same_streams(tool, tmp_path, option):
    task = Task(tmp_path / "f.h5", VALUES[:8], (4, 40, 48), h5stz.STZ(**option), cache=0)
    piecewise_hosts.netcdf_records("fill", "steps")(task)
    expected = task.values.copy()
    with piecewise.opened(task) as dataset:
        dataset[1, 5:20] = expected[1, 5:20] = 2 * expected[1, 5:20]
    first = streams(task.path)
    assert h5stz.info(first[0, 0, 0]).form.startswith("patched")
    piecewise_hosts.copy(tool, task.path, tmp_path / "copy.h5")
    assert streams(tmp_path / "copy.h5") == first
    judge(tmp_path / "copy.h5", expected, option)


@needs_programs("h5repack")
def test_a_copy_that_is_written_on(tmp_path, option):
    """Half of a series, copied, then the other half: what the copy holds is never quantized a second time."""
    task = Task(tmp_path / "f.h5", VALUES[:5], (8, 40, 48), h5stz.STZ(**option), cache=0)
    piecewise.append_frames(task)
    copy = replace(task, path=tmp_path / "copy.h5")
    piecewise_hosts.copy("h5repack", task.path, copy.path)
    with piecewise.opened(copy) as dataset:
        dataset.resize(len(VALUES), axis=0)
        for index in range(5, len(VALUES)):
            dataset[index] = VALUES[index]
    judge(copy.path, VALUES, option)
    judge(task.path, VALUES[:5], option)


@needs_programs("h5repack")
def test_copies_with_other_bounds_show_the_accumulated_one(tmp_path, capsys):
    """Each bound is a sum of powers of two, so that their sum is exact and printed as such."""
    task = Task(tmp_path / "f0.h5", VALUES, (4, 40, 48), h5stz.STZ(absolute=2**-6))
    piecewise.at_once(task)
    for number, bound, total in [(1, 2**-5, 2**-6 + 2**-5), (2, 2**-8, 2**-6 + 2**-5 + 2**-8)]:
        words = ",".join(map(str, short_form(ABSOLUTE, bound)))
        copy = tmp_path / f"f{number}.h5"
        piecewise_hosts.call("h5repack", "-f", f"UD={FILTER_ID},0,4,{words}", tmp_path / f"f{number - 1}.h5", copy)
        assert cli.main(["info", str(copy)]) == 0
        shown = capsys.readouterr().out
        assert f"accumulated bound: {total!r}, with those of earlier compressions: 3 chunks\n" in shown
        error = exact.error_over_bound(VALUES, piecewise.read(copy), total)
        assert bound / total < error <= 1
        assert all(h5stz.info(stream).accumulated_bound == total for stream in streams(copy).values())
