"""The helpers in tests/support that judge must be able to say no."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support import smoke
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


def test_the_smoke_tier_has_every_subject_and_its_tests_are_there():
    """`./run check` promises these subjects; a test that was renamed or moved takes its place in the list along."""
    promised = {"formatting and lint", "types", "golden streams", "the bound", "h5py", "views", "rewriting"}
    assert promised <= smoke.SMOKE.keys() and all(smoke.SMOKE.values())
    for argument in smoke.arguments():
        path, _, name = argument.partition("::")
        assert f"def {name.partition('[')[0]}(" in Path(path).read_text() if name else Path(path).exists(), argument
