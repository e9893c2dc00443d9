"""Patched streams and extension records written by hand: both decoders give the same bits, or refuse for the same reason."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz
import reference_decoder
from h5stz import _core
from support import boxes, cases, exact
from support.memory import grows_less_than
from support.patched_streams import (
    PATCHED,
    Patch,
    common_header,
    compose,
    composed,
    extended,
    random_patched,
    record,
    with_pattern,
    words,
)
from support.stream_bytes import varint, with_crc
from support.two_decoders import word_of


def read_all(stream):
    """Through a reader."""
    reader = _core.Reader.of_bytes(stream, 0)
    shape = reader.info()["shape"]
    size = np.prod(shape, dtype=int) * np.dtype("f4").itemsize
    reader.read((0,) * len(shape), shape, (1,) * len(shape), bytearray(size), 1)


def verdict(stream):
    """What the library, a reader and the second decoder make of a stream (of float32); fails where they differ."""
    said = [word_of(call, stream) for call in (h5stz.decompress, read_all, reference_decoder.decode)]
    assert said[0] == said[1] == said[2], said
    return said[0]


@given(
    st.integers(0, 2**32),
    st.lists(st.integers(1, 7), max_size=5),
    st.sampled_from(cases.DTYPES),
    st.integers(1, 4),
)
def test_both_decoders_lay_patches_over_the_base(seed, shape, dtype, count):
    stream, whole = random_patched(np.random.default_rng(seed), tuple(shape), dtype, count)
    assert exact.same_bits(whole, h5stz.decompress(stream))
    assert exact.same_bits(whole, reference_decoder.decode(stream))


def smooth(*shape, seed=1):
    return cases.make("smooth", shape, "f4", seed)


BASE = h5stz.compress(smooth(20, 30), absolute=0.5, content_check=False)
RAW_BASE = h5stz.compress(cases.make("random bits", (20, 30), "f4"), lossless=True)
CONSTANT_BASE = h5stz.compress(np.full((20, 30), 7, "f4"), absolute=0.5)
PATCH = Patch((3, 4), (5, 6), h5stz.compress(smooth(5, 6), lossless=True, content_check=False))
STREAM = compose(BASE, [PATCH])


def moved(origin=PATCH.origin, extent=PATCH.extent, stream=PATCH.stream, pattern=None):
    """The patch with other fields."""
    return Patch(tuple(origin), tuple(extent), stream, pattern)


@pytest.mark.parametrize("base", [BASE, RAW_BASE, CONSTANT_BASE], ids=["blocks", "raw", "constant"])
@pytest.mark.parametrize("pattern", [None, 0x7FC00000], ids=["opaque", "transparent"])
def test_what_a_patched_stream_says_of_itself(base, pattern):
    info = h5stz.info(compose(base, [PATCH, moved(pattern=pattern)]))
    alone = h5stz.info(base)
    assert info.form == f"patched: {alone.form}"
    assert (info.patches, alone.patches) == (2, 0)
    same = ("shape", "dtype", "mode", "bound", "levels", "array_bytes")
    assert [getattr(info, name) for name in same] == [getattr(alone, name) for name in same]
    added = info.stream_bytes - alone.stream_bytes
    assert info.level_bytes == tuple(size + added for size in alone.level_bytes)


def test_an_element_is_transparent_if_all_its_components_are():
    array = np.array([1 + 2j, 1 + 1j, 2 + 1j, 3 + 3j], "c8")
    base = h5stz.compress(np.full(4, 9 - 9j, "c8"), lossless=True)
    one = int(np.float32(1).view("u4"))
    stream = compose(base, [Patch((0,), (4,), h5stz.compress(array, lossless=True), one)])
    wanted = np.array([1 + 2j, 9 - 9j, 2 + 1j, 3 + 3j], "c8")
    assert exact.same_bits(wanted, h5stz.decompress(stream))
    assert exact.same_bits(wanted, reference_decoder.decode(stream))


@pytest.mark.parametrize("bits", [0, 0x80000000, 0x7FC00001], ids=["0", "-0", "NaN"])
def test_what_is_transparent_is_a_matter_of_bits(bits):
    array = np.array([0, 0x80000000, 0x7FC00001, 0x7FC00000], ">u4").view(">f4")
    base = h5stz.compress(np.full(4, 5, ">f4"), lossless=True)
    stream = compose(base, [Patch((0,), (4,), h5stz.compress(array, lossless=True), bits)])
    wanted = [0x40A00000 if value == bits else value for value in (0, 0x80000000, 0x7FC00001, 0x7FC00000)]
    for decoded in (h5stz.decompress(stream), reference_decoder.decode(stream)):
        assert words(decoded)[:, 0].tolist() == wanted


def test_later_patches_lie_over_earlier_ones():
    stream = compose(BASE, [PATCH, moved((5, 5), stream=h5stz.compress(smooth(5, 6, seed=3), lossless=True))])
    whole = h5stz.decompress(stream)
    assert np.array_equal(whole[5:10, 5:11], smooth(5, 6, seed=3))
    assert np.array_equal(whole[3:5, 4:10], smooth(5, 6)[:2])
    assert exact.same_bits(whole, reference_decoder.decode(stream))


def with_row(*fields, width=4, flags=0, pattern=b""):
    """The stream with a row of the table of other varints: two of the origin, two of the extent, and a size."""
    *box, size = fields
    return compose(BASE, [PATCH], rows=[b"".join(map(varint, box)) + bytes([flags]) + pattern + varint(size)])


SIZE = len(PATCH.stream)
DAMAGED = {
    "no patches": compose(BASE, []),
    "more patches than may be": compose(BASE, [PATCH], count=4097),
    "2**63 patches": compose(BASE, [PATCH], count=2**63),
    "origin at the end": with_row(20, 4, 5, 6, SIZE),
    "origin beyond": with_row(2**63, 4, 5, 6, SIZE),
    "no extent": with_row(3, 4, 0, 6, SIZE),
    "extent beyond": with_row(3, 4, 18, 6, SIZE),
    "sums beyond 64 bits": with_row(3, 4, 2**64 - 1, 6, SIZE),
    "sizes beyond 64 bits": with_row(3, 4, 5, 6, 2**64 - 1),
    "base beyond 64 bits": compose(BASE, [PATCH], base_size=2**64 - 1),
    "base too short": compose(BASE, [PATCH], base_size=len(BASE) - 1),
    "more elements than may be": compose(BASE, [moved((0, 0), (20, 30), BASE)] * 16 + [PATCH]),
    "patch in a patch": compose(BASE, [moved(stream=compose(PATCH.stream, [Patch((0, 0), (5, 6), PATCH.stream)]))]),
    "patched base": compose(STREAM, [PATCH]),
    "patch of another shape": compose(BASE, [moved(stream=h5stz.compress(smooth(6, 5), lossless=True))]),
    "patch of another rank": compose(BASE, [moved(stream=h5stz.compress(smooth(5, 6, 1), lossless=True))]),
    "patch of another dtype": compose(BASE, [moved(stream=h5stz.compress(smooth(5, 6).view("i4"), lossless=True))]),
    "patch of another byte order": compose(BASE, [moved(stream=h5stz.compress(smooth(5, 6).astype(">f4"), lossless=True))]),
    "bytes behind the base": STREAM + b"\0",
    "patched array without elements": with_crc(
        common_header(h5stz.compress(np.zeros((0, 3), "f4"), lossless=True), PATCHED)
        + varint(1)
        + varint(9)
        + bytes([0, 0, 0, 3, 0, 9])
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_does_not_fit_is_damage(name):
    with grows_less_than(20 << 20):
        assert word_of(h5stz.decompress, DAMAGED[name]) == word_of(read_all, DAMAGED[name]) == "damaged"
    assert word_of(reference_decoder.decode, DAMAGED[name]) == "damaged"


def test_a_base_of_another_shape_type_or_order():
    """The header in front says what the array is; neither part may differ."""
    for base in (h5stz.compress(smooth(30, 20), absolute=0.5), h5stz.compress(smooth(20, 30).astype(">f4"), absolute=0.5)):
        front = compose(BASE, [PATCH], base_size=len(base))
        stream = front[: -len(BASE)] + base
        assert verdict(stream) == "damaged"
        assert word_of(h5stz.info, stream) == "damaged"


@pytest.mark.parametrize("flags", [2, 3, 4, 128, 255])
def test_unknown_flags_are_for_a_later_version(flags):
    assert verdict(with_row(3, 4, 5, 6, SIZE, flags=flags, pattern=bytes(4) if flags & 1 else b"")) == "version"


@pytest.mark.parametrize("width", [0, 1, 2, 3, 5, 8])
def test_a_pattern_has_the_width_of_a_component(width):
    assert verdict(with_row(3, 4, 5, 6, SIZE, flags=1, pattern=bytes(width))) is not None


def test_every_prefix_is_truncated():
    for size in range(4, len(STREAM)):
        assert verdict(STREAM[:size]) == "truncated", size


@pytest.mark.parametrize("base", [BASE, RAW_BASE, CONSTANT_BASE], ids=["blocks", "raw", "constant"])
def test_info_needs_the_header_of_the_base(base):
    stream = compose(base, [PATCH])
    whole, start = _core.info(stream), len(stream) - len(base)
    for size in range(4, len(stream)):
        said = word_of(_core.info, stream[:size])
        assert said in (None, "truncated")
        assert said == "truncated" or size > start
        if said is None:
            assert _core.info(stream[:size]) == whole
    needs_all = base is not BASE
    assert (word_of(_core.info, stream[:-1]) == "truncated") == needs_all


def test_damage_where_nothing_is_read_is_not_noticed():
    """As in streams of blocks: a part has its bits, or there is an error."""
    damaged = bytearray(STREAM)
    damaged[len(STREAM) - len(BASE) - 3] ^= 1  # in the patch
    reader = _core.Reader.of_bytes(bytes(damaged), 0)
    assert boxes.read(reader, "f4", (9, 0), (11, 30)).tobytes() == h5stz.decompress(STREAM)[9:].tobytes()
    with pytest.raises(h5stz.StzError):
        boxes.read(reader, "f4", (7, 9), (1, 1))


def test_a_table_that_promises_much_takes_no_memory():
    base = h5stz.compress(np.zeros((1, 1), "f4"), lossless=True)
    front = b"STZ\x02" + bytes([PATCHED, 2, 1]) + varint(2**50)
    table = front + varint(4096) + varint(len(base)) + (varint(0) + varint(2**50 // 256) + b"\0" + varint(2**40)) * 4096
    for stream in (table, with_crc(table), with_crc(table) + base):
        with grows_less_than(40 << 20):
            assert word_of(_core.info, stream) == word_of(_core.Reader.of_bytes, stream, 0) == "truncated"
        assert word_of(reference_decoder.decode, stream) == "truncated"


def test_patches_that_promise_much_take_no_memory():
    """A request is what memory is taken for, whatever boxes patches have."""
    huge = with_crc(b"STZ\x02" + bytes([1, 2, 1]) + varint(2**50) + bytes(4))
    stream = compose(huge, [Patch((0,), (2**50,), huge)] * 16)
    with grows_less_than(20 << 20):
        reader = _core.Reader.of_bytes(stream, 1 << 60)
        assert boxes.read(reader, "f4", (12345,), (1000,), (2**40,)).tobytes() == bytes(4000)


def with_records(records):
    """A raw, a constant, a blocks and a patched stream with these extension records."""
    raw = h5stz.compress(cases.make("random bits", (4, 5), "f4"), lossless=True)
    for stream in (raw, CONSTANT_BASE, BASE, STREAM):
        yield extended(stream, records)


BOUND = struct.pack("<d", 0.75)
UNKNOWN = struct.pack("<d", np.finfo("f8").max)


def test_records_that_are_known():
    """Record 8 is for streams without loss, record 12 for patched ones."""
    for stream in with_records(record(6, BOUND)):
        assert verdict(stream) is None
        assert h5stz.info(stream).accumulated_bound == 0.75 == reference_decoder.read_header(stream).accumulated_bound
    for stream in with_records(record(6, UNKNOWN)):
        assert verdict(stream) is None and h5stz.info(stream).accumulated_bound == np.inf
        with pytest.raises(h5stz.StzError, match="errors were not recorded"):
            h5stz.decompress(stream, max_error=1e9)
    for stream in with_records(record(8)):
        lossless = (stream[4] >> 2 & 3) == 0
        assert verdict(stream) == (None if lossless else "damaged")
        assert not lossless or (h5stz.info(stream).bound_used and reference_decoder.read_header(stream).bound_used)
    for stream in with_records(record(12, varint(1000))):
        patched = (stream[4] & 3) == 3
        assert verdict(stream) == (None if patched else "damaged")
        assert not patched or reference_decoder.read_header(stream).exact_size == 1000
    info = h5stz.info(STREAM)
    assert (info.accumulated_bound, info.bound_used) == (None, True)


BAD_RECORDS = {
    "falling": record(14) + record(8),
    "twice": record(8) + record(8),
    "tag 0": record(0),
    "beyond the records": varint(14) + varint(3) + b"ab",
    "no length": varint(14),
    "half a tag": b"\x80",
    "bound of 7 bytes": record(6, BOUND[:7]),
    "bound of 9 bytes": record(6, BOUND + b"\0"),
    "no bound": record(6, bytes(8)),
    "negative bound": record(6, struct.pack("<d", -1)),
    "infinite bound": record(6, struct.pack("<d", np.inf)),
    "bound that is no number": record(6, struct.pack("<d", np.nan)),
    "payload of a flag": record(8, b"\0"),
    "size without end": record(12, b"\x80"),
    "size and more": record(12, varint(5) + b"\0"),
    "too long": record(14, bytes(32768)),
    "far too long": record(14, bytes(200000)),
}


@pytest.mark.parametrize("name", BAD_RECORDS)
def test_records_that_are_damaged(name):
    for stream in with_records(BAD_RECORDS[name]):
        assert verdict(stream) == "damaged"


def test_arrays_with_transparent_elements_are_what_they_are_meant_to_be():
    stream = with_pattern(np.random.default_rng(1), (30, 40), "f4", 0)
    share = (words(h5stz.decompress(stream)) == 0).mean()
    assert 0.1 < share <= 1
    base = h5stz.compress(smooth(30, 40), lossless=True)
    patched = [Patch((0, 0), (30, 40), stream, 0)]
    assert exact.same_bits(composed(base, patched), h5stz.decompress(compose(base, patched)))


def test_a_reader_refuses_inner_streams_that_the_table_cuts_short():
    """Parts that need nothing of what is missing are refused like the rest: a stream inside is whole or damaged."""
    base = h5stz.compress(smooth(40, 50), absolute=1e-3)
    patch = Patch((0, 0), (40, 30), h5stz.compress(smooth(40, 30), absolute=1e-3))
    short = Patch(patch.origin, patch.extent, patch.stream[:-9])
    for stream in (compose(base[:-9], [patch]), compose(base, [short])):
        assert word_of(h5stz.decompress, stream) == "damaged"
        assert word_of(coarse, stream) == "damaged"
    assert word_of(coarse, compose(base, [patch])) is None


def coarse(stream):
    """Reads every eighth sample."""
    _core.Reader.of_bytes(stream, 0).read((0, 0), (5, 6), (8, 8), bytearray(5 * 6 * 4), 1)
