"""Programs and libraries that tests build from filter/, by the project's CMake build."""

import functools
import sys

from support.paths import ROOT

sys.path.insert(0, str(ROOT / "filter/tools"))
import build_filter


@functools.cache
def _built(directory, targets, preset):
    """Once in a process: to find out that there is nothing to do takes CMake as long as many tests."""
    return build_filter.build(directory, targets, preset=preset)


def native_build(targets, preset="tests"):
    """The directory of a build with a preset of filter/CMakePresets.json, with these targets up to date."""
    return _built(ROOT / "build" / (preset + build_filter.environment_key()), tuple(targets), preset)


def native_program(name, preset="tests"):
    """The path of a program of tests/native, built with a preset of filter/CMakePresets.json."""
    return native_build([name], preset) / "tests" / name
