"""Patched streams composed by hand from ordinary ones, as docs/format.md has them, and the same composition of arrays in NumPy.

The fields that all forms have stand in front as the base has them.
"""

from dataclasses import dataclass

import numpy as np

import h5stz
from reference_decoder import read_header
from reference_decoder.conventions import Reader
from reference_decoder.header import (
    DECIMALS,
    ENHANCEMENT,
    FIELDS,
    LAYER_ERRORS,
    LAYERS,
    REMAINDERS,
    REPEATS,
    SLICES,
    for_records,
)
from support import cases
from support.stream_bytes import varint, with_crc

PATCHED, TRANSPARENT, EXTENDED = 3, 1, 64
OF_SAMPLES = (LAYERS, ENHANCEMENT, LAYER_ERRORS, FIELDS, REMAINDERS, DECIMALS, SLICES)
KINDS = [None, *cases.KINDS]  # by the number that a stream gives a dtype


@dataclass
class Patch:
    """A box of the array that was written again: its place, its stream, and the bits of what is transparent (None: nothing)."""

    origin: tuple
    extent: tuple
    stream: bytes
    pattern: int | None = None

    def row(self, width, flags=None):
        """Its row of the table, for components of `width` bytes."""
        out = b"".join(map(varint, (*self.origin, *self.extent)))
        out += bytes([(self.pattern is not None) * TRANSPARENT if flags is None else flags])
        if self.pattern is not None:
            out += self.pattern.to_bytes(width, "little")
        return out + varint(len(self.stream))


