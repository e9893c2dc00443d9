"""What is compared over neighbourhoods: structural similarity and power spectra, over as much of the data as is quick."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# NumPy would load these within a call, where a fork could catch it half-way.
import numpy.fft
import numpy.ma

from h5stz.counts import counted
from h5stz.elements import Array
from h5stz.slabs import ArraySource, Box, piece

_MOST = 1 << 22  # samples of a box
_PLANES = 8
_WINDOW = 7  # samples along an axis that SSIM looks at together: the default of scikit-image


@dataclass(frozen=True)
class Spectra:
    """Power by cycles per sample, and what of the data it is from."""

    frequencies: tuple[float, ...]
    power: tuple[float, ...]
    error_power: tuple[float, ...]
    over: str


NO_SPECTRA = Spectra((), (), (), "")


def real(array: Array) -> Array:
    """Samples as floating-point numbers that hold them; masked ones as they lie below the mask."""
    found = np.asarray(array)
    return found.astype(np.longdouble if found.dtype.kind in "iu" and found.dtype.itemsize == 8 else "f8")


def valid(one: Array, other: Array, missing: Sequence[float]) -> Array:
    """Where both arrays have samples that are finite, not masked and none of the missing numbers."""
    found: Array = np.ones(np.shape(one), bool)
    for array in (one, other):
        found &= np.isfinite(np.asarray(array)) & ~np.ma.getmaskarray(array)
        for number in missing:
            found &= np.asarray(array) != number
    return found


class Samples:
    """Boxes of two arrays."""

    def __init__(self, one: ArraySource, other: ArraySource, missing: Sequence[float], limits: tuple[float, float]) -> None:
        self.one, self.other, self.missing, self.limits = one, other, missing, limits

    def ssim(self) -> tuple[float | None, str]:
        """The mean structural similarity, and over what. What is not valid in both is the same in both."""
        large = [axis for axis, extent in enumerate(self.one.shape) if extent >= _WINDOW]
        width = self.limits[1] - self.limits[0]
        if len(large) < 2 or not width > 0:
            return None, ""
        try:
            metrics: Any = importlib.import_module("skimage.metrics")
        except ImportError as error:
            raise ImportError("SSIM needs scikit-image: pip install 'h5stz[cli]', or leave it out (ssim=False)") from error
        is_volume = len(large) == 3 == len(self.one.shape) and math.prod(self.one.shape) <= _MOST
        boxes = [self._box(large)] if is_volume else self._planes(large[-2:])
        found = [metrics.structural_similarity(*map(np.squeeze, self._pair(box)), data_range=width) for box in boxes]
        if is_volume:
            return float(found[0]), "in windows of three axes, over all"
        extents = "x".join(str(cut.stop - cut.start) for axis, cut in enumerate(boxes[0]) if axis in large[-2:])
        rest = math.prod(extent for axis, extent in enumerate(self.one.shape) if axis not in large[-2:])
        return float(np.mean(found)), f"over {len(found)} of {counted(rest, 'plane')}, {extents} samples of each"

    def along(self, axis: int) -> tuple[Array, Array]:
        """Errors, and where they are valid, in a box that is long along an axis and the last other one."""
        last = next((other for other in reversed(range(len(self.one.shape))) if other != axis), axis)
        box = self._box(sorted({axis, last}))
        one, other = piece(self.one, box), piece(self.other, box)
        both = valid(one, other, self.missing)
        return (np.where(both, real(other), 0) - np.where(both, real(one), 0)).astype("f8"), both

    def spectra(self) -> Spectra:
        """Power spectra, averaged over directions, of a box in the middle that fades out to its borders (Hann)."""
        axes = [axis for axis, extent in enumerate(self.one.shape) if extent >= 8][-3:]
        if not axes:
            return NO_SPECTRA
        box = self._box(axes)
        x, y = map(np.squeeze, self._pair(box))
        error = y - x
        radius = np.zeros((1,) * x.ndim)
        for axis, extent in enumerate(x.shape):
            along = [-1 if number == axis else 1 for number in range(x.ndim)]
            fade = np.hanning(extent + 2)[1:-1].reshape(along)
            x, error = (x - x.mean()) * fade if axis == 0 else x * fade, error * fade
            cycles = np.fft.rfftfreq(extent) if axis == x.ndim - 1 else np.fft.fftfreq(extent)
            radius = radius + cycles.reshape(along) ** 2
        radius = np.sqrt(radius)
        bins = max(4, min(256, min(x.shape) // 2))
        number = np.minimum((radius / 0.5 * bins).astype(int), bins).ravel()
        totals = np.maximum(np.bincount(number, minlength=bins + 1)[:bins], 1)
        powers = [
            np.bincount(number, np.abs(np.fft.rfftn(each)).ravel() ** 2 / each.size, bins + 1)[:bins] / totals
            for each in (x, error)
        ]
        cuts = ",".join(f"{cut.start}:{cut.stop}" for cut in box)
        frequencies = (np.arange(bins) + 0.5) * 0.5 / bins
        return Spectra(tuple(frequencies.tolist()), tuple(powers[0].tolist()), tuple(powers[1].tolist()), f"[{cuts}]")

    def _pair(self, box: Box) -> tuple[Array, Array]:
        """Both arrays in a box, as float64, with the mean of the original where one is not valid."""
        one, other = piece(self.one, box), piece(self.other, box)
        both = valid(one, other, self.missing)
        x, y = real(one).astype("f8"), real(other).astype("f8")
        mean = x[both].mean() if both.any() else 0.0
        return np.where(both, x, mean), np.where(both, y, mean)

    def _box(self, axes: Sequence[int], around: Sequence[int] | None = None) -> Box:
        """A box around the middle with at most _MOST samples along some axes, and one sample along the others."""
        most = int(_MOST ** (1 / len(axes)) + 0.5)
        cuts = []
        for axis, extent in enumerate(self.one.shape):
            length = min(extent, most) if axis in axes else min(extent, 1)
            start = (extent - length) // 2 if around is None or axis in axes else around[axis]
            cuts.append(slice(start, start + length))
        return tuple(cuts)

    def _planes(self, axes: Sequence[int]) -> list[Box]:
        """Planes along two axes, spread evenly over the others."""
        grid = [1 if axis in axes else extent for axis, extent in enumerate(self.one.shape)]
        count = math.prod(grid)
        chosen = sorted({(2 * number + 1) * count // (2 * _PLANES) for number in range(_PLANES)})
        return [self._box(axes, [int(index) for index in np.unravel_index(number, grid)]) for number in chosen]
