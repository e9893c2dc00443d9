"""Builds of the codec for programs that need one of their own: they need a checkout and a C++ compiler."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "filter/tools"))
import build_filter  # noqa: E402


def build(name, targets, preset):
    """The libraries of these targets in build/NAME, built if a source is newer: {target: path}."""
    directory = ROOT / "build" / name
    build_filter.build(directory, targets, preset=preset)
    return {target: directory / f"lib{target}.so" for target in targets}
