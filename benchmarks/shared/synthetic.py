"""Generated fields: Gaussian random fields with a turbulent spectrum, small fields with masks and zeros, layered models.

Everything is a function of its seed, so a run can be repeated anywhere without data files.
"""

import numpy as np

EDGE = 256  # samples per axis of the fields of the speed figure
VOLUMES = ("grf", "logn", "grfs")  # their names
LAYERED_SHAPE = (1600, 400)
LAYERS, FAULTS, BLOBS, WAVES = 400, 5, 60, 24


def gaussian_field(edge, seed, cutoff, rank=3, outer=2.0):
    """Zero-mean, unit-variance float32 field on a periodic grid of `edge` samples along each of `rank` axes.

    The amplitude of white noise is shaped with sqrt(E(k) / k^(rank - 1)), E(k) ~ k^4 / (1 + (k/outer)^2)^(17/6) (von
    Karman: k^-5/3 above k = outer), times exp(-k / cutoff); k, outer and cutoff in cycles per box.
    """
    noise = np.random.default_rng(seed).standard_normal((edge,) * rank).astype(np.float32)
    spectrum = np.fft.rfftn(noise)
    full, half = np.fft.fftfreq(edge, 1 / edge), np.fft.rfftfreq(edge, 1 / edge)
    wavenumber = np.sqrt(sum(k**2 for k in np.meshgrid(*[full] * (rank - 1), half, indexing="ij", sparse=True)))
    mean = (0,) * rank
    wavenumber[mean] = 1.0  # the mean is removed below
    scaled = wavenumber / outer
    energy = scaled**4 / (1 + scaled**2) ** (17 / 6)
    spectrum *= np.sqrt(energy) / wavenumber ** ((rank - 1) / 2) * np.exp(-wavenumber / cutoff)
    spectrum[mean] = 0.0
    field = np.fft.irfftn(spectrum, s=noise.shape, axes=tuple(range(rank)))
    return ((field - field.mean()) / field.std()).astype(np.float32)


def volumes(edge=EDGE):
    """The three fields of the speed figure by name: rough (grf), log-normal (logn) and smooth (grfs)."""
    return {
        "grf": gaussian_field(edge, 7, edge / 6),
        "logn": np.exp(np.float32(1.2) * gaussian_field(edge, 8, edge / 6)),
        "grfs": gaussian_field(edge, 9, edge / 24),
    }


def rough_field(samples, rank, seed=7):
    """About `samples` samples on `rank` axes, float32, as rough from one to the next as the volume `grf`."""
    edge = round(samples ** (1 / rank))
    return gaussian_field(edge, seed, edge / 6, rank, outer=2.0 * edge / EDGE)


def masked_fields(edge=48):
    """A field with a fill value (-9999, rounded 'land') and one with NaN, both float32."""
    values = 10 + gaussian_field(edge, 3, edge / 12)
    land = gaussian_field(edge, 4, 3.0) > 0.4
    return {"filled": np.where(land, np.float32(-9999), values), "nan": np.where(land, np.float32(np.nan), values)}


def positive_fields(edge=48):
    """Fields that span many decades, for the point-wise relative bound: log-normal float64, and signed float32 with zeros and
    NaN.
    """
    decades = np.exp(6.0 * gaussian_field(edge, 5, edge / 12).astype(np.float64))
    signed = (gaussian_field(edge, 6, edge / 12) ** 3).astype(np.float32)
    signed[:4], signed[-4:] = 0, np.nan
    return {"decades": decades, "signed": signed}


def counts(edge=48):
    """int16 samples that resemble values of a detector or scanner."""
    return {"counts": (300 * np.abs(gaussian_field(edge, 10, edge / 12))).astype(np.int16)}


def _geology(rng):
    """(layer of each sample, its distance from the layer's top): dips, a fold and faults."""
    y, x = np.indices(LAYERED_SHAPE).astype(float)
    depth = y + 0.08 * x + 12 * np.sin(x / 90 + 1)
    for _ in range(FAULTS):
        place, lean, throw = rng.uniform(0.1, 0.9) * LAYERED_SHAPE[1], rng.uniform(-0.15, 0.15), rng.uniform(-25, 25)
        depth = np.where(x > place + lean * y, depth + throw, depth)
    tops = np.cumsum(rng.uniform(8, 40, LAYERS)) - 200
    layer = np.searchsorted(tops, depth)
    return layer, depth - tops[np.maximum(layer - 1, 0)]


def _blobs(rng):
    """Smooth bumps of compact support on zeros."""
    y, x = np.indices(LAYERED_SHAPE)
    total = np.zeros(LAYERED_SHAPE)
    for _ in range(BLOBS):
        square = (y - rng.uniform(0, LAYERED_SHAPE[0])) ** 2 + (x - rng.uniform(0, LAYERED_SHAPE[1])) ** 2
        distance = square / (6 * rng.uniform(4, 14) ** 2)
        total += rng.uniform(1, 100) * np.maximum(0, 1 - distance) ** 2
    return total


def _waves(rng):
    """A sum of plane waves."""
    y, x = np.indices(LAYERED_SHAPE)
    return sum(np.sin(x * rng.normal(0, 0.02) + y * rng.normal(0, 0.02) + rng.uniform(0, 6)) for _ in range(WAVES))


def layered(seed=1):
    """float32: constant layers, layers with gradients, their labels, a mask, zeros with a few smooth blobs."""
    rng = np.random.default_rng(seed)
    layer, below = _geology(rng)
    speed = 1500 + np.linspace(0, 2500, LAYERS + 1) + rng.normal(0, 400, LAYERS + 1)
    gradient = rng.uniform(-1, 4, LAYERS + 1)
    made = {
        "layers": speed[layer],
        "gradients": speed[layer] + gradient[layer] * below + 0.3 * np.arange(LAYERED_SHAPE[1]),
        "labels": rng.integers(1, 12, LAYERS + 1)[layer],
        "mask": _waves(rng) > 0.5,
        "blobs": _blobs(rng),
    }
    return {name: array.astype(np.float32) for name, array in made.items()}
