"""fuzz/long_run.py counts what targets execute, goes on where it stopped, and ends at the first finding with a way to repeat
it."""

import json
import subprocess
import sys

import pytest

from support.paths import ROOT

# Says what libFuzzer says: 40 inputs were read from the corpus, 100 were run in all.
TARGET = """#!/bin/sh
echo "#40 INITED cov: 1"
echo "stat::number_of_executed_units: 100"
if [ -e {stop} ]; then echo "broken promise: it stopped"; exit 77; fi
"""


@pytest.fixture
def directory(tmp_path):
    """The directory of a long run with two targets that take no time."""
    programs = tmp_path / "run/bin/libfuzzer"
    programs.mkdir(parents=True)
    for name in ("fuzz_decode", "fuzz_info"):
        (programs / name).write_text(TARGET.format(stop=tmp_path / "stop"))
        (programs / name).chmod(0o755)
    return tmp_path / "run"


def long_run(directory, *options):
    program = [sys.executable, ROOT / "fuzz/long_run.py", directory, "--no-build", "--targets", "decode", "info"]
    program += ["--before", directory / "before.json"]
    return subprocess.run([*program, *options], capture_output=True, text=True, cwd=ROOT)


def counts(directory):
    log = json.loads((directory / "executions.json").read_text())
    return log["total"], {name: entry["executions"] for name, entry in log["targets"].items()}


def test_a_run_goes_on_where_it_stopped_and_ends_at_the_goals(directory):
    assert long_run(directory, "--goals", "90", "200").returncode == 0
    total, of_each = counts(directory)
    assert 200 <= total < 320 and total == sum(of_each.values()) and min(of_each.values()) >= 90
    assert all(executed % 60 == 0 for executed in of_each.values()), "what is read from the corpus is not counted"
    done = long_run(directory, "--goals", "90", "800")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "every goal is reached")
    assert 800 <= counts(directory)[0] < 920


def test_a_new_directory_goes_on_from_what_earlier_runs_came_to(directory):
    earlier = {"executions": 1000, "seconds": 9.0, "findings": []}
    (directory / "before.json").write_text(json.dumps({"total": 1000, "targets": {"info": earlier}}))
    assert long_run(directory, "--goals", "500", "1500").returncode == 0
    assert counts(directory)[1] == {"info": 1000, "decode": 540}


def test_a_run_that_is_stopped_ends_its_targets_and_counts_none_of_their_slices(directory):
    (directory / "bin/libfuzzer/fuzz_decode").write_text(
        "#!/bin/sh\necho running > $(dirname $0)/decode.running\nexec sleep 600\n"
    )
    command = [sys.executable, ROOT / "fuzz/long_run.py", directory, "--no-build", "--targets", "decode"]
    run = subprocess.Popen([*command, "--before", directory / "before.json"], cwd=ROOT)
    while not (directory / "bin/libfuzzer/decode.running").exists():
        assert run.poll() is None
    run.terminate()
    assert run.wait(60) == 0
    assert not (directory / "executions.json").exists()


def test_a_run_ends_at_a_finding(directory, tmp_path):
    (tmp_path / "stop").touch()
    done = long_run(directory, "--goals", "90", "200")
    assert done.returncode == 1
    assert "has found something" in done.stdout and "broken promise: it stopped" in done.stdout and "fuzz/run.sh" in done.stdout
    targets = json.loads((directory / "executions.json").read_text())["targets"].values()
    assert sum(len(entry["findings"]) for entry in targets) == 1
