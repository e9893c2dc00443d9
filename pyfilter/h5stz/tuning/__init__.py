"""Bounds chosen, and loss judged, by what they do to results."""

from typing import TYPE_CHECKING

from h5stz import loading

if not TYPE_CHECKING:
    __getattr__, __dir__ = loading.lazy(globals())
