"""Reads that continue after damage: they replace the lost samples by a value, and record what is lost."""

from __future__ import annotations

from math import prod
from typing import Any

import h5py
import numpy as np

from h5stz import _core
from h5stz.damage import Damage, OnError, of_stream, replacement, stored_bytes
from h5stz.elements import Array
from h5stz.errors import StzError, StzReadError
from h5stz.hdf5.objects import attribute, name_of
from h5stz.reading.selection import BoxAxes, Piece
from h5stz.unreadable import DAMAGE_CODES, sentence

_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
#: What h5py raises where it cannot read.
_OF_HDF5 = (OSError, RuntimeError, ValueError, LookupError, SystemError)  # the last: of a size that is none


class Unreadable:
    """Stands for a chunk that cannot be opened or found. `error` has the reason."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class Losses:
    """The losses of one read of a dataset. Any number of threads may record damage.

    Attributes:
        value: the value for lost samples, a 0-d array of the dataset's dtype.
        element: its bytes.
        found: list of Damage.
    """

    def __init__(self, dataset: h5py.Dataset, value: Array, remote: bool) -> None:
        self.value, self.element = value, stored_bytes(value)
        self.found: list[Damage] = []
        self._place = str(dataset.file.filename), name_of(dataset) or None
        self._remote = remote
        self._components = 2 if value.dtype.kind == "c" else 1

    def allow(self, error: BaseException) -> bool:
        """True if a read continues after this error: it is about the stored bytes, not arguments, memory or the network."""
        if isinstance(error, StzError):
            return error.code in DAMAGE_CODES or (error.code == _READ and not self._remote)
        return isinstance(error, _OF_HDF5) and not self._remote

    def whole(
        self, origin: tuple[int, ...] | None, begin: tuple[int, ...], piece: BoxAxes, part: Array, error: BaseException
    ) -> None:
        """Fills everything that is read of an unreadable chunk.

        Args:
            origin: index of the chunk's first element in the dataset; None without chunks.
            begin: origin of the indices in `piece`.
            piece: (start, count, step) of every axis, not empty.
            part: the array part for the samples.
            error: the reason.
        """
        part[...] = self.value
        start = tuple(first + at for first, (at, _, _) in zip(begin, piece, strict=True))
        stop = tuple(at + (count - 1) * step + 1 for at, (_, count, step) in zip(start, piece, strict=True))
        lost = prod(count for _, count, _ in piece) * self._components
        if isinstance(error, StzReadError) and isinstance(error.__cause__, _OF_HDF5):  # which was named for errors
            error = error.__cause__
        reason, code = sentence(error), getattr(error, "code", 0)
        self.found.append(Damage(*self._place, origin, None, None, None, start, stop, lost, reason, code))

    def chunk(self, origin: tuple[int, ...], piece: Piece, part: Array, error: BaseException) -> None:
        """As whole(), for a selection.Piece."""
        self.whole(origin, origin, list(zip(piece.start, piece.count, piece.step, strict=True)), part, error)

    def blocks(self, origin: tuple[int, ...], entries: list[Any]) -> None:
        """Records the damage that the reader of a chunk at `origin` found."""
        self.found.extend(of_stream(entries, *self._place, origin))


def replacement_in(dataset: h5py.Dataset, on_error: OnError) -> Array | None:
    """The value for lost samples of a dataset; arguments as for damage.replacement()."""
    fill = None
    if on_error == "fill":
        if dataset.id.get_create_plist().fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED:
            fill = np.array(dataset.fillvalue, dataset.dtype)
        if (named := attribute(dataset, "_FillValue")) is not None and np.asarray(named).dtype.kind in "biufc":
            fill = np.array(named).reshape(-1)[0].astype(dataset.dtype)
    return replacement(on_error, dataset.dtype, fill)


class NoLosses(Losses):
    """For reads that fail at the first error."""

    def __init__(self) -> None:
        self.found: list[Damage] = []

    def allow(self, error: BaseException) -> bool:
        """Always False."""
        return False
