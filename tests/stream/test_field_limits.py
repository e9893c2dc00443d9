"""Floating-point fields that say what is not allowed, or not so, behind checks that fit: both decoders call them damaged."""

import numpy as np
import pytest

from reference_decoder import read_header
from reference_decoder.fields import FULL, SHORT
from support import field_streams
from support.patched_streams import common_header, extended, record
from support.stream_bytes import varint, with_crc
from support.two_decoders import verdict

RNG = np.random.default_rng(8)
ARRAY = RNG.standard_normal(300)
ARRAY[::3] = 0
ARRAY[1::5] = ARRAY[1::5].astype("f4")
OPTIONS = {"log_lanes": 2, "short_zeros": 29, "most_symbols": 7}
LOG_BLOCK = 7
PLAIN = field_streams.stream_of(ARRAY, LOG_BLOCK, **OPTIONS)


def claiming(array=ARRAY, **claims):
    """A stream whose first block says something else."""
    writers = field_streams.block_writers(array, LOG_BLOCK, **OPTIONS)
    writers[0].claims = claims
    return field_streams.stream_of_blocks(array, [writer.bytes() for writer in writers], LOG_BLOCK)


def counts():
    writer = field_streams.block_writers(ARRAY, LOG_BLOCK, **OPTIONS)[0]
    return writer.escapes, len(writer._of_kind(SHORT)), len(writer._of_kind(2)), writer._encoded_symbols()


ESCAPES, SHORTS, CONSTANTS, (STATES, WORDS) = counts()
CLAIMS = {
    "an escape more": {"escapes": ESCAPES + 1},
    "an escape less": {"escapes": ESCAPES - 1},
    "a short number more": {"shorts": SHORTS + 1},
    "a constant number less": {"constants": CONSTANTS - 1},
    "more constant numbers than numbers": {"constants": 129},
    "all zero bits": {"zeros": {FULL: 53}},
    "more short zero bits": {"zeros": {SHORT: 53}},
    "a word more": {"words": len(WORDS) + 1},
    "a word less": {"words": len(WORDS) - 1},
    "more words than numbers": {"words": 129},
    "128 lanes": {"log_lanes": 7},
    "fewer lanes": {"log_lanes": 1},
    "a state that is too small": {"states": [2**15 - 1, *STATES[1:]]},
    "a state that is too large": {"states": [*STATES[:3], 2**31]},
    "another state": {"states": [STATES[0] + 1, *STATES[1:]]},
    "a byte behind": {"behind": b"\0"},
}


def test_the_plain_stream_is_right():
    assert ESCAPES and SHORTS and CONSTANTS and WORDS
    assert verdict(PLAIN) is None and claiming() == PLAIN


@pytest.mark.parametrize("name", CLAIMS)
def test_a_block_that_says_what_is_not_so(name):
    assert verdict(claiming(**CLAIMS[name])) == "damaged"


def with_record(payload):
    """The plain stream with another payload of the record."""
    return with_crc(common_header(PLAIN, records=record(field_streams.RECORD, payload))) + PLAIN[read_header(PLAIN).size :]


@pytest.mark.parametrize("block, mantissa", [(5, 0), (21, 0), (0, 0), (255, 0), (7, 6), (7, 53), (7, 255)])
def test_blocks_and_tops_have_limits(block, mantissa):
    fields = read_header(PLAIN).fields
    sizes = varint(fields.directory) + varint(fields.blocks)
    assert verdict(with_record(bytes([7, 0]) + sizes)) is None
    assert verdict(with_record(bytes([block, mantissa]) + sizes)) == "damaged"


def test_sizes_have_limits():
    blocks = [writer.bytes() for writer in field_streams.block_writers(ARRAY, LOG_BLOCK, **OPTIONS)]
    lengths = list(map(len, blocks))

    def stream(**wrong):
        return field_streams.stream_of_blocks(ARRAY, blocks, LOG_BLOCK, **wrong)

    directory = 3 + sum(len(varint(length)) for length in lengths)
    assert verdict(stream(sizes=[*lengths[:-1], lengths[-1] - 1])) == "damaged"
    assert verdict(stream(sizes=lengths[:-1])) == "damaged"
    assert verdict(stream(sizes=[*lengths, 3])) == "damaged"
    assert verdict(stream(sizes=[2, sum(lengths) - 2 - lengths[-1], lengths[-1]])) == "damaged"
    assert verdict(stream(claimed=(2, sum(lengths)))) == "damaged"
    assert verdict(stream(claimed=(directory, sum(lengths) + 9))) == "damaged"
    assert verdict(stream(claimed=(2**64 - 1, 2**64 - 1))) == "damaged"


def test_only_raw_streams_of_floating_point_numbers_have_them():
    payload = record(field_streams.RECORD, bytes([7, 0]) + varint(9) + varint(9))
    front = b"STZ\x02"
    for kind, dtype, extent in ((65, 3, 300), (64, 8, 300), (64, 3, 0)):
        header = front + bytes([kind, dtype, 1]) + varint(extent) + varint(len(payload)) + payload
        assert verdict(with_crc(header) + bytes(18)) == "damaged"


def test_records_and_trailers_may_stand_beside_them():
    trailer = with_crc(record(14, b"later"))
    stream = extended(PLAIN, record(2, varint(len(trailer))) + record(14, b"x"), trailer)
    assert verdict(stream) is None
    assert verdict(stream[:-1]) == "damaged"
