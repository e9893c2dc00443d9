"""Fields to test on: the *.npy files of the folder $H5STZ_DATA or, without it, small generated ones of similar kinds.

Generated fields are Gaussian random fields with power-law spectra, made by this file alone and the same in every run.
"""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

_FOLDER = os.environ.get("H5STZ_DATA")

# Files of the folder whose missing samples are a number (those of the others are NaN).
_FILLS = {"reservoir_porosity": -999.0, "ocean_sst_masked": 1e20, "radar_reflectivity": -9999.0}


@dataclass(frozen=True)
class Field:
    """An array with its fill value, None where it has none."""

    name: str
    array: np.ndarray
    fill: float | None = None

    @property
    def valid(self):
        """Which samples are finite and not the fill value."""
        valid = np.isfinite(self.array)
        return valid if self.fill is None else valid & (self.array != self.array.dtype.type(self.fill))


def random_field(shape, slope, seed):
    """A Gaussian random field (float64, mean 0, deviation 1) with the power spectrum |k|**-slope; greater is smoother."""
    rng = np.random.default_rng(seed)
    wave = np.sqrt(sum(np.square(k) for k in np.meshgrid(*[np.fft.fftfreq(n) * n for n in shape], indexing="ij", sparse=True)))
    wave[(0,) * len(shape)] = np.inf
    field = np.fft.ifftn(np.fft.fftn(rng.standard_normal(shape)) * wave ** (-slope / 2)).real
    return field / field.std()


def _generated():
    smooth, rough = random_field((40, 48, 36), 6, 1), random_field((33, 41, 37), 3, 2)
    cover = random_field((60, 90), 4, 3)
    maps = random_field((6, 48, 60), 4, 4)
    land = np.broadcast_to(random_field((48, 60), 4, 5) > 0.3, maps.shape)
    shells = np.exp(3 * random_field((30, 32, 34), 5, 6))
    return [
        Field("smooth_3d", smooth.astype("f4")),
        Field("rough_3d", (100 * rough).astype("f4")),
        Field("positive_3d", shells),
        Field("weather_4d", 10 * random_field((3, 9, 26, 25), 4, 7)),
        Field("slice_2d", random_field((150, 161), 5, 8).astype("f4")),
        Field("series_1d", 1e-19 * random_field((5000,), 1.5, 9)),
        Field("lattice_2d", (np.round(30 * random_field((97, 85), 5, 10), 2) + 250).astype("f4")),
        Field("masked_nan_2d", np.where(cover > 0.5, np.nan, np.exp(cover))),
        Field("masked_fill_3d", np.where(land, 1e20, 290 + 10 * maps).astype("f4"), 1e20),
        Field("sparse_fill_3d", np.where(rough < 1, -9999.0, 20 + 5 * rough).astype("f4"), -9999.0),
        Field("scan_i16", np.clip(1000 + 700 * rough, 0, 4000).astype("i2")),
        Field("counts_u8", np.clip(60 * np.exp(smooth / 2), 0, 255).astype("u1")),
    ]


@cache
def _all():
    if not _FOLDER:
        return {field.name: field for field in _generated()}
    files = sorted(Path(_FOLDER).glob("*.npy"))
    return {file.stem: Field(file.stem, np.load(file, mmap_mode="r"), _FILLS.get(file.stem)) for file in files}


def names(kinds="fiu"):
    """Names of the fields of these dtype kinds, for parametrize."""
    return [name for name, field in _all().items() if field.array.dtype.kind in kinds]


def load(name):
    """The Field of this name, its array in memory and not writable."""
    field = _all()[name]
    array = np.array(field.array)
    array.flags.writeable = False
    return Field(field.name, array, field.fill)
