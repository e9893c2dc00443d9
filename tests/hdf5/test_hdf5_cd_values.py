"""The filter's client data (filter/api/cd_values.cpp): every form and every rejection, through the C functions."""

import ctypes
import ctypes.util
import platform
import struct
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import host_tools
from support.host_tools import ABSOLUTE, LOSSLESS, MAX_RANK, POINTWISE, Layout, Options, double_words, full_form, short_form

MAX_WORDS = 9 + 2 * MAX_RANK
ERROR_ARGUMENT, ERROR_DTYPE, ERROR_SHAPE, ERROR_MODE, ERROR_BOUND, ERROR_OPTION, ERROR_CAPACITY = -1, -2, -3, -4, -5, -6, -7


library = ctypes.CDLL(host_tools.plugin_file())


def parse(words):
    """(error, message, options, layout)"""
    options, layout, message = Options(), Layout(), ctypes.create_string_buffer(640)
    # The array ends where the words end: valgrind or a sanitizer sees a read beyond it.
    values = (ctypes.c_uint * len(words))(*words)
    error = library.stz_cd_values_parse(
        ctypes.c_size_t(len(words)), values, ctypes.byref(options), ctypes.byref(layout), message, ctypes.c_size_t(640)
    )
    return error, message.value.decode(), options, layout


def try_pack(options, layout=None, capacity=MAX_WORDS):
    """(error, number of words, message, words)"""
    out, count, message = (ctypes.c_uint * MAX_WORDS)(), ctypes.c_size_t(99), ctypes.create_string_buffer(640)
    arguments = ctypes.byref(options), layout and ctypes.byref(layout), out, ctypes.c_size_t(capacity), ctypes.byref(count)
    error = library.stz_cd_values_pack(*arguments, message, ctypes.c_size_t(640))
    return error, count.value, message.value.decode(), tuple(out)


def pack(options, layout=None):
    error, count, message, words = try_pack(options, layout)
    assert (error, message) == (0, "")
    return words[:count]


def fields(structure):
    return {name: getattr(structure, name) for name, _ in structure._fields_ if name != "shape"}


def test_no_words_are_lossless():
    error, message, options, layout = parse(())
    assert (error, message, options.mode, options.bound, layout.rank) == (0, "", LOSSLESS, 0.0, -1)


@pytest.mark.parametrize("mode", [ABSOLUTE, POINTWISE])
@given(bound=st.floats(min_value=1e-300, max_value=1e300) | st.just(0.0))
def test_short_form(mode, bound):
    error, message, options, layout = parse(short_form(mode, bound))
    assert error == 0, message
    assert (options.mode, options.bound, options.has_fill, layout.rank) == (mode, bound, 0, -1)


def test_low_word_comes_first():
    assert parse((101, ABSOLUTE, 0xD2F1A9FC, 0x3F50624D))[2].bound == 1e-3


def test_lossless_needs_no_bound():
    for words in [(101, 0), (102, 0), short_form(LOSSLESS, float("nan"))]:
        error, message, options, _ = parse(words)
        assert (error, options.mode, options.bound) == (0, LOSSLESS, 0.0), message


def test_packed_options_and_fill_value():
    packed = 1 | 3 << 8 | 9 << 16 | 1 << 20 | 2 << 21 | 1 << 23 | 1 << 24 | 31 << 27
    error, message, options, _ = parse((*short_form(ABSOLUTE, 0.5), packed, 1, 0x89ABCDEF, 0x01234567))
    assert error == 0, message
    assert (options.block, options.threads, options.effort, options.layers) == (1, 3, 9, 1)
    assert (options.integers, options.content_check, options.check, options.append_axis) == (1, 2, 1, 31)
    assert pack(options) == (*short_form(ABSOLUTE, 0.5), packed, 1, 0x89ABCDEF, 0x01234567)
    assert (options.has_fill, options.fill) == (1, 0x0123456789ABCDEF)


@settings(max_examples=500)
@given(mantissa=st.integers(0, 2**32 - 1), decimals=st.integers(0, 400))
def test_integer_form_is_the_nearest_double(mantissa, decimals):
    error, message, options, layout = parse((102, ABSOLUTE, mantissa, decimals))
    assert error == 0, message
    assert options.bound == float(Fraction(mantissa, 10**decimals))
    assert layout.rank == -1


