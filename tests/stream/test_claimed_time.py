"""Time is bounded by the input and the output: a stream of a few bytes takes no longer than the samples that it stands for.

Measured in processor time, as the cost of a sample in a long stream over that in a short one of the same kind.
"""

import time

import pytest

import h5stz
from support.hostile_streams import line, long_base_section, long_index, overlapping_patches

KINDS = {
    "blocks of two samples": lambda k: (long_index(2048 * k, 100 + 2 * k), 4096 * k),
    "large blocks of nothing": lambda k: (line(2**18 * k, (15,), (100, 30)), 2**18 * k),
    "the base section": lambda k: (long_base_section(20_000 * k, 32 * k), 20_000 * k),
    "patches over patches": lambda k: (overlapping_patches(2**17 * k, 16), 2**17 * k),
}


def seconds(stream):
    """Processor time of decoding, the least of some."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        h5stz.decompress(stream, threads=1)
        times.append(time.process_time() - begin)
    return min(times)


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_stream_of_little_takes_no_longer_than_its_output(kind):
    (short, few), (long, many) = KINDS[kind](1), KINDS[kind](16)
    assert many == 16 * few and h5stz.info(long).array_bytes == 16 * h5stz.info(short).array_bytes
    assert seconds(long) / many <= 8 * seconds(short) / few
