"""The bound holds after any program of writes: what support/writing_machine.py does, drawn by hypothesis."""

import os
import subprocess
import sys

import pytest
from hypothesis import settings

from support.writing_machine import WritingMachine

MEMORY = "H5STZ_REWRITE_MEMORY"  # MiB

# A program is many writes: fewer programs than a property test has examples.
WritingMachine.TestCase.settings = settings(
    max_examples=max(20, settings().max_examples // 4), stateful_step_count=14 if settings().max_examples < 100 else 40
)


class TestWriting(WritingMachine.TestCase):
    """As hypothesis runs it."""


@pytest.mark.parametrize("mebibytes", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_with_little_memory(mebibytes):
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"{__file__}::{TestWriting.__name__}"]
    environment = {**os.environ, MEMORY: str(mebibytes)}
    done = subprocess.run(words, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900)
    assert done.returncode == 0, done.stdout
