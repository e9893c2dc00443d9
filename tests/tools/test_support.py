"""The helpers in tests/support that judge must be able to say no."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support import exact, smoke
from support.memory import grows_less_than
from support.paths import ROOT, TESTS


def take(megabytes):
    return np.ones(megabytes << 20, "u1").sum()


def test_memory_is_measured_after_a_higher_peak():
    take(200)
    with pytest.raises(AssertionError, match="bytes more at the peak"), grows_less_than(50 << 20):
        take(100)
    with grows_less_than(50 << 20):
        take(20)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "c8"])
def test_the_bound_is_exact(dtype):
    array = np.arange(1, 9).astype(dtype)
    assert exact.largest_error(array, array + array.dtype.type(2), 2.0) == 1
    with pytest.raises(AssertionError):
        exact.largest_error(array, array + array.dtype.type(2), np.nextafter(2, 0))
    assert exact.error_over_bound(array, array, 2.0) == 0
    assert exact.error_over_bound(array, array + array.dtype.type(2), 2.0) == 1
    assert exact.error_over_bound(array, array + array.dtype.type(2), np.nextafter(2, 0)) > 1


def test_special_values_are_compared_by_their_bits():
    array = np.array([np.nan, np.inf, 1])
    other = array.copy()
    other.view("u8")[0] ^= 1
    exact.largest_error(array, array, 0.1)
    for changed in (other, np.array([np.nan, -np.inf, 1]), np.array([np.nan, np.inf, np.nan])):
        with pytest.raises(AssertionError):
            exact.largest_error(array, changed, 0.1)
        assert exact.error_over_bound(array, changed, 0.1) == np.inf


SKIPPED = """
import pytest
from support.requirements import needs, needs_programs, require

@needs_programs("sh")
def test_what_is_there():
    pass

@needs_programs("sh", "a-program-that-is-nowhere")
def test_what_is_not_there():
    pass

@pytest.fixture
def program():
    require(needs_programs("a-program-that-is-nowhere"))

def test_what_a_fixture_lacks(program):
    pass

@needs("program meep", False)
def test_what_may_be_absent():
    pass

def test_another_reason():
    pytest.skip("for some other reason")
"""

SKIPPED_AS_A_WHOLE = """
import pytest
pytest.importorskip("a_package_that_is_nowhere", reason="needs Python package a_package_that_is_nowhere")
"""


def outcomes(directory, *options):
    """What a run of pytest over the test files of a directory prints, with this project's options."""
    words = [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "-p", "conftest", "-p", "no:cacheprovider"]
    words += ["--continue-on-collection-errors", "--rootdir", directory, *options, directory]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    done = subprocess.run(words, env=environment, text=True, capture_output=True)
    return done.stdout


@pytest.mark.slow
def test_what_the_host_lacks_is_skipped_or_fails(tmp_path):
    """Single tests, those that need a fixture, and a module that is skipped as a whole."""
    (tmp_path / "test_skipped.py").write_text(SKIPPED)
    (tmp_path / "test_whole.py").write_text(SKIPPED_AS_A_WHOLE)
    printed = outcomes(tmp_path)
    assert "1 passed, 5 skipped" in printed
    assert "2 tests: needs program a-program-that-is-nowhere\n1 test: needs program meep\n" in printed
    printed = outcomes(tmp_path, "--require-all")
    assert "1 failed, 1 passed, 1 skipped, 3 errors" in printed
    assert printed.count("--require-all: Skipped: needs program a-program-that-is-nowhere") >= 2
    assert "--require-all: Skipped: needs Python package a_package_that_is_nowhere" in printed


# What processes that share the tests begin with: `files` names those of the collected tests, one after the other.
IN_ORDER = """
import types
from pathlib import Path
import conftest
tests, longest = Path(conftest.__file__).parent, conftest.LONGEST
assert all((tests / name).is_file() for name in longest) and len(set(longest)) == len(longest)
files = ["a.py", "b.py", "b.py", longest[1], "c.py", "c.py", longest[0], longest[0]]
items = [types.SimpleNamespace(path=tests / name, number=number) for number, name in enumerate(files)]
assert [item.number for item in conftest.in_order(items)] == [6, 7, 3, 1, 2, 4, 5, 0]
"""


@pytest.mark.slow
def test_the_longest_files_come_first(tmp_path):
    subprocess.run([sys.executable, "-c", IN_ORDER], check=True, env=os.environ | {"PYTHONPATH": str(TESTS)})
    for name, count in {"a": 1, "b": 3, "c": 2}.items():
        (tmp_path / f"test_{name}.py").write_text("".join(f"def test_{n}():\n    pass\n" for n in range(count)))
    printed = outcomes(tmp_path, "-n", "1", "--dist", "loadfile", "-v")
    assert "".join(re.findall(r"PASSED .*test_([abc])\.py", printed)) == "bbbcca"


def test_the_smoke_tier_has_every_subject_and_its_tests_are_there():
    """`./run check` promises these subjects; a test that was renamed or moved takes its place in the list along."""
    promised = {"formatting and lint", "types", "golden streams", "the bound", "h5py", "views", "rewriting"}
    assert promised <= smoke.SMOKE.keys() and all(smoke.SMOKE.values())
    for argument in smoke.arguments():
        path, _, name = argument.partition("::")
        assert f"def {name.partition('[')[0]}(" in Path(path).read_text() if name else Path(path).exists(), argument
