"""What HDF5 knows: its copies in this process, what a file contains, which of its numbers mean something else."""

from typing import TYPE_CHECKING

from h5stz import loading

if not TYPE_CHECKING:
    __getattr__, __dir__ = loading.lazy(globals())
