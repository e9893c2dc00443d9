"""Golden streams that the encoder does not write: put together from parts of what it writes, with helpers of the tests.

What they use is in the format all the same, and a later encoder may begin to write it: every reader has to know it.
`streams()` needs the compiler, and is called once, when `make.py` writes a stream that is not there yet.
"""

import struct
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import h5stz
import reference_decoder
from golden import arrays
from support import field_streams
from support.axis_maps import BATCH, MERGED, mapped
from support.native import native_program
from support.patched_streams import Patch, compose, extended, record
from support.relaned import relaned
from support.stream_bytes import varint, with_crc
from support.stream_writer import Fields, LevelWriter, root_of_small_codes

LAYERS, TRAILER_SIZE, ACCUMULATED_BOUND, BOUND_USED, ENHANCEMENT, LAYER_ERRORS = 1, 2, 6, 8, 9, 10
OF_LATER_VERSIONS = record(14, b"of a later version") + record(2**40, b"")
NAN = 0x7FC00001


def made(name):
    """The stream of an array of arrays.py, without a trailer."""
    array, options = arrays.cases()[name]
    return arrays.compress(array, {**options, "content_check": False})


def of_waves(shape, seed, **options):
    """A stream of smooth float32 numbers."""
    return arrays.compress(arrays.of_dtype(arrays.waves(shape, 50, seed), "f4"), {"content_check": False, **options})


def with_lanes():
    """Every number of lanes."""
    return {f"lanes_{1 << log_lanes}": relaned(made("levels_2d"), log_lanes) for log_lanes in range(1, 7)}


