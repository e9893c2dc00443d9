"""How the streams of each level of a stream are arranged."""

from reference_decoder import read_header
from reference_decoder.binary_coder import BinaryDecoder, NumberModel
from reference_decoder.conventions import Reader

EDGES = 2


def arrangements(stream):
    """The numbers at the front of the sections of levels, level 0 first; of a stream of the form blocks."""
    header = read_header(stream)
    reader = Reader(stream[header.size + header.palette_size :])
    sections = [reader.take(size) for size in header.section_sizes]
    fronts = [Reader(section) for section in sections[1:]]
    return [BinaryDecoder(front.take(front.varint())).number(NumberModel()) for front in reversed(fronts)]


def has_edges(stream):
    """Whether levels are in edge mode: all or none of them."""
    found = {number == EDGES for number in arrangements(stream)}
    assert len(found) == 1
    return found.pop()
