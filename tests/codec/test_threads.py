"""Threads: tests/native/threads.cpp under ThreadSanitizer, which reports memory that two threads use with nothing in between.

All that the filter may do at the same time is in that program: the codec, the filter's callback, readers, kept readers.
"""

import os
import platform
import runpy
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.host_tools import tools
from support.paths import NATIVE, ROOT

SETS = runpy.run_path(str(NATIVE / "kernels/build.py"))["instruction_sets"]
COMPILE = ["g++", "-std=c++20", "-O1", "-g1", "-fsanitize=thread", "-ffp-contract=off", "-Wno-psabi", "-DSTZ_H5_OWN_TYPES=1"]
COMPILE += [f"-I{ROOT / 'filter/include'}", f"-I{ROOT / 'filter'}"]


def sanitizer_works(directory):
    """Whether a program with it runs here: it wants certain places in memory for itself."""
    source = directory / "empty.cpp"
    source.write_text("int main() {}\n")
    built = subprocess.run([*COMPILE, source, "-o", directory / "empty"], capture_output=True)
    return built.returncode == 0 and subprocess.run([directory / "empty"], capture_output=True).returncode == 0


def sources():
    """(file, flags) of what the program is made of."""
    folders = [*(ROOT / "filter/core").glob("*.cpp"), *(ROOT / "filter/hdf5").glob("*.cpp")]
    yield from ((source, []) for source in sorted(folders))
    yield ROOT / "filter/region/kept_readers.cpp", []
    yield NATIVE / "threads.cpp", []
    yield from ((ROOT / "filter/simd/kernels.cpp", [f"-DSTZ_ISA={name}", *flags]) for name, flags in SETS())


if tools("g++"):

    @pytest.mark.slow
    def test_no_two_threads_use_memory_unordered(tmp_path):
        if not sanitizer_works(tmp_path):
            pytest.fail("g++ has no ThreadSanitizer that works here: install libtsan, or run with `setarch -R`")
        x86 = ["-DSTZ_X86=1"] if platform.machine().lower() in ("x86_64", "amd64") else []

        def compile_one(job):
            number, (source, flags) = job
            target = tmp_path / f"{number}.o"
            subprocess.run([*COMPILE, *x86, *flags, "-c", source, "-o", target], check=True)
            return target

        with ThreadPoolExecutor(int(os.environ.get("H5STZ_BUILD_JOBS", "2"))) as pool:
            objects = list(pool.map(compile_one, enumerate(sources())))
        program = tmp_path / "threads"
        subprocess.run([*COMPILE, *objects, "-o", program, "-ldl"], check=True)
        done = subprocess.run([program], capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.endswith(" checks\n"), done.stdout + done.stderr
