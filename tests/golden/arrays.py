"""The arrays of the golden streams, and the options that they are compressed with.

They are made with integers and exact floating-point operations alone, so that they have the same bits with every NumPy on every
machine. An entry is never changed or removed: what the encoder once made of it is kept for ever. New features get new entries.
"""

import hashlib
import json

import ml_dtypes
import numpy as np

import h5stz
from h5stz import _core

NAN = 0x7FC00000
SHORT_FLOATS = ["bfloat16", "float8_e4m3fn", "float8_e5m2"]  # dtypes of ml_dtypes
KINDS = ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c8", "c16"]


def noise(count, seed=1):
    """Pseudo-random integers 0..1023 (a linear congruential generator)."""
    state, found = seed, []
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        found.append(state >> 54)
    return np.array(found, "i8")


def waves(shape, roughness=0, seed=1):
    """Integers around 1000: parabolic waves of different length along each axis, plus a little noise."""
    total = np.full(shape, 1000, "i8")
    for axis, extent in enumerate(shape):
        place = np.arange(extent) * (7 + 4 * axis) % 64 - 32
        line = (place * (32 - np.abs(place))) * np.where(np.arange(extent) // 16 % 2, 1, -1) // 2
        total += line.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    return total + noise(total.size, seed).reshape(shape) * roughness // 1024


def of_dtype(integers, dtype):
    """These integers as an array of `dtype`: quarters for floating-point types, cut to the range of small integers."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        return ((integers - 1000) / 4 + 0.25j * integers[::-1]).astype(dtype)
    if dtype.kind == "f":
        return ((integers - 1000) / 4).astype(dtype)
    if dtype.itemsize == 1:
        return ((integers - 1000) // 8 + 60).clip(0, 127).astype(dtype)
    return integers.clip(0, 30000).astype(dtype)


def of_few_values(integers, dtype):
    """About 100 values that are no multiples of anything, both zeros among them, in the order of these integers."""
    dtype = np.dtype(dtype)
    ranks = (integers - integers.min()) * 100 // np.ptp(integers)
    if dtype.kind == "c":
        numbers = of_few_values(integers, f"{dtype.byteorder}f{dtype.itemsize // 2}")
        return (numbers + 1j * numbers[::-1]).astype(dtype)
    if dtype.kind == "f":
        values = np.sort(noise(101, 3) - 512 + noise(101, 4) / 1024) * 4
        values[49:51] = -0.0, 0.0
        return values.astype(dtype)[ranks]
    return np.sort(noise(101, 3).astype(dtype) * dtype.type(2 ** (8 * dtype.itemsize - 12) - 3))[ranks]


def with_bits(array, place, bits):
    """A copy with the bits of the samples at `place` replaced."""
    array = array.copy()
    array.view(f"{array.dtype.str[0]}u{array.dtype.itemsize}")[place] = bits
    return array


def cases():
    """{name: (array, options)}."""
    found = {}
    for number, kind in enumerate(KINDS):
        shape = [(400,), (21, 23), (9, 8, 10), (5, 6, 4, 5)][number % 4]
        array = of_dtype(waves(shape, 90, seed=number + 1), "<>"[number % 2] + kind)
        found[f"{kind}_absolute"] = array, {"absolute": 6.5}
        found[f"{kind}_lossless"] = of_dtype(waves((150,), 8, seed=number + 1), ">" + kind), {"lossless": True}
        if array.dtype.kind in "fc":
            found[f"{kind}_pointwise"] = of_dtype(waves((11, 30), 60) * 30, "<" + kind), {"pointwise_relative": 0.02}
            found[f"{kind}_pointwise_signs"] = array, {"pointwise_relative": 0.125}
    smooth = of_dtype(waves((2500,)), "f4")
    found["levels_1d"] = smooth, {"absolute": 2.0}
    found["levels_2d"] = of_dtype(waves((60, 61), 40), "f4"), {"absolute": 20.0}
    found["levels_3d"] = of_dtype(waves((16, 17, 18), 100), "f4"), {"absolute": 30.0}
    found["levels_4d"] = of_dtype(waves((7, 8, 9, 10), 100), "f8"), {"absolute": 40.0}
    found["levels_5d"] = of_dtype(waves((2, 3, 9, 8, 10), 100), "f4"), {"absolute": 40.0}
    found["thin"] = of_dtype(waves((1500, 2), 50), "f4"), {"absolute": 8.0}
    found["regions"] = of_dtype(waves((35, 34, 33)), "f4"), {"absolute": 60.0, "block": "region"}
    found["near_one_ulp"] = of_dtype(waves((200,), 300), "f4") + np.float32(4096), {"absolute": 2.0**-11}
    found["lattice"] = (waves((40, 30), 30) * 0.1).astype("f4"), {"lossless": True}
    found["nan"] = with_bits(of_dtype(waves((30, 31), 50), "f4"), np.s_[4:20, 9:17], 0x7FC00000), {"absolute": 8.0}
    for kind, dtype in (("f2", ">f2"), ("f4", "<f4"), ("f8", ">f8"), ("u8", "<u8"), ("i4", ">i4"), ("c8", "<c8")):
        found[f"palette_{kind}"] = of_few_values(waves((50, 40), 60), dtype), {"lossless": True}
    found["palette_absolute"] = of_few_values(waves((50, 40), 60), "f4"), {"absolute": 2.0**-20}
    found["palette_pointwise"] = of_few_values(waves((50, 40), 60), "f8"), {"pointwise_relative": 2.0**-40}
    few = of_few_values(waves((40, 50), 60), "f4")
    found["palette_masked"] = with_bits(few, np.s_[4:20, 9:17], 0x7FC00000), {"lossless": True}
    masked = of_dtype(waves((700,), 50), "f8")
    masked[::11] = np.inf
    masked[5::70] = -np.inf
    found["infinities"] = masked, {"absolute": 8.0}
    payloads = np.arange(20, dtype="u8") + 0x7FF8000000000000
    found["nan_payloads"] = with_bits(of_dtype(waves((300,), 50), "f8"), np.s_[7:87:4], payloads), {"absolute": 8.0}
    somewhere = noise(1200, 6).reshape(40, 30) < 300
    found["nan_scattered"] = with_bits(of_dtype(waves((40, 30), 50), "f4"), somewhere, 0x7FC00000), {"absolute": 8.0}
    payloads = np.array([0, 0, 1], "u4")[np.arange(somewhere.sum()) % 3] + np.uint32(0x7FC00000)
    found["nan_scattered_payloads"] = with_bits(of_dtype(waves((40, 30), 50), "f4"), somewhere, payloads), {"absolute": 8.0}
    fill = of_dtype(waves((25, 30), 50), "i2")
    fill[9:, 4:12] = -32768
    found["fill_value"] = fill, {"absolute": 9.0, "fill_value": -32768}
    fill = of_dtype(waves((25, 30), 50), ">f4")
    fill[3:9, 4:12] = -9999
    found["fill_value_float"] = fill, {"absolute": 9.0, "fill_value": -9999.0}
    padded = of_dtype(waves((40, 44), 50), "f4")
    padded[29:] = padded[:, 30:] = 0
    found["padded"] = padded, {"absolute": 9.0}
    found["padded_nan"] = with_bits(padded, np.s_[:, 30:], 0x7FC00001), {"absolute": 9.0}
    layers = (np.arange(70)[:, None] + np.arange(60) // 3) // 11 % 5 * 100
    found["edges"] = of_dtype(layers, "f4"), {"absolute": 0.5}
    found["edges_lossless"] = of_dtype(layers, ">f8") * 0.7, {"lossless": True}
    found["edges_labels"] = of_dtype(layers, "<i4"), {"lossless": True}
    found["edges_3d"] = of_dtype(layers.reshape(20, 14, 15), "f4"), {"absolute": 3.0, "block": "region"}
    found["edges_pointwise"] = of_dtype(layers * 30, "f4") - 80, {"pointwise_relative": 0.01}
    fill = of_dtype(layers, "<i2")
    fill[9:, 4:12] = -32768
    found["edges_fill_value"] = fill, {"absolute": 2.0, "fill_value": -32768}
    found["constant"] = np.full((7, 8), 2.5, ">f8"), {"absolute": 0.1}
    found["constant_nan"] = with_bits(np.zeros(9, "f4"), np.s_[:], 0x7FC12345), {"lossless": True}
    found["raw"] = noise(24, 5).astype("u2"), {"lossless": True}
    words = sum(noise(60, seed).astype("u8") << np.uint64(10 * seed) for seed in range(1, 7))
    found["raw_noise"] = words, {"lossless": True}
    found["scalar"] = np.array(2.25), {"lossless": True}
    found["empty"] = np.zeros((3, 0), "f4"), {"absolute": 1.0}
    return (
        found
        | more_cases()
        | edge_cases()
        | feedback_cases()
        | layer_cases()
        | enhanced_cases()
        | field_cases()
        | remainder_cases()
        | decimal_cases()
        | slice_cases()
        | repeat_cases()
        | short_float_cases()
        | range_cases()
    )


def more_cases():
    """What the others leave out: {name: (array, options)}."""
    negative = -(waves((40, 41), 90) ** 3 * 1.0)
    negative[3:9, 4:20] = 0
    return {
        "throughput": (of_dtype(waves((12, 40, 70), 90), "f4"), {"absolute": 40.0, "block": "throughput"}),
        "negative": (with_bits(negative, np.s_[20:30, 4:20], 0x7FF8000000000000), {"pointwise_relative": 0.01}),
        "negative_f4": (negative.astype(">f4"), {"pointwise_relative": 0.01}),
        "lattice_f8": ((waves((600,), 300) + noise(600, 3) * 7000) * 0.01, {"lossless": True}),
        "lattice_1d": ((waves((2600,), 700) * 0.3).astype("f4"), {"lossless": True}),
    }


def edge_cases():
    """Streams in edge mode of every quantiser: {name: (array, options)}."""
    i, j = np.mgrid[0:90, 0:80]
    bands, bows = (i * 3 + j) // 37 % 7, (i + j * j // 40) // 13 % 5
    ramps = bows * 997 + (bows == 2) * (i * 7 + j * 31) + (bows == 3) * j * 13
    spots = (noise(90 * 80, 3).reshape(90, 80) < 40) * 30
    near = 0x4010000000000000 + bows * 2**44 + i // 9 * (i // 9 % 7 + 1) * 2**33 + (bows == 3) * (j * j * i) * 2**20
    ulps = near + (bows == 2) * (j // 7) * (i // 5)
    return {
        "edges_uniform": (bands * 100 + np.where(bands % 2, (i * 7 + j * 3) / 8, i * j / 32) + spots, {"absolute": 0.5}),
        "edges_ramps": ((ramps / 3).astype("f8"), {"lossless": True}),
        "edges_ulps": (ulps.astype("u8").view("f8"), {"lossless": True}),
        "edges_i4": (ramps.astype("i4"), {"lossless": True}),
        "edges_i8": ((ramps + bows * 10**8 + (bows == 2) * i * 70000).astype(">i8"), {"lossless": True}),
    }


def walks(shape, seed=1):
    """Integers whose differences along every axis are noise: what is left of them by prediction is alike in neighbours."""
    total = noise(int(np.prod(shape)), seed).reshape(shape) - 511
    for axis in range(len(shape)):
        total = np.cumsum(total, axis)
    return total >> 3


def feedback_cases():
    """Streams with residual feedback: {name: (array, options)}."""
    found = {}
    for name, shape, kind, bound in [
        ("2d", (60, 61), "f8", 30.0),
        ("3d", (22, 23, 24), "f4", 100.0),
        ("4d", (9, 8, 10, 11), "f4", 100.0),
        ("wide", (18, 19, 20), "f4", 1.5),
        ("integers", (50, 51), "i4", 1.0),
        ("rounded", (50, 51), "i4", 40.0),
    ]:
        found[f"feedback_{name}"] = walks(shape, len(shape)).astype(kind), {"absolute": bound}
    masked = with_bits(walks((40, 43), 7).astype("f4"), np.s_[5:16, 9:20], 0x7FC00000)
    found["feedback_masked"] = masked, {"absolute": 20.0}
    regions = {"absolute": 300.0, "block": "region", "content_check": True}
    found["feedback_regions"] = walks((40, 35, 33), 4).astype("f4"), regions
    return found


def layer_cases():
    """Streams with precision layers: {name: (array, options)}."""
    masked = with_bits(of_dtype(waves((40, 43), 200), ">f8"), np.s_[5:16, 9:20], 0x7FF8000000000000)
    return {
        "precision_2d": (of_dtype(waves((60, 61), 400), "f4"), {"absolute": 0.5, "layers": 3}),
        "precision_masked": (masked, {"absolute": 0.25, "layers": 4}),
        "precision_lossless": (of_dtype(waves((40, 43), 200), "i2"), {"lossless": True, "layers": 2}),
    }


def enhanced_cases():
    """Streams with an enhancement: {name: (array, options)}."""
    masked = with_bits(walks((60, 63), 3).astype(">f8"), np.s_[5:26, 9:40], 0x7FF8000000000000)
    masked[::9, ::7] = np.inf
    relaxed = {"enhance": "relaxed"}
    return {
        "enhanced_1d": (walks((4000,), 5).astype("f4"), {"absolute": 30.0, **relaxed}),
        "enhanced_2d": (walks((70, 71), 6).astype("f4"), {"absolute": 300.0, **relaxed}),
        "enhanced_3d": (walks((26, 27, 28), 7).astype("<f8"), {"absolute": 100.0, **relaxed, "block": "region"}),
        "enhanced_complex": ((walks((60, 50), 8) + 1j * walks((60, 50), 9)).astype("c8"), {"absolute": 200.0, **relaxed}),
        "enhanced_masked": (masked, {"absolute": 100.0, **relaxed}),
        "enhanced_strict": (walks((70, 72), 6).astype("<f8"), {"absolute": 200.0, "enhance": "strict"}),
        "enhanced_both": (walks((27, 26, 25), 7).astype("f4"), {"absolute": 200.0, "enhance": "both"}),
    }


def random_words(count, seed):
    """Pseudo-random 64-bit integers (the mixing of SplitMix64)."""
    state = (np.arange(1, count + 1, dtype="u8") + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ state >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ state >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return state ^ state >> np.uint64(31)


def scattered(count, dtype, seed, exponents=None, zeros=0):
    """Numbers of either sign with any mantissas, whose `zeros` lowest bits are zero.

    `exponents`: what is taken from the bias; else half of them are 1, a quarter 2 and so on.
    """
    dtype = np.dtype(dtype)
    width = 8 * dtype.itemsize // (2 if dtype.kind == "c" else 1)
    mantissa = {16: 10, 32: 23, 64: 52}[width]
    words, bias = random_words(count, seed), 2 ** (width - 2 - mantissa) - 1
    if exponents is None:
        low = random_words(count, seed + 1) | np.uint64(1 << min(bias, 30) - 1)
        exponents = sum((low & np.uint64((1 << k) - 1) == 0).astype("i8") for k in range(1, 31)) + 1
    bits = words >> np.uint64(63) << np.uint64(width - 1) | (bias - exponents).astype("u8") << np.uint64(mantissa)
    bits |= (words & np.uint64(2**mantissa - 1)) >> np.uint64(zeros) << np.uint64(zeros)
    return bits.astype(f"{dtype.str[0]}u{width // 8}").view(dtype)


def field_cases():
    """Floating-point fields: {name: (array, options)}."""
    lossless = {"lossless": True}
    found = {}
    for seed, (dtype, shape) in enumerate(
        [
            ("<f2", (900,)),
            (">f4", (20, 30)),
            ("<f8", (5, 8, 10)),
            (">c8", (300,)),
            ("<c16", (16, 19)),
            (">f2", (70, 70)),
            ("<f4", (4200,)),
        ]
    ):
        count = int(np.prod(shape)) * (2 if dtype[1] == "c" else 1)
        found[f"fields_{dtype[1:]}_{shape[0]}"] = scattered(count, dtype, 10 * seed).reshape(shape), lossless
    some = random_words(600, 71) % np.uint64(10)
    sparse = np.where(some < 4, np.float32(0), scattered(600, "<f4", 72))
    found["fields_zeros"] = sparse, lossless
    found["fields_nan"] = with_bits(sparse, some == 5, NAN), lossless
    found["fields_fill_value"] = np.where(some == 6, np.float32(-9999), sparse), {**lossless, "fill_value": -9999.0}
    narrow = scattered(600, "f4", 74).astype("f8")
    found["fields_short"] = np.where(some < 5, narrow, scattered(600, "<f8", 76)), lossless
    found["fields_short_and_zeros"] = np.where(some == 9, 0.0, found["fields_short"][0]).astype(">f8"), lossless
    found["fields_zero_bits"] = scattered(500, "<f8", 78, zeros=13), lossless
    exponents = np.where(some < 8, some, random_words(600, 79) % np.uint64(900)).astype("i8")
    found["fields_escapes"] = scattered(600, ">f8", 80, exponents), lossless
    found["fields_one_symbol"] = scattered(500, "<f8", 82, np.ones(500, "i8")), lossless
    many = 2**17 + 3000
    seldom = random_words(many, 84) % np.uint64(12) == 0
    found["fields_blocks"] = np.where(seldom, scattered(many, "<f2", 86), np.float16(0)), lossless
    return found


def short_float_cases():
    """Streams of bfloat16 and float8: {name: (array, options)}."""
    found = {}
    for number, name in enumerate(SHORT_FLOATS):
        dtype, largest = np.dtype(getattr(ml_dtypes, name)), (1e5, 440.0, 5e4)[number]
        numbers = of_dtype(waves((30, 31), 90, seed=number + 1), "f8")
        numbers *= largest / np.abs(numbers).max()
        masked = with_bits(numbers.astype(dtype), np.s_[4:20, 9:17], (0x7FC0, 0xFF, 0x7E)[number])
        if number != 1:  # which has no infinities
            masked[::9, ::7], masked[3::9, ::7] = np.inf, -np.inf
        steps = (waves((30, 31)) // 40 % 9 * 9.0 - 40).astype(dtype)
        found |= {
            f"{name}_absolute": (numbers.astype(dtype), {"absolute": largest / 20}),
            f"{name}_masked": (masked, {"absolute": largest / 50}),
            f"{name}_edges": (steps, {"absolute": 1.0}),
            f"{name}_lossless": (numbers.astype(dtype), {"lossless": True}),
            f"{name}_pointwise": (np.abs(numbers).astype(dtype), {"pointwise_relative": 0.25}),
            f"{name}_fields": ((scattered(1300, "<f4", 200 + number) * 64).astype(dtype), {"lossless": True}),
            f"{name}_few": (of_few_values(waves((50, 40), 60), "f4").astype(dtype), {"lossless": True}),
        }
    near = (np.array([0, -1, 1, -2, 3])[waves((25, 24), 200) % 5] + 0.0).astype(ml_dtypes.bfloat16)
    found["bfloat16_big_endian"] = near.astype(near.dtype.newbyteorder(">")), {"lossless": True}
    near = (waves((1500,), 40) - 1000) * 2.0  # so cut off, predictions exceed the largest number
    found["float8_e4m3fn_limits"] = (
        (near * 896 / np.abs(near).max()).clip(-448, 448).astype(ml_dtypes.float8_e4m3fn),
        {"absolute": 70.0},
    )
    return found


def range_cases():
    """Streams with a range of values: {name: (array, options)}."""
    masked = with_bits(of_dtype(noise(40 * 43, 7).reshape(40, 43), "f4") ** 2, np.s_[5:16, 9:20], 0x7FC00000)
    grid = noise(600, 9) * 0.25
    return {
        "range_signs": (noise(60 * 61).reshape(60, 61).astype("f4") ** 2, {"absolute": 3000.0}),
        "range_negative": (-(noise(20 * 21 * 22, 2).reshape(20, 21, 22).astype(">f8") ** 2), {"absolute": 900.0}),
        "range_kept": (of_dtype(waves((40, 43), 200), "f2"), {"absolute": 30.0, "keep_range": True}),
        "range_layers": (of_dtype(waves((60, 61), 400), "f8"), {"absolute": 0.5, "layers": 3, "keep_range": True}),
        "range_masked": (masked, {"absolute": 2000.0, "block": "region"}),
        "range_integers": (noise(900, 3).reshape(30, 30).astype("i2") // 9, {"absolute": 7.0}),
        "range_u8": (noise(900, 3).astype("u8") + np.uint64(2**63), {"absolute": 70.0, "valid_range": (2.0**63, None)}),
        "range_grid": (np.where(grid > 200, 0, grid), {"absolute": 0.8}),
        "range_enhanced": (np.abs(walks((26, 27, 28), 7)).astype("f4"), {"absolute": 100.0, "enhance": "relaxed"}),
        "range_complex": ((noise(900, 4) + 1j * noise(900, 5)).reshape(30, 30).astype("c8"), {"absolute": 70.0}),
        "range_pointwise": (noise(900, 6).astype("f4") + 1, {"pointwise_relative": 0.1, "valid_range": (1, 1024)}),
    }


def with_layers(stream, layers):
    """The array that the first `layers` precision layers of a stream give; the errors of fewer are larger."""
    info = h5stz.info(stream)
    reader = _core.Reader.of_bytes(stream, 0)
    reader.max_error(info.layers[layers - 1].max_error)
    array = np.empty(info.shape, info.dtype)
    reader.read((0,) * array.ndim, array.shape, (1,) * array.ndim, array, 1)
    return array


def compress(array, options):
    """The stream of a case; no fill value unless it names one. Bounds count for integers."""
    return h5stz.compress(array, **{"fill_value": False, "integers": "lossy", **options})


def dtype_text(dtype):
    """A dtype in arrays.json: with the byte order, unless NumPy has no such type."""
    return dtype.name if dtype.name in SHORT_FLOATS else dtype.str


def digest(array):
    """SHA-256 of an array's bytes."""
    return hashlib.sha256(array.tobytes()).hexdigest()


def in_lines(table, depth=1):
    """The JSON of a dictionary (or dictionaries `depth` deep), a line for each entry."""
    if not depth or not isinstance(table, dict):
        return json.dumps(table)
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {in_lines(value, depth - 1)}" for key, value in table.items()) + "\n}"


