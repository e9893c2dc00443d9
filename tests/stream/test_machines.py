"""The same bits everywhere: golden streams decode to the same bits and are encoded to the same bytes.

tests/native/golden_streams.cpp does the work: whole and in parts, in every floating-point setting of the machine, for any
number of threads. Other processors are emulated by qemu: aarch64, where the kernels' vectors are NEON's, s390x, which is
big-endian, and at night riscv64 without vectors.
"""

import os
import re
import subprocess

import pytest

from support import golden_files
from support.native import native_program
from support.requirements import each_instruction_set, instruction_sets, needs, needs_programs

slow, night = pytest.mark.slow, pytest.mark.night
#: Presets of filter/CMakePresets.json for this processor, with what each needs.
COMPILERS = {
    "tests": [needs_programs("g++")],
    "gcc-O0": [needs_programs("g++"), slow],
    "clang": [needs_programs("clang++"), slow],
    "clang-O0": [needs_programs("clang++"), night],
}
#: Presets for others, with floating-point settings of which each must have had some.
PROCESSORS = {"aarch64": "default NaN", "riscv64": "rounding ties away", "s390x": "rounding to odd"}
#: Where this takes long: every combination of streams, settings and numbers of threads is tried by optimised builds alone.
RARELY = ["--rarely"]


def each_compiler():
    return [pytest.param(name, marks=marks) for name, marks in COMPILERS.items()]


def each_processor(names, tier=slow):
    return [
        pytest.param(name, marks=[tier, needs_programs(f"{name}-linux-gnu-g++", f"qemu-{name}")], id=name) for name in names
    ]


def emulated(processor, program, *words):
    """Runs a program for another processor; returns its exit status and what it prints."""
    command = [f"qemu-{processor}", "-L", f"/usr/{processor}-linux-gnu", program, *words]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1200)
    return done.returncode, done.stdout


def run(program, *words, isa=None):
    """Runs a program for this processor; returns its exit status and what it prints."""
    environment = os.environ | ({"H5STZ_ISA": isa} if isa else {})
    words = [program, *words]
    done = subprocess.run(words, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1200)
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    """The directory of golden files, and how many streams are in it."""
    directory = tmp_path_factory.mktemp("golden")
    golden_files.write(directory)
    return directory, len((directory / "cases").read_text().splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("isa", each_instruction_set())
@pytest.mark.parametrize("compiler", each_compiler())
def test_golden_streams_by_every_compiler_and_instruction_set(golden, compiler, isa):
    directory, streams = golden
    status, said = run(native_program("golden_streams", compiler), *(RARELY if "O0" in compiler else ()), directory, isa=isa)
    assert status == 0, said
    assert said.startswith(f"instruction set {isa}, {streams} streams, ") and streams > 100


@pytest.mark.parametrize("processor", [*each_processor(["aarch64", "s390x"]), *each_processor(["riscv64"], night)])
def test_golden_streams_on_other_processors(golden, processor):
    directory, streams = golden
    status, said = emulated(processor, native_program("golden_streams", processor), *RARELY, directory)
    assert status == 0, said
    assert said.startswith(f"instruction set baseline, {streams} streams, ") and PROCESSORS[processor] in said


@pytest.mark.parametrize("processor", each_processor(["aarch64", "s390x"], night))
def test_kernels_on_other_processors(processor):
    status, said = emulated(processor, native_program("check_kernels", processor))
    assert status == 0, said


# ---------------------------------------------------------------- a difference is found


@pytest.mark.parametrize(
    ("suffix", "step"),
    [
        ("array", "encoded (default, 1 thread): "),
        ("decoded", "decoded whole (rounding up, 3 threads): "),
        ("decoded", "a box (default, 1 thread): "),
        ("decoded", "level 1 (default, 2 threads): "),
        ("layers-1", "1 of 3 layers (default, 1 thread): "),
        ("layers-2", "2 of 3 layers, dropped (default, 1 thread): "),
    ],
)
def test_a_difference_is_reported_with_stream_and_step(golden, tmp_path, suffix, step):
    source, name = golden[0], "precision_2d"
    line = next(line for line in (source / "cases").read_text().splitlines() if f"encoded/{name} " in line)
    for path in source.glob(f"{line.split()[0]}.*"):
        content = path.read_bytes()
        if path.suffix == f".{suffix}":
            half = len(content) // 2
            content = content[:half] + bytes(byte ^ 0x40 for byte in content[half:])
        (tmp_path / path.name).write_bytes(content)
    (tmp_path / "cases").write_text(line.partition("/")[2])
    status, said = run(native_program("golden_streams"), tmp_path)
    assert status == 1 and f"{name}, {step}" in said, said


@slow
@needs("instruction set avx2", "avx2" in instruction_sets())  # and with it fused operations
def test_contracted_operations_are_reported(golden):
    """What a build without -ffp-contract=off gives where the processor has fused operations."""
    status, said = run(native_program("contracted_streams"), golden[0], isa="baseline")
    assert status == 1 and re.search(r"/\w+, decoded whole .*: \d+ of \d+ bytes differ, .*\n", said), said
    assert int(re.search(r", (\d+) differences;", said)[1]) > 100, said
