"""Options of cases: bounds from the smallest subnormal to far above the range, and everything else that STZ takes."""

import math

import numpy as np

from support import cases, exact

LARGEST = float(np.finfo("f8").max)
POINTWISE = (
    5e-324,
    1e-300,
    2.0**-53,
    2.0**-52,
    2.0**-24,
    2.0**-23,
    2.0**-11,
    2.0**-10,
    1e-3,
    0.1,
    1 / 3,
    0.5,
    0.999,
    math.nextafter(1, 0),
)
BLOCKS = ("default", "default", "region", "throughput")


def finite_numbers(array):
    """The finite real numbers of an array, flat and native."""
    numbers = exact.components(np.ma.getdata(array))
    return numbers[np.isfinite(numbers)] if numbers.dtype.kind == "f" else numbers


def draw_bound(source, drawn):
    """An absolute bound."""
    if drawn.bounds and source.chance(0.75):
        return min(max(float(source.pick(drawn.bounds)), 0.0), LARGEST)
    real = cases.number_type(drawn.array.dtype)
    numbers = finite_numbers(drawn.array)
    kind = source.weighted({"share": 60, "ulp": 15, "any": 8, "zero": 2, "above": 5, "decimal": 10})
    if kind == "ulp" and numbers.size and real.kind == "f":
        number = numbers[source.between(0, numbers.size - 1)]
        ulp = float(np.spacing(np.abs(np.clip(number, *(limit / 2 for limit in cases.limits(real))).astype(real))))
        return ulp * source.pick(
            [0.49, 0.5, math.nextafter(0.5, 0), math.nextafter(0.5, 1), 1, math.nextafter(1, 0), 1.5, 2.5, 7, 20]
        )
    if kind == "any":
        return source.pick(
            [
                2.0 ** source.between(-1074, 1023),
                5e-324 * source.between(1, 99),
                LARGEST,
                source.real(0, 1) * 2.0 ** source.between(-1000, 1000),
            ]
        )
    if kind == "zero":
        return 0.0
    if kind == "decimal":
        return source.between(1, 99) * 10.0 ** source.between(-8, 3)
    width = cases.width(np.ma.getdata(drawn.array))
    share = source.real(0.4, 3) if kind == "above" else 10 ** -source.real(0.3, 9)
    if kind == "above" and source.chance(0.3):
        share = source.pick([0.5, 1.0, 2.0, 1e6])
    return min(max(width * share, 5e-324), LARGEST)


def draw_mode(source, drawn):
    """The one bound option, as a dict."""
    dtype = drawn.array.dtype
    floating = dtype.kind in "fc"
    mode = source.weighted(
        {
            "absolute": 62,
            "pointwise_relative": 18 if floating else 0,
            "lossless": 10,
            "relative": 8,
            "psnr": 0.6 if drawn.array.size < 20000 else 0.05,
            "ratio": 0.3 if drawn.array.size < 20000 else 0.05,
        }
    )
    number = {
        "absolute": lambda: draw_bound(source, drawn),
        "pointwise_relative": lambda: source.pick(POINTWISE) if source.chance(0.4) else 10 ** -source.real(0.01, 8),
        "lossless": lambda: True,
        "relative": lambda: source.pick([0.5, 1.0, 0.1, 1e-3, 1e-16]) if source.chance(0.2) else 10 ** -source.real(0.3, 9),
        "psnr": lambda: source.real(10, 120),
        "ratio": lambda: source.real(1.5, 30),
    }[mode]()
    return {mode: number}


def draw_options(source, drawn, stored=False):
    """Options of compress() for an array; `stored`: of STZ for a dataset, with a bound that needs no data."""
    dtype, options = drawn.array.dtype, draw_mode(source, drawn)
    while stored and not options.keys() & {"absolute", "pointwise_relative", "lossless"}:
        options = draw_mode(source, drawn)
    if dtype.kind in "iu" and source.chance(0.85):
        options["integers"] = "lossy"
    if drawn.fill is not None and source.chance(0.7):
        options["fill_value"] = drawn.fill
    elif source.chance(0.5) and not isinstance(drawn.array, np.ma.MaskedArray):
        options["fill_value"] = False
    if source.chance(0.35):
        options["block"] = source.pick(BLOCKS)
    if source.chance(0.4):
        options["effort"] = source.between(1, 9)
    if source.chance(0.15):
        options["threads"] = source.between(1, 3)
    if source.chance(0.12) and drawn.array.ndim:
        options["append_axis"] = source.between(0, drawn.array.ndim - 1)
    if source.chance(0.15):
        options["content_check"] = source.chance(0.6)
    slow = options.keys() & {"psnr", "ratio"}
    if source.chance(0.14) and not slow:
        options["layers"] = source.between(1, 7)
    elif source.chance(0.04) and "absolute" in options and options["absolute"] > 0:
        decades = {source.real(0.01, 6) for _ in range(source.between(1, 5))}
        wanted = sorted({options["absolute"] * 10**decade for decade in decades}, reverse=True)
        if options["absolute"] < wanted[-1] and wanted[0] < LARGEST:
            options["layer_bounds"] = wanted
    enhanceable = not options.keys() & {"pointwise_relative", "lossless"}
    if enhanceable and source.chance(0.12):
        several = options.get("layers", 1) > 1 or "layer_bounds" in options
        options["enhance"] = "strict" if several else source.pick(["strict", "relaxed", "both", True if slow else "both"])
    options |= draw_kept(source, drawn)
    return options


def draw_kept(source, drawn):
    """Options about zeros and ranges, which any bound may have."""
    kept = {name: True for name in ("keep_zeros", "keep_range") if source.chance(0.15)}
    numbers = finite_numbers(drawn.array)
    if numbers.size and source.chance(0.12):
        low, high = float(numbers.min()), float(numbers.max())
        beside = source.pick([0.0, 0.5, 1e-9 * abs(high), 1e6])
        ends = source.pick([None, low - beside, 0.0, low]), source.pick([None, high + beside, 0.0, high])
        known = [math.inf if end is None else end for end in ends]
        if ends != (None, None) and (None in ends or known[0] < known[1]) and all(math.isfinite(end or 0) for end in ends):
            kept["valid_range"] = ends
    return kept
