"""The content check, CRCs of what each block decodes to: both decoders find what the encoder writes and refuse what differs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz
import reference_decoder
from h5stz import _core
from support import boxes, cases, exact
from support.fields import random_field
from support.mutations import Parts
from support.patched_streams import Patch, compose, extended, record, without_trailer
from support.small_streams import STREAMS, STREAMS_WITHOUT_TRAILER
from support.stream_bytes import varint, with_crc
from support.two_decoders import decoded, word_of

IN_BLOCKS = [name for name, (_, stream) in STREAMS.items() if stream[4] & 3 == 2]
CONTENT = _core.ERROR_CODES["STZ_ERROR_CONTENT"]


def trailer_of(stream):
    return stream[len(without_trailer(stream)) :]


def checks_of(stream):
    """The CRCs that a stream has, read by hand."""
    trailer = trailer_of(stream)
    assert trailer == with_crc(trailer[:-4]) and trailer[0] == 4
    size = len(varint(len(trailer) - 5 - len(varint(len(trailer)))))
    return np.frombuffer(trailer[1 + size : -4], "<u4").tolist()


def with_checks(stream, payload, before=b"", behind=b""):
    """The stream with another payload of record 4, and other records beside it."""
    trailer = with_crc(before + record(4, payload) + behind)
    return extended(stream, record(2, varint(len(trailer))), trailer)


def read_all(stream, verify=True):
    reader = _core.Reader.of_bytes(stream, 0)
    reader.verify(verify)
    info = h5stz.info(stream)
    return boxes.read(reader, info.dtype, (0,) * len(info.shape), info.shape)


def verified_again(stream):
    """By the second decoder."""
    return reference_decoder.decode(stream, verify=True)


def crc_of(array):
    return reference_decoder.crc(array.astype(array.dtype.newbyteorder("<")).tobytes())


@pytest.mark.parametrize("name", STREAMS)
def test_what_is_written_is_what_is_found(name):
    array, stream = STREAMS[name]
    compared = h5stz.verify(stream)
    assert h5stz.info(stream).content_check == (name in IN_BLOCKS) == (compared > 0)
    assert exact.same_bits(array, h5stz.decompress(stream, verify=True))
    assert exact.same_bits(array, read_all(stream))
    assert exact.same_bits(array, reference_decoder.decode(stream, verify=True))
    if name in IN_BLOCKS:
        assert len(checks_of(stream)) == compared


@pytest.mark.parametrize("name", STREAMS)
def test_without_one(name):
    """The rest of the stream is the same but for the record that speaks of the trailer."""
    (_, stream), (_, plain) = STREAMS[name], STREAMS_WITHOUT_TRAILER[name]
    assert reference_decoder.read_header(plain).trailer_size == 0 == h5stz.verify(plain)
    assert h5stz.info(plain).content_check is False
    size = reference_decoder.read_header(plain).size if name in IN_BLOCKS else 0
    assert not size or without_trailer(stream).endswith(plain[size:])
    assert size or stream == plain


def test_blocks_by_hand():
    """Blocks in C order, items one after the other, components in little-endian order, without the padding."""
    array = np.zeros((2, 3, 40, 70, 75), ">f4")
    array[..., :72] = cases.make("rough", (2, 3, 40, 70, 72), ">f4")
    stream = h5stz.compress(array, absolute=1.0, fill_value=False, block="region")
    header = reference_decoder.read_header(stream)
    whole = h5stz.decompress(stream)[..., :72]
    extent, block = header.levels[0].extent, header.blocks[0]
    items = whole.reshape(header.batch, *extent)
    corners = list(itertools.product(*(range(0, n, b) for n, b in zip(extent, block, strict=True))))
    assert len(corners) > 3 and header.batch > 1
    found = [
        crc_of(item[tuple(slice(at, at + b) for at, b in zip(corner, block, strict=True))])
        for item in items
        for corner in corners
    ]
    assert checks_of(stream) == found


def test_a_level_0_in_the_base_section_counts_as_a_block_of_each_item():
    array = cases.make("smooth", (13, 20), "c16")
    stream = h5stz.compress(array, absolute=0.5, fill_value=False, content_check=True)
    assert reference_decoder.read_header(stream).base_level in (0, 1)
    small = h5stz.compress(cases.make("smooth", (12, 10), "c16"), absolute=0.5, fill_value=False, content_check=True)
    assert reference_decoder.read_header(small).base_level == 0
    whole = h5stz.decompress(small)
    assert checks_of(small) == [crc_of(whole.real.copy()), crc_of(whole.imag.copy())]


@given(st.data())
def test_any_array(data):
    """Every dtype, mode, shape, mask; threads and blocks. The reference decoder where it is quick."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    shape = data.draw(
        st.sampled_from([(700,), (40, 50), (17, 18, 19), (5, 6, 7, 8), (30, 11, 3, 3), (900, 2), (3, 2, 4, 5, 9)])
    )
    array = cases.make(data.draw(st.sampled_from(sorted(cases.PATTERNS))), shape, data.draw(st.sampled_from(cases.DTYPES)))
    if array.dtype.kind in "fc":
        share = data.draw(st.sampled_from([0, 0, 0.02, 0.4]))
        array[rng.random(shape) < share] = np.nan
        array[rng.random(shape) < share / 8] = -np.inf
        bits = array.reshape(-1).view(f"{array.dtype.str[0]}u{cases.number_type(array.dtype).itemsize}")
        bits[rng.random(bits.size) < share / 8] += 1
    if data.draw(st.booleans()):
        array[len(array) // 2 :] = array.flat[-1]
    bound = data.draw(
        st.sampled_from([{"absolute": 0.5}, {"absolute": 30.0}, {"lossless": True}, {"pointwise_relative": 0.01}])
    )
    if "pointwise_relative" in bound and array.dtype.kind not in "fc":
        bound = {"absolute": 2.0}
    options = bound | {
        "block": data.draw(st.sampled_from(["default", "region"])),
        "integers": "lossy",
        "fill_value": False,
        "content_check": True,
    }
    stream = h5stz.compress(array, **options)
    assert h5stz.compress(array, threads=3, **options) == stream
    assert (h5stz.verify(stream, threads=2) > 0) == (stream[4] & 3 == 2)
    assert exact.same_bits(read_all(stream), h5stz.decompress(stream))
    if array.size <= 2000:
        decoded(stream)


def test_large_fields_on_all_paths():
    """Blocks that are walked through plane by plane, and those that were coded to fit their parameters; with outliers."""
    for shape in ((130, 131, 70), (64, 64, 64), (700, 701)):
        array = random_field(shape, 4, 1).astype("f4")
        array.flat[:: array.size // 50] *= 1e6
        for absolute in (1e-1, 1e-4):
            stream = h5stz.compress(array, absolute=absolute, fill_value=False, threads=2)
            assert h5stz.verify(stream) == len(checks_of(stream))
            whole = h5stz.decompress(stream, verify=True)
            assert exact.same_bits(read_all(stream), whole)


@pytest.mark.parametrize("name", IN_BLOCKS)
def test_another_value_is_refused(name):
    array, stream = STREAMS[name]
    checks = checks_of(stream)
    for place in {0, len(checks) - 1, len(checks) // 2}:
        changed = checks.copy()
        changed[place] ^= 1 << place % 32
        damaged = with_map_kept(stream, np.array(changed, "<u4").tobytes())
        assert exact.same_bits(h5stz.decompress(damaged), array)  # who does not check does not notice
        assert exact.same_bits(read_all(damaged, verify=False), array)
        for call in (h5stz.verify, lambda data: h5stz.decompress(data, verify=True), read_all):
            with pytest.raises(h5stz.StzError, match="not those that the writer saw") as caught:
                call(damaged)
            assert caught.value.code == CONTENT
    with pytest.raises(reference_decoder.Different):
        reference_decoder.decode(damaged, verify=True)


def with_map_kept(stream, payload):
    """The stream with another payload of record 4 of the same size."""
    trailer = trailer_of(stream)
    return without_trailer(stream) + with_crc(trailer[: -4 - len(payload)] + payload)


def test_sections_of_another_stream():
    """Streams of the same structure, each section whole, decode to other data: only the content check tells."""
    field = cases.make("rough", (90, 100), "f4")
    streams = [h5stz.compress(array, absolute=2.0, fill_value=False) for array in (field, field + np.float32(64))]
    stream, spliced = Parts(streams[0]), Parts(streams[0])
    spliced.base = Parts(streams[1]).base
    assert stream.base != spliced.base
    spliced = spliced.whole()
    assert np.abs(decoded(spliced) - field).max() > 32
    assert word_of(h5stz.verify, streams[0]) is None
    assert word_of(h5stz.verify, spliced) == "content" == word_of(verified_again, spliced)


@pytest.mark.parametrize("name", IN_BLOCKS)
def test_a_record_of_another_length(name):
    stream = STREAMS_WITHOUT_TRAILER[name][1]
    payload = trailer_of(STREAMS[name][1])[2:-4][-4 * len(checks_of(STREAMS[name][1])) :]
    assert word_of(h5stz.verify, with_checks(stream, payload)) is None
    for wrong in (b"", payload[:-1], payload[:-4], payload + b"\0", payload + bytes(4), payload * 3):
        damaged = with_checks(stream, wrong)
        assert word_of(h5stz.decompress, damaged) is None
        for call in (h5stz.verify, read_all):
            assert word_of(call, damaged) == "damaged", len(wrong)
    assert word_of(verified_again, damaged) == "damaged"


def test_other_records_of_the_trailer_are_skipped():
    stream = h5stz.compress(cases.make("smooth", (30, 31), "f4"), absolute=0.5, fill_value=False, content_check=True)
    payload = np.array(checks_of(stream), "<u4").tobytes()
    for more in ({"before": record(1, b"odd, and not critical")}, {"behind": record(4711) + record(4712, bytes(300))}):
        assert h5stz.verify(with_checks(stream, payload, **more)) == 1
        assert h5stz.info(with_checks(stream, payload, **more)).content_check
        decoded(with_checks(stream, payload, **more))
    alone = with_crc(record(10, b"errors"))
    assert h5stz.verify(extended(stream, record(2, varint(len(alone))), alone)) == 0
    for wrong in (with_crc(record(4, payload) + record(4, payload)), with_crc(record(4, payload)[:-1]), bytes(30)):
        damaged = extended(stream, record(2, varint(len(wrong))), wrong)
        assert word_of(h5stz.verify, damaged) in ("damaged", "checksum")
        assert h5stz.info(damaged).content_check is None
        decoded(damaged)


def test_patched_streams():
    """Each stream inside has its own."""
    base = h5stz.compress(cases.make("smooth", (40, 50), "f4"), absolute=0.5, fill_value=False, content_check=True)
    patch = h5stz.compress(cases.make("rough", (20, 21), "f4"), absolute=0.5, fill_value=False, content_check=True)
    stream = compose(base, [Patch((3, 4), (20, 21), patch)])
    assert h5stz.verify(stream) == 2 and h5stz.info(stream).content_check
    assert exact.same_bits(read_all(stream), decoded(stream))
    bad_patch = with_map_kept(patch, bytes(4))
    for damaged in (
        compose(with_map_kept(base, bytes(4)), [Patch((3, 4), (20, 21), patch)]),
        compose(base, [Patch((3, 4), (20, 21), bad_patch)]),
    ):
        for call in (h5stz.verify, read_all, verified_again):
            assert word_of(call, damaged) == "content"
        assert word_of(h5stz.decompress, damaged) is None


def test_rewritten_arrays():
    array = h5stz.decompress(
        h5stz.compress(cases.make("smooth", (60, 70), "f4"), absolute=0.5, fill_value=False, content_check=True)
    )
    stream = h5stz.compress(array, absolute=0.5, fill_value=False, content_check=True)
    array = h5stz.decompress(stream)
    array[5:20, 30:50] += 3
    again = h5stz.rewrite(array, stream, absolute=0.5, fill_value=False, content_check=True)
    assert h5stz.verify(again) >= 1 and exact.same_bits(read_all(again), h5stz.decompress(again))


def test_parts_check_the_blocks_that_they_decode_wholly():
    stream, whole = boxes.volume((96, 90, 100), "region")
    checks = checks_of(stream)
    block = reference_decoder.read_header(stream).blocks[0]
    changed = np.array([check ^ (number == 0) for number, check in enumerate(checks)], "<u4").tobytes()
    reader = _core.Reader.of_bytes(with_map_kept(stream, changed), 0)
    reader.verify(True)

    def read(start, count, step=(1, 1, 1)):
        return boxes.read(reader, "f4", start, count, step)

    corner = tuple(block[1:])
    with pytest.raises(h5stz.StzError) as caught:
        read((0, 0, 0), corner)
    assert caught.value.code == CONTENT
    elsewhere = tuple(extent - size for extent, size in zip(whole.shape, corner, strict=True))
    read(elsewhere, corner)
    read((0, 0, 0), (3, 3, 3), (8, 8, 8))  # a coarser level
    reader.verify(False)
    assert read((0, 0, 0), corner).tobytes() == whole[tuple(map(slice, corner))].tobytes()


def test_a_prefix_cannot_be_checked():
    stream = STREAMS["float32"][1]
    prefix = stream[: h5stz.info(stream).level_bytes[0]]
    for verify, word in ((False, None), (True, "truncated")):
        reader = _core.Reader.of_bytes(prefix, 0)
        reader.verify(verify)
        assert word_of(boxes.read, reader, "f4", (0, 0, 0), (13, 14, 15)) == word
        boxes.read(reader, "f4", (0, 0, 0), (2, 2, 2), (8, 8, 8))


def test_plans_have_the_trailer():
    stream = STREAMS["float32"][1]
    asked = []

    def read(offset, size):
        asked.append((offset, size))
        return stream[offset : offset + size]

    reader = _core.Reader.of_callback(read, len(stream), 0)
    reader.verify(True)
    request = (0, 0, 0), (13, 14, 15), (1, 1, 1)
    planned = reader.plan(*request)
    asked.clear()
    boxes.read(reader, "f4", *request)
    covered = lambda ranges: {byte for offset, size in ranges for byte in range(offset, offset + size)}  # noqa: E731
    assert covered(planned) == covered(asked) and len(stream) - 1 in covered(asked)


def test_reads_of_what_is_held_need_no_trailer():
    """Of blocks or columns: such a read fetches nothing, as its plan says, and works in a prefix without the trailer."""
    stream, whole = boxes.volume((64, 64, 64), "region")
    prefix, asked = stream[: h5stz.info(stream).level_bytes[0]], []
    assert len(prefix) < len(stream)

    def read(offset, size):
        asked.append((offset, size))
        return prefix[offset : offset + size]

    block, columns, elsewhere = ((0, 0, 0), (9, 9, 9)), ((0, 0, 14), (64, 64, 1)), ((40, 40, 40), (9, 9, 9))
    for held, before in ((block, []), (columns, [((0, 0, 12), (64, 64, 1))])):
        reader = _core.Reader.of_callback(read, len(prefix), 1 << 26)
        for request in (*before, held):
            boxes.read(reader, "f4", *request)
        reader.verify(True)
        asked.clear()
        assert reader.plan(*held, (1, 1, 1)) == [] == asked
        assert boxes.read(reader, "f4", *held).tobytes() == boxes.cut(whole, *held, (1, 1, 1)).tobytes()
        assert asked == [] and reader.stats()["cached_bytes"]
    reader = _core.Reader.of_callback(read, len(prefix), 1 << 26)
    boxes.read(reader, "f4", *block)
    reader.verify(True)
    assert word_of(boxes.read, reader, "f4", *elsewhere) == "truncated"


def test_by_default_where_it_is_cheap():
    """Samples that are elements as they are, in streams of which it takes at most a 300th."""
    smooth = cases.make("smooth", (60, 70), "f8") + 1e4
    assert not h5stz.info(h5stz.compress(smooth, absolute=0.5)).content_check
    smooth = cases.make("rough", (300, 200), "f8")
    cheap = [(dtype, {"absolute": 0.5}) for dtype in ("f4", ">f8", "c8")] + [("f8", {"lossless": True})]
    for dtype, options in cheap:
        array = cases.make("smooth", (300, 200), "f8") + 1e4 if "lossless" in options else smooth
        assert h5stz.info(h5stz.compress(array.astype(dtype), fill_value=False, **options)).content_check, dtype
    dear = [("i2", {"lossless": True}), ("f2", {"absolute": 20.0}), ("f4", {"pointwise_relative": 0.1})]
    above_zero = np.abs(smooth) + 1
    for dtype, options in dear:
        array = above_zero.astype(dtype)
        assert not h5stz.info(h5stz.compress(array, fill_value=False, **options)).content_check, dtype
        assert h5stz.info(h5stz.compress(array, fill_value=False, content_check=True, **options)).content_check


def test_a_limit_of_memory():
    stream = h5stz.compress(np.zeros((100, 100), "f4") + np.arange(100, dtype="f4"), absolute=0.1)
    with pytest.raises(h5stz.StzError, match="max_bytes"):
        h5stz.verify(stream, max_bytes=1000)
