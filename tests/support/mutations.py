"""Streams changed at random behind their checks, which are made to fit again: decoders go on to what was changed."""

import copy
import functools
import math

import numpy as np

from reference_decoder import check, read_header, sections
from reference_decoder.conventions import Reader
from reference_decoder.fields import read_directory, without_check
from reference_decoder.header import FIELDS
from support.patched_streams import common_header, record
from support.stream_bytes import varint, with_check, with_crc

BLOCKS, PATCHED = 2, 3


class Recorded(sections.Sections):
    """Decodes the sections of a stream and keeps the sizes of the streams in each: those of a level before its refinements."""

    def __init__(self, header, data):
        self.sizes = []
        super().__init__(header, data, len(header.layers.added))

    def _index(self, *arguments):
        self.sizes.append(super()._index(*arguments))
        return self.sizes[-1]


class Parts:
    """A stream of the form blocks in pieces: the header up to the sizes of sections, and what the checks of sections cover."""

    def __init__(self, stream):
        header = read_header(stream)
        end = len(stream) - header.trailer_size
        stream, self.trailer = stream[:end], stream[end:]
        with np.errstate(all="ignore"):
            sizes = iter(Recorded(header, stream[header.size + header.palette_size :]).sizes)
        places = [(None, level) for level in reversed(range(header.base_level))] + list(header.refined_sizes)
        in_order = sorted(places, key=lambda place: (-place[1], -1 if place[0] is None else place[0]))
        sizes_of = {place: next(sizes) for place in in_order}
        section_sizes = [*header.section_sizes, *header.refined_sizes.values()]
        self.remainder_sizes = b"".join(map(varint, header.remainder_sizes))
        all_sizes = len(self.remainder_sizes) + sum(len(varint(size)) for size in section_sizes)
        self.front = stream[: header.size - 4 - all_sizes]
        reader = Reader(stream[header.size :])
        self.palette = reader.take(header.palette_size)
        self.base, *levels = [reader.take(size) for size in section_sizes]
        self.remainders = reader.take(sum(header.remainder_sizes))
        self.base = self.base[: -2 if len(self.base) < 258 else -4]
        self.levels = [self._split(section, sizes_of[place]) for section, place in zip(levels, places, strict=True)]

    @staticmethod
    def _split(section, sizes):
        """[parameters and index, streams...] of the section of a level or of a refinement."""
        reader = Reader(section)
        pieces = [reader.take(reader.varint())]
        covered = sections.take_section_check(reader)
        for size in sizes:
            pieces.append(reader.take(size))
            if size and not covered:
                reader.take(len(check(pieces[-1])))
        return pieces

    def whole(self):
        """The stream, with checks that fit."""
        written = [with_check(self.base)]
        for coded, *streams in self.levels:
            content = b"".join(streams)
            front = varint(len(coded)) + coded
            if len(content) <= 4096:
                written.append(front + check(front + content) + content)
            else:
                written.append(with_check(front) + b"".join(with_check(data) for data in streams if data))
        sizes = b"".join(varint(len(section)) for section in written)
        front = with_crc(self.front + sizes + self.remainder_sizes)
        return front + self.palette + b"".join(written) + self.remainders + self.trailer


@functools.lru_cache(maxsize=1024)  # which takes a decoding
def _parts(stream):
    return Parts(stream)


def changed(rng, data):
    """Some bytes with one or a few of them changed; now and then one more or one less."""
    data = bytearray(data)
    for _ in range(int(rng.choice([1, 1, 1, 2, 5]))):
        place, kind = int(rng.integers(len(data))), rng.random()
        if kind < 0.6:
            data[place] ^= 1 << int(rng.integers(8))
        elif kind < 0.9:
            data[place] = int(rng.choice([0, 1, 2, 63, 127, 128, 255, rng.integers(256)]))
        elif kind < 0.95:
            data.insert(place, int(rng.integers(256)))
        elif len(data) > 1:
            del data[place]
    return bytes(data)


def mutated_fields(rng, stream, header):
    """A stream of floating-point fields, changed in its header, its directory, or one of its blocks."""
    fields, end = header.fields, len(stream) - header.trailer_size
    blocks = header.size + fields.directory
    count = -(-math.prod(header.shape) * header.parts >> fields.log_block)
    sizes = read_directory(stream[header.size : blocks], count, fields.blocks)
    place = int(rng.integers(6))
    if place == 0:
        return with_crc(stream[:4] + changed(rng, stream[4 : header.size - 4])) + stream[header.size :]
    if place == 1:
        directory = with_check(changed(rng, without_check(stream[header.size : blocks])))
        return stream[: header.size] + directory + stream[blocks:]
    number = int(rng.integers(count))
    at = blocks + sum(sizes[:number])
    content = without_check(stream[at : at + sizes[number]])
    parameters = min(len(content), 1 + content[0])
    changes = changed(rng, content[:parameters]) if place < 4 else content[:parameters]
    changes += changed(rng, content[parameters:]) if place >= 4 and content[parameters:] else content[parameters:]
    sizes[number] = len(with_check(changes))
    directory = with_check(b"".join(map(varint, sizes)))
    payload = bytes([fields.log_block, fields.mantissa - fields.low])
    payload += varint(len(directory)) + varint(sum(sizes))
    front = with_crc(common_header(stream, records=record(FIELDS, payload)))
    return front + directory + stream[blocks:at] + with_check(changes) + stream[at + len(with_check(content)) : end]


def mutated(rng, stream):
    """A stream like this one, changed in one of its parts."""
    if stream[4] & 3 == PATCHED:
        size = read_header(stream).size
        return with_crc(changed(rng, stream[4 : size - 4]).join([stream[:4], b""])) + stream[size:]
    if stream[4] & 3 != BLOCKS and read_header(stream).fields:
        return mutated_fields(rng, stream, read_header(stream))
    if stream[4] & 3 != BLOCKS:
        front = len(common_header(stream))
        if rng.random() < 0.5:
            return with_crc(stream[:4] + changed(rng, stream[4:front]) + stream[front:-4])
        return with_crc(stream[:front] + changed(rng, stream[front:-4] or b"\0"))
    parts = copy.deepcopy(_parts(stream))
    if parts.palette and rng.random() < 0.25:
        parts.palette = with_check(changed(rng, parts.palette[: -2 if len(parts.palette) < 258 else -4]))
        return parts.whole()
    place = int(rng.integers(4 if parts.levels else 2))
    if place == 0:
        parts.front = parts.front[:4] + changed(rng, parts.front[4:])
    elif place == 1:
        parts.base = changed(rng, parts.base)
    else:
        pieces = parts.levels[int(rng.integers(len(parts.levels)))]
        full = [k for k, piece in enumerate(pieces) if piece and (k == 0) == (place == 2)]
        if full:
            k = int(rng.choice(full))
            pieces[k] = changed(rng, pieces[k])
    return parts.whole()
