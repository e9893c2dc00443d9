"""Parallel HDF5 with two ranks: collective writes through the filter, reads of parts, MPI programs under `h5stz run`.

tests/programs/parallel.c checks samples and bytes; here is what was done, and that nothing waits for ever.
"""

import ast
import subprocess

import h5py
import numpy as np
import pytest

from h5stz import _core, cli
from h5stz.programs import compress_rules, run
from support import parallel_h5py
from support.created_files import BOUND, check, is_compressed
from support.host_tools import environment, pkg_config
from support.paths import PROGRAMS
from support.piecewise_hosts import MPI
from support.requirements import needs_programs

pytestmark = needs_programs("h5pcc", "mpirun", "pkg-config")

DRIVER, OPEN_THROUGH_MPI = _core.H5_REASONS["STZ_H5_DRIVER"]
RANKS = 2


@pytest.fixture(scope="module", params=["shared", "static"])
def program(request, tmp_path_factory):
    """tests/programs/parallel.c with parallel HDF5 as a shared library and linked in."""
    directory = tmp_path_factory.mktemp("parallel")
    link = "-shlib" if request.param == "shared" else "-noshlib"
    flags = [*pkg_config("--cflags", "--libs"), "-lm", "-o", str(directory / "program")]
    words = ["h5pcc", link, "-Wall", "-Wextra", "-Werror", str(PROGRAMS / "parallel.c"), *flags]
    subprocess.run(words, cwd=directory, check=True)
    return directory / "program"


def on_ranks(*words):
    """The command that runs a program on all ranks."""
    return ["mpirun", "-n", str(RANKS), *map(str, words)]


def ranks_say(*words):
    """What the ranks print, in lines. A rank that waits for ever is a failure."""
    options = {"env": environment() | MPI, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(on_ranks(*words), text=True, timeout=90, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def written(program, tmp_path_factory):
    """A file with the dataset "x", of two chunks that hold samples of both ranks, written collectively."""
    path = tmp_path_factory.mktemp("written") / "together.h5"
    assert ranks_say(program, path, "write", BOUND) == [f"within {rank} of {BOUND}" for rank in range(RANKS)]
    return path


def test_what_ranks_write_together_is_read_by_others(written):
    with h5py.File(written) as file:
        stored = file["x"]
        assert is_compressed(stored) and stored.id.get_num_chunks() == 2
        assert stored.id.get_storage_size() < stored.size * stored.dtype.itemsize / 5
        z, y, x = np.meshgrid(*map(np.arange, stored.shape), indexing="ij")
        noise = (x * 7919 + y * 104729 + z * 31) % 997 * 1e-4
        original = (20 * np.sin(z / 5 + y / 9) * np.cos(x / 7) + noise).astype("f4")
        assert np.abs(stored[...].astype("f8") - original).max() <= BOUND * 1.01  # another sine may round otherwise


def test_hdf5_refuses_independent_writes_through_filters(program, tmp_path):
    said = ranks_say(program, tmp_path / "alone.h5", "independent", BOUND)
    assert sum("Can't perform independent write with filters in pipeline" in line for line in said) == RANKS


@pytest.mark.parametrize("transfer", ["collective", "independent", "alone"])
def test_files_that_are_open_through_mpi_are_left_to_hdf5(program, written, transfer):
    """Alone: the read of one rank must not wait for a rank that does not read."""
    reading = range(1 if transfer == "alone" else RANKS)
    said = ranks_say(program, written, "read", "mpio", transfer)
    assert said == [f"rank {rank} reads 2 through 2 direct 0 ranges 0 reason {DRIVER}" for rank in reading]


def test_plain_files_of_each_rank_are_read_directly(program, written):
    said = ranks_say(program, written, "read", "sec2", "independent")
    assert said == [f"rank {rank} reads 2 through 0 direct 3 ranges 3 reason 0" for rank in range(RANKS)]


def is_static(program):
    return "libhdf5" not in subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout


def test_unmodified_program(program, written, monkeypatch, capfd):
    """The same output; of plain files needed blocks alone are decoded. A program that is linked statically runs as ever."""
    plain = ranks_say(program, written, "sums")
    assert len(plain) == 2 + 4 * 2 + 2 * 2 and len(set(plain)) == 2 * RANKS
    for name, value in MPI.items():
        monkeypatch.setenv(name, value)
    status, sums = run.run(on_ranks(program, written, "sums"), stats=True)
    assert (status, capfd.readouterr().out.splitlines()) == (0, plain)
    if not is_static(program):
        assert (sums["reads"], sums["reads_through_hdf5"]) == (len(plain), len(plain) - 2 * RANKS)
        assert 0 < sums["blocks_decoded"] < sums["blocks_present"]


@pytest.mark.parametrize("driver", ["mpio", "sec2"])
def test_files_that_an_mpi_program_creates(program, driver, tmp_path, monkeypatch):
    plain, made = tmp_path / "plain.h5", tmp_path / "made.h5"
    assert ranks_say(program, plain, "create", driver) == []
    for name, value in MPI.items():
        monkeypatch.setenv(name, value)
    rules = [compress_rules.parse(f"/*=absolute:{BOUND}")]
    status, sums = run.run(on_ranks(program, made, "create", driver), compress=rules)
    assert status == 0
    names = ["chunked", "contiguous"]
    compressed = driver == "sec2" and not is_static(program)
    check(plain, made, names if compressed else [])
    outcome, times = ("compressed", 1) if driver == "sec2" else ("parallel", RANKS)
    expected = [] if is_static(program) else [(f"/{name}", 0, outcome) for name in names for _ in range(times)]
    assert sorted(sums["datasets"]) == expected


def test_ranks_without_the_library(program, tmp_path, monkeypatch):
    """As on other machines, where mpirun does not pass on the environment: nobody waits for them."""
    for name, value in MPI.items():
        monkeypatch.setenv(name, value)
    words = [str(program), str(tmp_path / "x.h5"), "create", "mpio"]
    command = ["mpirun", "-n", "1", "env", "-u", "LD_PRELOAD", *words, ":", "-n", "1", *words]
    status, sums = run.run(command, compress=[compress_rules.parse(f"/*=absolute:{BOUND}")])
    assert status == 0
    assert sums["datasets"] == ([] if is_static(program) else [("/contiguous", 0, "parallel"), ("/chunked", 0, "parallel")])


def test_the_reason_is_told(program, tmp_path, monkeypatch, capfd):
    for name, value in MPI.items():
        monkeypatch.setenv(name, value)
    words = ["run", "--compress", f"/*=absolute:{BOUND}", "--", *on_ranks(program, tmp_path / "x.h5", "create", "mpio")]
    assert cli.main(words) == 0
    said = capfd.readouterr().err
    assert ("in a file of parallel HDF5" in said) != is_static(program)


@pytest.mark.slow
@pytest.mark.parametrize("who", ["all", "alone"])
@pytest.mark.parametrize("driver", ["mpio", "sec2"])
def test_python(written, driver, who):
    (said,) = ranks_say(parallel_h5py.interpreter(), PROGRAMS / "parallel_reads.py", written, driver, who)
    reason = OPEN_THROUGH_MPI if driver == "mpio" else None
    each = [True, reason, driver == "sec2"]
    assert ast.literal_eval(said) == [each if who == "all" or rank == 0 else [] for rank in range(RANKS)]
