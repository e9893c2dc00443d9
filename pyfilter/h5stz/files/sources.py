"""The file that a command or a function reads, here or at an address."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import h5py

from h5stz.hdf5.file_kinds import opened_file, refuse_address_as_path
from h5stz.sources.remote_files import local_path, remote_hdf5


@contextmanager
def opened_source(path: str | os.PathLike[str], *, chunk_cache: bool = True) -> Iterator[h5py.File]:
    """An HDF5 file to read, which is closed when the block ends.

    Args:
        path: of the file, or the address of a remote one.
        chunk_cache: as of file_kinds.opened_file().

    Raises:
        OSError: as file_kinds.opened_file() raises it.
    """
    here = local_path(path)
    if here is not None:
        refuse_address_as_path(here)
    with remote_hdf5(str(path)) if here is None else opened_file(here, chunk_cache=chunk_cache) as file:
        yield file
