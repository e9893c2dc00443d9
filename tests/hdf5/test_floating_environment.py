"""Hosts that trap, flush subnormal numbers or round otherwise: the bytes are the same, their modes and flags stay."""

import h5py
import pytest

from support.host_tools import plugin_file, run
from support.paths import PROGRAMS
from support.requirements import needs_programs, require

MODES = ["trap", "flush", "down", "flags"]
# gfortran's names; HDF5 itself raises inexact.
TRAPS = "invalid,zero,overflow,underflow,denormal"


def stored(path):
    """The client data and the stored bytes of every dataset, which has one chunk."""
    with h5py.File(path) as file:
        return {name: (file[name]._filters, file[name].id.read_direct_chunk((0, 0))) for name in file}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    require(needs_programs("h5cc"))
    directory = tmp_path_factory.mktemp("environment")
    source = PROGRAMS / "floating_environment.c"
    options = ["-Wall", "-Wextra", "-Werror", "-frounding-math", "-o", directory / "program"]
    run("h5cc", "-shlib", *options, source, "-lm", "-ldl", directory=directory)
    return directory / "program"


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("mode", MODES)
def test_c_program(tmp_path, monkeypatch, program, mode, threads):
    assert run(program, tmp_path / "default.h5", plugin_file(), "default") == "ok\n"
    monkeypatch.setenv("H5STZ_THREADS", str(threads))
    assert run(program, tmp_path / "other.h5", plugin_file(), mode) == "ok\n"
    assert stored(tmp_path / "other.h5") == stored(tmp_path / "default.h5")


@needs_programs("h5fc", "gfortran")
def test_fortran_program(tmp_path):
    for name, options in [("plain", []), ("trapping", [f"-ffpe-trap={TRAPS}"])]:
        run("h5fc", "-shlib", *options, "-o", tmp_path / name, PROGRAMS / "filter.f90", directory=tmp_path)
        run(tmp_path / name, tmp_path / f"{name}.h5", "traps")
    assert stored(tmp_path / "trapping.h5") == stored(tmp_path / "plain.h5")