def test_integer_form_does_not_depend_on_the_rounding_of_the_host():
    mathematics = ctypes.CDLL(ctypes.util.find_library("m"))
    directions = {"x86_64": (0x400, 0x800, 0xC00), "aarch64": (0x800000, 0x400000, 0xC00000)}.get(platform.machine(), ())
    for direction in directions:
        mathematics.fesetround(direction)
        try:
            bound = parse((102, ABSOLUTE, 1, 3))[2].bound
        finally:
            mathematics.fesetround(0)
        assert bound == 1e-3


def test_full_form():
    words = full_form(2, True, (16, 24, 7), ABSOLUTE, 1e-3, fill=0xC11C0000)
    error, message, options, layout = parse(words)
    assert error == 0, message
    assert (layout.dtype, layout.byte_order, layout.rank, list(layout.shape[:3])) == (2, 1, 3, [16, 24, 7])
    assert (options.mode, options.bound, options.has_fill, options.fill) == (ABSOLUTE, 1e-3, 1, 0xC11C0000)
    assert pack(options, layout) == words


def test_full_form_of_rank_32_is_the_longest():
    words = full_form(4, False, (2,) * 20 + (1,) * 12)
    assert len(words) == 9 + MAX_RANK and parse(words)[0] == 0


WIDE = (104, *full_form(2, True, (0,), ABSOLUTE, 1e-3, fill=0xC11C0000)[1:8])


def test_the_wide_form_has_two_words_for_each_extent():
    """The form for chunks that only HDF5 files with 64-bit chunks have."""
    words = (*WIDE, 2 | 1 << 8 | 2 << 16, 5, 3, 7, 0)
    error, message, options, layout = parse(words)
    assert error == 0, message
    assert (layout.dtype, layout.byte_order, layout.rank, list(layout.shape[:2])) == (2, 1, 2, [3 * 2**32 + 5, 7])
    assert (options.mode, options.bound, options.has_fill, options.fill) == (ABSOLUTE, 1e-3, 1, 0xC11C0000)
    assert pack(options, layout) == words


def test_the_wide_form_is_written_from_4_gib_on():
    layout = Layout(dtype=4, rank=2)
    layout.shape[:2] = 2**16, 2**16
    assert pack(Options(), layout) == (104, *(0,) * 7, 4 | 2 << 16, 2**16, 0, 2**16, 0)
    layout.shape[1] = 2**16 - 1
    assert pack(Options(), layout)[0] == 103
    assert pack(*parse((*WIDE, 2 | 1 << 16, 5, 0))[2:])[0] == 103, "one that was not needed"


def test_the_longest_wide_form():
    words = (104, *(0,) * 7, 4 | 32 << 16, *(0, 1), *(1, 0) * 31)
    assert len(words) == MAX_WORDS and parse(words)[0] == 0 and pack(*parse(words)[2:]) == words


