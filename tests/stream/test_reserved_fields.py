"""What the format holds for later versions: today's reader takes what it knows and names the version for the rest."""

import numpy as np
import pytest

import h5stz
from support.stream_bytes import header_size, with_crc

HOW = 4 + 3 + 2 + 8  # magic and version; kind, type, rank; two extents below 128; bound
FLAGS = HOW + 1
LAYERS = 128


def small_stream():
    """An array, its stream (a root section alone) and how many levels it has."""
    array = np.random.default_rng(1).normal(size=(6, 10)).astype("<f4")
    stream = h5stz.compress(array, absolute=1e-3)
    assert stream[FLAGS] == 0
    assert h5stz.info(stream).levels == 1
    return array, stream, 4  # 6 x 10, 3 x 5, 2 x 3, 1 x 2


def with_header(stream, change):
    """The stream with its header changed and the header's check made to fit."""
    size = header_size(stream, FLAGS + 2)
    header = bytearray(stream[:size])
    change(header)
    return with_crc(header) + stream[size + 4 :]


def with_layers(stream, counts):
    """The stream with a number of layers for each level."""

    def change(header):
        header[FLAGS] |= LAYERS
        header[FLAGS + 1 : FLAGS + 1] = bytes(counts)

    return with_header(stream, change)


def test_one_layer_for_each_level_is_what_there_is_today():
    array, stream, levels = small_stream()
    decoded = h5stz.decompress(with_layers(stream, [1] * levels))
    np.testing.assert_array_equal(decoded, h5stz.decompress(stream))
    assert np.abs(decoded - array).max() <= 1e-3


@pytest.mark.parametrize("count", [0, 2, 255])
def test_more_layers_are_for_a_later_version(count):
    _, stream, levels = small_stream()
    with pytest.raises(h5stz.StzError, match="newer version"):
        h5stz.decompress(with_layers(stream, [1] * (levels - 1) + [count]))


@pytest.mark.parametrize("bits", [3, 3 << 2, 9 << 4])
def test_unknown_samples_quantisers_and_transforms_are_for_a_later_version(bits):
    _, stream, _ = small_stream()

    def change(header):
        header[HOW] |= bits

    with pytest.raises(h5stz.StzError, match="newer version"):
        h5stz.decompress(with_header(stream, change))
