"""`h5stz plugin-path` and `h5stz pkg-config-path`: directories for environment variables."""

from __future__ import annotations

import os
from pathlib import Path

import click

import h5stz
from h5stz.hdf5 import registration


@click.command("plugin-path")
@click.option("--connector", is_flag=True, help="Add the directory of the VOL connector.")
def plugin_path(connector: bool) -> None:
    """Print the directory for HDF5_PLUGIN_PATH."""
    _print(registration.plugin_path(connector))


@click.command("pkg-config-path")
def pkg_config_path() -> None:
    """Print the directory for PKG_CONFIG_PATH (C, Fortran)."""
    _print(Path(h5stz.__file__).parent / "lib" / "pkgconfig")


def _print(path: str | os.PathLike[str]) -> None:
    """Prints a path as its original bytes, independent of the output's charset, because it is for a variable."""
    click.echo(os.fsencode(path))
