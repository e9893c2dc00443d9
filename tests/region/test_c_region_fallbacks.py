"""What region reads from C leave to HDF5, datasets or single chunks of them; errors of both on the error stack."""

import h5py
import numpy as np
import pytest

import h5stz
from support.host_tools import run
from support.paths import PROGRAMS
from support.region_program import box, printed, read_direct, smooth


@pytest.mark.parametrize("memory", ["packed", "all", "spread"])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_missing_chunks_are_fill_values(region_reader, region_file, memory, kind):
    result = read_direct(region_reader, region_file, "sparse", *box((1, 2), (40, 60)), memory, "type", kind)
    assert (result["direct"], result["missing"], result["chunks_through"]) == (1, 8, 0)


def test_raw_edge_chunk_that_looks_like_a_stream(tmp_path, region_reader):
    """The property decides, not the bytes."""
    run("h5cc", "-shlib", "-o", tmp_path / "writer", PROGRAMS / "filter.c", directory=tmp_path)
    run(tmp_path / "writer", tmp_path / "f.h5", 0.01, "rawedges")
    stream = h5stz.compress(smooth((16, 24)), absolute=1e-2)
    raw = stream.ljust(16 * 24 * 4, b"\0")
    with h5py.File(tmp_path / "f.h5", "a") as file:
        file["field"][48:50, 0:24] = np.frombuffer(raw, "f4").reshape(16, 24)[:2]
    read_direct(region_reader, tmp_path / "f.h5", "field", *box((40, 0), (10, 30)))


def test_chunk_without_the_filter_that_looks_like_a_stream(tmp_path, region_reader):
    """Its filter mask decides, not the bytes."""
    raw = h5stz.compress(smooth((16, 24)), absolute=1e-2).ljust(16 * 24 * 4, b"\0")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        options = h5stz.STZ(absolute=1e-2)
        field = file.create_dataset("field", data=smooth((32, 48)), chunks=(16, 24), **options)
        file.flush()
        field.id.write_direct_chunk((0, 24), raw, 1)
    read_direct(region_reader, tmp_path / "f.h5", "field", *box((0, 0), (30, 40)))


def test_errors_of_hdf5_stay_on_the_stack(region_reader, region_file):
    """Also over the closing of what a level's read opens."""
    for words in (["level", 1, "0,0,0", "5,5,5"], box((0, 0, 0), (5, 5, 5))):
        shown = printed(run(region_reader, region_file, "d", *words, "type", "c8", "broken"))
        assert shown["reason"] == "TYPE" and any("convert" in message for message in shown["messages"]), shown


def test_damaged_chunk(region_reader, region_file):
    result = printed(run(region_reader, region_file, "damaged", *box((0, 0), (64, 60)), "broken"))
    text = "h5stz: the chunk at (0, 0) cannot be decoded: the stream"
    assert any(text in message for message in result["messages"]), result["messages"]
    assert result["through"] == 0


@pytest.mark.parametrize("words", [[*box((140, 0, 0), (20, 5, 5))], [*box((0, 0, 0), (2, 2, 2)), "offset", "-1,0,0"]])
def test_selections_that_stick_out(region_reader, region_file, words):
    result = printed(run(region_reader, region_file, "d", *words, "broken"))
    assert result["reason"] in ("SELECTION", "REFUSED") and result["messages"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((1, "70,0,0", "6,1,1"), "axis 0 of level 1 has 75 samples: a box of 6 from 70 on does not fit"),
        ((1, "0,0,71", "1,1,0"), "axis 2 of level 1 has 70 samples"),
        ((63, "0,0,0", "1,1,1"), "level 63 does not exist: levels are 0"),
    ],
)
def test_wrong_levels_are_on_the_error_stack(region_reader, region_file, words, text):
    shown = printed(run(region_reader, region_file, "d", "level", *words, "broken"))
    assert any(f"h5stz: {text}" in message for message in shown["messages"]), shown
