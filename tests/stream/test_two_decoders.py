"""The two decoders on streams that are changed behind their checks: both give the same bits, or both refuse a stream."""

import math

import numpy as np
import pytest

import h5stz
from support import cases
from support.mutations import Parts, mutated
from support.patched_streams import Patch, compose
from support.small_streams import STREAMS
from support.two_decoders import Refused, decoded

MOST_ELEMENTS = 20000  # the second decoder is slow


def streams():
    """{name: stream}"""
    base = h5stz.compress(cases.make("smooth", (20, 30), "f4"), absolute=0.1, fill_value=False)
    patch = Patch((2, 3), (4, 5), h5stz.compress(cases.make("rough", (4, 5), "f4"), lossless=True), 0)
    long = h5stz.compress(cases.make("rough", (6000,), "f4"), absolute=1e-3, fill_value=False)
    small = {name: stream for name, (array, stream) in STREAMS.items() if array.size <= MOST_ELEMENTS}
    return small | {"patched": compose(base, [patch]), "long": long}


PLAIN = streams()


def compare(stream):
    """Whether both decoders take a stream; None if it would take the second one too long."""
    try:
        if math.prod(h5stz.info(stream).shape) > MOST_ELEMENTS:
            return None
    except h5stz.StzError:
        pass  # they have to agree on that as well
    try:
        decoded(stream)
    except Refused:
        return False
    return True


def run(name, seed, count):
    rng = np.random.default_rng(seed)
    return [compare(mutated(rng, PLAIN[name])) for _ in range(count)]


@pytest.mark.parametrize("name", [name for name in PLAIN if PLAIN[name][4] & 3 == 2])
def test_a_stream_in_parts_is_the_stream(name):
    assert Parts(PLAIN[name]).whole() == PLAIN[name]


@pytest.mark.parametrize("name", PLAIN)
def test_a_few_changes(name):
    run(name, 1, 8)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
def test_many_changes(name):
    assert {True, False} <= set(run(name, 2, 150))