good = short_form(ABSOLUTE, 0.5)
full = full_form(3, False, (8, 9), ABSOLUTE, 0.5)
MALFORMED = [
    ((7,), ERROR_ARGUMENT, "word 0"),
    ((0, 1, 2, 3), ERROR_ARGUMENT, "word 0"),
    ((201, 1, 0, 0), ERROR_ARGUMENT, "update h5stz"),
    ((101,), ERROR_ARGUMENT, "1 words"),
    ((101, 1), ERROR_ARGUMENT, "2 words"),
    (good[:3], ERROR_ARGUMENT, "3 words"),
    ((*good, 0, 1), ERROR_ARGUMENT, "6 words"),
    ((*good, 0, 1, 2), ERROR_ARGUMENT, "7 words"),
    ((*good, 0, 0, 0, 0, 0), ERROR_ARGUMENT, "9 words"),
    ((102, 1, 1, 3, 0, 0), ERROR_ARGUMENT, "6 words"),
    ((101, 3, 0, 0), ERROR_MODE, "word 1"),
    ((102, 0xFFFFFFFF, 1, 3), ERROR_MODE, "word 1"),
    (short_form(ABSOLUTE, float("nan")), ERROR_BOUND, "words 2 and 3"),
    (short_form(ABSOLUTE, float("inf")), ERROR_BOUND, "words 2 and 3"),
    (short_form(POINTWISE, -1e-3), ERROR_BOUND, "words 2 and 3"),
    ((101, ABSOLUTE, *reversed(double_words(1e-3))), ERROR_BOUND, "swapped"),
    ((101, ABSOLUTE, *reversed(double_words(0.5))), ERROR_BOUND, "swapped"),
    ((102, 1, 1, 401), ERROR_BOUND, "word 3"),
    ((*good, 3), ERROR_OPTION, "block"),
    ((*good, 10 << 16), ERROR_OPTION, "effort"),
    ((*good, 0, 2, 0, 0), ERROR_OPTION, "word 5"),
    (full[:9], ERROR_ARGUMENT, "9 words"),
    ((*full, *(1,) * 32), ERROR_ARGUMENT, "43 words"),
    ((*good, 3 << 21), ERROR_OPTION, "bits 21-22"),
    ((*full[:4], 3 << 27, *full[5:]), ERROR_OPTION, "append_axis"),
    ((106, *full[1:8], 3 | 1 << 16, 8, 0), ERROR_ARGUMENT, "update h5stz"),
    ((105, *full[1:7]), ERROR_ARGUMENT, "9 or more"),
    ((105, *full[1:8], 3 | 2 << 16, 8, 0, 9), ERROR_ARGUMENT, "end at word 13"),
    ((105, *full[1:8], 3 | 1 << 16, 8, 0, 1), ERROR_ARGUMENT, "cut short"),
    ((105, *full[1:8], 0, 1, 2, 0), ERROR_ARGUMENT, "cut short"),
    ((105, *full[1:8], 0, 5, 0), ERROR_OPTION, "the tag 5"),
    ((105, *full[1:8], 0, 4, 0), ERROR_OPTION, "give one, which is not 0"),
    ((105, *full[1:8], 0, 4, 1, 0), ERROR_OPTION, "give one, which is not 0"),
    ((105, *full[1:8], 0, 4, 1, 3), ERROR_OPTION, "favour (bits 0-1) must be 0 to 2"),
    ((105, *full[1:8], 0, 4, 1, 4), ERROR_OPTION, "bits that this version does not know"),
    ((105, *full[1:8], 0, 4, 1, 1, 4, 1, 1), ERROR_OPTION, "a second record of further options"),
    ((105, *full[1:8], 0, 3, 0), ERROR_OPTION, "valid range at cd_values word 9 takes 0 words"),
    ((105, *full[1:8], 0, 3, 4, 0, 0, 0, 0), ERROR_OPTION, "0 to 0"),
    ((105, *full[1:8], 0, 3, 4, 0, 2**30, 0, 0), ERROR_OPTION, "valid_range is 2 to 0"),
    ((105, *full[1:8], 0, 2, 0, 2, 0), ERROR_OPTION, "a second record"),
    ((105, *full[1:8], 0, 1, 1, 0), ERROR_OPTION, "2 for each"),
    ((105, *full[1:8], 0, 1, 14, *(0,) * 14), ERROR_OPTION, "2 for each"),
    ((105, *full[1:8], 0, *(1, 2, 0, 0x7FE00000) * 2), ERROR_OPTION, "in one record"),
    ((105, *full[1:8], 0, 1, 4, 0, 0x3FF00000, 0, 0x7FE00000), ERROR_OPTION, "must fall"),
    ((105, *full[1:8], 0, 1, 2, 0, 0x7FF00000), ERROR_OPTION, "must fall"),
    ((105, *full[1:8], 0, 1, 2, 0, 1), ERROR_OPTION, "above the bound"),
    ((104, *full[1:9]), ERROR_ARGUMENT, "9 words"),
    ((104, *full[1:8], 3 | 32 << 16, *(1,) * 65), ERROR_ARGUMENT, "74 words"),
    ((104, *full[1:8], 3 | 1 << 16, 8), ERROR_SHAPE, "2 for each axis"),
    ((104, *full[1:8], 3 | 2 << 16, 8, 0, 9), ERROR_SHAPE, "2 for each axis"),
    ((104, *full[1:8], 3 | 1 << 16, 0, 0), ERROR_SHAPE, "word 9"),
    ((104, *full[1:8], 3 | 2 << 16, 8, 0, 0, 0), ERROR_SHAPE, "word 11"),
    ((104, *full[1:8], 3 | 2 << 16, 0, 2**30, 2, 0), ERROR_SHAPE, "2^63"),
    ((104, *full[1:8], 3 | 1 << 16, 0, 2**31), ERROR_SHAPE, "2^63"),
    ((*full[:8], 0, 8, 9), ERROR_DTYPE, "word 8"),
    ((*full[:8], 17 | 2 << 16, 8, 9), ERROR_DTYPE, "word 8"),
    ((*full[:8], 3 | 2 << 8 | 2 << 16, 8, 9), ERROR_DTYPE, "word 8"),
    ((*full[:8], 3 | 2 << 16 | 1 << 24, 8, 9), ERROR_DTYPE, "word 8"),
    (full[:-1], ERROR_SHAPE, "axes"),
    ((*full, 3), ERROR_SHAPE, "axes"),
    ((*full[:8], 3, 8), ERROR_SHAPE, "axes"),
    ((*full[:8], 3 | 33 << 16, *(1,) * 32), ERROR_SHAPE, "axes"),
    ((*full[:9], 8, 0), ERROR_SHAPE, "word 10"),
    ((*full[:9], 2**16, 2**13), ERROR_SHAPE, "4 GiB"),
    ((*full[:9], 2**32 - 1, 2**32 - 1), ERROR_SHAPE, "4 GiB"),
]


