"""H5STZ_VERIFY in a program under `h5stz run`: it goes for each read, also of a chunk whose reader was kept."""

import os
import subprocess
import sys

import h5py
import pytest

import h5stz
from h5stz.programs import run
from support import boxes
from support.patched_streams import with_wrong_check

SHAPE = (96, 90, 100)
READ = """
import os, sys, h5py
x = h5py.File(sys.argv[1], rdcc_nbytes=0)["x"]
x[:30, :30, :30]
os.environ["H5STZ_VERIFY"] = sys.argv[2]
print(x[40:, 40:, 40:].shape)
"""


@pytest.mark.parametrize("route", run.ROUTES)
@pytest.mark.parametrize("said", ["1", "0"])
def test_the_environment_is_asked_at_each_read(tmp_path, route, said):
    stream, _ = boxes.volume(SHAPE, "region")
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("x", SHAPE, "f4", chunks=SHAPE, **h5stz.STZ(absolute=1.0))
        dataset.id.write_direct_chunk((0, 0, 0), with_wrong_check(stream))
    os.utime(path, (1e9, 1e9))  # of what was changed a moment ago nothing is kept
    words = [sys.executable, "-c", READ, str(path), said]
    done = subprocess.run(words, env=run.environment(os.environ, route), capture_output=True, text=True)
    if said == "1":
        assert done.returncode == 1 and "not those that the writer saw" in done.stderr, done.stderr
    else:
        assert done.stdout == "(56, 50, 60)\n", done.stderr
