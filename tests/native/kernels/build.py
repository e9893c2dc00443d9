"""Builds the program that checks and times the kernels of filter/simd: see main.cpp for how it is used.

Run as a program it builds into build/kernels of the checkout, or the directory named, prints the program's path, and runs
it if there are arguments after a --: python tests/native/kernels/build.py -- --bench rans

CXX and CXXFLAGS are honoured. What is up to date is not compiled again.
"""

import os
import platform
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# As in setup.py, which says why; -O3 for the kernels alone. References are to be plain loops in the machine code too.
FLAGS = ["-std=c++20", "-ffp-contract=off", "-Wall", "-Wextra", f"-I{ROOT / 'filter/include'}", f"-I{ROOT / 'filter'}"]
PLAIN = ["-O2", "-fno-tree-vectorize", "-fno-tree-slp-vectorize"]
X86 = platform.machine().lower() in ("x86_64", "amd64")


def instruction_sets():
    """(name, flags) of those that the kernels are compiled for."""
    lines = (ROOT / "filter/simd/instruction_sets.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return [(name, flags) for name, *flags in rows][: None if X86 else 1]


def objects():
    """(name, source, flags) of all objects."""
    for name, flags in instruction_sets():
        yield f"kernels.{name}", ROOT / "filter/simd/kernels.cpp", ["-O3", f"-DSTZ_ISA={name}", *flags]
    for source in sorted(HERE.glob("*.cpp")):
        yield source.stem, source, PLAIN if source.stem == "reference" else ["-O1"]
    for source in ("dispatch", "code_tables"):
        yield source, ROOT / f"filter/core/{source}.cpp", ["-O1"]


def used_by(target):
    """The files that an object was made of, by the compiler's account."""
    depfile = target.with_suffix(".d")
    text = depfile.read_text().replace("\\\n", " ") if depfile.exists() else ":"
    return [Path(name) for name in text.split(":", 1)[1].split()]


def build(directory):
    """Builds the program in `directory` and returns its path."""
    directory.mkdir(parents=True, exist_ok=True)
    compiler = [*shlex.split(os.environ.get("CXX", "g++")), *shlex.split(os.environ.get("CXXFLAGS", ""))]
    common = [*compiler, *FLAGS, *(["-DSTZ_X86=1"] if X86 else [])]

    def compile_one(job):
        name, source, flags = job
        target, record = directory / f"{name}.o", directory / f"{name}.command"
        command = shlex.join([*common, *flags, "-MMD", "-c", str(source), "-o", str(target)])
        same_command = target.exists() and record.exists() and record.read_text() == command
        used = used_by(target) if same_command else []
        if not used or not all(path.exists() and path.stat().st_mtime <= target.stat().st_mtime for path in used):
            record.unlink(missing_ok=True)
            subprocess.run(shlex.split(command), check=True)
            record.write_text(command)
        return target

    with ThreadPoolExecutor(2) as pool:
        targets = list(pool.map(compile_one, objects()))
    program = directory / "check_kernels"
    subprocess.run([*compiler, *map(str, targets), "-o", str(program)], check=True)
    return program


if __name__ == "__main__":
    words = sys.argv[1:]
    separator = words.index("--") if "--" in words else len(words)
    made = build(Path(words[0]) if separator else ROOT / "build/kernels")
    print(made, flush=True)
    if separator < len(words):
        sys.exit(subprocess.run([made, *words[separator + 1 :]]).returncode)
