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
# As in setup.py, which says why; -O3 for the kernels alone. Twins are to be plain loops in the machine code too.
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
        yield source.stem, source, PLAIN if source.stem == "twins" else ["-O1"]
    for source in ("dispatch", "code_tables"):
        yield source, ROOT / f"filter/core/{source}.cpp", ["-O1"]


def build(directory):
    """Builds the program in `directory` and returns its path."""
    directory.mkdir(parents=True, exist_ok=True)
    compiler = [*shlex.split(os.environ.get("CXX", "g++")), *shlex.split(os.environ.get("CXXFLAGS", ""))]
    common = [*compiler, *FLAGS, *(["-DSTZ_X86=1"] if X86 else [])]
    used = [*HERE.iterdir(), *(ROOT / "filter/simd").iterdir(), *(ROOT / "filter/core").iterdir()]
    newest = max(path.stat().st_mtime for path in used if path.suffix in (".h", ".inc", ".txt", ".py"))

    def compile_one(job):
        name, source, flags = job
        target, record = directory / f"{name}.o", directory / f"{name}.command"
        command = shlex.join([*common, *flags, "-c", str(source), "-o", str(target)])
        current = target.exists() and record.exists() and record.read_text() == command
        if not current or target.stat().st_mtime <= max(newest, source.stat().st_mtime):
            record.unlink(missing_ok=True)
            subprocess.run(shlex.split(command), check=True)
            record.write_text(command)
        return target

    with ThreadPoolExecutor(2) as pool:
        targets = list(pool.map(compile_one, objects()))
    program = directory / "kernels"
    subprocess.run([*compiler, *map(str, targets), "-o", str(program)], check=True)
    return program


if __name__ == "__main__":
    words = sys.argv[1:]
    arguments = words[words.index("--") + 1 :] if "--" in words else None
    places = words[: words.index("--")] if "--" in words else words
    made = build(Path(places[0]) if places else ROOT / "build/kernels")
    if arguments is None:
        print(made)
    else:
        sys.exit(subprocess.run([made, *arguments]).returncode)
