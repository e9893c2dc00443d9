"""Client data and chunk against stream: every disagreement is an error, or changes nothing of what is read.

A chunk is written past the filter (H5Dwrite_chunk) into a dataset whose client data, type or extents say something else.
"""

import struct

import h5py
import numpy as np
import pytest

import h5stz
from support.hostile_streams import constant, raw

SHAPE = (6, 8)
ARRAY = np.arange(48, dtype="<f4").reshape(SHAPE) / 7
STREAM = h5stz.compress(ARRAY, lossless=True)


def filtered(path, words=None, stream=STREAM):
    """A file with a dataset x of one chunk, which is `stream`, whose client data were changed to these words in the file.

    There are at most as many of them as the filter gives; None: these.
    """
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("x", SHAPE, "<f4", chunks=SHAPE, **h5stz.STZ(lossless=True))
        stored = properties_words(dataset)
        dataset.id.write_direct_chunk((0, 0), stream)
    if words is not None:
        # The message of the filter: its number, the length of its name, flags, how many words; name; words.
        content = path.read_bytes()
        parts = content.split(b"h5stz\0\0\0" + struct.pack(f"<{len(stored)}I", *stored))
        assert len(parts) == 2 and parts[0][-2:] == struct.pack("<H", len(stored))
        fitted = [*words, *[0] * (len(stored) - len(words))]
        written = struct.pack("<H", len(words)) + b"h5stz\0\0\0" + struct.pack(f"<{len(stored)}I", *fitted)
        path.write_bytes(parts[0][:-2] + written + parts[1])
        with h5py.File(path) as file:
            assert properties_words(file["x"]) == tuple(words)
    return path


def properties_words(dataset):
    """The client data that a dataset has."""
    return dataset.id.get_create_plist().get_filter(0)[2]


def outcome(path):
    """What h5py and a view make of it: the bytes they read, or "error"; they must not differ where both read."""
    found = []
    with h5py.File(path) as file:
        for read in (lambda: file["x"][...], lambda: h5stz.view(file["x"])[...]):
            try:
                found.append(read().tobytes())
            except (OSError, h5stz.StzError):
                found.append("error")
    if "error" not in found:
        assert found[0] == found[1]
    return found[0]


VALUES = [0, 1, 2, 5, 31, 127, 2**16, 2**31, 2**32 - 1]


def test_every_field(tmp_path):
    """Each word in turn has another value: client data say less, or something else, but never other samples."""
    with h5py.File(filtered(tmp_path / "x.h5")) as file:
        words, read = list(properties_words(file["x"])), 0
    assert outcome(tmp_path / "x.h5") == ARRAY.tobytes()
    for place in range(len(words)):
        for value in {*VALUES, words[place] + 1, words[place] ^ 1} - {words[place]}:
            changed = [*words[:place], value % 2**32, *words[place + 1 :]]
            found = outcome(filtered(tmp_path / "x.h5", changed))
            assert found in ("error", ARRAY.tobytes()), (place, value)
            read += found != "error"
    assert 0 < read < len(words) * len(VALUES)


@pytest.mark.parametrize("words", [(), (101,), (103, 1), (7,) * 3, (2**32 - 1,) * 5])
def test_client_data_that_say_nothing(tmp_path, words):
    assert outcome(filtered(tmp_path / "x.h5", words)) in ("error", ARRAY.tobytes())


OTHERS = {
    "another type": h5stz.compress(ARRAY.astype("f8")[:3], lossless=True),
    "another kind": h5stz.compress(ARRAY.view("i4"), lossless=True),
    "another byte order": h5stz.compress(ARRAY.astype(">f4"), lossless=True),
    "other extents": h5stz.compress(ARRAY.reshape(8, 6), lossless=True),
    "another rank": h5stz.compress(ARRAY.reshape(-1), lossless=True),
    "fewer samples": h5stz.compress(ARRAY[:5], lossless=True),
    "more samples": h5stz.compress(np.zeros((60, 80), "f4"), lossless=True),
    "no samples": h5stz.compress(ARRAY[:0], lossless=True),
    "terabytes": constant((2**52,)),
    "terabytes beside nothing": raw((2**55, 0)),
    "32 axes": constant((1,) * 30 + SHAPE, "|u1"),
    "no stream": b"STZ",
    "nothing": b"\0",
}


@pytest.mark.parametrize("words", ["full", "none"])
@pytest.mark.parametrize("name", OTHERS)
def test_streams_of_other_arrays(tmp_path, name, words):
    """With client data that say what a chunk is they are refused; with none HDF5 may take the same number of bytes."""
    given = None if words == "full" else ()
    found = outcome(filtered(tmp_path / "x.h5", given, stream=OTHERS[name]))
    same_bytes = name in ("another kind", "another byte order", "other extents", "another rank")
    assert found == "error" or (words == "none" and (same_bytes or len(found) == ARRAY.nbytes))
    if words == "full":
        assert found == "error"


def test_axes_of_one_sample_do_not_count(tmp_path):
    stream = h5stz.compress(ARRAY.reshape(1, 6, 1, 8), lossless=True)
    assert outcome(filtered(tmp_path / "x.h5", stream=stream)) == ARRAY.tobytes()


@pytest.mark.parametrize("extents", [(2, 2), (3, 8), (6, 9), (60, 80)], ids=str)
def test_a_view_refuses_client_data_that_lie_together_with_the_stream(tmp_path, extents):
    """The filter is not told of the dataset and believes them; HDF5 takes the bytes that it expects (docs/guarantees.md)."""
    array = np.ones(extents, "<f4")
    with h5py.File(filtered(tmp_path / "x.h5")) as file:
        words = list(properties_words(file["x"]))
    assert tuple(words[-2:]) == SHAPE
    lie = filtered(tmp_path / "x.h5", [*words[:-2], *extents], h5stz.compress(array, lossless=True))
    with h5py.File(lie) as file, pytest.raises(h5stz.StzError):
        h5stz.view(file["x"])[...]