def component(dtype):
    """The dtype of a component."""
    dtype = np.dtype(dtype)
    return np.dtype(f"{dtype.str[0]}f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def words(array):
    """The components' bits, as host integers: one more axis."""
    part = component(array.dtype)
    bits = np.frombuffer(array.tobytes(), f"{part.str[0]}u{part.itemsize}").reshape(*array.shape, -1)
    return bits.astype(bits.dtype.newbyteorder("="))


def record(tag, payload=b""):
    """An extension record."""
    return varint(tag) + varint(len(payload)) + payload


def common_header(stream, form=None, records=None):
    """The fields of a stream that all forms have, of another form if given, with these extension records alone."""
    kind, dtype, rank = stream[4], np.dtype(KINDS[stream[5] & 31]), stream[6]
    size = 7
    for _ in range(rank):
        size += next(length for length in range(1, 11) if stream[size + length - 1] < 128)
    size += 8 if kind >> 2 & 3 else 0
    size += component(dtype).itemsize if kind >> 4 & 1 else 0
    fields = stream[5:size]
    kind &= ~EXTENDED  # records of a stream may be about its blocks
    if records is not None:
        kind |= EXTENDED
        fields += varint(len(records)) + records
    return stream[:4] + bytes([kind if form is None else kind & ~3 | form]) + fields


def without_trailer(stream):
    """A stream, whose header may still speak of a trailer, without its bytes."""
    return stream[: len(stream) - read_header(stream).trailer_size]


def extended(stream, records, trailer=b""):
    """A stream with these extension records and this trailer in place of its own; its layers, enhancement and fields stay."""
    stream = without_trailer(stream)
    plain = len(common_header(stream))
    if stream[4] & EXTENDED:
        old = Reader(stream[plain:])
        kept = {}
        for_records(old.take(old.varint()), lambda tag, payload: kept.update({tag: payload.data} if tag in OF_SAMPLES else {}))
        plain += old.at
        if kept:
            for_records(records, lambda tag, payload: kept.update({tag: payload.data}))
            records = b"".join(record(tag, payload) for tag, payload in sorted(kept.items()))
    front = common_header(stream, records=records)
    header = read_header(stream)
    if stream[4] & 3 < 2 and not header.fields:
        return with_crc(front + stream[plain:-4]) + trailer
    size = header.size
    return with_crc(front + stream[plain : size - 4]) + stream[size:] + trailer


def compose(base, patches, *, count=None, base_size=None, rows=None, records=None, form=PATCHED):
    """The patched stream of a base and patches; the other arguments replace fields with what need not fit."""
    width = component(KINDS[base[5] & 31]).itemsize
    table = common_header(base, form, records)
    table += varint(len(patches) if count is None else count) + varint(len(base) if base_size is None else base_size)
    table += b"".join([patch.row(width) for patch in patches] if rows is None else rows)
    return with_crc(table) + b"".join(patch.stream for patch in patches) + base


def composed(base, patches):
    """The array that a patched stream stands for, from the arrays of its parts."""
    whole = h5stz.decompress(base)
    for patch in patches:
        window = tuple(slice(at, at + size) for at, size in zip(patch.origin, patch.extent, strict=True))
        part = h5stz.decompress(patch.stream)
        if patch.pattern is not None:
            below = (words(part) == patch.pattern).all(axis=-1)
            np.copyto(part, whole[window], where=below)
        whole[window] = part
    return whole


def ordinary(rng, shape, dtype):
    """A stream of a random form."""
    dtype = np.dtype(dtype)
    form = rng.choice(["constant", "raw", "lossless", "lossless", "bounded", "regions", "masked"])
    pattern = {"constant": "constant", "raw": "random bits"}.get(form, rng.choice(["smooth", "rough", "walk", "sparse"]))
    array = cases.make(pattern, shape, dtype, int(rng.integers(1000)))
    if form == "masked" and dtype.kind in "fc":
        array[rng.random(shape) < 0.2] = np.nan
    bounded = form in {"bounded", "regions"}
    options = {"absolute": 0.5} if bounded else {"lossless": True}
    return h5stz.compress(array, **options, block="region" if form == "regions" else "default", fill_value=False)


def with_pattern(rng, shape, dtype, pattern):
    """A stream, without loss, of an array some components of which have the bits `pattern`."""
    array = cases.make(rng.choice(["smooth", "rough"]), shape, dtype, int(rng.integers(1000)))
    bits = words(array)
    bits[rng.random(bits.shape) < 0.3] = pattern
    whole = rng.random(shape) < rng.choice([0.1, 0.6, 1])
    bits[whole] = pattern
    order = "<" if array.dtype.str[0] == "|" else array.dtype.str[0]
    stored = bits.astype(bits.dtype.newbyteorder(order))
    array = np.frombuffer(stored.tobytes(), array.dtype).reshape(shape)
    return h5stz.compress(array, lossless=True, fill_value=False)


def box(rng, shape):
    """(origin, extent) of a box in an array of `shape`: whole axes, single planes and anything between."""
    origin, extent = [], []
    for length in shape:
        kind = rng.integers(4)
        first, last = sorted(int(edge) for edge in rng.integers(0, length, 2))
        first, last = (0, length - 1) if kind == 0 else (first, first) if kind == 1 else (first, last)
        origin.append(first)
        extent.append(last - first + 1)
    return tuple(origin), tuple(extent)


def random_patched(rng, shape, dtype, count):
    """(stream, array) of a base and up to `count` patches, which may lie over each other, of every form."""
    base, patches, elements = ordinary(rng, shape, dtype), [], 0
    for _ in range(count):
        origin, extent = box(rng, shape)
        elements += np.prod(extent, dtype=int)
        if elements > 16 * np.prod(shape, dtype=int):
            break
        pattern = None
        if rng.random() < 0.5:
            width = component(dtype).itemsize
            pattern = int(rng.choice([0, 1, 0x7FFF, (1 << 8 * width - 1)])) % (1 << 8 * width)
        stream = ordinary(rng, extent, dtype) if pattern is None else with_pattern(rng, extent, dtype, pattern)
        patches.append(Patch(origin, extent, stream, pattern))
    return compose(base, patches), composed(base, patches)


def places(numbers):
    """Signed words of floating-point numbers in their order."""
    bits = words(numbers)[..., 0]
    signed = bits.view(f"i{bits.dtype.itemsize}")
    return np.where(signed < 0, signed ^ np.iinfo(signed.dtype).max, signed)


def repeats_record(repeats):
    """The record of (source, mirrored, negated), one for each patch; `mirrored`: whether along each axis."""
    payload = b""
    for source, mirrored, negated in repeats:
        flags = sum(int(mirror) << 1 + axis for axis, mirror in enumerate(mirrored)) | int(negated)
        payload += b"".join(map(varint, source)) + varint(flags)
    return record(REPEATS, payload)


def random_repeats(rng, shape, dtype, count):
    """(stream, array) of a base and up to `count` boxes that are differences from others; None if there is no room for any."""
    base = ordinary(rng, shape, dtype)
    while read_header(base).mode != 0:
        base = ordinary(rng, shape, dtype)
    array = h5stz.decompress(base)
    taken, patches, repeats = np.zeros(shape, bool), [], []
    for _ in range(20 * count):
        origin, extent = box(rng, shape)
        source = tuple(int(rng.integers(0, n - e + 1)) for n, e in zip(shape, extent, strict=True))
        window, other = (tuple(slice(a, a + e) for a, e in zip(at, extent, strict=True)) for at in (origin, source))
        of_both = np.zeros(shape, int)
        of_both[window] += 1
        of_both[other] += 1
        if len(patches) == count or of_both.max() > 1 or taken[window].any():
            continue
        taken[window] = True
        mirrored, negated = rng.random(len(shape)) < 0.5, rng.random() < 0.3
        others = array[other][tuple(slice(None, None, -1 if mirror else 1) for mirror in mirrored)]
        near = places(-others if negated else others)
        differences = rng.integers(-3, 4, extent) * int(rng.integers(0, 2**16 if rng.random() < 0.2 else 2))
        signed = near + differences.astype(near.dtype)  # which wraps around
        bits = np.where(signed < 0, signed ^ np.iinfo(signed.dtype).max, signed)
        array[window] = bits.astype(f"{array.dtype.str[0]}i{array.dtype.itemsize}").view(array.dtype)
        integers = differences.astype(f"{array.dtype.str[0]}i{array.dtype.itemsize}")
        patches.append(Patch(origin, extent, h5stz.compress(integers, lossless=True, fill_value=False)))
        repeats.append((source, mirrored, negated))
    if not patches:
        return None
    return compose(base, patches, records=repeats_record(repeats)), array


def with_wrong_check(stream):
    """The stream with another content check of its last block: it decodes as before, to what nobody wrote."""
    alone = without_trailer(stream)
    trailer = stream[len(alone) : -4]
    return alone + with_crc(trailer[:-1] + bytes([trailer[-1] ^ 1]))
