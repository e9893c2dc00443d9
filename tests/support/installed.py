"""The C libraries as `cmake --install` puts them, from the build that the native tests have in common."""

import subprocess

from support.native import build_filter, native_build

LIBRARIES = ["stz", "stz_static", "h5stz", "h5stz_read", "h5stz_preload", "h5stz_connector"]


def install(prefix):
    """Installs libraries, headers and what find_package needs in `prefix`; returns it."""
    build = native_build(LIBRARIES)
    for component in ("package", "development"):
        build_filter.install(build, prefix, component)
    return prefix


def build_project(source, directory, prefix, **options):
    """Configures and builds a CMake project that uses the libraries in `prefix`; returns `directory`."""
    settings = {"CMAKE_PREFIX_PATH": prefix, **options}
    cmake = build_filter.program("cmake")
    for words in (
        ["-S", source, "-B", directory, *(f"-D{name}={value}" for name, value in settings.items())],
        ["--build", directory],
    ):
        done = subprocess.run([cmake, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout
    return directory