@pytest.mark.parametrize("words, code, said", MALFORMED)
def test_malformed_words_are_named(words, code, said):
    error, message, _, _ = parse(words)
    assert (error, said in message) == (code, True), message


def test_the_greatest_chunk_is_one_byte_below_4_gib():
    assert parse((*full[:8], 4 | 1 << 16, 2**32 - 1))[0] == 0


@settings(max_examples=1000)
@given(
    head=st.sampled_from(
        [(101,), (102,), (103,), (104,), (103, 1, *(0,) * 6, 2 | 3 << 16), (104, 1, 0, 0, 2 << 27, *(0,) * 3, 2 | 3 << 16)]
    ),
    rest=st.lists(st.integers(0, 5) | st.integers(0, 2**32 - 1), max_size=90),
)
def test_any_words_are_understood_or_refused(head, rest):
    error, message, options, layout = parse((*head, *rest))
    assert (error < 0 and message) or (error == 0 and not message)
    if error == 0:
        again = pack(options, layout if layout.rank >= 0 else None)
        reparsed = parse(again)
        assert reparsed[0] == 0 and fields(reparsed[2]) == fields(options) and fields(reparsed[3]) == fields(layout)
        assert list(reparsed[3].shape) == list(layout.shape)


def test_short_form_is_packed_in_its_shortest_spelling():
    assert pack(Options()) == (101, 0)
    assert pack(Options(mode=ABSOLUTE, bound=0.25)) == short_form(ABSOLUTE, 0.25)
    assert pack(Options(mode=ABSOLUTE, bound=0.25, block=1)) == (*short_form(ABSOLUTE, 0.25), 1)
    assert pack(Options(mode=ABSOLUTE, bound=0.25, has_fill=1, fill=5)) == (*short_form(ABSOLUTE, 0.25), 0, 1, 5, 0)


