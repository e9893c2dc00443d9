"""`h5stz plugin-path` and `h5stz pkg-config-path`: directories for variables of the environment."""

from __future__ import annotations

import os
from pathlib import Path

import click

import h5stz
from h5stz.hdf5 import registration


@click.command("plugin-path")
@click.option("--connector", is_flag=True, help="Also that of the VOL connector.")
def plugin_path(connector: bool) -> None:
    """Print the directory for HDF5_PLUGIN_PATH."""
    _print(registration.plugin_path(connector))


@click.command("pkg-config-path")
def pkg_config_path() -> None:
    """Print the directory for PKG_CONFIG_PATH (C, Fortran)."""
    _print(Path(h5stz.__file__).parent / "lib" / "pkgconfig")


def _print(path: str | os.PathLike[str]) -> None:
    """As the bytes that the system knows it by, whatever charset the output has: they go into a variable."""
    click.echo(os.fsencode(path))
