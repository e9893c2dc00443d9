"""Axis offsets: streams with any of them decode within the bound, also those that the encoder would never choose."""

import subprocess

import pytest

from support.host_tools import tools
from support.paths import NATIVE, ROOT

if tools("g++"):

    @pytest.mark.slow
    def test_streams_with_every_axis_offset(tmp_path):
        sources = [*sorted((ROOT / "filter/core").glob("*.cpp")), ROOT / "filter/simd/kernels.cpp"]
        program = tmp_path / "axis_offsets"
        command = ["g++", "-std=c++20", "-O1", "-ffp-contract=off", "-Wno-psabi", f"-I{ROOT / 'filter/include'}"]
        subprocess.run([*command, NATIVE / "axis_offsets.cpp", *sources, "-o", program], check=True)
        result = subprocess.run([program], capture_output=True, text=True)
        assert result.returncode == 0, result.stdout
        assert result.stdout == "600 streams\n"
