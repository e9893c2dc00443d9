"""A dataset whose chunks a writer rewrites in part, step by step: every sample tells the step at which it was written."""

import h5py
import numpy as np

import h5stz

BOUND = 0.01
CHUNK = (8, 16, 20)
BANDS = 4  # a step writes one of so many bands of rows, in every chunk
SHAPE = (16, 16, 40)  # four chunks
ROWS = CHUNK[1] // BANDS


def pattern():
    """What is added to 100 times the step: noise, so that streams have many lengths."""
    return np.random.default_rng(1).normal(0, 3, SHAPE).astype("f4")


def step_of_band(step, band):
    """The last step, up to this one, that wrote a band; 0 for what was there at first."""
    last = step - (step - band) % BANDS
    return max(last, 0)


def values(step, band):
    """What a step writes."""
    rows = slice(band * ROWS, (band + 1) * ROWS)
    return rows, (100 * step + np.roll(pattern()[:, rows], step, axis=-1)).astype("f4")


def create(path):
    """The dataset at step 0."""
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        stored = file.create_dataset("x", SHAPE, "f4", chunks=CHUNK, maxshape=(None, *SHAPE[1:]), **h5stz.STZ(absolute=BOUND))
        for band in range(BANDS):
            rows, of_band = values(0, band)
            stored[:, rows] = of_band


def write(dataset, step):
    """A step, without a flush."""
    rows, of_band = values(step, step % BANDS)
    dataset[:, rows] = of_band


def steps_of(found, least):
    """The step at which each chunk was found; asserts that it is one, and not before the step `least`."""
    assert found.shape == SHAPE
    steps = set()
    for plane in range(0, SHAPE[0], CHUNK[0]):
        for column in range(0, SHAPE[2], CHUNK[2]):
            part = (slice(plane, plane + CHUNK[0]), slice(None), slice(column, column + CHUNK[2]))
            step = round(float(np.max(np.median(found[part].reshape(CHUNK[0], BANDS, -1), axis=(0, 2)))) / 100)
            assert step >= least, f"step {step}, {least} had been flushed before"
            for band in range(BANDS):
                rows, expected = values(step_of_band(step, band), band)
                error = np.abs(found[part][:, rows].astype("f8") - expected[part[0], :, part[2]]).max()
                assert error <= BOUND, f"step {step}, band {band}: {error / BOUND} bounds"
            steps.add(step)
    return steps
