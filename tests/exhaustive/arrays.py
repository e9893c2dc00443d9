"""Arrays of cases: shapes, types, memory orders, and patterns of numbers that have little in common.

Numbers are made flat, in the native number type of a dtype (a complex sample is two), and never pass through a conversion that
could change the bits of a NaN.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from support import cases, exact

#: How many samples an array may have, with how often.
BUDGETS = {30: 12, 300: 33, 1500: 37, 6000: 15, 40000: 3}
LARGE_BUDGETS = {40000: 60, 300000: 40}
RANKS = {0: 2, 1: 22, 2: 25, 3: 25, 4: 13, 5: 7, 6: 6}
PRIMES = (2, 3, 5, 7, 11, 13, 17, 31, 61, 127, 251, 509, 1021, 4093)


@dataclass
class Drawn:
    """An array with what was thought of when it was drawn.

    Attributes:
        array: as it is given to the codec, of any memory order; may be masked.
        pattern: the name of what its numbers are like.
        bounds: bounds for which it was made.
        fill: a number that some samples have and that may be named as the fill value, or None.
        notes: further words for a report.
    """

    array: np.ndarray
    pattern: str
    bounds: list = field(default_factory=list)
    fill: float | int | None = None
    notes: list = field(default_factory=list)


def draw_shape(source, rank=None, budget=None, empty=0.01):
    """A shape: even ones, long and thin ones, powers of two and their neighbours, primes, extents of 1 and 0."""
    rank = source.weighted(RANKS) if rank is None else rank
    budget = source.weighted(BUDGETS if source.chance(0.99) else LARGE_BUDGETS) if budget is None else budget
    budget = max(1, int(budget * source.real(0.3, 1)))
    extents, left = [1] * rank, budget
    axes = list(range(rank))
    source.numbers.shuffle(axes)
    for place, axis in enumerate(axes):
        even = left ** (1 / (rank - place))
        kind = source.weighted({"even": 50, "long": 12, "short": 12, "power": 10, "prime": 8, "one": 8})
        extent = {
            "even": even * source.real(0.5, 1.6),
            "long": left * source.real(0.3, 1),
            "short": source.between(1, 5),
            "power": 2 ** round(math.log2(max(even, 1))) + source.between(-1, 1),
            "prime": source.pick([p for p in PRIMES if p <= max(2 * even, 2)]),
            "one": 1,
        }[kind]
        extents[axis] = max(1, min(int(extent), left))
        left //= extents[axis]
    if rank and source.chance(empty):
        extents[source.between(0, rank - 1)] = 0
    return tuple(extents)


def _waves(source, shape):
    """Smooth numbers of about -rank..rank."""
    total = np.zeros(shape)
    for axis, extent in enumerate(shape):
        line = np.sin(np.arange(extent) * source.real(0.002, 0.9) + source.real(0, 6))
        total = total + line.reshape([-1 if k == axis else 1 for k in range(len(shape))])
    return total


def _blocks(source, shape):
    """Boxes of a number each, one over the other."""
    total = np.zeros(shape)
    for _ in range(source.between(1, 6)):
        box = tuple(slice(*sorted(source.numbers.integers(0, n + 1, 2))) for n in shape)
        total[box] = source.numbers.normal() * 3
    return total


def _values(source, shape, name):
    """Real numbers, in float64, of about 1 in size."""
    numbers = source.numbers
    if name == "smooth":
        return _waves(source, shape)
    if name == "smooth and noise":
        return _waves(source, shape) + numbers.normal(0, 10 ** source.real(-5, 0), shape)
    if name == "noise":
        return numbers.normal(size=shape)
    if name == "walk":
        return np.cumsum(numbers.normal(size=shape), axis=-1) if shape else numbers.normal(size=shape)
    if name == "ramp":
        return np.arange(math.prod(shape)).reshape(shape) * source.real(-1, 1)
    if name == "edges":
        return np.where(_waves(source, shape) > source.real(-0.5, 0.5), 1.0, source.real(-2, 2)) + _blocks(source, shape)
    if name == "blocks":
        return _blocks(source, shape)
    if name == "labels":
        return numbers.integers(0, source.between(1, 9), shape).astype(float)
    if name == "few values":
        palette = numbers.normal(size=source.between(2, 60))
        return palette[numbers.integers(0, palette.size, shape)]
    if name == "sparse":
        return np.where(numbers.random(shape) < source.real(0, 0.2), numbers.normal(size=shape), 0.0)
    if name == "decimals":
        return np.round(_waves(source, shape) + numbers.normal(0, 0.01, shape), source.between(1, 4))
    if name == "steps":
        return np.floor(_waves(source, shape) * source.between(1, 20)) * source.real(0.01, 1)
    if name == "spikes":
        return np.where(numbers.random(shape) < 0.01, 10.0 ** source.real(3, 30), 1.0) * _waves(source, shape)
    if name == "decades":
        return 10.0 ** (_waves(source, shape) * source.real(0.1, 12)) * source.pick([1, 1, -1])
    if name == "constant":
        return np.full(shape, numbers.normal())
    return np.where(np.arange(math.prod(shape)).reshape(shape) % 2, 1.0, -1.0)  # "alternating"


VALUE_PATTERNS = (
    "smooth", "smooth", "smooth and noise", "smooth and noise", "noise", "walk", "ramp", "edges", "blocks", "labels",
    "few values", "sparse", "decimals", "steps", "spikes", "decades", "constant", "alternating",
)  # fmt: skip


def _scaled(source, values, real):
    """Values in a number type, of any size and offset that it can hold."""
    low, high = cases.limits(real)
    if real.kind == "f":
        decades = {2: (-4, 3.5), 4: (-40, 37), 8: (-310, 306)}[real.itemsize]
        exponent = source.real(-4, 4) if source.chance(0.7) else source.real(*decades)
    else:
        exponent = source.real(0, math.log10(high))
    scale = 10.0**exponent
    offset = source.pick([0, 0, scale, 100 * scale, -1e4 * scale, low / 2 if real.kind == "i" else high / 2])
    with np.errstate(all="ignore"):
        return cases.rounded(np.nan_to_num(values * scale + offset, nan=0.0), real)


def _from_places(places, real):
    """Floats by their place in the order of all: 0 is zero, 1 the smallest subnormal, negative places negative floats."""
    unsigned = np.dtype(f"u{real.itemsize}")
    magnitude = np.abs(places).astype(unsigned)
    top = np.array(np.finfo(real).max).view(unsigned)
    magnitude = np.minimum(magnitude, top)
    sign = (places < 0).astype(unsigned) << unsigned.type(8 * real.itemsize - 1)
    return (magnitude | sign).view(real)


def _place(number, real):
    """The place of a float in the order of all."""
    unsigned = int(np.array(abs(number), real).view(f"u{real.itemsize}"))
    return -unsigned if number < 0 else unsigned


def _walk(source, count, most):
    """Integers that change slowly."""
    steps = source.numbers.integers(-most, most + 1, count)
    return np.cumsum(steps) if source.chance(0.7) else steps


def _ulps(source, count, real):
    """Neighbouring floats around a number: steps of a few units in the last place."""
    info = np.finfo(real)
    about = source.pick([1.0, float(info.tiny), 2.0 ** source.between(int(info.minexp), int(info.maxexp) - 1), 0.0, 1.5, -1.0])
    return _from_places(_place(about, real) + _walk(source, count, source.between(1, 6)), real), []


def _subnormal(source, count, real):
    smallest = float(np.finfo(real).smallest_subnormal)
    most = 2 ** source.between(1, {2: 12, 4: 26, 8: 56}[real.itemsize])
    places = np.clip(_walk(source, count, max(1, most // 50)), -most, most)
    return _from_places(places, real), [smallest * source.between(1, 9), smallest, smallest * most / 3]


def _near_the_largest(source, count, real):
    info = np.finfo(real)
    places = _place(float(info.max), real) - np.abs(_walk(source, count, source.pick([1, 5, 1000])))
    signs = source.pick([1, -1, np.where(source.numbers.random(count) < 0.5, 1, -1)])
    ulp = float(info.max) * float(info.eps) / 2
    return _from_places(places * signs, real), [ulp, ulp / 2, 3 * ulp, float(info.max), float(info.max) / 2]


def _binades(source, count, real):
    """Powers of two and their neighbours."""
    info = np.finfo(real)
    low, high = sorted(source.between(int(info.minexp) - info.nmant, int(info.maxexp) - 1) for _ in range(2))
    powers = np.ldexp(1.0, source.numbers.integers(low, min(high, low + source.between(0, 40)) + 1, count)).astype(real)
    places = powers.view(f"u{real.itemsize}").astype("i8") + source.numbers.integers(-2, 3, count)
    signs = source.pick([1, -1, np.where(source.numbers.random(count) < 0.5, 1, -1)])
    return _from_places(np.maximum(places, 0) * signs, real), [2.0**low, 2.0 ** (low - info.nmant), 2.0 ** max(low - 5, -1074)]


def _all_magnitudes(source, count, real):
    top = _place(float(np.finfo(real).max), real)
    places = source.numbers.integers(0, top + 1, count)
    return _from_places(places * source.pick([1, -1, np.where(source.numbers.random(count) < 0.5, 1, -1)]), real), []


def _random_bits(source, count, real):
    """Any bits: NaN of every kind, infinities, subnormals."""
    return source.numbers.integers(0, 2 ** (8 * real.itemsize), count, np.uint64 if real.itemsize == 8 else np.int64).astype(
        f"u{real.itemsize}"
    ).view(real), []


def _between_codes(source, count, real):
    """Odd multiples of a bound, which lie half-way between numbers that a quantizer gives, and their neighbours."""
    if real.kind == "f":
        bound = source.pick([2.0 ** source.between(-20, 4), source.between(1, 99) / 1000, source.real(0.001, 1), 0.1])
    else:
        bound = float(source.between(1, 20)) + source.pick([0, 0, 0.5])
    odd = 2 * np.clip(_walk(source, count, source.pick([1, 3, 50])), -1 << 40, 1 << 40) + 1
    numbers = cases.rounded(odd * bound + source.pick([0.0, 0.0, 1.0, bound, 1000 * bound]), real)
    if real.kind == "f":
        bound = float(real.type(bound)) if source.chance(0.3) else bound
        if source.chance(0.6):
            nudged = numbers.view(f"i{real.itemsize}") + source.numbers.integers(-1, 2, count).astype(f"i{real.itemsize}")
            numbers = np.where(numbers == 0, numbers, nudged.view(real))
        numbers = np.where(np.isfinite(numbers), numbers, real.type(1))
    return numbers, [bound, bound, float(np.nextafter(bound, 0)), float(np.nextafter(bound, 9)), bound / 2, bound * 3]


def _with_exceptions(source, numbers):
    """Numbers of which a few are others at times: -0, one that is in no pattern, or one of another size."""
    if numbers.size and source.chance(0.4):
        places = source.numbers.integers(0, numbers.size, source.between(1, 3))
        numbers[places] = source.pick([-0.0, 0.0, math.pi, 1e30 if numbers.dtype.itemsize > 2 else 1e3])
    return numbers


def _short_decimals(source, count, real):
    """Numbers next to decimals of few places, or of few significant digits."""
    indices = _walk(source, count, source.pick([3, 100, 5000, 10**6])) + source.pick([0, 0, 10**4, 27_315])
    if source.chance(0.5):
        places = source.between(0, 12)
        return _with_exceptions(source, cases.rounded(indices / 10.0**places, real)), [0.5 / 10.0**places, 1e-3]
    first, exponent = 10 ** source.between(0, 12), source.between(-40, 30)
    mantissas = first + np.abs(indices) % (9 * first)
    tens = exponent + np.abs(indices) // 7 % source.between(1, 12)
    signs = np.where(indices < 0, -1, 1) if source.chance(0.5) else np.ones(count, int)
    texts = [f"{sign * mantissa}e{ten}" for sign, mantissa, ten in zip(signs, mantissas, tens, strict=True)]
    numbers = cases.rounded(np.array([float(text) for text in texts]), real)
    return _with_exceptions(source, numbers), [10.0**exponent, 1e-3]


def _packed_slices(source, count, real):
    """Runs of numbers, each with a scale and an offset of its own, as packed files give their levels back."""
    slices = source.pick([n for n in range(1, min(count, 40) + 1) if count % n == 0] or [1])
    integers = np.abs(_walk(source, count, source.pick([1, 30, 2000]))) % 2 ** source.between(6, 17)
    scale = 10.0 ** source.numbers.uniform(-4, 2, (slices, 1))
    if source.chance(0.4):
        scale = 2.0 ** np.floor(np.log2(scale))
    offset = source.numbers.normal(size=(slices, 1)) * source.pick([0, 1, 300])
    with np.errstate(all="ignore"):
        numbers = cases.rounded((integers.reshape(slices, -1) * scale + offset).reshape(-1), real)
    return _with_exceptions(source, numbers), [float(scale.min()) / 2, float(scale.max())]


def _repeated(source, count, real):
    """Numbers that come again, backwards or not, with the other sign or not, nearly or not."""
    half = _walk(source, count // 2, source.pick([1, 300])) + source.numbers.normal(size=count // 2)
    again = (half[::-1] if source.chance(0.5) else half) * source.pick([1, 1, -1])
    first = source.numbers.normal(size=count - 2 * len(half))
    numbers = cases.rounded(np.concatenate([first, half, again]), real)
    near = source.pick([0, 0, 1, 50])
    off = source.numbers.integers(-near, near + 1, count)
    return _with_exceptions(source, np.where(off > 0, np.nextafter(numbers, real.type(np.inf)), numbers)), [1e-3, 1.0]


def _at_the_limits(source, count, real):
    """Integers next to the smallest and largest of their type."""
    low, high = cases.limits(real)
    near = source.numbers.integers(0, source.pick([2, 5, 100]), count).astype(real)
    top = real.type(high) - near
    bottom = real.type(low) + near
    which = source.pick(
        [np.zeros(count, bool), np.ones(count, bool), source.numbers.random(count) < 0.5, np.arange(count) < count // 2]
    )
    spread = float(high) - float(low)
    return np.where(which, bottom, top), [1.0, 2.0, 3.5, spread, spread / 2, float(2 ** source.between(0, 70))]


FLOAT_PATTERNS = {
    "ulps": _ulps,
    "subnormal": _subnormal,
    "near the largest": _near_the_largest,
    "binades": _binades,
    "all magnitudes": _all_magnitudes,
    "random bits": _random_bits,
    "between codes": _between_codes,
    "short decimals": _short_decimals,
    "packed slices": _packed_slices,
    "repeated": _repeated,
}
INTEGER_PATTERNS = {"at the limits": _at_the_limits, "random bits": _random_bits, "between codes": _between_codes}


def draw_numbers(source, shape, real, pattern=None):
    """(flat numbers, name of the pattern, bounds to try) in a number type; of one of VALUE_PATTERNS if it is given."""
    count = math.prod(shape)
    made = FLOAT_PATTERNS if real.kind == "f" else INTEGER_PATTERNS
    if not pattern and source.chance(0.4):
        name = source.pick(list(made))
        numbers, bounds = made[name](source, count, real)
        return np.ascontiguousarray(numbers, real), name, bounds
    name = pattern or source.pick(VALUE_PATTERNS)
    return _scaled(source, np.ravel(_values(source, shape, name)), real), name, []


def _places_for(source, shape):
    """A mask over an array of where something special lies."""
    mask = np.zeros(shape, bool)
    kind = source.pick(["scattered", "scattered", "one", "box", "planes", "last planes", "all", "all but one", "alternating"])
    if not mask.size:
        return mask, kind
    if kind == "scattered":
        mask = source.numbers.random(shape) < source.pick([0.002, 0.05, 0.3, 0.9])
    elif kind == "box":
        mask[tuple(slice(*sorted(source.numbers.integers(0, n + 1, 2))) for n in shape)] = True
    elif kind in ("planes", "last planes") and shape:
        axis = source.between(0, len(shape) - 1)
        first = source.between(0, shape[axis] - 1)
        end = shape[axis] if kind == "last planes" else first + 1
        mask[(slice(None),) * axis + (slice(first, end),)] = True
    elif kind == "alternating":
        mask.flat[source.between(0, 1) :: source.between(2, 3)] = True
    elif kind in ("all", "all but one"):
        mask[...] = True
    if kind in ("one", "all but one"):
        mask.flat[source.between(0, mask.size - 1)] ^= True
    return mask, kind


def _special_bits(source, real, count):
    """Bits of numbers that are no numbers, or zeros: (bits, name)."""
    unsigned = np.dtype(f"u{real.itemsize}")
    info = np.finfo(real)
    infinity = int(np.array(np.inf, real).view(unsigned))
    sign = 1 << (8 * real.itemsize - 1)
    name = source.pick(
        ["NaN", "NaN", "negative NaN", "payloads", "signalling", "infinity", "-infinity", "infinities", "-0.0", "0.0", "zeros"]
    )
    quiet = infinity | 1 << (info.nmant - 1)
    if name in ("payloads", "signalling"):
        payload = source.numbers.integers(1, 1 << (info.nmant - 1), count, np.int64).astype(unsigned)
        found = payload | unsigned.type(infinity if name == "signalling" else quiet)
        return np.where(source.numbers.random(count) < 0.5, found, found | unsigned.type(sign)), name
    if name in ("infinities", "zeros"):
        base = infinity if name == "infinities" else 0
        return np.where(source.numbers.random(count) < 0.5, unsigned.type(base), unsigned.type(base | sign)), name
    one = {
        "NaN": quiet,
        "negative NaN": quiet | sign,
        "infinity": infinity,
        "-infinity": infinity | sign,
        "-0.0": sign,
        "0.0": 0,
    }
    return np.full(count, one[name], unsigned), name


def draw_fill(source, numbers, real):
    """A number that marks missing samples, as the type holds it."""
    low, high = cases.limits(real)
    finite = numbers[np.isfinite(numbers)] if real.kind == "f" else numbers
    one_of_them = finite[source.between(0, finite.size - 1)].item() if finite.size else 0
    if real.kind == "f":
        smallest = float(np.finfo(real).smallest_subnormal)
        wanted = source.pick([-999.0, 0.0, 1e20, -0.0, low, high, smallest, one_of_them, one_of_them, -9999.5])
        return real.type(min(max(wanted, low), high)).item()
    return source.pick([0, low, high, one_of_them, one_of_them, min(99, high)])


def _next_to(source, fill, real, count):
    """Numbers next to a fill value."""
    if real.kind == "f":
        return _from_places(_place(fill, real) + source.numbers.integers(-2, 3, count), real)
    low, high = cases.limits(real)
    return np.array([min(max(fill + step, low), high) for step in (-1, 1)], real)[source.numbers.integers(0, 2, count)]


def _in_memory_order(source, array):
    """(the array with other strides, their name)."""
    order = source.weighted({"C": 70, "Fortran": 8, "every second": 8, "backwards": 7, "transposed": 7})
    if not array.ndim or order == "C":
        return array, ""
    if order == "Fortran":
        return np.asfortranarray(array), order
    if order == "transposed":
        return np.ascontiguousarray(array.swapaxes(0, -1)).swapaxes(0, -1), order
    step = 2 if order == "every second" else -1
    axis = source.between(0, array.ndim - 1)
    index = (slice(None),) * axis + (slice(None, None, step),)
    wide = np.zeros(tuple(n * abs(step) if k == axis else n for k, n in enumerate(array.shape)), array.dtype)
    wide[index] = array
    return wide[index], order


def as_dtype(numbers, shape, dtype):
    """An array of a dtype of flat native numbers, bit for bit."""
    order = np.dtype(dtype).str[0]
    swapped = exact.bits(numbers).astype(f"{'<' if order == '|' else order}u{numbers.dtype.itemsize}")
    return swapped.view(dtype).reshape(shape)


def draw_array(source, dtype, shape, reordered=True, pattern=None):
    """The Drawn array of a dtype and a shape; `pattern`: see draw_numbers."""
    dtype = np.dtype(dtype)
    real = cases.number_type(dtype)
    inner = (*shape, 2) if dtype.kind == "c" else shape
    numbers, pattern, bounds = draw_numbers(source, inner, real, pattern)
    drawn = Drawn(None, pattern, bounds)
    if len(shape) and not pattern and source.chance(0.08):
        other, second, more = draw_numbers(source, inner, real)
        half = source.between(0, numbers.size)
        numbers[half:] = other[half:]
        drawn.pattern, drawn.bounds = f"{pattern}, {second}", bounds + more
    if dtype.kind != "c" and source.chance(0.2):
        drawn.fill = draw_fill(source, numbers, real)
        for what in ("next to the fill value", "fill value") if source.chance(0.4) else ("fill value",):
            mask, where = _places_for(source, inner)
            mask = mask.reshape(-1)
            count = np.count_nonzero(mask)
            numbers[mask] = drawn.fill if what == "fill value" else _next_to(source, drawn.fill, real, count)
            drawn.notes.append(f"{where}: {what}")
    while real.kind == "f" and source.chance(0.25):
        mask, where = _places_for(source, inner)
        found, name = _special_bits(source, real, np.count_nonzero(mask))
        numbers.view(f"u{real.itemsize}")[mask.reshape(-1)] = found
        drawn.notes.append(f"{where}: {name}")
    drawn.array = as_dtype(numbers, shape, dtype)
    if reordered:
        drawn.array, order = _in_memory_order(source, drawn.array)
        drawn.notes += [order] if order else []
    return drawn
