"""Converts errors of h5py about unreadable files to errors of the command line. Lets commands continue after such errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import click
import h5py

from h5stz import _core, cli
from h5stz.cli import datasets, wording
from h5stz.counts import counted
from h5stz.errors import HDF5_ERRORS, StzError, StzReadError, in_one_line
from h5stz.sources.remote_files import refuse_to_go_on, shown_name
from h5stz.unreadable import cure_of_file, is_of_hdf5, of_part

_READ = _core.ERROR_CODES["STZ_ERROR_READ"]


@contextlib.contextmanager
def explained(source: str, text: str, target: str | None = None) -> Iterator[None]:
    """Converts errors of h5py about unknown types and damaged files to a StzError with the file, `text` and the cause.

    An error that names `source` or `target` is not changed.
    """
    try:
        yield
    except StzError:
        raise
    except HDF5_ERRORS as error:
        said, filename = in_one_line(error), getattr(error, "filename", None)
        if isinstance(error, BrokenPipeError) or filename is not None:
            raise
        if is_of_hdf5(error) and not (target and target in said):
            name, path = datasets.split(source)
            raise of_part(shown_name(name), path, error) from error
        if not isinstance(error, OSError):
            raise StzError(f"{source}: {text}: {said}", _READ) from error
        if source in said or (target and target in said):
            raise
        raise StzReadError(f"{source}: {said}", _READ) from error


def damage_of_file(name: str, counts: Sequence[int]) -> str:
    """Summary of the damage in a file, with the remedy; "" if there is none. `counts`: number of damaged chunks per dataset."""
    counts = [count for count in counts if count]
    if not counts:
        return ""
    return f"{name}: {counted(sum(counts), 'damaged chunk')} in {counted(len(counts), 'dataset')}: {cure_of_file(name)}"


class Failures:
    """Errors about single datasets of a file. Each is printed at once, and the command continues with the other datasets.

    Attributes:
        lines: {path: message}.
    """

    def __init__(self, file: h5py.File, name: str) -> None:
        """`name`: name of the file in messages."""
        self._file, self._name = file, name
        self.lines: dict[str, str] = {}

    @contextlib.contextmanager
    def going_on(self, path: str) -> Iterator[None]:
        """A context for the work on one dataset: records its errors. Failures of a server are raised."""
        try:
            yield
        except BrokenPipeError:
            raise
        except HDF5_ERRORS as error:
            self.note(path, error)

    def note(self, path: str, error: BaseException) -> None:
        """Records an error about a part of the file; see going_on()."""
        refuse_to_go_on(self._file)
        said = wording.as_options(str(of_part(self._name, path, error)), click.get_current_context().command)
        line = said if path in said else f"{path} of {self._name}: {said}"
        if path not in self.lines:
            self.lines[path] = line
            cli.complain(line)


#: What a command says that writes a new file.
NOTHING_WRITTEN = "h5py cannot read or write a part of it, and nothing was written"