def uneven(shape, dtype, seed=1):
    """Waves around zero with noise in all bits."""
    waving = (waves(shape, 9, seed) - 1000).astype("f8")
    count = int(np.prod(shape))
    fine = sum(noise(count, seed + place).astype("f8") * 2.0 ** (-10 * place) for place in range(1, 5))
    return (waving + fine.reshape(shape)).astype(dtype)


def remainder_cases():
    """Multiples of a step and the bits below it: {name: (array, options)}."""
    exact = {"lossless": True}
    found = {
        "remainders_1d": (uneven((3000,), "<f4"), exact),
        "remainders_2d": (uneven((61, 70), ">f4"), exact),
        "remainders_3d": (uneven((17, 18, 19), "<f8"), exact),
        "remainders_4d": (uneven((7, 9, 11, 12), ">f8"), exact),
        "remainders_of_items": (uneven((3, 2, 9, 8, 10), "<f4"), exact),
        "remainders_regions": (uneven((20, 21, 22), "<f4"), {"block": "region", **exact}),
    }
    real, imaginary = uneven((20, 30), "f4"), uneven((20, 30), "f4", 7)
    found["remainders_c8"] = (real + 1j * imaginary).astype("<c8"), exact
    small = uneven((40, 50), "<f4")
    small[::13, ::5] = small[::13, ::5] * np.float32(2.0**-9)
    small[3::17, ::7] = 0
    small[4, 7:9] = -0.0
    small[5, 7:9] = 2.0**-140
    found["remainders_of_small_numbers"] = small, exact
    fading = uneven((60, 50), "<f8") * 2.0 ** -(np.maximum(np.arange(60) - 20, 0)[:, None] * 2)
    found["remainders_far_below_the_step"] = fading, exact
    found["remainders_masked"] = with_bits(small, np.s_[4:20, 9:17], 0x7FC00000), exact
    fill = small.copy()
    fill[9:, 4:12] = -9999
    found["remainders_fill_value"] = fill, {"fill_value": -9999.0, **exact}
    padded = uneven((40, 44), "f4")
    padded[29:] = padded[:, 30:] = 0
    found["remainders_padded"] = padded, exact
    few = uneven((190,), "<f4") + np.float32(3)
    few[[5, 50, 60]] = few[[5, 50, 60]] * np.float32(2.0**-6)
    few[70] = 2.0**-140
    found["remainders_of_few"] = few, exact
    found["remainders_and_zeros"] = np.where(np.arange(190) % 60 == 3, np.float32(0), few), exact
    large = np.where(np.abs(few) < 4, few + np.float32(8), few)
    found["remainders_and_zeros_alone"] = np.where(np.arange(190) % 60 == 3, np.float32(0), large), exact
    found["remainders_with_zero_bits"] = uneven((90, 100), "f4").astype("f8"), exact
    return found