def with_level_fields(count=80):
    """Axis offsets, blocks and bounds of levels of any kind: the shortest of these streams for each rank and set of fields."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([native_program("axis_offsets"), str(count), folder], check=True, capture_output=True)
        streams = sorted((path.read_bytes() for path in Path(folder).iterdir()), key=lambda stream: (len(stream), stream))
    chosen = {}
    for stream in streams:
        found = reference_decoder.read_header(stream)
        fields = [name for bit, name in ((8, "offsets"), (16, "bounds"), (32, "blocks")) if found.flags & bit]
        if fields:
            chosen.setdefault(f"levels_with_{'_'.join(fields)}_{len(found.shape)}d", stream)
    return chosen


def of_layers():
    """Bits that no section has, errors that are not known, layers of ranks."""
    plain, layered = made("levels_3d"), made("precision_2d")
    missing = {levels: record(LAYERS, varint(0) + varint(len(levels)) + bytes(levels)) for levels in ((2,), (1, 3))}
    errors = h5stz.info(layered).layers
    unknown = record(LAYER_ERRORS, struct.pack("<2d", float("inf"), float("inf")))
    return {
        "precision_missing_bits": extended(plain, missing[2,]),
        "precision_missing_bits_2d": extended(made("feedback_2d"), missing[1, 3]),
        "precision_unknown_error": extended(plain, missing[2,] + unknown),
        "precision_dropped": h5stz.drop_layers(layered, errors[0].max_error),
        "precision_one_dropped": h5stz.drop_layers(layered, errors[-2].max_error),
        "precision_palette": extended(made("palette_f4"), missing[2,]),
    }


def patched():
    """Boxes over a base: over each other, transparent ones, with layers and content checks inside."""
    base = of_waves((30, 26), 1, absolute=9.0)
    few = np.where(arrays.noise(24, 8).reshape(4, 6) < 512, np.float32(-7), np.uint32(NAN).view("f4"))
    above = Patch((20, 3), (4, 6), arrays.compress(few, {"lossless": True}), NAN)
    boxes = [Patch((1, 2), (20, 9), of_waves((20, 9), 2, absolute=2.0))]
    boxes.append(Patch((5, 0), (9, 26), of_waves((9, 26), 3, lossless=True)))
    checked = of_waves((30, 26), 4, absolute=9.0, content_check=True, layers=2)
    array = h5stz.decompress(base)
    array[3:7, 4:20] += 50
    once = h5stz.rewrite(array, base, absolute=9.0)
    array = h5stz.decompress(once)
    array[::4, ::2] -= 20
    return {
        "patched": compose(base, boxes[:1]),
        "patched_several": compose(base, [*boxes, above, boxes[0]]),
        "patched_transparent": compose(base, [above]),
        "patched_checked": compose(checked, [Patch((1, 2), (20, 9), of_waves((20, 9), 2, absolute=2.0, content_check=True))]),
        "patched_rewritten": once,
        "patched_rewritten_twice": h5stz.rewrite(array, once, absolute=9.0),
        "patched_big_endian": h5stz.rewrite(_changed(">f8"), _stream_of(">f8"), absolute=9.0),
        "patched_integers": h5stz.rewrite(_changed("<i4"), _stream_of("<i4"), absolute=9.0, integers="lossy"),
        "patched_later": compose(base, boxes[:1], records=OF_LATER_VERSIONS),
    }


def _stream_of(dtype):
    return arrays.compress(arrays.of_dtype(arrays.waves((20, 31), 50), dtype), {"absolute": 9.0})


def _changed(dtype):
    array = h5stz.decompress(_stream_of(dtype))
    array[2:9, 4:30] += 40
    return array


def of_fields():
    """Blocks of every kind of size, numbers of lanes, tops with any mantissa bits."""
    small = arrays.scattered(150, "<f4", 90)
    seldom = np.where(arrays.noise(150, 9) < 900, 1, arrays.noise(150, 3) * 2).astype("i8")
    rare = arrays.scattered(150, ">f8", 91, seldom)
    some = np.where(arrays.noise(150, 5) < 400, np.float32(0), small)
    narrow = np.where(arrays.noise(150, 7) < 300, arrays.scattered(150, "f4", 92).astype("f8"), arrays.scattered(150, "f8", 93))
    found = {f"fields_blocks_{log}": field_streams.stream_of(some, log) for log in (6, 7, 10, 20)}
    for log_lanes in range(7):
        found[f"fields_lanes_{1 << log_lanes}"] = field_streams.stream_of(some, 6 + log_lanes % 2, log_lanes=log_lanes)
    one = field_streams.stream_of(np.float32(2.5).reshape(()))
    base = field_streams.stream_of(arrays.scattered(150, "f4", 94).reshape(10, 15), 6)
    trailer = with_crc(OF_LATER_VERSIONS)
    return found | {
        "fields_scalar": one,
        "fields_all_zero": field_streams.stream_of(np.zeros(100, "<f8")),
        "fields_escapes_few": field_streams.stream_of(rare, 8, 1, most_symbols=5),
        "fields_all_escapes": field_streams.stream_of(rare, 8, 5, most_symbols=1),
        "fields_no_mantissa_left": field_streams.stream_of(arrays.scattered(150, ">f2", 95), 9, 10),
        "fields_short_blocks": field_streams.stream_of(narrow, 6, 1, short_zeros=29, log_lanes=2),
        "fields_short_complex": field_streams.stream_of((narrow + 1j * narrow[::-1]).astype(">c16"), 7, short_zeros=29),
        "fields_patched": compose(base, [Patch((2, 3), (5, 6), field_streams.stream_of(small[:30].reshape(5, 6)))]),
        "fields_later": extended(base, record(TRAILER_SIZE, varint(len(trailer))) + OF_LATER_VERSIONS, trailer),
    }


def with_records():
    """Records that describe, known ones and those of later versions; trailers of later versions, in every form."""
    plain, lossless = of_waves((30, 26), 1, absolute=9.0), of_waves((30, 26), 1, lossless=True)
    trailer = with_crc(OF_LATER_VERSIONS)
    with_trailer = record(TRAILER_SIZE, varint(len(trailer)))
    return {
        "accumulated_bound": extended(plain, record(ACCUMULATED_BOUND, struct.pack("<d", 12.5))),
        "bound_used": extended(lossless, record(BOUND_USED)),
        "later_records": extended(plain, OF_LATER_VERSIONS),
        "later_records_raw": extended(made("raw"), OF_LATER_VERSIONS),
        "later_trailer": extended(plain, with_trailer, trailer),
        "later_trailer_raw": extended(made("raw"), with_trailer, trailer),
        "later_trailer_constant": extended(made("constant"), with_trailer, trailer),
    }


def with_axis_maps():
    """Axes of the array in other places than the last four."""
    tensor = arrays.of_dtype(arrays.waves((12, 10, 11, 3), 80), "f4")
    short = arrays.of_dtype(arrays.waves((40, 2, 3, 5), 80), ">f8")
    return {
        "axes_last_is_batch": mapped(tensor, [1, 2, 3, BATCH], 1, 20.0),
        "axes_turned": mapped(tensor, [3, 1, 2, BATCH], 1, 20.0),
        "axes_merged": mapped(short, [2, MERGED, MERGED, 3], 1, 20.0),
        "axes_of_four": mapped(arrays.of_dtype(arrays.waves((6, 7, 8, 9), 80), "f4"), [1, 0, 2, 3], 1, 20.0),
        "axes_batch_alone": mapped(arrays.of_dtype(arrays.waves((4, 5, 60), 80), "i4"), [BATCH, BATCH, 3], 1, 9.0),
    }


def with_parameters():
    """A level whose weights are changes of finer ones; a filter whose directions have weights of their own."""
    finer = LevelWriter().bits(P0=0, AW=1, S0=0).precision(12).numbers("W0", 1001).numbers("W1", -77, 5)
    coarse = LevelWriter().bits(P0=0, CW=0, AW=1, S0=0).precision(6).bits(RF=1).numbers("WC", 3, -2, 1)
    sections = [level.bits(FB=0, AC=0).section() for level in (finer, coarse)]
    weights = bytes((number * 37 % 41 - 20) % 256 for number in range(2 * 6 * 3))
    return {
        "weights_coarser": Fields((700,)).stream(root_of_small_codes(175, np.random.default_rng(3)), *sections),
        "enhanced_by_direction": extended(made("levels_2d"), record(ENHANCEMENT, bytes([32, 64, 0, 9]) + weights)),
    }


def streams():
    """{name: stream}."""
    return (
        with_parameters()
        | with_lanes()
        | with_level_fields()
        | of_layers()
        | patched()
        | with_records()
        | with_axis_maps()
        | of_fields()
    )
