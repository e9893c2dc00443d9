"""Layout: the parts of a stream put together."""

import math

import numpy as np

from reference_decoder.conventions import crc, ranges, require
from reference_decoder.elements import elements, put_masked
from reference_decoder.header import BLOCKS, CONSTANT, read_header
from reference_decoder.sections import Sections


def decode_blocks(header, data):
    """The components of a stream of the form blocks as words, real parts before imaginary ones."""
    sections = Sections(header, data)
    word = np.dtype(f"u{header.component.itemsize}")
    words = np.ascontiguousarray(elements(header, np.stack([item.samples for item in sections.items]))).view(word)
    put_masked(header, words, np.stack([item.specials for item in sections.items]), sections.literal_bits)
    whole = np.full((header.parts, *header.shape), header.padding, word)
    whole[(slice(None), *ranges([0] * len(header.valid), header.valid))] = words.reshape(header.parts, *header.valid)
    return whole


def decode(stream):
    """The array of a stream."""
    header = read_header(stream)
    dtype = header.component if header.parts == 1 else np.dtype(f"c{2 * header.component.itemsize}")
    dtype = dtype.newbyteorder(header.byte_order)
    if header.form == BLOCKS:
        with np.errstate(all="ignore"):
            words = decode_blocks(header, stream[header.size :])
        data = np.moveaxis(words, 0, -1).astype(words.dtype.newbyteorder(header.byte_order)).tobytes()
    else:
        data = stream[header.size : -4]
        require(int.from_bytes(stream[-4:], "little") == crc(stream[:-4]), "checksum of the array")
        if header.form == CONSTANT:
            data = data * math.prod(header.shape)
    require(len(data) == math.prod(header.shape) * dtype.itemsize, "size of the array")
    return np.frombuffer(data, dtype).reshape(header.shape)
