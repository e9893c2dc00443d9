"""Enhancement: the filter over the samples of level 0."""

import itertools
from dataclasses import dataclass

import numpy as np

from reference_decoder.conventions import AXES, require, require_version

MOST_AXES, CLIPS = 3, (32, 128, 512)
UNITS, RESULT_UNITS, LIMIT_UNITS = 64, 512, 64
ROUNDING = 6755399441055744.0  # 1.5 * 2**52


@dataclass
class Enhancement:
    """What record 9 says."""

    limit: int
    promise: int
    shared: bool
    shift: int
    weights: np.ndarray


def read_enhancement(payload):
    """Record 9."""
    limit, promise, kind, shift = (payload.integer(1) for _ in range(4))
    require_version(kind <= 1, "kind of an enhancement")
    require(1 <= limit <= LIMIT_UNITS and 6 <= shift <= 13, "limit or shift of an enhancement")
    weights = np.frombuffer(payload.take(len(payload.data) - payload.at), np.int8)
    return Enhancement(limit, promise, kind == 1, shift, weights)


def filter_axes(level):
    """The axes that neighbours lie along, rising."""
    split = [axis for axis in AXES if level.split[axis]]
    others = [axis for axis in AXES if level.extent[axis] > 1 and not level.split[axis]]
    return sorted((split[::-1] + others[::-1])[:MOST_AXES])


def directions(level):
    """The steps to one of two neighbours, in order."""
    axes = filter_axes(level)
    steps = itertools.product((-1, 0, 1), repeat=len(axes))
    upwards = [step for step in steps if next((part for part in step if part), -1) == 1]
    near = [[dict(zip(axes, step, strict=True)).get(axis, 0) for axis in AXES] for step in upwards]
    return near + [[2 * (axis == along) for axis in AXES] for along in axes]


def require_enhancement(header):
    """What can be judged only with the rest of the header."""
    enhancement, level = header.enhancement, header.levels[0]
    possible = (
        header.mode == 1
        and header.bound > 0
        and header.half_step > 0
        and header.floats is not None
        and not header.floats.is_short
    )
    plain = header.quantizer == 0 and header.transform == 0 and not header.layers.missing
    require(possible and plain and header.base_level > 0, "an enhancement where there can be none")
    groups = len(filter_axes(level)) + 1 if enhancement.shared else len(directions(level))
    require(len(enhancement.weights) == sum(level.split) * groups * len(CLIPS), "number of weights")


def shifted(array, step):
    """For each sample the neighbour at `step`; beyond the edge the samples on it go on."""
    for axis in AXES:
        at = np.clip(np.arange(array.shape[axis]) + step[axis], 0, array.shape[axis] - 1)
        array = np.take(array, at, axis)
    return array


def enhanced(header, samples, specials):
    """The samples of an item at level 0 as they are after the filter."""
    enhancement, level = header.enhancement, header.levels[0]
    scaled = samples.astype(np.float64) * (UNITS / header.half_step) + ROUNDING
    units = scaled.view(np.int64).astype(np.int16)
    valid = specials == 0
    indices = np.meshgrid(*[np.arange(extent) for extent in samples.shape], indexing="ij")
    odd = sum(indices[axis] & 1 for axis in AXES if level.split[axis])
    steps = directions(level)
    weights = enhancement.weights.reshape(sum(level.split), -1, len(CLIPS)).astype(np.int32) << (13 - enhancement.shift)
    total = np.zeros(samples.shape, np.int16)
    for number, step in enumerate(steps):
        back = [-part for part in step]
        difference = units * np.int16(2) - shifted(units, step) - shifted(units, back)
        difference[~(shifted(valid, step) & shifted(valid, back))] = 0
        of_axes = len(filter_axes(level)) if 2 in step else sum(map(abs, step)) - 1
        group = of_axes if enhancement.shared else number
        for clip, most in enumerate(CLIPS):
            weight = np.concatenate([[0], weights[:, group, clip]])[odd]
            clipped = np.clip(difference, -most, most).astype(np.int32) * 32
            total += ((clipped * weight + (1 << 14)) >> 15).astype(np.int16)
    limit = enhancement.limit * (RESULT_UNITS // LIMIT_UNITS)
    correction = np.clip(total, -limit, limit).astype(header.sample)
    return samples - correction * header.sample(header.half_step / RESULT_UNITS)
