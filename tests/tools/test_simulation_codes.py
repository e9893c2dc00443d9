"""The simulation codes of examples/ in C++, Fortran, C and Python with MPI: series, restarts, and what bounds do to a run."""

import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

import h5stz
from support import exact, installed, parallel_h5py
from support.host_tools import environment, pkg_config
from support.paths import EXAMPLES
from support.piecewise_hosts import MPI
from support.requirements import needs_programs, require

MINIAPPS = EXAMPLES / "simulation_codes/miniapps"
#: Small runs: both programs write 16 frames, two chunks.
SIZES = {"euler": ["--cells", 24, "--steps", 64, "--every", 4], "heat": ["--cells", 16, "--steps", 64, "--every", 4]}
FIELDS = {"euler": ["density", "momentum_x", "momentum_y", "energy"], "heat": ["temperature"]}
SERIES = {"euler": "pressure", "heat": "temperature"}
BOUND = 1e-3


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """Where the C libraries are installed."""
    return installed.install(tmp_path_factory.mktemp("prefix"))


@pytest.fixture(scope="module")
def serial(prefix, tmp_path_factory):
    """The directory of `euler` and `heat`, built by their CMake project."""
    require(needs_programs("h5cc", "h5fc"))
    return installed.build_project(MINIAPPS, tmp_path_factory.mktemp("serial"), prefix, CMAKE_COMPILE_WARNING_AS_ERROR="ON")


@pytest.fixture(scope="module")
def parallel(prefix, tmp_path_factory):
    """The same of `heat_mpi`."""
    require(needs_programs("h5pcc", "mpirun"))
    return installed.build_project(MINIAPPS, tmp_path_factory.mktemp("parallel"), prefix, MINIAPPS_PARALLEL="ON")


def run(directory, *words, succeed=True, **variables):
    """What a program prints in a directory. HDF5 is told where the plug-in is by the program alone, unless `variables` do."""
    known = {name: value for name, value in environment().items() if name != "HDF5_PLUGIN_PATH"} | MPI | variables
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run([str(word) for word in words], cwd=directory, env=known, text=True, timeout=300, **pipes)
    assert (done.returncode == 0) is succeed, done.stdout
    return done.stdout


def stored(path, name):
    with h5py.File(path) as file:
        return file[name][...]


def same_state(program, a, b):
    """Whether two checkpoints have the same bits."""
    return all(stored(a, name).tobytes() == stored(b, name).tobytes() for name in FIELDS[program])


@pytest.mark.slow
@pytest.mark.parametrize("program", ["euler", "heat"])
def test_restarts_from_exact_checkpoints_change_nothing(serial, program, tmp_path):
    """The same state and the same frames to the last bit, also where the earlier run went further than its checkpoint."""
    run(tmp_path, serial / program, "whole", *SIZES[program], "--checkpoint-every", 32)
    shutil.copy(tmp_path / "whole.h5", tmp_path / "again.h5")
    printed = run(tmp_path, serial / program, "again", *SIZES[program], "--restart", "whole.000032.h5")
    assert same_state(program, tmp_path / "whole.000064.h5", tmp_path / "again.000064.h5")
    for name in (SERIES[program], "time"):
        assert stored(tmp_path / "again.h5", name).tobytes() == stored(tmp_path / "whole.h5", name).tobytes()
    assert "16 frames" in printed and not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("program", ["euler", "heat"])
def test_series_and_checkpoints_keep_their_bounds(serial, program, tmp_path):
    run(tmp_path, serial / program, "exact", *SIZES[program], "--series", "lossless")
    options = ["--series", f"absolute={BOUND},append_axis=0", "--checkpoint", f"absolute={BOUND / 100}"]
    run(tmp_path, serial / program, "lossy", *SIZES[program], *options)
    name = SERIES[program]
    frames = stored(tmp_path / "exact.h5", name)
    assert len(frames) == 16
    assert 0.5 < exact.largest_error(frames, stored(tmp_path / "lossy.h5", name), BOUND) <= 1
    with h5py.File(tmp_path / "lossy.h5") as file:
        assert file[name].id.get_storage_size() < frames.nbytes / 8  # no chunk is stored without loss
    for field in FIELDS[program]:
        before, after = (stored(tmp_path / f"{run}.000064.h5", field) for run in ("exact", "lossy"))
        assert before.dtype == "f8" and exact.largest_error(before, after, BOUND / 100) <= 1


def test_effect_of_the_bound(serial, tmp_path):
    """As docs/simulation_codes.md says: heat conduction never amplifies an error, lossless checkpoints change nothing."""
    printed = run(tmp_path, sys.executable, MINIAPPS / "effect.py", serial, "--cells", 16)
    tables = {name: [] for name in SIZES}
    for line in printed.splitlines():
        if found := re.match(r"(euler|heat): ", line):
            rows = tables[found[1]]
        if re.match(r"\| [0-9l]", line):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
    for rows in tables.values():
        *bounded, (label, *last) = rows
        assert label == "lossless" and {float(cell) for cell in last[1:] if cell} == {0}
        ratios = [float(row[1]) for row in bounded]
        assert len(bounded) == 6 and ratios == sorted(ratios, reverse=True)
        for bound, _, error, difference, *_ in bounded:
            assert float(error) <= float(bound) * 1.05 and 0 < float(difference) < 20 * float(bound)  # two digits are printed
    assert all(float(row[3]) <= float(row[0]) for row in tables["heat"][:-1])


