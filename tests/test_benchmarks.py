"""The benchmark commands work on generated fields; the slow tier compares the figures with their targets.

Targets are in benchmarks/targets.py alone. The figures on the development fields need H5STZ_DATA.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from host_tools import missing, packages

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
DATA = os.environ.get("H5STZ_DATA")


def run(command, json_file, *options, data=None, timeout=280):
    """Runs one command with --check and returns its JSON document; `data` None: generated fields."""
    environment = {name: value for name, value in os.environ.items() if name != "H5STZ_DATA"}
    words = [sys.executable, BENCHMARKS / f"{command}.py", *([data] if data else []), *options]
    words += ["--json", json_file, "--check"]
    done = subprocess.run(
        [str(word) for word in words],
        env=environment,
        text=True,
        timeout=timeout,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    print(done.stdout)  # pytest shows it where the test fails, and with -rP always
    assert done.returncode == 0
    return json.loads(json_file.read_text())


# What measures the bound must see a violation of one ulp, and a NaN that comes or goes. In a process of its own: benchmarks/
# and tests/ have modules of the same names.
MEASURE = """
import numpy as np
from bound import largest_error
limit = 2.0**-30
x = np.array([1.0, 1.0, np.nan, np.inf, 1e300, 0.0])
def violations(*changes):
    y = x.copy()
    for index, value in changes:
        y[index] = value
    return largest_error(x, y, limit)[0]
assert violations() == 0
assert violations((0, 1 + limit), (1, 1 - limit), (5, limit)) == 0
assert violations((0, np.nextafter(1 + limit, 2))) == 1
assert violations((5, np.nextafter(limit, 1))) == 1
assert violations((2, 0.0), (3, -np.inf)) == 2
assert violations((4, np.inf), (1, np.nan)) == 2
assert largest_error(x.astype(">f8"), x.astype(">f8") + limit, limit)[0] == 0
assert largest_error(np.array([5], "i4"), np.array([7], "i4"), 1.5) == (1, 2 / 1.5)
"""


if packages("pysz", "hdf5plugin", "fpzip", "blosc2"):

    @pytest.mark.parametrize("command", ["ratio", "masked", "lossless", "pointwise", "readme_table"])
    def test_generated_fields(command, tmp_path):
        document = run(command, tmp_path / "figures.json")
        assert document["records"]
        assert document["versions"]["h5stz"]

    def test_bound_on_generated_fields(tmp_path):
        document = run("bound", tmp_path / "figures.json", "--edge", "12")
        assert sum(record["violations"] for record in document["records"]) == 0

    def test_speed_prints_every_codec(tmp_path):
        document = run("speed", tmp_path / "figures.json", "--edge", "32", "--repeats", "1", "--hdf5plugin")
        assert {record["codec"] for record in document["records"]} > {"h5stz", "sz3"}

    def test_violations_are_found():
        subprocess.run([sys.executable, "-c", MEASURE], cwd=BENCHMARKS, check=True, timeout=60)

    @pytest.mark.slow
    def test_speed(tmp_path):
        run("speed", tmp_path / "figures.json", timeout=600)

    if DATA:

        @pytest.mark.slow
        @pytest.mark.parametrize("command", ["ratio", "masked", "lossless", "pointwise", "readme_table"])
        def test_figures(command, tmp_path):
            run(command, tmp_path / "figures.json", data=DATA, timeout=600)

        @pytest.mark.slow
        def test_bound_on_development_fields(tmp_path):
            run("bound", tmp_path / "figures.json", "--edge", "40", data=DATA, timeout=900)

    else:
        missing.append("H5STZ_DATA, the development fields (their figures were not collected)")
