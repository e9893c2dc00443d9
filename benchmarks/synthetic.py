"""Generated fields: Gaussian random fields with a turbulent spectrum, and small fields with masks and zeros.

Everything is a function of its seed, so a run can be repeated anywhere without data files.
"""

import numpy as np

EDGE = 256  # samples per axis of the fields of the speed figure


def gaussian_field(edge, seed, cutoff):
    """Zero-mean, unit-variance float32 field on a periodic edge^3 grid.

    The amplitude of white noise is shaped with sqrt(E(k)) / k, E(k) ~ k^4 / (1 + (k/2)^2)^(17/6) (von Karman: k^-5/3
    above k = 2), times exp(-k / cutoff); k and cutoff in cycles per box.
    """
    noise = np.random.default_rng(seed).standard_normal((edge, edge, edge)).astype(np.float32)
    spectrum = np.fft.rfftn(noise)
    full, half = np.fft.fftfreq(edge, 1 / edge), np.fft.rfftfreq(edge, 1 / edge)
    wavenumber = np.sqrt(full[:, None, None] ** 2 + full[None, :, None] ** 2 + half[None, None, :] ** 2)
    wavenumber[0, 0, 0] = 1.0  # the mean is removed below
    scaled = wavenumber / 2.0
    energy = scaled**4 / (1 + scaled**2) ** (17 / 6)
    spectrum *= np.sqrt(energy) / wavenumber * np.exp(-wavenumber / cutoff)
    spectrum[0, 0, 0] = 0.0
    field = np.fft.irfftn(spectrum, s=noise.shape, axes=(0, 1, 2))
    return ((field - field.mean()) / field.std()).astype(np.float32)


def volumes(edge=EDGE):
    """The three fields of the speed figure by name: rough (grf), log-normal (logn) and smooth (grfs)."""
    return {
        "grf": gaussian_field(edge, 7, edge / 6),
        "logn": np.exp(np.float32(1.2) * gaussian_field(edge, 8, edge / 6)),
        "grfs": gaussian_field(edge, 9, edge / 24),
    }


def masked_fields(edge=48):
    """A field with a fill value (-9999, rounded 'land') and one with NaN, both float32."""
    values = 10 + gaussian_field(edge, 3, edge / 12)
    land = gaussian_field(edge, 4, 3.0) > 0.4
    return {"filled": np.where(land, np.float32(-9999), values), "nan": np.where(land, np.float32(np.nan), values)}


def positive_fields(edge=48):
    """Fields of many decades for the point-wise relative bound: log-normal float64, and signed float32 with zeros and
    NaN.
    """
    decades = np.exp(6.0 * gaussian_field(edge, 5, edge / 12).astype(np.float64))
    signed = (gaussian_field(edge, 6, edge / 12) ** 3).astype(np.float32)
    signed[:4], signed[-4:] = 0, np.nan
    return {"decades": decades, "signed": signed}


def counts(edge=48):
    """int16 samples with the look of detector or scanner values."""
    return {"counts": (300 * np.abs(gaussian_field(edge, 10, edge / 12))).astype(np.int16)}