def test_pack_refuses_what_parse_would_refuse():
    layout = Layout(dtype=2, rank=1)
    layout.shape[0] = 2**30
    for options, error in [
        (Options(mode=3), ERROR_MODE),
        (Options(mode=-1), ERROR_MODE),
        (Options(mode=1, bound=-1.0), ERROR_BOUND),
        (Options(mode=1, bound=float("nan")), ERROR_BOUND),
        (Options(block=3), ERROR_OPTION),
        (Options(threads=256), ERROR_OPTION),
        (Options(effort=10), ERROR_OPTION),
        (Options(effort=16), ERROR_OPTION),
        (Options(layers=-1), ERROR_OPTION),
        (Options(integers=2), ERROR_OPTION),
        (Options(append_axis=32), ERROR_OPTION),
        (Options(append_axis=-1), ERROR_OPTION),
        (Options(bound_used=1), ERROR_OPTION),
        (Options(prior_bound=0.5), ERROR_OPTION),
        (Options(content_check=3), ERROR_OPTION),
        (Options(content_check=-1), ERROR_OPTION),
        (Options(check=2), ERROR_OPTION),
    ]:
        assert try_pack(options)[:2] == (error, 0)
    assert try_pack(Options(append_axis=2), layout)[:2] == (ERROR_OPTION, 0)
    layout.shape[0] = 2**30 - 1
    assert len(pack(Options(), layout)) == 10
    for field, value, error in [
        ("dtype", 17, ERROR_DTYPE),
        ("dtype", -1, ERROR_DTYPE),
        ("byte_order", 2, ERROR_DTYPE),
        ("rank", 0, ERROR_SHAPE),
        ("rank", 33, ERROR_SHAPE),
        ("reserved", 1, ERROR_ARGUMENT),
    ]:
        wrong = Layout.from_buffer_copy(layout)
        setattr(wrong, field, value)
        error_found, count, message, _ = try_pack(Options(), wrong)
        assert (error_found, count) == (error, 0) and message, field
    layout.shape[0] = 2**61
    assert try_pack(Options(), layout)[:2] == (ERROR_SHAPE, 0)


def test_pack_says_how_many_words_it_needs():
    error, count, message, words = try_pack(Options(mode=ABSOLUTE, bound=0.25), capacity=3)
    assert (error, count, set(words)) == (ERROR_CAPACITY, 4, {0}) and "4 are needed" in message
    count = ctypes.c_size_t()
    options = Options()
    arguments = ctypes.byref(options), None, None, ctypes.c_size_t(0), ctypes.byref(count), None, ctypes.c_size_t(0)
    assert library.stz_cd_values_pack(*arguments) == ERROR_CAPACITY and count.value == 2


def test_pack_refuses_a_bound_that_reads_like_swapped_words():
    bound = struct.unpack("<d", struct.pack("<II", *reversed(double_words(0.5))))[0]
    error, _, message, _ = try_pack(Options(mode=ABSOLUTE, bound=bound))
    assert error == ERROR_BOUND and "cannot be distinguished from one with swapped words" in message
    layout = Layout(dtype=2, rank=1)
    layout.shape[0] = 8
    assert pack(Options(mode=ABSOLUTE, bound=bound), layout)[0] == 103, "the full form is written by programs alone"


def test_message_is_cut_at_the_callers_size():
    message = ctypes.create_string_buffer(b"x" * 20, 21)
    values = (ctypes.c_uint * 1)(7)
    library.stz_cd_values_parse(ctypes.c_size_t(1), values, ctypes.byref(Options()), None, message, ctypes.c_size_t(10))
    assert len(message.value) == 9 and message.raw[10:20] == b"x" * 10


def test_null_pointers_are_errors():
    assert (
        library.stz_cd_values_parse(ctypes.c_size_t(1), None, ctypes.byref(Options()), None, None, ctypes.c_size_t(0))
        == ERROR_ARGUMENT
    )
    assert library.stz_cd_values_parse(ctypes.c_size_t(0), None, None, None, None, ctypes.c_size_t(0)) == ERROR_ARGUMENT
    count = ctypes.c_size_t(99)
    arguments = None, None, None, ctypes.c_size_t(9), ctypes.byref(count), None, ctypes.c_size_t(0)
    assert (library.stz_cd_values_pack(*arguments), count.value) == (ERROR_ARGUMENT, 0)


def test_options_without_their_size_are_refused():
    options = Options()
    for size in (0, Options.append_axis.offset - 1, 4097):
        options.struct_size = size
        assert try_pack(options)[:2] == (ERROR_ARGUMENT, 0)
        message = ctypes.create_string_buffer(640)
        arguments = ctypes.c_size_t(0), None, ctypes.byref(options), None, message, ctypes.c_size_t(640)
        assert library.stz_cd_values_parse(*arguments) == ERROR_ARGUMENT and b"struct_size" in message.value
