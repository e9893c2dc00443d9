"""Where a case comes from: a stream of random choices that (seed, kind, number) alone determine."""

import random

import numpy as np


class Violation(Exception):
    """A promise that does not hold; the text says which, and where."""


class Source:
    """Random choices of one case.

    Attributes:
        numbers: the numpy Generator for arrays.
    """

    def __init__(self, seed, kind, number):
        self._random = random.Random(f"{seed} {kind} {number}")
        self.numbers = np.random.Generator(np.random.PCG64(self._random.getrandbits(64)))

    def pick(self, choices):
        """One of a sequence, all equally likely."""
        return choices[int(self._random.random() * len(choices))]

    def weighted(self, weights):
        """A key of a dict, as likely as its value says."""
        return self._random.choices(list(weights), weights.values())[0]

    def chance(self, probability):
        """True so often."""
        return self._random.random() < probability

    def between(self, low, high):
        """An integer of low..high, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def real(self, low, high):
        """A float from low to high."""
        return self._random.uniform(low, high)
