"""Axis offsets: streams with any of them decode within the bound, also those that the encoder would never choose."""

import subprocess

import pytest

from support.native import native_program
from support.requirements import needs_programs

pytestmark = needs_programs("g++")


@pytest.mark.slow
def test_streams_with_every_axis_offset():
    result = subprocess.run([native_program("axis_offsets")], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    assert result.stdout == "600 streams\n"
