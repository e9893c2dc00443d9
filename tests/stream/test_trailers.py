"""Trailers, bytes behind a stream that this version skips, in streams of every form; names of unknown critical records."""

import threading

import numpy as np
import pytest

import h5stz
import reference_decoder
from h5stz import _core
from support import boxes, exact
from support.patched_streams import Patch, compose, extended, record
from support.small_streams import STREAMS_WITHOUT_TRAILER
from support.stream_bytes import varint, with_crc
from support.two_decoders import decoded, verdict, word_of

BASE = h5stz.compress(np.linspace(0, 9, 600, dtype="f4").reshape(20, 30), absolute=0.1, fill_value=False, content_check=False)
PATCH = Patch((2, 3), (4, 5), h5stz.compress(np.ones((4, 5), "f4"), lossless=True))
PLAIN = {name: stream for name, (_, stream) in STREAMS_WITHOUT_TRAILER.items()} | {"patched": compose(BASE, [PATCH])}
RECORDS = record(14, b"of a later version") + record(12345677, b"odd, and yet not critical")


def with_trailer(stream, trailer, size=None):
    """The stream with a record that says how long the trailer is, and the trailer."""
    return extended(stream, record(2, varint(len(trailer) if size is None else size)), trailer)


def code_of(function, *arguments):
    with pytest.raises(h5stz.StzError) as caught:
        function(*arguments)
    return caught.value.code


def read_all(stream):
    reader = _core.Reader.of_bytes(stream, 0)
    info = h5stz.info(stream)
    return boxes.read(reader, info.dtype, (0,) * len(info.shape), info.shape)


@pytest.mark.parametrize("name", PLAIN)
def test_a_trailer_is_skipped(name):
    """Sound ones, junk of a later version, and the least that a trailer may be."""
    trailer = (with_crc(RECORDS), b"junk of a later version", bytes(4))[list(PLAIN).index(name) % 3]
    stream = with_trailer(PLAIN[name], trailer)
    array = h5stz.decompress(PLAIN[name])
    assert exact.same_bits(decoded(stream), array)
    assert exact.same_bits(read_all(stream), array)
    info, plain = h5stz.info(stream), h5stz.info(PLAIN[name])
    grown = len(stream) - len(trailer) - len(PLAIN[name])
    assert info.level_bytes == tuple(size + grown for size in plain.level_bytes)


@pytest.mark.parametrize("name", PLAIN)
def test_a_trailer_of_another_size(name):
    trailer = with_crc(RECORDS)
    for size, word in ((len(trailer) + 1, "STZ_ERROR_TRUNCATED"), (2**63, "STZ_ERROR_TRUNCATED"), (4, "STZ_ERROR_CORRUPT")):
        stream = with_trailer(PLAIN[name], trailer, size)
        assert code_of(h5stz.decompress, stream) == _core.ERROR_CODES[word], size
        with pytest.raises(reference_decoder.Damaged):
            reference_decoder.decode(stream)
    for size in (0, 3, 2**64 - 1):
        assert verdict(with_trailer(PLAIN[name], trailer, size)) == "damaged", size


def test_streams_inside_a_patched_one_have_trailers_of_their_own():
    trailer = with_crc(RECORDS)
    patch = Patch(PATCH.origin, PATCH.extent, with_trailer(PATCH.stream, trailer))
    stream = with_trailer(compose(with_trailer(BASE, trailer), [patch]), trailer)
    assert exact.same_bits(decoded(stream), h5stz.decompress(PLAIN["patched"]))
    assert exact.same_bits(read_all(stream), h5stz.decompress(PLAIN["patched"]))


FEATURES = {
    3: r"a later syntax of sections \(critical record 3\)",
    21: r"a feature without a name yet \(critical record 21\)",
    4711: r"critical record 4711",
    2**64 - 1: rf"critical record {2**64 - 1}",
}


@pytest.mark.parametrize("name", PLAIN)
def test_an_unknown_critical_record_is_named(name):
    tag = list(FEATURES)[list(PLAIN).index(name) % len(FEATURES)]
    stream = extended(PLAIN[name], record(tag, b"abc") + (record(tag + 1) if tag < 2**63 else b""))
    for call in (h5stz.decompress, h5stz.info, lambda data: _core.Reader.of_bytes(data, 0)):
        with pytest.raises(h5stz.StzError, match=f"newer version.*{FEATURES[tag]}"):
            call(stream)
    with pytest.raises(reference_decoder.NewerVersion):
        reference_decoder.decode(stream)


def test_it_is_named_inside_a_patched_stream():
    later = Patch(PATCH.origin, PATCH.extent, extended(PATCH.stream, record(21)))
    for stream in (compose(extended(BASE, record(21)), [PATCH]), compose(BASE, [later])):
        with pytest.raises(h5stz.StzError, match="record 21"):
            h5stz.decompress(stream)


def test_another_version_is_named():
    with pytest.raises(h5stz.StzError, match="format version 200; this library reads version"):
        h5stz.decompress(BASE[:3] + bytes([200]) + BASE[4:])


def test_a_nest_of_patched_streams_is_not_followed():
    """What is missing is looked for in the streams inside a patched one, but no deeper: here on a stack of 256 KiB."""
    base = extended(h5stz.compress(np.zeros((4, 5), "f4"), absolute=0.5), record(21))
    stream = base
    for _ in range(3000):
        stream = compose(base, [Patch((0, 0), (4, 5), stream)])
    said = []
    before = threading.stack_size(256 << 10)
    try:
        thread = threading.Thread(target=lambda: said.append(word_of(h5stz.decompress, stream)))
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    assert said == ["version"]