def significant(integers, digits):
    """The doubles next to decimals whose digits are those of integers, and whose exponents vary."""
    first = 10 ** (digits - 1)
    texts = [f"{first + int(k) * 7919 % (9 * first)}e{int(k) // 7 % 12 - 18}" for k in integers.reshape(-1)]
    return np.array([float(text) for text in texts]).reshape(integers.shape)


def decimal_cases():
    """Numbers next to decimals of few digits: {name: (array, options)}."""
    exact = {"lossless": True}
    places = (waves((30, 40), 40) - 900).astype("f8")
    negative_zeros = places / 1000
    negative_zeros[3, 4:9] = -0.0
    found = {
        "decimals_1d": (waves((900,), 9) / 10.0**7, exact),
        "decimals_of_float32": (((places * 371 + noise(1200).reshape(30, 40) % 256) / 10.0**5).astype(">f4"), exact),
        "decimals_regions": (waves((20, 21, 22), 30) / 10.0**5 + 0.0, {"block": "region", **exact}),
        "decimals_and_others": (negative_zeros, exact),
        "decimals_masked": (with_bits(places / 10.0**5, np.s_[4:20, 9:17], 0x7FF8000000000000), exact),
        "decimals_significant": (significant(waves((40, 30)) * 64 + noise(1200).reshape(40, 30) % 64, 6), exact),
    }
    real, imaginary = (waves((20, 30), 40, seed) / 10.0**6 for seed in (1, 2))
    found["decimals_c16"] = real + 1j * imaginary, exact
    tiny = significant(waves((500,)) * 1024 + noise(500), 12) * np.where(noise(500) % 2, -1.0, 1.0)
    tiny[::50] = 0
    found["decimals_significant_of_both_signs"] = tiny, exact
    return found


