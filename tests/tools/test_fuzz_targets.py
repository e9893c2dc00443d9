"""Every fuzz target finds nothing in its seeds and a fixed number of other inputs: in continuous integration with the driver of
its own, whose build shares what it compiles with the sanitized tests; on long nights with clang's libFuzzer.
"""

import os
import re
import subprocess
import sys

import pytest

from support.native import native_build
from support.paths import ROOT
from support.requirements import needs_libfuzzer, needs_programs

sys.path.insert(0, str(ROOT / "fuzz"))
import long_run
import seeds

TARGETS = long_run.native_targets()
#: New inputs of each target: some seconds' worth.
RUNS = {"roundtrip": 300, "filter": 200, "hdf5": 200, "reader": 300, "decode": 500, "info": 500}
#: Of these the seeds are golden streams, which are accepted.
STREAMS = {"decode", "info", "reader"}


def programs(preset):
    return native_build(["fuzz_targets"], preset=preset) / "fuzz"


@pytest.fixture(scope="session")
def inputs(tmp_path_factory):
    """A directory with the seeds of each target."""
    made = tmp_path_factory.mktemp("seeds")
    seeds.write(made)
    return made


def output(program, *words):
    """What a target prints, on both streams; it must exist, but for that which needs HDF5, and find nothing."""
    if program.name == "fuzz_hdf5" and not program.exists():
        pytest.skip("CMake finds no HDF5 for C")
    environment = os.environ | long_run.SANITIZERS
    done = subprocess.run(
        [program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


@needs_programs("g++")
@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_a_target_finds_nothing(target, inputs):
    program, runs = programs("fuzz") / f"fuzz_{target}", RUNS.get(target, 10000)
    printed = output(program, *sorted((inputs / target).iterdir()))
    accepted = int(re.fullmatch(r"(\d+) inputs accepted\n", printed)[1])
    assert accepted > 100 or target not in STREAMS
    assert output(program, f"--iterations={runs}") == f"{runs} inputs, no findings\n"


@needs_libfuzzer()
@pytest.mark.night
@pytest.mark.parametrize("target", TARGETS)
def test_libfuzzer_finds_nothing(target, inputs, tmp_path):
    program = programs("libfuzzer") / f"fuzz_{target}"
    runs = len(list((inputs / target).iterdir())) + RUNS.get(target, 10000)
    options = [f"-runs={runs}", "-seed=1", "-max_len=8192", f"-artifact_prefix={tmp_path}/", f"-dict={ROOT / 'fuzz/stz.dict'}"]
    assert f"Done {runs} runs" in output(program, *options, tmp_path, inputs / target)


def test_two_decoders_find_no_difference():
    done = subprocess.run(
        [sys.executable, ROOT / "fuzz/two_decoders.py", "--iterations=40"], capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, done.stdout) == (0, "40 streams, no findings\n"), done.stderr
