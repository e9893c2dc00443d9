"""Programs with an HDF5 before 1.10, whose ids have 32 bits: under the preload library they do what they do without it."""

import os
import subprocess

import pytest

from h5stz.programs import run
from support import host_tools
from support.paths import PROGRAMS
from support.requirements import needs_programs


@needs_programs("gcc")
@pytest.mark.parametrize("rules", ["", "101,0;101,0;101,0 /*"], ids=["plain", "with rules"])
def test_calls_reach_the_library(tmp_path, rules):
    library, program = tmp_path / "libhdf5.so", tmp_path / "program"
    host_tools.run("gcc", "-shared", "-fPIC", PROGRAMS / "old_hdf5.c", "-o", library)
    host_tools.run("gcc", PROGRAMS / "old_hdf5_user.c", library, f"-Wl,-rpath,{tmp_path}", "-o", program)
    variables = run.environment(os.environ, "preload") | {"H5STZ_COMPRESS": rules}
    assert host_tools.run(program) == "101 7 102 1103\n"
    assert subprocess.run([program], env=variables, check=True, capture_output=True, text=True).stdout == "101 7 102 1103\n"
