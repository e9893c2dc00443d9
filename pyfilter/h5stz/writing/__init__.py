"""Writing whole datasets with all processors."""

from typing import TYPE_CHECKING

from h5stz import loading

if not TYPE_CHECKING:
    __getattr__, __dir__ = loading.lazy(globals())
