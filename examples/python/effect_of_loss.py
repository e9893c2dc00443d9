"""How much loss does an analysis notice? h5stz.effect computes its result from compressed data, for bounds from fine to coarse.

    python effect_of_loss.py

Two analyses (docs/effect_of_loss.md):
- a regression that learns to predict the next frame of a flow from compressed frames, and is judged on exact ones. Its score is
  R^2; the seed chooses the samples and the start of the training.
- heat waves in daily temperatures: days per summer that belong to three or more days in a row above the 90th percentile. The
  seed draws the summers again (bootstrap), which shows how exactly so few summers determine the number.

Takes about ten seconds. Prints a table for each. Draws effect_of_loss.png.
"""

import numpy as np
from simulation import ShearFlow

import h5stz

FRAMES, LEARNT = 40, 28  # the regression learns from the first ones
REACH = 3  # samples around a point from which the next frame is predicted
SUMMERS, DAYS = 12, 92


def flow():
    """The vorticity of a flow (frames, y, x)."""
    solver, frames = ShearFlow(64, viscosity=3e-4, time_step=3 / 64), []
    for step in range(120 + 4 * FRAMES):
        if step >= 120 and step % 4 == 0:
            frames.append(solver.vorticity())
        solver.advance()
    return np.array(frames)


def examples(frames, first, last, count, rng):
    """Neighbourhoods in frames, and what is at their centres in the next frame."""
    t, y, x = (rng.integers(low, high, count) for low, high in ((first, last - 1), (0, 64), (0, 64)))
    near = np.arange(-REACH, REACH + 1)
    rows, columns = (y[:, None] + near) % 64, (x[:, None] + near) % 64
    return frames[t[:, None, None], rows[:, :, None], columns[:, None, :]].reshape(count, -1), t, y, x


def next_frame(arrays, seed):
    """R^2 of a network with random first layer: its last layer is fitted to compressed frames, and judged on exact ones."""
    rng = np.random.default_rng(seed)
    frames = arrays["vorticity"].astype("f8")
    into = rng.normal(0, 0.15, ((2 * REACH + 1) ** 2, 150))
    shift = rng.normal(0, 0.5, 150)

    def values(found):
        return np.hstack([np.tanh(found @ into + shift), found, np.ones((len(found), 1))])

    inputs, t, y, x = examples(frames, 0, LEARNT, 3000, rng)
    known = values(inputs)
    squares = known.T @ known + 1e-3 * len(known) * np.eye(known.shape[1])
    weights = np.linalg.solve(squares, known.T @ frames[t + 1, y, x])
    inputs, t, y, x = examples(VORTICITY, LEARNT, FRAMES, 4000, np.random.default_rng(1000))
    truth = VORTICITY[t + 1, y, x]
    return 1 - np.mean((values(inputs) @ weights - truth) ** 2) / truth.var()


def temperatures():
    """Daily maxima in K (summers, days, y, x): weather that lasts some days, and warmer summers at the end."""
    rng = np.random.default_rng(3)
    waves = np.hypot(*np.meshgrid(*2 * [np.fft.fftfreq(16, 1 / 16)], indexing="ij"))
    found = np.empty((SUMMERS, DAYS, 16, 16), "f4")
    for summer in found:
        now = np.zeros((16, 16))
        for day in summer:
            fresh = np.fft.ifft2(np.fft.fft2(rng.standard_normal((16, 16))) * np.maximum(waves, 1) ** -1.5).real
            now = 0.75 * now + fresh / fresh.std() * 2.5
            day[...] = now
    season = 5 * np.sin(np.pi * np.arange(DAYS) / DAYS)
    warming = 0.06 * np.arange(SUMMERS)
    return (295 + found + season[:, None, None] + warming[:, None, None, None]).astype("f4")


def heat_wave_days(arrays, seed):
    """Mean over all points of the days per summer that belong to a heat wave."""
    tasmax = arrays["tasmax"]
    hot = tasmax > np.percentile(tasmax, 90, axis=(0, 1))
    three = hot[:, :-2] & hot[:, 1:-1] & hot[:, 2:]
    member = np.zeros_like(hot)
    for first in range(3):
        member[:, first : DAYS - 2 + first] |= three
    drawn = np.random.default_rng(seed).integers(0, SUMMERS, SUMMERS)
    return member.sum(axis=1).mean(axis=(1, 2))[drawn].mean()


BOUNDS = (1e-4, 1e-3, 1e-2, 3e-2, 1e-1, 3e-1)
VORTICITY = flow()
print("the next frame of a flow, R^2:")
regression = h5stz.effect({"vorticity": VORTICITY}, next_frame, BOUNDS, seeds=5)
print(regression)
print("\ndays in heat waves per summer:")
heat = h5stz.effect({"tasmax": temperatures()}, heat_wave_days, BOUNDS, seeds=10)
print(heat)

# A picture, where matplotlib is installed.
from picture import pyplot, save

if (plotting := pyplot()) is not None:
    figure, places = plotting.subplots(1, 2, figsize=(9, 4), layout="constrained")
    figure.suptitle("What a bound does to two analyses")
    labels = "R² of the next frame (dimensionless)", "days in heat waves per summer (days)"
    for place, found, label in zip(places, (regression, heat), labels, strict=True):
        exact = found[0]
        place.axhspan(
            exact.score - exact.spread, exact.score + exact.spread, color="0.85", label="exact data: spread over seeds"
        )
        place.axhline(exact.score, color="0.5")
        rows = found[1:]
        place.errorbar([r.relative for r in rows], [r.score for r in rows], [r.spread for r in rows], fmt="o-", capsize=3)
        place.set(xscale="log", xlabel="bound / range (dimensionless)", ylabel=label)
        place.legend(loc="lower left")
    save(figure, "effect_of_loss.png")
