"""Build of the Python package: CMake builds all C++ of filter/ (filter/CMakeLists.txt), Cython the binding of it.

Metadata is in pyproject.toml; docs/releasing.md has how a release is made. `pip install -e . --no-build-isolation` is quick to
repeat. CXX, CXXFLAGS, H5STZ_BUILD_JOBS are honoured (sanitizers, other compilers), H5STZ_UNITY=OFF compiles each source alone.
"""

import os
import re
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "filter/tools"))
import build_filter  # noqa: E402

# The package holds what belongs together: it finds its parts by their place in it, and has no use for sonames with a version.
OPTIONS = {
    "H5STZ_BUILD_SHARED": "OFF",
    "H5STZ_CODEC_IN_PLUGIN": "ON",
    "H5STZ_VERSIONED_LIBRARIES": "OFF",
    "H5STZ_PKGCONFIG_RPATH": "ON",
    "CMAKE_INSTALL_LIBDIR": "lib",
    "H5STZ_PLUGIN_DIR": "plugins",
    "H5STZ_CONNECTOR_DIR": "connector",
    "H5STZ_UNITY": os.environ.get("H5STZ_UNITY", "ON"),
}


# From 3.11 on the stable ABI has buffers: one extension module, and one wheel, then serve every later Python. Free-threaded
# interpreters, and others than CPython, have no stable ABI.
STABLE_ABI = (
    sys.version_info >= (3, 11) and sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
)
HOME = "https://github.com/h5stz/h5stz"


def version():
    """The version of the public header."""
    header = (ROOT / "filter/include/stz.h").read_text()
    return ".".join(re.search(rf"#define STZ_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def long_description():
    """README.md for an index page: links and pictures within the repository lead to those of this release at HOME."""

    def absolute(link):
        return f"{link[1]}{link[2]}{HOME}/{'raw' if link[1] else 'blob'}/v{version()}/"

    parts = re.split(r"(^ *```.*?^ *```)", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    parts[::2] = [re.sub(r"(!?)(\[[^\]]*\]\()(?![a-z]+:|#)", absolute, part) for part in parts[::2]]  # the others are code
    return "".join(parts)


# Only on Linux can another copy of the core in the process take our calls, and is the C++ runtime not part of the system.
LINK_FLAGS = [
    "-static-libstdc++",
    "-static-libgcc",
    "-pthread",
    "-Wl,--version-script=cython/exports.map",
    "-Wl,-Bsymbolic",
    "-Wl,-s",
]


class build_all(build_ext):
    """Has CMake build filter/, installs the libraries and headers into the package, and builds the binding."""

    def build_extensions(self):
        directory = ROOT / "build" / f"filter-{sys.platform}{build_filter.environment_key()}"
        build_filter.build(directory, ["all"], OPTIONS)
        forwarding = str(directory / "libstz_forward_static.a")  # the codec itself is in the plug-in
        for extension in self.extensions:
            extension.extra_objects = [forwarding]
            extension.depends.append(forwarding)
        super().build_extensions()
        package = self.package_directory()
        built = {Path(self.get_ext_fullpath(extension.name)).name for extension in self.extensions}
        for path in package.glob("_core.*"):  # a module for one version of Python would be found before the one for all
            if path.suffix in {".so", ".pyd"} and path.name not in built:
                path.unlink()
        for folder in ("plugins", "lib", "include", "connector"):
            for path in (package / folder).rglob("*"):  # a running process may have the old libraries mapped: unlink, then copy
                if path.is_file():
                    path.unlink()
        self.installed = [os.path.relpath(package / name) for name in build_filter.install(directory, package, "package")]

    def package_directory(self):
        """Where the package is built."""
        in_source = bool(getattr(self, "editable_mode", False)) or self.requested_inplace
        return ROOT / "pyfilter" / "h5stz" if in_source else Path(self.build_lib).absolute() / "h5stz"

    def run(self):
        self.requested_inplace = bool(self.inplace)  # setuptools clears the flag while it builds
        build_filter.require_tools()
        super().run()

    def get_outputs(self):
        return [*super().get_outputs(), *([] if self.inplace else getattr(self, "installed", []))]


setup(
    version=version(),
    ext_modules=[
        Extension(
            "h5stz._core",
            ["cython/_core.pyx"],
            language="c++",
            include_dirs=["cython", "filter/include"],
            depends=[
                "cython/stz.pxd",
                "cython/learned.pxi",
                "cython/options.pxi",
                "cython/reader.pxi",
                "cython/exports.map",
                *map(str, Path("filter/include").glob("*.h")),
            ],
            # -Os and -g0 take half the time of Python's own -O3 -g. The binding only passes arguments on, and is stripped.
            extra_compile_args=["-std=c++20", "-Os", "-g0", "-fvisibility=hidden", "-ffp-contract=off"],
            extra_link_args=LINK_FLAGS if sys.platform == "linux" else [],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE_ABI else [],
            py_limited_api=STABLE_ABI,
        )
    ],
    cmdclass={"build_ext": build_all},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE_ABI else {},
    long_description=long_description(),
    long_description_content_type="text/markdown",
)
