"""The benchmark programs work on tiny generated fields; the slow tier compares figures with their targets.

Targets are in benchmarks/shared/targets.py alone. The figures on the development fields need H5STZ_DATA.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from support.paths import BENCHMARKS
from support.requirements import needs_data, needs_packages

pytestmark = needs_packages("pysz", "hdf5plugin", "fpzip", "blosc2", "pcodec", "matplotlib", "ml_dtypes")

# Targets that are not met today (docs/benchmarks.md).
MISSED = {
    "geometric mean over SZ3 on the filled array at 0.01",
}
TINY = ("--edge", "24", "--repeats", "1", "--fields", "grf")

#: Program, options, records.
PROGRAMS = [
    ("ratio", ["--only", "one"], 9),
    ("speed", [*TINY, "--peers", "all"], 3 * 9),
    ("timing", ["--repeats", "1"], 2),
    ("parallel", ["--small"], 2 * 2),
    ("noise", ["--edge", "16", "--repeats", "1"], 5 + 2),
]
SLOW = [
    ("hdf5_throughput", ["--edge", "32", "--repeats", "1"], 4 * 3),
    ("commands", ["--edge", "32", "--repeats", "1"], 2 + 2 + 1 + 1 + 2 + 2 + 1),
    ("learning", ["--edge", "32", "--repeats", "1"], 3 * 3 + 3),
    ("ratio", ["--only", "whole"], 3),
    ("ratio", ["--only", "chunks"], 3),
    ("ratio", ["--only", "masked"], 6),
    ("results", ["--short"], 3),
    ("lossless", ["--only", "fields", "--crop", "20", "--repeats", "1"], 11),
    ("bound", ["--crop", "6", "--fields", "nan", "--dtypes", "float32,int16"], 30),
    ("speed", [*TINY, "--all", "--threads", "1", "--chunks", "8", "--isa", "baseline", "--hdf5", "0.1"], 56),
    ("effort", [*TINY[:4]], 9 + 9),
    ("effort", ["--over-default", "--crop", "12", "--repeats", "1"], 3 * 3 * 5),
    ("region", ["--edge", "40", *TINY[2:], "--positions", "4"], 2 * (10 + 1 + 3)),
    ("results", ["--edge", "16", "--fields", "grf", "--plots", ".", "--codecs", "h5stz,ZFP"], 11),
    ("estimates", ["--edge", "16", "--repeats", "1"], 8 * 3),
    ("enhance", ["--repeats", "1", "--fields", "line"], 1),
    ("progressive", ["--repeats", "1", "--crop", "48"], 2),
    ("rewriting", ["--quick", "--only", "fixed size", "--codecs", "h5stz,SZ3"], 2 * 3),
    ("ratio", ["--only", "layered"], 30),
    ("lossless", ["--only", "layered", "--repeats", "0"], 10),
    ("enhance", ["--repeats", "1"], 7),
    ("remembering", "--edge 64 --chunks 32 --starts 2 --fields grf --repeats 3".split(), 3),  # compiles two plug-ins
]


def run(directory, program, *options, data=None, check=True, timeout=280):
    """Runs a program, with --check unless told otherwise, and returns its JSON document; `data` None: generated fields."""
    environment = {name: value for name, value in os.environ.items() if name != "H5STZ_DATA"}
    words = [sys.executable, BENCHMARKS / f"{program}.py", *([data] if data else []), *options]
    words += ["--json", directory / "figures.json", *["--check"] * check]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(list(map(str, words)), env=environment, cwd=directory, timeout=timeout, **pipes)
    print(done.stdout)  # pytest shows it where the test fails, and with -rP always
    assert done.returncode == 0
    return json.loads((directory / "figures.json").read_text())


@pytest.fixture
def shared(monkeypatch):
    """Makes the modules of benchmarks/ importable."""
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.mark.parametrize(
    ("program", "options", "count"), [*PROGRAMS, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]
)
def test_a_tiny_run(program, options, count, tmp_path):
    document = run(tmp_path, program, *options)
    assert len(document["records"]) == count
    assert document["versions"]["h5stz"]
    pictures = [path.read_bytes() for path in tmp_path.glob("*.png")]
    assert len(pictures) == sum(option.startswith("--plot") for option in options)
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)


def test_parts_of_the_speed_figure(tmp_path):
    options = ["--chunks", "8", "--kinds", "--settings", "--threads", "1", "2"]
    document = run(tmp_path, "speed", *TINY, *options)
    parts = {}
    for record in document["records"]:
        parts.setdefault(record["part"], []).append(record)
        over = 1 if record["case"] == record["base"] else record["compress over"]
        assert over > 0 and record["ratio"] > 0 and record["compress"] > 0 and record.get("into", 1) > 0
    assert [r["case"] for r in parts["fields"]] == ["SZ3 3.4", "h5stz", "h5stz, 2 threads"] * 3
    threads = "", ", 2 threads"
    settings = ["effort 3", "throughput, effort 3", "throughput, effort 1"]
    assert [r["case"] for r in parts["settings"]] == ["SZ3 3.4", *settings] * 3
    chunks = [f"{case}, effort {effort}{more}" for effort in (5, 3) for case in ("whole", "chunks of 8") for more in threads]
    assert [r["case"] for r in parts["chunks"]] == chunks
    assert {"float64", "1-D", "4-D", "30 % NaN", "int16, lossless", "noise"} < {r["case"] for r in parts["kinds"]}
    assert {check["what"] for check in document["checks"]} == {"largest error / bound of h5stz"}, "no targets for small fields"


def test_bytes_of_a_content_check(tmp_path):
    costs = run(tmp_path, "checks", "--edge", "16", "--repeats", "1")["records"]
    assert {record["samples"] for record in costs} > {"float32", "float64", "int16", "float16"}
    # One block: a record of the header, a trailer with one CRC. Arrays that do not get smaller are stored.
    assert all(record["bytes"] == 14 for record in costs if record["ratio"] > 1.01)


def test_violations_are_found(shared):
    """Of one ulp, and a NaN or an infinity that comes or goes."""
    from bound import largest_error

    limit = 2.0**-30
    x = np.array([1.0, 1.0, np.nan, np.inf, 1e300, 0.0])

    def violations(*changes):
        y = x.copy()
        for index, value in changes:
            y[index] = value
        return largest_error(x, y, limit)[0]

    assert violations() == violations((0, 1 + limit), (1, 1 - limit), (5, limit)) == 0
    assert violations((0, np.nextafter(1 + limit, 2))) == violations((5, np.nextafter(limit, 1))) == 1
    assert violations((2, 0.0), (3, -np.inf)) == violations((4, np.inf), (1, np.nan)) == 2
    assert largest_error(x.astype(">f8"), x.astype(">f8") + limit, limit)[0] == 0
    assert largest_error(np.array([5], "i4"), np.array([7], "i4"), 1.5) == (1, 2 / 1.5)


# In a process of its own. A call that fills 64 MB needs 64 MB, before and after it nothing; the kernel's counters lag behind
# by some pages.
MEMORY = """
import numpy as np
from memory import peak_above
size = 64 << 20
held = []
assert 0.99 * size <= peak_above(lambda: np.ones(size, "u1").sum()) < 1.1 * size
assert 0.99 * size <= peak_above(lambda: held.append(np.ones(size, "u1"))) < 1.1 * size
assert peak_above(lambda: held[0].sum()) < 0.1 * size
assert peak_above(lambda: np.empty(size, "u1")) < 0.1 * size
"""


def test_memory_is_the_peak_above_input_and_output():
    subprocess.run([sys.executable, "-c", MEMORY], cwd=BENCHMARKS, check=True, timeout=60)


@pytest.mark.slow  # compiles the codec
def test_stages_add_up(tmp_path):
    # blocks as small as these are coded while they are learned
    worked = {
        "compress": ("scan", "coarsen", "fit", "rans", "assemble"),
        "decompress": ("load", "predict", "halo", "activity", "context", "rans", "store"),
    }
    for record in run(tmp_path, "stages", "--edge", "64", "--repeats", "5", "--fields", "grf,logn")["records"]:
        for way, names in worked.items():
            assert all(record[way][name] > 0 for name in names)
            assert record[way]["other"] < 0.5 * sum(record[way].values()), "most of the work belongs to a stage"


@pytest.mark.slow
def test_rewriting(tmp_path):
    records = run(tmp_path, "rewriting", "--quick")["records"]
    programs = [record for record in records if record["part"] == "programs"]
    ours = [record for record in programs if record["codec"].startswith("h5stz")]
    assert len({record["case"] for record in ours}) > 20
    assert all(record["error_over_bound"] <= 1 for record in ours)
    assert max(record["error_over_bound"] for record in programs if record["codec"] == "SZ3" and "failed" not in record) > 1
    assert [record["bytes_over_memory"] for record in records if record["part"] == "reading"] == [1] * 3


@needs_data()
@pytest.mark.parametrize(
    ("program", "options"),
    [
        pytest.param("ratio", [], marks=pytest.mark.slow),
        pytest.param("results", ["--short"], marks=pytest.mark.slow),
        pytest.param("bound", ["--crop", "24"], marks=pytest.mark.slow),
        pytest.param(
            "lossless", ["--only", "fields", "--repeats", "0"], marks=pytest.mark.night
        ),  # minutes: others at their highest efforts
    ],
)
def test_figures(program, options, tmp_path):
    checks = run(tmp_path, program, *options, data=os.environ["H5STZ_DATA"], check=False, timeout=900)["checks"]
    assert checks and {check["what"] for check in checks if not check["met"]} <= MISSED