def packed(shape, dtype, seed=1):
    """Integers of 11 bits with a scale and an offset for each slice along axis 0."""
    integers = of_dtype(waves(shape, 60, seed) % 2048, "f8")
    slices = np.arange(shape[0]).reshape(-1, *(1 for _ in shape[1:]))
    return (integers * ((slices * 7 + 3) * 2.0 ** (slices % 5 - 8) / 7) + (slices * 1237 - 4000) / 8).astype(dtype)


def slice_cases():
    """Grids that differ from slice to slice: {name: (array, options)}."""
    exact = {"lossless": True}
    many = packed((5, 20, 30), "<f4")
    masked = packed((4, 18, 30), ">f4", 2)
    masked[1, 3:9, 4:8] = np.nan
    masked[2, 1, 1:3] = np.inf, -np.inf
    masked[3, 2:4] = -9999.0
    return {
        "slices_f4": (many, exact),
        "slices_regions": (packed((8, 20, 31, 4), "<f4"), {"block": "region", **exact}),
        "slices_masked": (masked, {"fill_value": -9999.0, **exact}),
        "slices_along_another_axis": (np.ascontiguousarray(many.transpose(1, 0, 2)), exact),
    }


def repeat_cases():
    """Arrays whose parts nearly repeat others: {name: (array, options)}."""
    exact = {"lossless": True}
    quarter = (waves((16, 32, 16), 30) - 1000 + noise(8192, 3).reshape(16, 32, 16) / 1024).astype("f4")
    half = np.concatenate([quarter, quarter[::-1]])
    both = np.concatenate([half, half[:, ::-1]], axis=1)
    near = (both.view("u4") + (noise(both.size, 4) % 5 == 0).reshape(both.shape).astype("u4")).view("f4")
    near[3:5, 7:9, 2] = np.nan
    wave = waves((4, 4500), 40) - 1000 + noise(18000, 5).reshape(4, 4500) / 1024
    odd = np.concatenate([wave, -wave[:, ::-1]], axis=1).astype(">f8")
    line = (waves((11000,), 40) - 1000 + noise(11000, 6) / 1024).astype("f4")
    again = np.concatenate([line, line[:500], line, line])
    again[9000:9100] = again[25000:25010] = -7
    return {
        "repeats_mirrored": (near, exact),
        "repeats_negated": (odd, {"block": "region", **exact}),
        "repeats_in_a_row": (again, {"fill_value": -7.0, **exact}),
    }
