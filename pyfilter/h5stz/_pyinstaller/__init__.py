"""For PyInstaller, which freezes Python programs: where its hooks for this package are (entry point `pyinstaller40`)."""

from __future__ import annotations

from pathlib import Path


def hook_directories() -> list[str]:
    """The directories of the hooks, as PyInstaller asks for them."""
    return [str(Path(__file__).parent)]
