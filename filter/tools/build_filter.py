"""Drives the CMake build of filter/: used by setup.py, the tests, the fuzzers and the benchmarks.

As a program it builds targets and prints the directory that holds them, then runs what follows a --:
    python filter/tools/build_filter.py [--preset NAME] [--directory DIR] [-D OPTION=VALUE]... TARGET... [-- PROGRAM [ARG...]]

CXX, CXXFLAGS and H5STZ_BUILD_JOBS are honoured. Needs cmake 3.20 and a C++20 compiler; ninja is used where there is one.
"""

import argparse
import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

FILTER = Path(__file__).resolve().parents[1]
ROOT = FILTER.parent


def program(name):
    """The path of a program: from the environment's scripts (the wheels of cmake and ninja), else from PATH; or None."""
    return shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)


def require_tools():
    """Ends the program with two lines that say what to install where the compiler or cmake is missing."""
    compiler = shlex.split(os.environ.get("CXX", "g++"))[0]
    if not shutil.which(compiler):
        sys.exit(
            f"h5stz is built with a C++20 compiler (g++ 11, clang 14 or newer), and {compiler!r} was not found.\n"
            "Install one (apt install g++, dnf install gcc-c++ or conda install gxx), or name it in the variable CXX."
        )
    if not program("cmake"):
        sys.exit("h5stz is built with cmake 3.20 or newer, which was not found.\nInstall it: pip install cmake ninja.")


def environment_key():
    """A short name of the compiler and flags that the environment names: builds with others get a directory of their own."""
    chosen = [os.environ.get(name, "") for name in ("CXX", "CXXFLAGS", "LDFLAGS")]
    return "-" + hashlib.sha256("\0".join(chosen).encode()).hexdigest()[:8] if any(chosen) else ""


def compiler_settings():
    """CMake settings for CXX, which may come with flags or behind a launcher, and CXXFLAGS."""
    settings = {}
    words = shlex.split(os.environ.get("CXX", ""))
    if len(words) > 1 and not words[1].startswith("-"):
        settings["CMAKE_CXX_COMPILER_LAUNCHER"] = words.pop(0)
    if words:
        settings["CMAKE_CXX_COMPILER"] = words.pop(0)
    if words or "CXXFLAGS" in os.environ:
        settings["CMAKE_CXX_FLAGS"] = shlex.join([*words, *shlex.split(os.environ.get("CXXFLAGS", ""))])
    return settings


def jobs():
    """How many compilers run at a time."""
    return os.environ.get("H5STZ_BUILD_JOBS", str(os.cpu_count() or 1))


def forget_other_generator(directory, generator):
    """Makes CMake configure anew where the directory was configured with ninja and it is gone, or the reverse."""
    cache = directory / "CMakeCache.txt"
    if cache.exists() and f"CMAKE_GENERATOR:INTERNAL={generator}\n" not in cache.read_text():
        cache.unlink()
        shutil.rmtree(directory / "CMakeFiles", ignore_errors=True)


def build(directory, targets=(), options=None, preset=None):
    """Configures the build in `directory` with CMake `options` {name: value}, builds `targets` (default all); returns it.

    Raises subprocess.CalledProcessError where CMake or the compiler fails.
    """
    require_tools()
    directory = Path(directory).absolute()
    directory.mkdir(parents=True, exist_ok=True)
    settings = compiler_settings() | (options or {})
    configure = [program("cmake"), "-S", FILTER, "-B", directory]
    configure += ["--preset", preset] if preset else []
    ninja = program("ninja")
    if ninja:
        configure += ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    configure += [f"-D{name}={value}" for name, value in settings.items()]
    with open(directory / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two builds in one directory take turns
        forget_other_generator(directory, "Ninja" if ninja else "Unix Makefiles")
        subprocess.run(configure, cwd=FILTER, check=True, stdout=subprocess.DEVNULL)
        command = [program("cmake"), "--build", directory, "-j", jobs()]
        subprocess.run(command + (["--target", *targets] if targets else []), check=True, stdout=sys.stderr)
    return directory


def install(directory, prefix, component):
    """Installs one component of a build into `prefix`, stripped; returns the paths of its files, relative to it."""
    command = [program("cmake"), "--install", directory, "--prefix", prefix, "--component", component, "--strip"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    manifest = (Path(directory) / f"install_manifest_{component}.txt").read_text().split("\n")
    return [os.path.relpath(path, prefix) for path in manifest if path]


def main():
    """The program; see the top of this file."""
    words = sys.argv[1:]
    separator = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("--preset", help="of filter/CMakePresets.json")
    parser.add_argument("--directory", type=Path, help="default: build/PRESET, or build/native")
    parser.add_argument("-D", dest="options", action="append", default=[], metavar="OPTION=VALUE")
    arguments = parser.parse_args(words[:separator])
    directory = arguments.directory or ROOT / "build" / ((arguments.preset or "native") + environment_key())
    options = {"H5STZ_BUILD_TESTS": "ON"} | dict(option.split("=", 1) for option in arguments.options)
    print(build(directory, arguments.targets, options, arguments.preset), flush=True)
    if separator < len(words):
        name, *rest = words[separator + 1 :]
        sys.exit(subprocess.run([directory / "tests" / name, *rest]).returncode)


if __name__ == "__main__":
    main()
