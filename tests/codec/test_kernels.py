"""The kernels of filter/simd against their references, plain loops, bit for bit: tests/native/kernels, built and run."""

import subprocess

import pytest

from support.native import native_program
from support.requirements import each_instruction_set, instruction_sets, needs_programs

pytestmark = needs_programs("g++")


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="session")
def program():
    return native_program("check_kernels")


@pytest.mark.parametrize("isa", each_instruction_set())
def test_kernels_agree_with_their_references(program, isa):
    result = run(program, "--isa", isa)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"{isa}: ") and result.stdout.endswith(" 0 failures\n")


def test_another_seed_makes_other_cases(program):
    result = run(program, "--seed", "2", "bytes.")
    assert result.returncode == 0, result.stderr


def test_a_mistake_in_any_kernel_is_noticed(program):
    result = run(program, "--self-test")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("kernel", ["f32.interleave", "uniform64.encode_class", "rans.encode"])
def test_a_failure_names_instruction_set_kernel_seed_and_case(program, kernel):
    result = run(program, "--isa", "baseline", "--wrong", kernel, kernel, "crc32c")
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"baseline {kernel}, seed 1, "), line


def test_the_program_has_the_instruction_sets_of_this_machine(program):
    listed = run(program, "--list").stdout.splitlines()
    assert [line.removeprefix("isa ") for line in listed if line.startswith("isa ")] == instruction_sets()
