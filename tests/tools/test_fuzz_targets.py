"""Every fuzz target builds with clang's libFuzzer and its sanitizers, and finds nothing in its seeds and a fixed number of
runs."""

import os
import subprocess
import sys

import pytest

from support.native import native_build
from support.paths import ROOT
from support.requirements import needs_libfuzzer

sys.path.insert(0, str(ROOT / "fuzz"))
import long_run
import seeds

TARGETS = long_run.native_targets()
#: New inputs of each target: some seconds' worth.
RUNS = {"roundtrip": 500, "filter": 300, "hdf5": 300, "reader": 1000, "decode": 2000, "info": 2000}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The programs, and beside them the seeds of each."""
    built = native_build(["fuzz_targets"], preset="fuzz-smoke") / "fuzz"
    made = tmp_path_factory.mktemp("seeds")
    seeds.write(made)
    return built, made


@needs_libfuzzer()
@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_a_target_finds_nothing(target, folder, tmp_path):
    built, made = folder
    program = built / f"fuzz_{target}"
    if target == "hdf5" and not program.exists():
        pytest.skip("CMake finds no HDF5 for C")
    inputs = sorted((made / target).iterdir())
    runs = len(inputs) + RUNS.get(target, 10000)
    options = [f"-runs={runs}", "-seed=1", "-max_len=8192", f"-artifact_prefix={tmp_path}/", f"-dict={ROOT / 'fuzz/stz.dict'}"]
    done = subprocess.run(
        [program, *options, tmp_path, made / target],
        capture_output=True,
        text=True,
        errors="replace",
        env=os.environ | long_run.SANITIZERS,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert f"Done {runs} runs" in done.stderr


def test_two_decoders_find_no_difference():
    done = subprocess.run(
        [sys.executable, ROOT / "fuzz/two_decoders.py", "--iterations=40"], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, done.stdout) == (0, "40 streams, no findings\n"), done.stderr
