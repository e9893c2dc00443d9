"""Sections written by hand: kinds of masked samples, weights, models and codes at their limits, in both decoders."""

import numpy as np
import pytest

import h5stz
import reference_decoder
from reference_decoder import elements, prediction
from reference_decoder.binary_coder import BitModel, SignedModel
from reference_decoder.code_stream import symbol_table
from reference_decoder.masks import FILL, LITERAL, MINUS_INFINITY, PLUS_INFINITY, PLUS_ZERO, MaskModels
from support import exact
from support.stream_writer import (
    F32,
    F64,
    I64,
    INTEGER,
    LOGARITHMIC,
    LOSSLESS,
    NONE,
    POINTWISE,
    ULP,
    ULP_SHORT,
    UNIFORM,
    BinaryEncoder,
    Fields,
    LevelWriter,
    code_stream,
    root_of_small_codes,
    root_section,
)
from support.two_decoders import decoded, verdict

# Masked samples of the coarsest level


def of_two_kinds(fields, kind):
    """A stream of two samples, both of this kind; the second one says so by its neighbour."""
    coder, models = BinaryEncoder(), MaskModels()
    coder.bit(models.coarsest[0], 1)
    node = 1
    for place in (2, 1, 0):
        coder.bit(models.kind[node], kind >> place & 1)
        node = 2 * node + (kind >> place & 1)
    if kind == LITERAL:
        coder.raw(3, 8 * fields.component_size)
    coder.bit(models.coarsest[1], 1)
    coder.bit(models.same, 1)
    if kind == LITERAL:
        coder.raw(5, 8 * fields.component_size)
    return fields.stream(root_section(coder))


MASKED = {
    "float": Fields((2,), "f4", LOSSLESS, representation=(F32, ULP, NONE), common_nan=0x7FC00001),
    "half": Fields((2,), "f2", LOSSLESS, representation=(F32, INTEGER, ULP_SHORT), common_nan=0x7E01),
    "octaves": Fields((2,), "f8", POINTWISE, representation=(F64, UNIFORM, LOGARITHMIC), common_nan=0x7FF8000000000001),
    "small integer": Fields((2,), "i2", LOSSLESS, representation=(F32, INTEGER, NONE), common_nan=0),
    "integer": Fields((2,), "u4", LOSSLESS, representation=(F64, INTEGER, NONE), common_nan=0),
    "wide integer": Fields((2,), "i8", LOSSLESS, representation=(I64, INTEGER, NONE), common_nan=0),
}


@pytest.mark.parametrize("fill", [None, 9])
@pytest.mark.parametrize("name", MASKED)
def test_kinds_that_a_stream_can_have(name, fill):
    fields = MASKED[name]
    fields.fill = fill
    word = f"<u{fields.component_size}"
    possible = {LITERAL: [3, 5]}
    if fill is not None:
        possible[FILL] = [9, 9]
    if fields.dtype[0] == "f":
        infinity = np.array(np.inf, fields.dtype).view(word).item()
        sign = 1 << 8 * fields.component_size - 1
        possible |= {2: [fields.common_nan] * 2, PLUS_INFINITY: [infinity] * 2, MINUS_INFINITY: [infinity | sign] * 2}
    if name == "octaves":
        possible[PLUS_ZERO] = [0, 0]
    for kind in range(1, 8):
        stream = of_two_kinds(fields, kind)
        if kind in possible:
            assert decoded(stream).view(word).tolist() == possible[kind], kind
        else:
            assert verdict(stream) == "damaged", kind


# Weights and models of levels


TWO_LEVELS = Fields((600,), "f8", representation=(F64, UNIFORM, NONE))  # 600, 300 and, in the base section, 150 samples


def with_weights(first, precision, change, other_precision=None):
    """A stream of which level 1 has a weight, and level 0 that weight and a change of it."""
    upper = LevelWriter().bits(P0=0, AW=1, S0=0).precision(precision).numbers("W0", first).numbers("W1", 0, 0).bits(FB=0, AC=0)
    lower = LevelWriter().bits(P0=0, CW=0, AW=1, S0=0)
    lower = lower.bits(PS=1) if other_precision is None else lower.precision(other_precision)
    lower = lower.bits(RF=1).numbers("WC", change, 0, 0).bits(FB=0, AC=0)
    return TWO_LEVELS.stream(root_of_small_codes(150, np.random.default_rng(1)), upper.section(), lower.section())


LARGEST = 2**28


@pytest.mark.parametrize(
    ("stream", "sound"),
    [
        (with_weights(LARGEST, 24, 0), True),
        (with_weights(-LARGEST, 24, 0), True),
        (with_weights(LARGEST + 1, 24, 0), False),
        (with_weights(-LARGEST - 1, 24, 0), False),
        (with_weights(LARGEST, 24, 1), False),
        (with_weights(LARGEST, 24, LARGEST), False),
        (with_weights(LARGEST, 24, 2**32 - LARGEST), False),  # zero in 32 bits
        (with_weights(LARGEST, 24, -2 * LARGEST), True),
        (with_weights(LARGEST, 24, -2 * LARGEST - 1), False),
        (with_weights(LARGEST, 1, 5 - 2**51, other_precision=24), True),
        (with_weights(LARGEST, 1, 0, other_precision=24), False),
        (with_weights(LARGEST, 24, LARGEST - 32, other_precision=1), True),
        (with_weights(5, 8, 2**62), False),
    ],
)
def test_weights(stream, sound):
    assert verdict(stream) == (None if sound else "damaged")


