"""Streams with precision layers: both decoders, at every precision; what their headers may say."""

import struct

import numpy as np
import pytest

import h5stz
import reference_decoder
from h5stz import _core
from reference_decoder.header import LAYER_ERRORS, LAYERS
from support import boxes, cases, exact
from support.fields import random_field
from support.mutations import Parts
from support.patched_streams import Patch, compose, extended, record
from support.small_streams import STREAMS
from support.stream_bytes import varint
from support.two_decoders import decoded, verdict


def field(*shape, seed=1):
    """A smooth field with a little noise, about -3 to 3."""
    return random_field(shape, 4, seed) + 0.02 * np.random.default_rng(seed).standard_normal(shape)


def read(stream, max_error, request=None):
    """The array, or a part of it, as a reader gives it for this error."""
    info = h5stz.info(stream)
    reader = _core.Reader.of_bytes(stream, 1 << 20)
    reader.max_error(max_error)
    return boxes.read(reader, info.dtype, *(request or ((0,) * len(info.shape), info.shape)))


def agree_at_every_precision(stream):
    """Asserts that both decoders give the same bits with 1, 2 ... layers; returns the layers."""
    layers = h5stz.info(stream).layers
    assert exact.same_bits(h5stz.decompress(stream), reference_decoder.decode(stream, verify=True))
    for layer in layers:
        with_these = read(stream, layer.max_error)
        assert exact.same_bits(with_these, reference_decoder.decode(stream, max_error=layer.max_error))
    return layers


def masked(array, fill, where=np.s_[7:25, 11:40]):
    """The array with a hole."""
    array[where] = fill
    return array


def with_spikes():
    array = field(70, 60)
    array[::7, ::11] *= 1e200
    return array


# name: (function that makes the array, options)
FRESH = {
    "f4_1d": (lambda: field(4000).astype("f4"), {"absolute": 1e-5, "layers": 3}),
    "f4_2d": (lambda: field(60, 70).astype("f4"), {"absolute": 6e-6, "layers": 7}),
    "f4_big_endian_3d": (lambda: field(20, 22, 24).astype(">f4"), {"absolute": 1e-4, "layers": 3}),
    "f8_4d": (lambda: field(7, 8, 9, 10), {"absolute": 1e-5, "layers": 4}),
    "f8_coarse": (lambda: field(60, 70), {"absolute": 0.06, "layers": 2}),
    "f8_fine": (lambda: field(60, 70), {"absolute": 1e-12, "layers": 2}),
    "f8_spikes": (with_spikes, {"absolute": 1e-5, "layers": 3}),
    "f2": (lambda: field(40, 50).astype("f2"), {"absolute": 0.01, "layers": 3}),
    "f2_lossless": (lambda: (9 + field(60, 70)).astype("f2"), {"lossless": True, "layers": 3}),
    "f4_lossless": (lambda: (9 + field(60, 70)).astype("f4"), {"lossless": True, "layers": 7}),
    "f8_lossless": (lambda: 9 + field(60, 70), {"lossless": True, "layers": 2}),
    "c8": (lambda: (field(30, 40) + 1j * field(30, 40, seed=2)).astype("c8"), {"absolute": 1e-4, "layers": 3}),
    "i2": (lambda: (3000 * field(60, 70)).astype("i2"), {"absolute": 3, "layers": 3}),
    "i2_lossless": (lambda: (3000 * field(60, 70)).astype("i2"), {"lossless": True, "layers": 3}),
    "i4": (lambda: (3000 * field(60, 70)).astype("i4"), {"absolute": 3, "layers": 2}),
    "i8_lossless": (lambda: (1e6 * field(60, 70)).astype("i8"), {"lossless": True, "layers": 5}),
    "u8": (lambda: (1e12 * (5 + field(60, 70))).astype("u8"), {"absolute": 1000, "layers": 5}),
    "nan": (lambda: masked(field(60, 70).astype("f4"), np.nan), {"absolute": 1e-4, "layers": 3}),
    "fill_value": (lambda: masked(field(60, 70), -9999), {"absolute": 1e-4, "layers": 3, "fill_value": -9999}),
    "pointwise": (lambda: np.exp(field(60, 70)), {"pointwise_relative": 1e-4, "layers": 3}),
    "blocks": (lambda: field(300, 280).astype("f4"), {"absolute": 1e-3, "layers": 3}),
    "regions": (lambda: field(40, 34, 36).astype("f4"), {"absolute": 1e-4, "layers": 3, "block": "region"}),
    "several_items": (
        lambda: np.stack([field(60, 64, seed=k) for k in range(3)]).astype("f4"),
        {"absolute": 1e-4, "layers": 3},
    ),
}


@pytest.mark.parametrize("name", FRESH)
def test_both_decoders_at_every_precision(name):
    make, options = FRESH[name]
    layers = agree_at_every_precision(h5stz.compress(make(), integers="lossy", **options))
    assert len(layers) == options["layers"]


@pytest.mark.parametrize("name", [name for name in STREAMS if name.startswith("layers")])
def test_small_streams_at_every_precision(name):
    agree_at_every_precision(STREAMS[name][1])


