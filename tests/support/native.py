"""Programs and libraries that tests build from filter/, by the project's CMake build."""

import sys

from support.paths import ROOT

sys.path.insert(0, str(ROOT / "filter/tools"))
import build_filter


def native_build(targets, preset="tests"):
    """The directory of a build with a preset of filter/CMakePresets.json, with these targets up to date."""
    return build_filter.build(ROOT / "build" / (preset + build_filter.environment_key()), targets, preset=preset)


def native_program(name, preset="tests"):
    """The path of a program of tests/native, built with a preset of filter/CMakePresets.json."""
    return native_build([name], preset) / "tests" / name
