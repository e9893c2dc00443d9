"""Determines the fill value of data: given, from a mask, or detected."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

import numpy as np

from h5stz import _core, elements, slabs, validity
from h5stz.elements import Array, DType, Real
from h5stz.errors import StzError
from h5stz.options.option_checks import checked_number
from h5stz.options.settings import Settings
from h5stz.slabs import ArraySource
from h5stz.validity import Extremes

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_OPTION = _core.ERROR_CODES["STZ_ERROR_OPTION"]


class Scan:
    """Inspects the numbers of data, reading each slab no more often than necessary.

    Attributes:
        source: the data.
        exact: True if a bound depends on the result, so that all data are read; otherwise an evenly spread sample.
        masked: True if the data are a masked array.
    """

    def __init__(self, source: ArraySource, exact: bool) -> None:
        self.source, self.exact = source, exact
        self.masked = elements.is_masked(source)
        self._plain = source if isinstance(source, np.ndarray) and not self.masked else None
        self._mask_fills: set[int | float] = set()
        self._extremes: dict[tuple[int, ...], Extremes | None] = {}
        self._sample: Array | None = None

    def extremes(self, excluded: tuple[int, ...]) -> Extremes | None:
        """The Extremes of all numbers except fill values with these bits."""
        if excluded not in self._extremes:
            self._extremes[excluded] = validity.extremes(self._pieces(), excluded)
        return self._extremes[excluded]

    def sample(self) -> Array:
        """A contiguous array with enough samples for a hint."""
        if self._plain is not None:
            return self._plain if self._plain.flags.c_contiguous else validity.sample(self._plain, self._plain.size)
        if self._sample is None:
            size = int(np.prod(self.source.shape))
            parts = [validity.sample(elements.unmasked(piece), size) for piece in self._pieces()]
            self._sample = np.concatenate(parts) if parts else np.empty(0, self.source.dtype)
        return self._sample

    def mask_fills(self) -> set[int | float]:
        """The fill values of the slabs that have masked samples."""
        if self._plain is None:
            if self.exact:
                self.extremes(())
            else:
                self.sample()
        return self._mask_fills

    def _pieces(self) -> Iterator[Array]:
        for piece in slabs.slabs(self.source):
            if elements.is_masked(piece) and np.ma.getmask(piece).any():
                number = math.nan if elements.is_short_float(piece.dtype) else piece.fill_value.item()
                self._mask_fills.add(number if number == number else math.nan)  # one NaN, which a set tells by its identity
            yield piece


def fill_value_of(
    fill_value: Real | Literal[False] | None, scan: Scan | None, dtype: DType | None, settings: Settings
) -> tuple[int | None, str | None]:
    """(bits, origin) of the fill value; (None, None) if there is none.

    Args:
        fill_value: as for STZ.
        scan: of the data, or None.
        dtype: of the data, or None.
        settings: with the mode and the bound.
    """
    if fill_value is not None and fill_value is not False:
        bits = _given(fill_value, dtype)
        return bits, None if bits is None else "given"
    if scan is None or dtype is None or (fill_value is False and not scan.masked):
        return None, None
    mask_fills = scan.mask_fills()
    if mask_fills:
        if fill_value is False or len(mask_fills) > 1:
            raise StzError("the data are masked: give fill_value=, the number that is stored for masked samples", _OPTION)
        return elements.fill_bits(mask_fills.pop(), dtype), "masked array"
    if scan.masked:
        return None, None
    if scan.exact:
        bits = validity.certain_fill(scan.extremes, dtype)
    else:
        bits = validity.probable_fill(scan.sample(), settings.mode, settings.bound)
    return bits, None if bits is None else "detected"


def _given(fill_value: Real, dtype: DType | None) -> int | None:
    """The bits of a given fill value."""
    number = checked_number("fill_value", fill_value)
    if dtype is None:
        raise StzError(
            f"fill_value={fill_value!r} needs the type: give data= or dtype= too, or give the dataset itself "
            "this fillvalue and leave the option out",
            _ARGUMENT,
        )
    return elements.fill_bits(number, dtype)
