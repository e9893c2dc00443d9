"""Golden streams are seeds: a build for fuzzing, which accepts every check, decodes them."""

import subprocess

import pytest

import h5stz
from support.native import native_build
from support.paths import GOLDEN
from support.requirements import needs_programs

#: Bytes of the largest array that the target decodes (fuzz/fuzz_decode.cpp).
LARGEST = 1 << 18


@needs_programs("g++")
@pytest.mark.slow
def test_a_fuzzing_build_decodes_golden_streams_with_any_check(tmp_path):
    program = native_build(["fuzz_decode"], preset="fuzz") / "fuzz" / "fuzz_decode"
    streams = sorted(path for path in GOLDEN.glob("version_*/*.stz") if h5stz.info(path.read_bytes()).array_bytes <= LARGEST)
    other_check = tmp_path / "other_check.stz"
    constant = (GOLDEN / f"version_{h5stz.FORMAT_VERSION}/constant.stz").read_bytes()
    other_check.write_bytes(constant[:-1] + bytes([constant[-1] ^ 1]))
    damaged = tmp_path / "damaged.stz"
    damaged.write_bytes(constant[:-1])
    result = subprocess.run([program, *streams, other_check, damaged], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"{len(streams) + 1} inputs accepted\n"
