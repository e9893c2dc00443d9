"""Code streams of every number of lanes, of which the encoder writes 1, 4, 16 and 32: both decoders, and reads of parts."""

import numpy as np
import pytest

import h5stz
import reference_decoder
from h5stz import _core
from support import boxes, cases, exact
from support.relaned import relaned
from support.small_streams import STREAMS

LOG_LANES = range(7)
NAMES = [name for name, (_, stream) in STREAMS.items() if h5stz.info(stream).levels > 1]


@pytest.mark.parametrize("name", NAMES)
def test_small_streams(name):
    """In three numbers of lanes each: every number meets every third stream."""
    original, stream = STREAMS[name]
    for log_lanes in sorted({(NAMES.index(name) + step) % len(LOG_LANES) for step in (0, 2, 4)}):
        assert exact.same_bits(original, h5stz.decompress(relaned(stream, log_lanes)))


@pytest.mark.parametrize("log_lanes", LOG_LANES)
def test_the_second_decoder(log_lanes):
    for name in NAMES[log_lanes::7]:
        original, stream = STREAMS[name]
        assert exact.same_bits(original, reference_decoder.decode(relaned(stream, log_lanes)))


@pytest.fixture(scope="module")
def blocks():
    """An array of several blocks with thousands of codes, and its stream; its code streams have checks of their own."""
    stream = h5stz.compress(cases.make("rough", (300, 270), "f4"), absolute=2.0, fill_value=False)
    return h5stz.decompress(stream), stream


@pytest.mark.parametrize("log_lanes", LOG_LANES)
def test_long_queues(blocks, log_lanes):
    array, stream = blocks
    changed = relaned(stream, log_lanes)
    assert exact.same_bits(array, h5stz.decompress(changed))
    reader, rng = _core.Reader.of_bytes(changed, 0), np.random.default_rng(log_lanes)
    for _ in range(5):
        request = boxes.random_request(rng, array.shape)
        assert exact.same_bits(boxes.cut(array, *request), boxes.read(reader, "f4", *request))


@pytest.mark.parametrize("log_lanes", LOG_LANES)
def test_a_damaged_final_state_of_any_lane_is_noticed(log_lanes):
    """The states of all lanes must end at 2**15: a stream whose check fits but whose states do not is damage."""
    original, stream = STREAMS["float32"]
    for lane in {0, (1 << log_lanes) - 1}:
        changed = relaned(stream, log_lanes, final_state=(lane, 2**15 + 1))
        with pytest.raises(h5stz.StzError, match=r"damaged|too early"):
            h5stz.decompress(changed)
        with pytest.raises(reference_decoder.Damaged):
            reference_decoder.decode(changed)
    assert exact.same_bits(original, h5stz.decompress(relaned(stream, log_lanes)))
