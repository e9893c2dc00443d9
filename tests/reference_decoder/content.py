"""Trailer and content check: CRCs of the components that the blocks of level 0 decode to."""

import itertools

from reference_decoder.conventions import AXES, Different, crc, ranges, require
from reference_decoder.header import CONTENT_CHECK, for_records


def content_check(trailer):
    """The payload of the record of a trailer, None if it has none."""
    require(crc(trailer[:-4]) == int.from_bytes(trailer[-4:], "little"), "checksum of the trailer")
    found = {}
    for_records(trailer[:-4], lambda tag, payload: found.update({tag: payload.data}))
    return found.get(CONTENT_CHECK)


def compare(header, words, trailer):
    """Compares the components (words, item by item) of a stream of the form blocks with its content check."""
    payload = content_check(trailer)
    if payload is None:
        return
    extent = header.levels[0].extent
    block = header.blocks[0] if header.base_level else extent
    corners = list(itertools.product(*(range(0, extent[axis], block[axis]) for axis in AXES)))
    require(len(payload) == 4 * header.batch * len(corners), "length of the content check")
    stored = [int.from_bytes(payload[at : at + 4], "little") for at in range(0, len(payload), 4)]
    little_endian = words.astype(words.dtype.newbyteorder("<"))
    for expected, (item, corner) in zip(stored, itertools.product(little_endian, corners), strict=True):
        box = ranges(corner, [corner[axis] + block[axis] for axis in AXES])
        if crc(item[box].tobytes()) != expected:
            raise Different("content")
