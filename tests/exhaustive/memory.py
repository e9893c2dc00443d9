"""Cases in memory: an array, options, a stream, and everything that is promised of it; some with a program of rewrites."""

import zlib

import numpy as np

import h5stz
from exhaustive import arrays, choices, promises
from exhaustive.source import Violation
from support import cases

_UNCLEAR = "fill value? The other numbers are"
#: Errors that tell of data for which an option has no meaning, by the option.
MAY_FAIL = {
    "relative": (_UNCLEAR, "data without a valid number have none", "exceeds float64"),
    "psnr": (_UNCLEAR, "no bound gives", "data without a valid number have none", "undefined for constant", "exceeds float64"),
    "ratio": (_UNCLEAR, "no bound gives", "cannot be met", "exceeds float64"),
}
#: Some subnormal bounds, which client data cannot hold (docs/cd_values.md).
AMBIGUOUS = "cannot be distinguished from one with swapped words"


class Expected(Exception):
    """The options were refused, as documented."""


def compress(array, options, previous=None):
    """A stream; Expected where an option has no meaning for the data."""
    try:
        if previous is not None:
            return h5stz.rewrite(array, previous, **options)
        return h5stz.compress(array, **options)
    except h5stz.StzError as error:
        texts = [text for option, texts in MAY_FAIL.items() if option in options for text in texts]
        if any(text in str(error) for text in (*texts, AMBIGUOUS)):
            raise Expected(str(error)) from None
        raise


def draw(source):
    """(Drawn array, options) of a case."""
    aim = source.weighted({"anything": 88, "layers": 6, "a filter": 6})
    if aim != "anything":
        return draw_for(source, aim)
    dtype = source.pick(cases.FLOATING if source.chance(0.4) else cases.DTYPES)
    drawn = arrays.draw_array(source, dtype, arrays.draw_shape(source))
    if dtype.kind in "iuf" and source.chance(0.015):
        mask = source.numbers.random(drawn.array.shape) < 0.2
        drawn.fill = arrays.draw_fill(source, np.zeros(0, cases.number_type(dtype)), cases.number_type(dtype))
        if dtype.kind == "f" and source.chance(0.4):
            drawn.fill = source.pick([np.nan, np.inf, -np.inf])
        drawn.array = np.ma.array(drawn.array, mask=mask, fill_value=np.array(drawn.fill, dtype))
        drawn.notes.append("masked")
    elif dtype == "u1" and source.chance(0.1):
        drawn.array, drawn.fill = drawn.array % 2 > 0, None
    return drawn, choices.draw_options(source, drawn)


def draw_for(source, aim):
    """A case that probably has several layers, or a filter: they need many samples, and bounds that suit them."""
    shape = arrays.draw_shape(source, source.between(1, 4), source.pick([2000, 8000, 8000, 30000]), 0.0)
    if aim == "layers":
        dtype, pattern = source.pick(cases.DTYPES), source.pick(["smooth", "walk", "noise", "smooth and noise", "ramp"])
        share = 10 ** -source.real(3, 9)
    else:
        dtype = source.pick([dtype for dtype in cases.FLOATING if dtype.itemsize > 2])
        pattern, share = "smooth and noise", 10 ** -source.real(0.7, 2.5)
    drawn = arrays.draw_array(source, dtype, shape, pattern=pattern)
    drawn.bounds = [min(cases.width(drawn.array) * share, choices.LARGEST)]
    options = choices.draw_options(source, drawn)
    if "absolute" in options and aim == "layers" and "layer_bounds" not in options:
        options["layers"] = source.between(2, 7)
        options["enhance"] = source.pick([None, None, "strict"])
    elif "absolute" in options and aim == "a filter":
        options.pop("layers", None)
        options.pop("layer_bounds", None)
        options["enhance"] = source.pick(["relaxed", "both"])
    return drawn, options


def describe(drawn, options):
    """One line for a report."""
    array = drawn.array
    return f"{array.dtype.str} {array.shape} {drawn.pattern} ({'; '.join(drawn.notes)}), {options}"


def expected_of(array, options):
    """What is to be stored: a plain array in the order of its axes."""
    if isinstance(array, np.ma.MaskedArray):
        fill = options.get("fill_value", array.fill_value)
        array = array.filled(fill) if np.ma.getmask(array).any() else np.ma.getdata(array)
    array = np.ascontiguousarray(array).reshape(array.shape)
    return array.view("u1") if array.dtype.kind == "b" else array


