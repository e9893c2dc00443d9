"""A new file gets its name when it is complete: until then it has another one, and no trace is left of one that failed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import h5py


@contextmanager
def replaced(source: Path, target: Path, overwrite: bool) -> Iterator[Path]:
    """The path at which to write what becomes `target`, made from the HDF5 file `source`, when the block ends without an error.

    The user block of `source`, what lies before the HDF5 file proper such as the header of a MATLAB file, is copied.

    Raises:
        FileExistsError: there is a file at `target`, and `overwrite` is not True.
    """
    if target.exists() and not overwrite:
        raise FileExistsError(f"{target} exists: choose another name, or allow it to be replaced (overwrite=True, --overwrite)")
    part = target.with_name(f"{target.name}.part")
    part.unlink(missing_ok=True)
    try:
        yield part
        _copy_user_block(source, part)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _copy_user_block(source: Path, target: Path) -> None:
    with h5py.File(source) as file:
        size = file.userblock_size
    if size:
        with source.open("rb") as old, target.open("r+b") as new:
            new.write(old.read(size))
