"""Build of h5stz: the C++ core once; the HDF5 plug-in, the library for C and Fortran and the Cython binding of it.

Metadata is in pyproject.toml. A source is recompiled only when it, a header it includes or its command changed, so
`pip install -e . --no-build-isolation` is quick to repeat. CXX and CXXFLAGS are honoured (sanitizers, other compilers).
"""

import fcntl
import os
import platform
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
JOBS = int(os.environ.get("H5STZ_BUILD_JOBS", min(2, os.cpu_count() or 1)))
X86 = platform.machine().lower() in ("x86_64", "amd64")

CXX = shlex.split(os.environ.get("CXX", "g++"))
INCLUDES = ["-Ifilter/include", "-Ifilter"]
# No fast-math of any kind and no contraction: encoder and decoder must compute the same bits on every machine.
FLAGS = ["-std=c++20", "-O3", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-pthread", "-Wall", "-Wextra"]
FLAGS += ["-DSTZ_X86=1"] if X86 else []
# The folders of filter/ with what is their own; those of simd/ belong to the core. stz_h5.h is used without HDF5's headers.
CORE = ["base", "format", "encoder", "decoder", "reader", "api"]
PARTS = dict.fromkeys(CORE, []) | {"hdf5": []} | dict.fromkeys(["region", "intercept", "preload", "connector"], ["-DSTZ_H5_OWN_TYPES=1"])
LINK_FLAGS = ["-static-libstdc++", "-static-libgcc", "-pthread"]
HEADERS = sorted((ROOT / "filter" / "include").glob("stz*.h"))
# What the package gets beside Python, by path in it.
BUILT = [
    "plugins/libh5stz.so",
    "connector/libh5stz_connector.so",
    "lib/libh5stz_read.so",
    "lib/libh5stz_preload.so",
    "lib/pkgconfig/h5stz.pc",
]
BUILT += [f"include/{header.name}" for header in HEADERS]


def shared_flags(exports):
    """For a shared library that shows to others only what the version script `exports` names."""
    return [
        "-shared",
        *LINK_FLAGS,
        "-Wl,-z,nodelete",  # HDF5 may unload a plug-in while per-thread state is alive
        f"-Wl,--version-script={ROOT / exports}",
        "-Wl,-Bsymbolic",  # another copy of the core in the process must not take over our calls
        "-Wl,--no-undefined",
        "-Wl,--exclude-libs,ALL",
        "-Wl,--as-needed",
        "-ldl",
    ]


def instruction_sets():
    """(name, flags) of all that filter/simd/*.cpp is compiled for; the core picks one when it runs."""
    lines = (ROOT / "filter" / "simd" / "instruction_sets.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return [(name, flags) for name, *flags in rows][: None if X86 else 1]


def dependencies(depfile):
    """The files named by a depfile of -MMD, or none if it does not exist."""
    if not depfile.exists():
        return []
    text = depfile.read_text().replace("\\\n", " ")
    return [Path(name) for name in text.split(":", 1)[1].split()]


def compile_one(source, target, extra):
    """Compiles `source` (relative to the root) to `target` unless the object there is up to date."""
    command = [*CXX, *shlex.split(os.environ.get("CXXFLAGS", "")), *FLAGS, *INCLUDES, *extra]
    command += ["-MMD", "-c", str(source), "-o", str(target)]
    record, depfile = target.with_suffix(".command"), target.with_suffix(".d")
    needs = [path if path.is_absolute() else ROOT / path for path in dependencies(depfile)]
    current = (
        target.exists()
        and needs
        and record.exists()
        and record.read_text() == shlex.join(command)
        and all(path.exists() and path.stat().st_mtime <= target.stat().st_mtime for path in needs)
    )
    if not current:
        record.unlink(missing_ok=True)
        subprocess.run(command, cwd=ROOT, check=True)
        record.write_text(shlex.join(command))
    return target


def compile_filter(directory):
    """Compiles everything below filter/; returns the objects of each of PARTS."""
    jobs = []
    for part, flags in PARTS.items():
        jobs += [(part, source, source.stem, flags) for source in sorted((ROOT / "filter" / part).glob("*.cpp"))]
    jobs += [("api", ROOT / "filter/simd/dispatch.cpp", "dispatch", [])]
    for source in [ROOT / "filter/simd/kernels.cpp"]:
        jobs += [("api", source, f"{source.stem}.{name}", [f"-DSTZ_ISA={name}", *flags]) for name, flags in instruction_sets()]

    def run(job):
        part, source, stem, extra = job
        target = directory / source.parent.name / f"{stem}.o"
        target.parent.mkdir(parents=True, exist_ok=True)
        return part, compile_one(source.relative_to(ROOT), target, extra)

    with ThreadPoolExecutor(JOBS) as pool:
        done = list(pool.map(run, jobs))
    objects = [[str(target) for part, target in done if part == wanted] for wanted in PARTS]
    return [sum(objects[: len(CORE)], []), *objects[len(CORE) :]]


class build_filter(build_ext):
    """Compiles the core, links the shared libraries into the package and hands the core to the extension."""

    def build_extensions(self):
        directory = ROOT / "build" / f"filter-{sys.platform}-{platform.machine()}"
        directory.mkdir(parents=True, exist_ok=True)
        with open(directory / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two builds of one checkout share the objects
            self.build_all(directory)

    def build_all(self, directory):
        core, hdf5, region, intercept, preload, connector = compile_filter(directory)

        # An archive: the binding takes from it what it calls and leaves the HDF5 callbacks to the plug-in.
        archive = directory / "libstz.a"
        archive.unlink(missing_ok=True)
        subprocess.run([os.environ.get("AR", "ar"), "rcs", str(archive), *core, *hdf5], check=True)
        for extension in self.extensions:
            extension.extra_objects = [str(archive)]
            extension.depends.append(str(archive))
        super().build_extensions()

        self.link("plugins/libh5stz.so", [*core, *hdf5], "filter/hdf5/exports.map")
        self.link("lib/libh5stz_read.so", [*core, *region, str(archive)], "filter/region/exports.map")
        programs = [*core, *region, *intercept, str(archive)]
        self.link("lib/libh5stz_preload.so", [*preload, *programs], "filter/preload/exports.map")
        self.link("connector/libh5stz_connector.so", [*connector, *programs], "filter/connector/exports.map")
        for header in HEADERS:
            self.write(f"include/{header.name}", header.read_text())
        description = (ROOT / "filter/region/h5stz.pc.in").read_text()
        self.write("lib/pkgconfig/h5stz.pc", description.replace("@VERSION@", self.distribution.get_version()))

    def link(self, name, objects, exports):
        target = self.in_package(name)
        target.unlink(missing_ok=True)  # a running process may have the old one mapped
        subprocess.run([*CXX, *objects, *shared_flags(exports), f"-Wl,-soname,{target.name}", "-o", str(target)], check=True)

    def write(self, name, text):
        self.in_package(name).write_text(text)

    def in_package(self, name):
        package = ROOT / "pyfilter" / "h5stz" if self.in_source() else Path(self.build_lib) / "h5stz"
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        return package / name

    def in_source(self):
        return bool(getattr(self, "editable_mode", False)) or self.requested_inplace

    def run(self):
        self.requested_inplace = bool(self.inplace)  # setuptools clears the flag while it builds
        super().run()

    def get_outputs(self):
        return [*super().get_outputs(), *([] if self.inplace else [str(Path(self.build_lib, "h5stz", name)) for name in BUILT])]


setup(
    ext_modules=[
        Extension(
            "h5stz._core",
            ["cython/_core.pyx"],
            language="c++",
            include_dirs=["cython", "filter/include", "filter/hdf5"],
            depends=[
                "cython/stz.pxd",
                "filter/include/stz.h",
                "filter/include/stz_errors.h",
                "filter/include/stz_reader.h",
                "filter/hdf5/environment.h",
            ],
            extra_compile_args=["-std=c++20", "-O2", "-fvisibility=hidden", "-ffp-contract=off"],
            extra_link_args=[*LINK_FLAGS, "-Wl,--exclude-libs,ALL", "-Wl,-Bsymbolic"],
        )
    ],
    cmdclass={"build_ext": build_filter},
)
