"""Layout: the parts of a stream put together."""

import itertools
import math

import numpy as np

from reference_decoder.content import compare
from reference_decoder.conventions import Truncated, crc, ranges, require
from reference_decoder.elements import elements, put_masked
from reference_decoder.enhancement import enhanced
from reference_decoder.fields import decode_fields
from reference_decoder.header import BLOCKS, CONSTANT, PALETTE, PATCHED, read_header
from reference_decoder.palette import read_palette
from reference_decoder.remainders import add_remainders
from reference_decoder.repeats import elements_of
from reference_decoder.sections import Sections
from reference_decoder.value_range import within

POINTWISE_RELATIVE = 2  # a mode
UNKNOWN = np.finfo("f8").max  # an accumulated bound that nobody knows


def words_of(header, sections):
    """The components of all items as words."""
    word = np.dtype(f"u{header.component.itemsize}")
    components = elements(header, np.stack([item.samples for item in sections.items]))
    if header.values:
        components = within(header.values, components, header.floats)
    words = np.ascontiguousarray(components).view(word)
    put_masked(header, words, np.stack([item.specials for item in sections.items]), sections.literal_bits)
    return words


def decode_blocks(header, data, trailer, max_error):
    """The components of a stream of the form blocks as words, real parts before imaginary ones; compared with `trailer`."""
    if len(data) < header.palette_size:
        raise Truncated("truncated palette")
    if header.transform == PALETTE:
        header.palette = read_palette(header, data[: header.palette_size])
    known = header.accumulated_bound and header.accumulated_bound < UNKNOWN and header.mode != POINTWISE_RELATIVE
    before = max(0.0, header.accumulated_bound - header.bound) if known else 0.0
    sections = Sections(header, data[header.palette_size :], header.layers.refinements_for(max_error, before))
    words = words_of(header, sections)
    if trailer:
        compare(header, words, trailer)
    if header.enhancement:
        for item in sections.items:
            item.samples = enhanced(header, item.samples, item.specials)
        words = words_of(header, sections)
    if header.remainders and not max_error >= 1.5 * header.remainders.step:
        words = add_remainders(header, words, sections.remainders)
    words = words.reshape(header.parts, *[header.valid[axis] for axis in header.order])
    words = np.moveaxis(words, range(1, words.ndim), [1 + axis for axis in header.order])
    whole = np.full((header.parts, *header.shape), header.padding, words.dtype)
    whole[(slice(None), *ranges([0] * len(header.valid), header.valid))] = words
    if header.slices:
        return header.slices.apply(header, whole)
    return whole


def decode_inside(header, stream, shape, verify, max_error, *, differences=False):
    """The array of the base or of a patch of a patched stream; `differences`: of signed integers of the same width."""
    inner = read_header(stream)
    require(inner.form != PATCHED, "a patched stream in a patched one")
    require(not header.repeats or inner.mode == 0, "repeats with a bound")
    component, floats = (np.dtype(f"i{header.component.itemsize}"), None) if differences else (header.component, header.floats)
    expected = component, floats, header.parts, header.byte_order
    same_type = (inner.component, inner.floats, inner.parts, inner.byte_order) == expected
    require(same_type and inner.shape == shape, "a patched stream of several types or shapes")
    return decode(stream, verify, max_error)


def decode_patched(header, stream, verify, max_error):
    """The array of a patched stream: the base, and the patches over it."""
    end = header.base_offset + header.base_size
    if len(stream) < end:
        raise Truncated("truncated")
    require(len(stream) == end, "bytes behind the base")
    whole = decode_inside(header, stream[header.base_offset :], header.shape, verify, max_error).copy()
    word = np.dtype(f"u{header.component.itemsize}").newbyteorder(header.byte_order)
    words = np.frombuffer(whole.data, word).reshape(*header.shape, header.parts)  # of `whole` itself
    for patch, repeat in itertools.zip_longest(header.patches, header.repeats):
        box = decode_inside(
            header, stream[patch.offset : patch.offset + patch.size], patch.extent, verify, max_error, differences=bool(repeat)
        )
        new = np.frombuffer(box.tobytes(), word).reshape(*patch.extent, header.parts)
        if repeat:
            native = word.newbyteorder("=")
            new = elements_of(repeat, patch.extent, words[..., 0].astype(native), new[..., 0].astype(native))[..., None]
        below = words[ranges(patch.origin, [at + size for at, size in zip(patch.origin, patch.extent, strict=True)])]
        transparent = False if patch.pattern is None else (new == patch.pattern).all(axis=-1, keepdims=True)
        np.copyto(below, new, where=np.logical_not(transparent))
    return whole


def decode(stream, verify=False, max_error=0.0):
    """The array of a stream; `verify`: compared with the content check, if there is one.

    `max_error`: takes as few precision layers as have errors of at most this, according to the stream; 0: all. What fewer give
    differs from the content check.
    """
    header = read_header(stream)
    if len(stream) < header.size + header.trailer_size:
        raise Truncated("truncated")
    end = len(stream) - header.trailer_size
    stream, trailer = stream[:end], stream[end:]
    if header.form == PATCHED:
        return decode_patched(header, stream, verify, max_error)
    dtype = header.component if header.parts == 1 else np.dtype(f"c{2 * header.component.itemsize}")
    dtype = dtype.newbyteorder(header.byte_order)
    if header.form == BLOCKS:
        with np.errstate(all="ignore"):
            words = decode_blocks(header, stream[header.size :], trailer if verify else None, max_error)
        data = np.moveaxis(words, 0, -1).astype(words.dtype.newbyteorder(header.byte_order)).tobytes()
    elif header.fields:
        words = decode_fields(header.fields, stream[header.size :], math.prod(header.shape) * header.parts)
        data = words.astype(words.dtype.newbyteorder(header.byte_order)).tobytes()
    else:
        if len(stream) < header.size + 4:
            raise Truncated("truncated")
        data = stream[header.size : -4]
        require(int.from_bytes(stream[-4:], "little") == crc(stream[:-4]), "checksum of the array")
        if header.form == CONSTANT:
            require(len(data) == dtype.itemsize, "size of the element")
            data = data * math.prod(header.shape)
    require(len(data) == math.prod(header.shape) * dtype.itemsize, "size of the array")
    return np.frombuffer(data, dtype).reshape(header.shape)
