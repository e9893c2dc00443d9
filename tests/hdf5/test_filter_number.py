"""The filter's number is chosen when the plug-in is compiled: any that The HDF Group can register, or that are private."""

import subprocess

import pytest

from support.paths import ROOT
from support.requirements import needs_programs

COMPILE = ["g++", "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'filter'}", f"-I{ROOT / 'filter' / 'include'}"]


@needs_programs("g++")
@pytest.mark.parametrize("number, valid", [(256, True), (32034, True), (65535, True), (255, False), (65536, False)])
def test_numbers(number, valid):
    command = [*COMPILE, f"-DSTZ_FILTER_ID={number}", ROOT / "filter" / "hdf5" / "plugin.cpp"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode == 0) == valid, done.stderr
    assert valid or "numbers below 256" in done.stderr