def test_errors_are_those_of_the_layers():
    array = field(60, 70)
    stream = h5stz.compress(array, absolute=1e-5, layers=4)
    for layer in h5stz.info(stream).layers:
        distance = np.abs(read(stream, layer.max_error) - array)
        assert distance.max() <= layer.max_error <= distance.max() * (1 + 1e-15)
        assert np.isclose(np.sqrt(np.mean(distance**2)), layer.rmse, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_reads_of_one_class_alone(dtype):
    """Blocks with a stream for each class: the first class need not be among those that are read."""
    stream = h5stz.compress(np.cumsum(np.cumsum(field(300, 280), 0), 1).astype(dtype), absolute=1e-3, layers=3)
    for layer in h5stz.info(stream).layers:
        whole = read(stream, layer.max_error)
        for start in ((0, 1), (1, 0), (1, 1)):
            request = start, (150, 140), (2, 2)
            assert exact.same_bits(boxes.cut(whole, *request), read(stream, layer.max_error, request)), start


def test_a_patched_stream():
    base = h5stz.compress(field(60, 70).astype("f4"), absolute=1e-4, layers=3, fill_value=False)
    stream = compose(base, [Patch((2, 3), (4, 5), h5stz.compress(np.ones((4, 5), "f4"), lossless=True))])
    assert len(agree_at_every_precision(stream)) == 3


# What headers say

PLAIN = h5stz.compress(cases.make("rough", (50, 60), "f4"), absolute=3.0, fill_value=False, content_check=False)
LAYERED = h5stz.compress(cases.make("rough", (50, 60), "f4"), absolute=0.1, layers=3, fill_value=False, content_check=False)


def layers_record(*bits, refinements=None):
    """Record 1: bits of each refinement, then those that are missing."""
    return record(
        LAYERS,
        varint(len(bits) - 1 if refinements is None else refinements) + varint(len(bits[0])) + b"".join(map(bytes, bits)),
    )


def errors_record(*errors):
    """Record 10 of pairs of doubles."""
    return record(LAYER_ERRORS, b"".join(struct.pack("<2d", *pair) for pair in errors))


def test_missing_bits_stand_for_their_middle():
    """A stream whose lowest bits are missing, all of whose sections are those of a plain one."""
    array = h5stz.decompress(PLAIN)
    stream = extended(PLAIN, layers_record([2]))
    coarse = decoded(stream)
    assert not exact.same_bits(array, coarse)
    assert exact.same_bits(coarse, read(stream, 0))
    assert h5stz.info(stream).layers[0].max_error is None


WRONG = {
    "no levels": layers_record([]),
    "more levels than there are sections": layers_record([1] * 9),
    "no bits": layers_record([0]),
    "a refinement of no bits": layers_record([1], [0], [0]),
    "too many refinements": layers_record(*[[1]] * 8),
    "a number of refinements that does not fit": layers_record([1], [0], refinements=2),
    "more bits than codes have": layers_record([31]),
    "bytes behind the record": record(LAYERS, bytes([0, 1, 1, 0])),
    "errors of other layers": layers_record([1]) + errors_record((1, 1), (1, 1)),
    "errors of no layers": errors_record((1, 1), (1, 1)),
    "half an error": layers_record([1]) + record(LAYER_ERRORS, bytes(8)),
    "a negative error": layers_record([1]) + errors_record((-1, 1)),
    "an error that is no number": layers_record([1]) + errors_record((1, np.nan)),
}


@pytest.mark.parametrize("name", WRONG)
def test_headers_that_are_damaged(name):
    assert verdict(extended(PLAIN, WRONG[name])) == "damaged"


@pytest.mark.parametrize("errors", [(np.inf, np.inf), (0, 0), (7.5, 1)])
def test_errors_of_the_only_layer(errors):
    for layers in (b"", layers_record([1])):
        stream = extended(PLAIN, layers + errors_record(errors))
        decoded(stream)
        assert h5stz.info(stream).layers[0].max_error == (None if np.isinf(errors[0]) else errors[0])


def test_other_forms_have_no_layers():
    for stream in (STREAMS["raw"][1], STREAMS["constant"][1], compose(PLAIN, [Patch((0, 0), (50, 60), PLAIN)])):
        for records in (layers_record([1]), errors_record((1, 1))):
            assert verdict(extended(stream, records)) == "damaged"


def test_edge_mode_has_no_layers():
    assert verdict(extended(STREAMS["edges"][1], layers_record([1]))) == "damaged"


def test_no_error_is_no_reason_to_read_fewer_layers():
    """Zeros of both signs have no distance."""
    stream = extended(LAYERED, errors_record((0, 0), (0, 0), (0, 0)))
    assert exact.same_bits(h5stz.decompress(stream), read(stream, 0))


def test_errors_from_before_count():
    """What the elements had lost before they were compressed is added to the errors of layers."""
    stream = extended(LAYERED, record(6, struct.pack("<d", 5.0)))
    error = h5stz.info(stream).layers[0].max_error
    for max_error, with_first in ((error + 4.8, False), (error + 5.0, True)):
        got = read(stream, max_error)
        assert exact.same_bits(got, reference_decoder.decode(stream, max_error=max_error))
        assert exact.same_bits(got, read(LAYERED, error)) == with_first


def test_an_outlier_in_a_refinement_is_damage():
    """The codes of a refinement swapped with those of the level's own section, which are as long as they like."""
    parts = Parts(LAYERED)
    own, refined = 0, len(parts.levels) // 3
    parts.levels[own], parts.levels[refined] = parts.levels[refined], parts.levels[own]
    assert verdict(parts.whole()) in ("damaged", "version")