def again(tally, source, array, stream, options, decoded):
    """The same bytes and the same bits every time, whatever the threads."""
    if source.chance(0.15):
        other = {**options, "threads": source.between(1, 3)} if source.chance(0.5) else options
        if compress(array, other) != stream:
            raise Violation(f"another stream the second time, threads={other.get('threads')}")
    if source.chance(0.25):
        out = np.full_like(decoded, 1)
        h5stz.decompress(stream, out=out, threads=source.between(1, 3))
        tally.same_bits(decoded, out, "decompressed into out=")
    if source.chance(0.15):
        h5stz.verify(stream)


def run(source, tally):
    """One case. Returns the CRC of its streams."""
    drawn, options = draw(source)
    run.described = describe(drawn, options)
    expected = expected_of(drawn.array, options)
    try:
        stream = compress(drawn.array, options)
    except Expected:
        tally.seen["refused as documented"] += 1
        return 0
    decoded = h5stz.decompress(stream)
    info = promises.check_values(tally, expected, stream, options, decoded)
    again(tally, source, drawn.array, stream, options, decoded)
    promises.check_layers(tally, expected, stream, info, options)
    if source.chance(0.25):
        promises.check_parts(tally, source, stream, decoded)
    count(tally, expected, options, info, drawn)
    crc = zlib.crc32(stream)
    if source.chance(0.08) and not options.keys() & {"psnr", "ratio", "relative"} and expected.size:
        crc = rewrites(tally, source, expected.copy(), stream, options, crc)
    return crc


def count(tally, array, options, info, drawn):
    """What the case had."""
    seen = tally.seen
    seen[f"rank {array.ndim}"] += 1
    seen[f"dtype {array.dtype.str}"] += 1
    mode = next(name for name in ("lossless", "absolute", "pointwise_relative", "relative", "psnr", "ratio") if name in options)
    seen[f"mode {mode}"] += 1
    seen[f"form {info.form}"] += 1
    seen["several layers"] += len(info.layers) > 1
    seen["enhanced by a filter"] += info.enhanced
    for name in (
        "block",
        "effort",
        "threads",
        "append_axis",
        "fill_value",
        "enhance",
        "layer_bounds",
        "keep_zeros",
        "keep_range",
        "valid_range",
    ):
        if options.get(name) not in (None, False):
            seen[f"with {name}"] += 1
    for name in drawn.pattern.split(", "):
        seen[f"pattern {name}"] += 1


def _part(source, shape):
    """What one write covers, as an index."""
    kind = source.pick(["box", "steps", "points", "plane", "all but one", "everything"])
    if kind == "box":
        return tuple(slice(*sorted(source.numbers.integers(0, n + 1, 2).tolist())) for n in shape)
    if kind == "steps":
        return tuple(slice(source.between(0, 1), None, source.between(1, 3)) for _ in shape)
    if kind == "plane" and shape:
        return (..., source.between(0, shape[-1] - 1))
    if kind == "all but one":
        mask = np.ones(shape, bool)
        mask.flat[source.between(0, mask.size - 1)] = False
        return mask
    return source.numbers.random(shape) < source.pick([0.01, 0.3]) if kind == "points" else ...


def rewrites(tally, source, written, stream, options, crc):
    """A random program of rewrites: what was written last has its bound, what was not written keeps its bits."""
    exact_mode = promises.kept_bits(options, written.dtype)
    bound = 0.0 if exact_mode else options.get("absolute", options.get("pointwise_relative"))
    if options.get("enhance") in ("relaxed", "both") and bound:
        bound = promises.RELAXED * promises.Fraction(bound)
    fill = options.get("fill_value")
    for _ in range(source.between(1, 4)):
        before = h5stz.decompress(stream)
        array = before.copy()
        part = _part(source, array.shape)
        array[part] = arrays.draw_array(source, array.dtype, array.shape, reordered=False).array[part]
        written[part] = array[part]
        lossy = h5stz.info(stream).bound_used
        stream = compress(array, options, stream)
        after = h5stz.decompress(stream)
        tally.within(written, after, bound, "rewritten", "pointwise_relative" in options, given=[array])
        if fill is not None and fill is not False:
            tally.fill_values(written, after, fill, "rewritten")
        if options.get("keep_zeros"):
            tally.zeros(written, after, "rewritten")
        if lossy:
            old, new, kept = (np.ascontiguousarray(each).view("u1").reshape(array.size, -1) for each in (before, array, after))
            same = (old == new).all(1)
            tally.same_bits(old[same], kept[same], "what was not written")
        crc = zlib.crc32(stream, crc)
        tally.seen["rewrites"] += 1
    if source.chance(0.3):
        promises.check_parts(tally, source, stream, h5stz.decompress(stream))
    return crc
