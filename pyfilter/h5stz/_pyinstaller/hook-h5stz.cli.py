"""Commands of the command line are imported by name."""

from PyInstaller.utils.hooks import collect_submodules

hiddenimports = collect_submodules("h5stz.cli")