@needs_programs("pkg-config")
def test_programs_in_other_languages_read_the_files(serial, tmp_path):
    """A Fortran program reads what C++ has written, a C program what Fortran has, and Python reads both."""
    run(tmp_path, serial / "euler", "flow", *SIZES["euler"])
    run(tmp_path, serial / "heat", "cube", *SIZES["heat"])
    for compiler, source, file, name in (
        ("h5fc", "read_slab.f90", "flow.h5", "density"),
        ("h5cc", "read_slab.c", "cube.000064.h5", "temperature"),
    ):
        flags = pkg_config("--cflags", "--libs")
        run(tmp_path, compiler, EXAMPLES / "simulation_codes" / source, *flags, "-o", tmp_path / "slab")
        run(tmp_path, tmp_path / "slab", file, name, 11, 1, "out.raw", HDF5_PLUGIN_PATH=environment()["HDF5_PLUGIN_PATH"])
        values = stored(tmp_path / file, name).astype("f4")
        expected = np.concatenate([values[11].ravel(), values[::2, ::2, ::2].ravel()])
        assert np.fromfile(tmp_path / "out.raw", "f4").tobytes() == expected.tobytes()


@pytest.mark.parametrize("program", ["euler", "heat"])
def test_a_wrong_option_is_told(serial, program, tmp_path):
    assert "'absolut' is not an option" in run(tmp_path, serial / program, "x", "--series", "absolut=1", succeed=False)
    assert "unknown option --step" in run(tmp_path, serial / program, "x", "--step", 3, succeed=False)


def test_the_compiler_of_hdf5_alone_builds_the_program(tmp_path):
    """As the document says: without CMake, which defines where the plug-in is. HDF5_PLUGIN_PATH says it then."""
    require(needs_programs("h5pcc", "mpirun", "pkg-config"))
    pkg_config_path = str(Path(h5stz.__file__).parent / "lib/pkgconfig")
    flags = run(tmp_path, "pkg-config", "--cflags", "--libs", "h5stz", PKG_CONFIG_PATH=pkg_config_path).split()
    run(tmp_path, "h5pcc", MINIAPPS / "heat_mpi.c", *flags, "-lm", "-o", "heat_mpi", "-Wall", "-Werror")
    words = ["mpirun", "-n", 1, tmp_path / "heat_mpi", "ranks", *SIZES["heat"], "--series", f"absolute={BOUND}"]
    run(tmp_path, *words, HDF5_PLUGIN_PATH=h5stz.plugin_path())
    assert stored(tmp_path / "ranks.h5", "temperature").size


@pytest.mark.slow
def test_ranks_write_and_restart_together(serial, parallel, tmp_path):
    """Four ranks write, three restart; and a serial program restarts from what ranks have written, and the reverse."""
    ranks = {count: ["mpirun", "-n", count, parallel / "heat_mpi"] for count in (2, 3, 4)}
    size = [*SIZES["heat"], "--checkpoint-every", 32]
    run(tmp_path, serial / "heat", "serial", *size, "--series", "lossless")
    run(tmp_path, *ranks[4], "ranks", *size, "--series", f"absolute={BOUND}")
    frames = stored(tmp_path / "serial.h5", "temperature")
    assert exact.largest_error(frames, stored(tmp_path / "ranks.h5", "temperature"), BOUND) > 0.5
    state = stored(tmp_path / "serial.000064.h5", "temperature")
    assert np.abs(state - stored(tmp_path / "ranks.000064.h5", "temperature")).max() < 1e-13  # sines of other libraries

    run(tmp_path, *ranks[3], "fewer", *size, "--restart", "ranks.000032.h5")
    assert same_state("heat", tmp_path / "fewer.000064.h5", tmp_path / "ranks.000064.h5")
    run(tmp_path, *ranks[2], "from_serial", *size, "--restart", "serial.000032.h5")
    run(tmp_path, serial / "heat", "from_ranks", *size, "--restart", "ranks.000032.h5")
    for name in ("from_serial", "from_ranks"):
        assert np.abs(state - stored(tmp_path / f"{name}.000064.h5", "temperature")).max() < 1e-13


@pytest.mark.slow
@needs_programs("mpirun", "mpicc", "pkg-config")
def test_ranks_in_python_write_together(tmp_path):
    printed = run(tmp_path, "mpirun", "-n", 4, parallel_h5py.interpreter(), EXAMPLES / "simulation_codes/parallel_h5py.py")
    assert 0.5 < float(re.search(r"max error / bound: (\S+)", printed)[1]) <= 1
    sums = [int(text) for text in re.search(r"check sums: \[(.*)\]", printed)[1].split(",")]
    values = stored(tmp_path / "parallel_h5py.h5", "rho")
    rows = [slice(90 * rank // 4, 90 * (rank + 1) // 4) for rank in range(4)]
    assert sums == [zlib.crc32(values[:, mine].tobytes()) for mine in rows]
