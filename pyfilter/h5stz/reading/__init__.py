"""Region reads: from an index to chunks, blocks and samples. `view`, `partial_reads` and `open` are made here."""

from typing import TYPE_CHECKING

from h5stz import loading

if not TYPE_CHECKING:
    __getattr__, __dir__ = loading.lazy(globals())
