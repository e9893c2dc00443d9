"""What users ask for, made into what the core needs: bounds, chunk shapes, fill values, and the class STZ."""

from typing import TYPE_CHECKING

from h5stz import loading

if not TYPE_CHECKING:
    __getattr__, __dir__ = loading.lazy(globals())
