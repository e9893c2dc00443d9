"""Prediction: stencils, their weights, and the median."""

import itertools
from functools import cache

import numpy as np

from reference_decoder.conventions import AXES, ZERO, axes_of, bits_set


def tap_group(*distances):
    """The taps at ± the given (axis, distance) pairs, the first axis changing its sign fastest."""
    taps = []
    for signs in itertools.product((-1, 1), repeat=len(distances)):
        tap = [0] * 4
        for (axis, distance), sign in zip(distances, reversed(signs), strict=True):
            tap[axis] = sign * distance
        taps.append(tuple(tap))
    return tuple(taps)


@cache
def stencil(number, cls, active):
    """The groups of taps of stencil `number` (0 standard, 1 wide, 2 long) for a class."""
    odd, even = axes_of(cls), axes_of(active & ~cls)
    groups = [tap_group((axis, distance)) for distance in (1, 3, 5) for axis in odd]
    if len(odd) == 1:
        groups += [tap_group((odd[0], 1), (b, 2)) for b in even]
    elif len(odd) == 2:
        groups += [tap_group((odd[0], 1), (odd[1], 1))]
    elif len(odd) == 3:
        groups += [tap_group((odd[a], 1), (odd[b], 1)) for a, b in ((1, 2), (2, 0), (0, 1))]
        groups += [tap_group((odd[0], 1), (odd[1], 1), (odd[2], 1))]
    else:
        pairs = [tap_group((a, 1), (b, 1)) for a, b in itertools.combinations(AXES, 2)]
        triples = [tap_group(((a + 1) % 4, 1), ((a + 2) % 4, 1), ((a + 3) % 4, 1)) for a in AXES]
        groups += [sum(pairs, ()), sum(triples, ()), tap_group((0, 1), (1, 1), (2, 1), (3, 1))]
    if number >= 1:
        groups += wide_groups(odd, even)
    if number >= 2:
        for axis in odd:
            groups += [tap_group((axis, 7)), tap_group((axis, 9))]
    return groups


def wide_groups(odd, even):
    """The groups between the end of the standard stencil and that of the wide one."""
    groups = []
    if len(odd) == 1:
        for b in even:
            groups += [tap_group((odd[0], 3), (b, 2)), tap_group((odd[0], 1), (b, 4))]
    elif len(odd) == 2:
        groups += [tap_group((odd[0], 1), (odd[1], 3)), tap_group((odd[0], 3), (odd[1], 1))]
        for b in even:
            groups += [tap_group((odd[0], 1), (b, 2)), tap_group((odd[1], 1), (b, 2))]
    elif len(odd) == 3:
        groups += [tap_group((odd[a], 3), (odd[b], 1)) for a, b in itertools.permutations(range(3), 2)]
    return groups


def face_taps(cls, active):
    """The taps of the first o groups."""
    return sum(stencil(0, cls, active)[: bits_set(cls)], ())


def nearest_taps(cls, active):
    """The faces and the groups of the standard stencil after the first 3 o."""
    return face_taps(cls, active) + sum(stencil(0, cls, active)[3 * bits_set(cls) :], ())


def group_weights(parameters, cls, groups, real):
    """v[g] of the linear predictor, of the groups that it uses."""
    odd = bits_set(cls)
    rest, weights = 1.0, [0.0] * len(groups)
    if parameters.precision:
        for g, weight in enumerate(parameters.weights):
            weights[g] = weight * 2.0**-parameters.precision
            rest -= weights[g]
    for k in range(odd):
        weights[k] = weights[k] + rest * 9 / 8 / odd
        weights[odd + k] = weights[odd + k] - rest / 8 / odd
    used = len(groups) if parameters.precision else 2 * odd
    return [real(weights[g] / len(groups[g])) for g in range(used)]


def predict(block, arrays, cls, parameters, real, extent=None, shift=ZERO):
    """The predictions of a class of a block, or of `extent` samples of it from index `shift` on."""

    def tap_values(tap):
        return block.tap_view(arrays, cls, tap, extent, shift).astype(real)

    if parameters.predictor:
        taps = face_taps if parameters.predictor == 2 else nearest_taps
        return median([tap_values(tap) for tap in taps(cls, block.level.active)], real)
    groups = stencil(parameters.stencil, cls, block.level.active)
    products = []
    for group, weight in zip(groups, group_weights(parameters, cls, groups, real), strict=False):
        total = tap_values(group[0])
        for tap in group[1:]:
            total = total + tap_values(tap)
        products.append(total * weight)
    total = products[0]
    for product in products[1:]:
        total = total + product
    return total


def median(values, real):
    """The median of arrays, sorted as far as it takes."""
    count = len(values)
    for i in range(count // 2 + 1):
        for j in range(count - 1, i, -1):
            swap = values[j] < values[j - 1]
            values[j - 1], values[j] = np.where(swap, values[j], values[j - 1]), np.where(swap, values[j - 1], values[j])
    if count % 2:
        return values[count // 2]
    return real(0.5) * (values[count // 2 - 1] + values[count // 2])
