"""Region reads from C: libh5stz_read.so gives what H5Dread gives and decodes little.

tests/programs/region.c compares the two readers' buffers, whole, bit for bit; here is what the reads must have done.
"""

import pytest

from support.region_program import SHAPE, SLABS, box, read_direct


def test_few_blocks_of_few_chunks_are_decoded(region_reader, region_file):
    inside = read_direct(region_reader, region_file, "d", *box((3, 4, 5), (1, 10, 8)))
    assert inside["direct"] == 1 and inside["decoded"] < inside["present"] / 20
    across = read_direct(region_reader, region_file, "d", *box((120, 120, 120), (16, 10, 20)))
    assert across["direct"] == 8


def test_most_of_a_chunk_is_fetched_as_a_whole(region_reader, large_chunks):
    assert read_direct(region_reader, large_chunks / "plain.h5", "d", *box((3, 4, 5), (120, 120, 120)))["ranges"] == 0


@pytest.mark.parametrize("slab", SLABS)
@pytest.mark.parametrize("memory", ["packed", "all", "spread"])
def test_hyperslabs(region_reader, region_file, slab, memory):
    read_direct(region_reader, region_file, "d", *SLABS[slab], memory)


@pytest.mark.parametrize(
    "memory",
    [("10,20,30", "0,0,0"), ("10,20,30", "5,6,7"), ("9,5,6", "4,0,0"), ("4,5,6", "0,0,0"), ("4,5,7", "0,0,1")],
    ids=["corner", "inside", "planes", "exact", "rows"],
)
@pytest.mark.parametrize("kind", ["f4", "f8", "i2"])
def test_boxes_in_memory(region_reader, region_file, memory, kind):
    read_direct(region_reader, region_file, "d", *box((126, 10, 20), (4, 5, 6)), "memory", *memory, "type", kind)


@pytest.mark.parametrize("dataset", ["big_endian", "complex", "integers", "flags"])
def test_types(region_reader, region_file, dataset):
    assert read_direct(region_reader, region_file, dataset, *box((30, 20), (5, 20)))["direct"] == 4


@pytest.mark.parametrize("dataset", ["d", "big_endian", "integers"])
@pytest.mark.parametrize("kind", ["f4", ">f4", "f8", "i2"])
@pytest.mark.parametrize("memory", ["packed", "spread"])
def test_conversions_between_numbers(region_reader, region_file, dataset, kind, memory):
    rank = 3 if dataset == "d" else 2
    read_direct(region_reader, region_file, dataset, *box((30, 20, 9)[:rank], (5, 20, 8)[:rank]), "type", kind, memory)


@pytest.mark.parametrize("level", [0, 1, 2, 3, 5, 9])
def test_levels(region_reader, region_file, level):
    grid = [-(-n // 2**level) for n in SHAPE]
    count = ",".join(map(str, grid))
    whole = read_direct(region_reader, region_file, "d", "level", level, "0,0,0", count)
    if level == 2:
        # A level is a part of each stream: of 64 samples 1, so few blocks.
        full = read_direct(region_reader, region_file, "d", *SLABS["everything"])
        assert whole["decoded"] < full["decoded"] / 2 and whole["used"] < full["used"]
    last = ",".join(str(n - 1) for n in grid)
    read_direct(region_reader, region_file, "d", "level", level, last, "1,1,1", "type", "f8")


def test_levels_of_chunks_that_are_no_multiples(region_reader, region_file):
    read_direct(region_reader, region_file, "line", "level", 3, "3", "600")