@pytest.mark.parametrize(("shape", "sound"), [((4, 100), True), ((2, 2, 100), False)])
@pytest.mark.parametrize("stencil", [1, 2])
def test_the_long_stencil_is_for_levels_of_two_axes(shape, stencil, sound):
    """Of which one is split; around a block of three, the samples that it reaches would be many times those of the block."""
    level = LevelWriter().bits(P0=0, AW=1, S0=1, S1=stencil - 1)
    if stencil == 2:
        level.bits(S2=0)
    level.bits(PS=1)
    active = 12 if len(shape) == 2 else 14
    for group in range(len(prediction.stencil(stencil, 8, active))):
        level.numbers("W0" if group == 0 else "W1" if group < 3 else "W2", 0)
    level.bits(FB=0, AC=0)
    fields = Fields(shape, offsets=(63, 63, 63, 0))
    stream = fields.stream(root_of_small_codes(200, np.random.default_rng(1)), level.section())
    assert verdict(stream) == (None if sound or stencil == 1 else "damaged")


def with_feedback(upper, unit=0, **lower):
    """A stream of which level 1 has a weight of feedback, for samples of odd index; `unit`: bits of residuals less 7."""
    upper = LevelWriter().bits(P0=0, AW=0, FB=1, FA=0).numbers("FR", unit).numbers("F3", upper).bits(AC=0)
    lower = LevelWriter().bits(P0=0, AW=0, **lower).bits(AC=0)
    return TWO_LEVELS.stream(root_of_small_codes(150, np.random.default_rng(1)), upper.section(), lower.section())


@pytest.mark.parametrize(("weight", "sound"), [(127, True), (-127, True), (128, False), (-128, False), (2**40, False)])
def test_weights_of_feedback(weight, sound):
    for level_0 in ({"FB": 0}, {"FB": 1, "FC": 1}):
        assert verdict(with_feedback(weight, **level_0)) == (None if sound else "damaged")


@pytest.mark.parametrize(("bits", "sound"), [(3, True), (11, True), (2, False), (12, False), (2**40, False), (-(2**40), False)])
def test_unit_of_residuals(bits, sound):
    assert verdict(with_feedback(5, bits - 7, FB=1, FC=1)) == (None if sound else "damaged")


@pytest.mark.parametrize(
    ("dtype", "samples", "scale", "sound"),
    [("f4", F32, 131, True), ("f4", F32, 132, False), ("f4", F32, 279, False), ("f8", F64, 259, True), ("f8", F64, 260, False)],
)
def test_the_shift_of_a_model(dtype, samples, scale, sound):
    fields = Fields((300,), dtype, representation=(samples, UNIFORM, NONE))
    level = LevelWriter().bits(P0=0, AW=0, FB=0, AC=1).numbers("ME", 0)
    level.bits(M0=0, M1=0).numbers("MS", scale - 12).bits(H0=0, H1=0)  # the first context is in run-length mode by default
    for _ in range(15):
        level.bits(M0=1)
    stream = fields.stream(root_of_small_codes(150, np.random.default_rng(1)), level.section())
    assert verdict(stream) == (None if sound else "damaged")


# Codes of the base section


