"""Commands that write files, on a full disk: they say so, the source is as it was, and nothing half is in the target's place.

The disk is that of tests/programs/faulty_writes.c: full after so many bytes.
"""

import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from support import interrupted
from support.fields import random_field
from support.requirements import needs_programs

pytestmark = needs_programs("gcc")
COMMANDS = {
    "compress": ["compress", "source.h5", "target.h5", "--absolute", "1e-3"],
    "compress in place": ["compress", "source.h5", "source.h5", "--overwrite", "--absolute", "1e-3"],
    "decompress": ["decompress", "packed.h5", "target.h5"],
    "extract": ["extract", "packed.h5::/x", "--region", "3:20", "--output", "target.h5"],
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return interrupted.preload_library(tmp_path_factory.mktemp("library"))


@pytest.fixture
def directory(tmp_path):
    field = random_field((30, 40, 50), 4, 1).astype("f4")
    with h5py.File(tmp_path / "source.h5", "w") as file:
        file["x"] = field
        file.create_dataset("noise", data=np.random.default_rng(1).integers(0, 255, 50000, "u1"), chunks=(10000,))
    h5stz.repack(tmp_path / "source.h5", tmp_path / "packed.h5", absolute=1e-3)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("room", [0, 5000, 60000])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk(library, directory, command, room):
    before = interrupted.files_in(directory)
    variables = interrupted.environment(library, FAULTY_WRITES_UNDER=f"{directory}/", FAULTY_WRITES_ROOM=room)
    words = [sys.executable, "-m", "h5stz", *COMMANDS[command]]
    done = subprocess.run(words, cwd=directory, env=variables, capture_output=True, text=True)
    assert done.returncode == 1, done
    last = done.stderr.splitlines()[-1]  # h5py prints what it could not close before
    assert last.startswith("h5stz: ") and "No space left on device" in last, done.stderr
    assert interrupted.files_in(directory) == before
