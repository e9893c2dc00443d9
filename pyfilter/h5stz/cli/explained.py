"""Errors of h5py about files that it does not understand, as errors of the command line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from h5stz import _core
from h5stz.errors import HDF5_ERRORS, StzError, StzReadError, in_one_line

_READ = _core.ERROR_CODES["STZ_ERROR_READ"]


@contextlib.contextmanager
def explained(source: str, text: str, target: str | None = None) -> Iterator[None]:
    """What h5py raises for unknown types and for damaged files, as a StzError: the file, `text` and the cause.

    An error that names `source` or `target` stays what it is.
    """
    try:
        yield
    except StzError:
        raise
    except OSError as error:
        said = in_one_line(error)
        if isinstance(error, BrokenPipeError) or error.filename is not None or source in said or (target and target in said):
            raise
        raise StzReadError(f"{source}: {said}", _READ) from error
    except HDF5_ERRORS as error:
        raise StzError(f"{source}: {text}: {in_one_line(error)}", _READ) from error


#: What a command says that writes a new file.
NOTHING_WRITTEN = "h5py cannot read or write a part of it, and nothing was written"