@pytest.mark.parametrize(
    ("dtype", "samples", "largest"), [("f4", F32, 2**31 - 1), ("f8", F64, 2**61 - 1), ("i8", I64, 2**61 - 1)]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_codes_of_the_root(dtype, samples, largest, sign):
    for code, sound in ((largest, True), (largest + 1, False), (2**62, False)):
        coder = BinaryEncoder()
        coder.bit(BitModel(), 0)
        coder.signed(SignedModel(), sign * code)
        quantizer = INTEGER if dtype == "i8" else UNIFORM
        stream = Fields((), dtype, representation=(samples, quantizer, NONE)).stream(root_section(coder))
        assert verdict(stream) == (None if sound else "damaged")


# Codes of a level


RUNS, VALUES = symbol_table("zero_run_source", 12), symbol_table("value_source", 8)


def with_codes(fields, run_length, stream):
    """A stream whose 150 samples of level 0 have these codes, all in one context."""
    coder, stored = BinaryEncoder(), BitModel()
    zero = SignedModel()
    for _ in range(150):
        coder.bit(stored, 0)
        coder.signed(zero, 0)
    level = LevelWriter().bits(P0=0, AW=0, FB=0, AC=1).numbers("ME", 0).bits(M0=0, M1=int(run_length)).numbers("MS", 0)
    level.bits(**({"MV": 1} if run_length else {"H0": 0, "H1": 0}))
    for _ in range(15):
        level.bits(M0=1)
    return fields.stream(root_section(coder), level.section(stream))


def with_escapes(fields, run_length, escapes):
    """A stream of which the first samples of level 0 have these codes (zigzag), written as escapes; all others have zeros."""
    if run_length:
        runs, values = RUNS, VALUES
        symbols = [entry for k in range(len(escapes)) for entry in ((2 * k, 0, runs), (2 * k + 1, len(values[2]) - 1, values))]
        symbols.append((2 * len(escapes), len(runs[2]) - 1, runs))  # an escape, whose run is all that is left
    else:
        table = symbol_table("two_sided_source", 12)
        symbols = [(k, len(table[2]) - 1 if k < len(escapes) else 0, table) for k in range(150)]
    raw_value = raw_size = 0
    for value in [zigzag - run_length for zigzag in escapes] + [150 - len(escapes)] * run_length:
        e = (value + 1).bit_length() - 1
        raw_value |= (e | (value + 1 - 2**e) << 6) << raw_size
        raw_size += 6 + e
    return with_codes(fields, run_length, code_stream(symbols, raw_value, raw_size))


LARGEST_CODES = [("f4", F32, 2**31 - 1), ("f8", F64, 2**61 - 1), ("i8", I64, 2**61 - 1)]


@pytest.mark.parametrize("run_length", [True, False])
@pytest.mark.parametrize(("dtype", "samples", "largest"), LARGEST_CODES)
def test_codes_of_a_level(dtype, samples, largest, run_length):
    fields = Fields((300,), dtype, representation=(samples, INTEGER if dtype == "i8" else UNIFORM, NONE))
    for zigzag, sound in ((2 * largest, True), (2 * largest - 1, True), (2 * largest + 1, False), (2 * largest + 2, False)):
        stream = with_escapes(fields, run_length, [7, zigzag, 2])
        assert verdict(stream) == (None if sound else "damaged"), zigzag


@pytest.mark.parametrize(("more", "sound"), [(21, True), (22, False), (31, False)])
def test_runs_of_zeros_end_with_their_samples(more, sound):
    """A run of 128 zeros and more, and a code behind it: 149 leave room for that."""
    stream = code_stream([(0, 28, RUNS), (1, 1, VALUES)], more, 5)
    assert verdict(with_codes(Fields((300,), "f8", representation=(F64, UNIFORM, NONE)), True, stream)) == (
        None if sound else "damaged"
    )


def test_code_streams_end_with_their_codes():
    """No byte between words and raw bits, and no bit above the raw bits."""
    fields = Fields((300,), "f8", representation=(F64, UNIFORM, NONE))
    stream = code_stream([(0, 28, RUNS), (1, 1, VALUES)], 21, 5)
    assert verdict(with_codes(fields, True, stream)) is None
    for longer in (stream[:-1] + b"\0" + stream[-1:], stream[:-1] + b"\0\0" + stream[-1:], stream[:-1] + b"\x35"):
        assert verdict(with_codes(fields, True, longer)) == "damaged"


def test_more_samples_than_a_root_section_can_hold():
    for samples, sound in ((8192 * (4 + 8), True), (8192 * (4 + 8) + 1, False)):
        coded = b"\xff\xff\xff\xfe"
        root = coded + reference_decoder.check(coded)
        stream = Fields((samples,), offsets=(63,) * 4).stream(root)
        if sound:  # as many as the limit allows, more than these four bytes have
            with pytest.raises(h5stz.StzError, match="too early"):
                h5stz.decompress(stream)
        else:
            assert verdict(stream) == "damaged"


# Octaves as float16


def octaves(number):
    """The sample that decodes to a number from 1 up to 65/64, or to its neighbour."""
    return (number - 1) * 64 * elements.CHORDS[1] / 2**40


def stored_samples(fields, numbers):
    """A stream of samples that are all stored. Exponents are added to the octaves of 1 to 65/64."""
    coder, stored = BinaryEncoder(), BitModel()
    for number in numbers:
        coder.bit(stored, 1)
        coder.raw(int(np.float64(number).view("u8")), 64)
    return fields.stream(root_section(coder))


def test_float16_is_rounded_once():
    """Numbers a little beside the middle of two float16 on the other side of which a float32 in between would push them."""
    middles = [1 + (2 * k + 1) * 2.0**-11 for k in range(14)]
    exponents = (-20, -15, -14, -1, 0, 7, 15)
    samples = [octaves(middle + side * 2.0**-28) + e for middle in middles for side in (-1, 0, 1) for e in exponents]
    samples += [octaves(1) - 25, octaves(1 + 2.0**-28) - 25, octaves(1) - 24, 15.999999, 16.5, -30.0]
    for negative in (False, True):
        fields = Fields((len(samples),), "f2", POINTWISE, 0.5, representation=(F64, UNIFORM, LOGARITHMIC), offsets=(63,) * 4)
        fields.flags = 64 * negative
        array = decoded(stored_samples(fields, samples))
        numbers = np.array([elements.number_of_octaves(sample) for sample in samples]).clip(0, 65504)
        expected = (-numbers if negative else numbers).astype("f2")
        assert exact.same_bits(array, expected)
        by_way_of_float32 = numbers.astype("f4").astype("f2")
        assert np.any(np.abs(expected) != by_way_of_float32)
