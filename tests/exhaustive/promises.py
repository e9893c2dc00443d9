"""What a stream promises of the array that it was made from, judged in exact arithmetic (support/exact.py)."""

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

import h5stz
from exhaustive.source import Violation
from h5stz import _core
from support import boxes, cases, exact

#: A filter (enhance=) may miss the bound by half of it (docs/guarantees.md).
RELAXED = Fraction(3, 2)


def _keeps_sign(found, *given):
    """Whether numbers below 0, and above 0, are found only where one of the given arrays has some."""
    with np.errstate(invalid="ignore"):
        return all(not np.any(side(found, 0)) or any(np.any(side(each, 0)) for each in given) for side in (np.less, np.greater))


@dataclass
class Tally:
    """What was judged.

    Attributes:
        samples: finite numbers whose error was compared with a bound.
        by_fractions: those of them that were judged by fractions.
        exact: numbers whose bits were compared.
        largest: error / bound of the worst sample.
        seen: how often the cases had what.
    """

    samples: int = 0
    by_fractions: int = 0
    exact: int = 0
    largest: float = 0.0
    seen: Counter = field(default_factory=Counter)

    def add(self, other):
        """Takes in another tally."""
        self.samples += other.samples
        self.by_fractions += other.by_fractions
        self.exact += other.exact
        self.largest = max(self.largest, other.largest)
        self.seen.update(other.seen)

    def same_bits(self, expected, found, what):
        """Violation unless two arrays are equal in dtype, shape and bits."""
        if not exact.same_bits(expected, found):
            raise Violation(f"{what}: not the same bits{_first_difference(expected, found)}")
        self.exact += expected.size

    def within(self, expected, found, bound, what, pointwise=False, measured=False, given=None):
        """Violation unless all samples keep a bound (0: the bits), and the array its sign.

        measured: the bound is not what was asked for.
        given: the arrays whose signs may be found, None: `expected`. A rewrite compresses what was decoded wherever nothing new
            was written, so that signs may stay which `expected` lacks.
        """
        if bound == 0 and not measured:
            return self.same_bits(expected, found, what)
        judged = exact.judge(expected, found, bound, pointwise)
        if judged.wrong:
            raise Violation(f"{what}: {judged.wrong}")
        if not _keeps_sign(*map(exact.components, (found, *([expected] if given is None else given)))):
            raise Violation(f"{what}: a sign that no sample had")
        self.samples += judged.samples
        self.by_fractions += judged.by_fractions
        if not measured:
            self.largest = max(self.largest, judged.largest)
        return None

    def fill_values(self, expected, found, fill, what):
        """Violation unless exactly the samples that had the fill value have it."""
        x, y = (exact.components(array) for array in (expected, found))
        bits = exact.bits(np.array([fill], x.dtype))[0]
        were, are = exact.bits(x) == bits, exact.bits(y) == bits
        if not np.array_equal(were, are):
            index = np.flatnonzero(were != are)[0]
            raise Violation(f"{what}: sample {index} of {x[index]!r} became {y[index]!r}, the fill value is {fill!r}")
        self.exact += int(np.count_nonzero(were))

    def zeros(self, expected, found, what):
        """Violation unless zeros have the bits that they had."""
        x, y = (exact.components(array) for array in (expected, found))
        wrong = np.flatnonzero((x == 0) & (exact.bits(x) != exact.bits(y)))
        if wrong.size:
            raise Violation(f"{what}: {wrong.size} zeros changed, sample {wrong[0]} of {x[wrong[0]]!r} to {y[wrong[0]]!r}")
        self.exact += int(np.count_nonzero(x == 0))

    def ranges(self, expected, found, fill, options, what):
        """Violation unless valid numbers stay in the range that the options name, if all of the array are in it."""
        _, keep = valid_range(expected, fill)
        x, y = (exact.components(array)[keep] for array in (expected, found))
        if not x.size:
            return
        ends = [(x.min().item(), x.max().item())] if options.get("keep_range") else []
        for low, high in [*ends, options.get("valid_range", (None, None))]:
            below = low is not None and x.min().item() >= low > y.min().item()
            if below or (high is not None and x.max().item() <= high < y.max().item()):
                raise Violation(f"{what}: from {y.min()!r} to {y.max()!r}, the range is {low!r} to {high!r}")


def _first_difference(expected, found):
    if (expected.dtype, expected.shape) != (found.dtype, found.shape):
        return f", {expected.dtype} {expected.shape} became {found.dtype} {found.shape}"
    x, y = (exact.components(array) for array in (expected, found))
    index = np.flatnonzero(exact.bits(x) != exact.bits(y))[0]
    return f", sample {index}: {x[index]!r} became {y[index]!r}"


def kept_bits(options, dtype):
    """Whether these options promise every bit of data of this dtype."""
    if "lossless" in options or dtype.kind == "b" or (dtype.kind in "iu" and options.get("integers") != "lossy"):
        return True
    bound = options.get("absolute", options.get("pointwise_relative", options.get("relative")))
    return bound == 0 or (dtype.kind in "iu" and options.get("absolute", 1) < 1)


def valid_range(array, fill):
    """(exact width, numbers) of the finite numbers that are not the fill value; (None, ...) if there are none."""
    numbers = exact.components(array)
    keep = np.isfinite(numbers) if numbers.dtype.kind == "f" else np.ones(numbers.shape, bool)
    if fill is not None:
        keep &= exact.bits(numbers) != exact.bits(np.array([fill], numbers.dtype))[0]
    if not keep.any():
        return None, keep
    return Fraction(numbers[keep].max().item()) - Fraction(numbers[keep].min().item()), keep


def _wide_psnr(array, decoded, width, keep):
    """20 log10(width / rmse) in extended precision."""
    error = (exact.components(array)[keep].astype(np.longdouble) - exact.components(decoded)[keep]) / np.longdouble(
        float(width)
    )
    mean = float(np.mean(error * error))
    return math.inf if mean == 0 else -10 * math.log10(mean)


def missing_value(options, info):
    """The fill value that a bound leaves out, as the stream states it; None if it stands for zeros that are kept."""
    stands_for_zeros = options.get("keep_zeros") and info.fill_value == 0 and options.get("fill_value") in (None, False)
    return None if stands_for_zeros else info.fill_value


def promised_bound(array, stream, options, info):
    """The bound that the options promise for the whole array, from what was asked for; 0: every bit."""
    if kept_bits(options, array.dtype) or info.mode == "lossless":
        return 0.0
    for name in ("absolute", "pointwise_relative"):
        if name in options:
            if info.bound > options[name]:
                raise Violation(f"the stream says its bound is {info.bound!r}")
            return options[name]
    width, _ = valid_range(array, missing_value(options, info))
    if "relative" in options and Fraction(info.bound) > Fraction(options["relative"]) * (width or 0):
        raise Violation(f"relative: the bound {info.bound!r} is more than the share of the range, {float(width or 0)!r}")
    if "ratio" in options and len(stream) * options["ratio"] > array.nbytes * (1 + 1e-12):
        raise Violation(f"ratio: {array.nbytes} bytes became {len(stream)}")
    return info.bound


def check_values(tally, array, stream, options, decoded):
    """The bound, the bits and the fill values of what a stream decodes to. Returns its info."""
    info = h5stz.info(stream)
    what = "decompressed"
    if len(stream) > array.nbytes + cases.OVERHEAD:
        raise Violation(f"{array.nbytes} bytes became {len(stream)}")
    bound = promised_bound(array, stream, options, info)
    pointwise = "pointwise_relative" in options
    if info.enhanced:
        if Fraction(info.relaxed_bound) > RELAXED * Fraction(bound) * (1 + Fraction(1, 2**53)):  # rounded to nearest
            raise Violation(f"relaxed_bound is {info.relaxed_bound!r} for the bound {bound!r}")
        tally.within(array, decoded, info.relaxed_bound, what)
        whole = read(stream, array, enhance=False)
        tally.within(array, whole, bound, "without its enhancement", measured=True)
    else:
        if info.relaxed_bound > info.bound:
            raise Violation("relaxed_bound without an enhancement")
        tally.within(array, decoded, bound, what, pointwise)
    if not info.bound_used:
        tally.same_bits(array, decoded, "a stream that says that nothing was lost")
    fill = options.get("fill_value")
    fills = {repr(fill): fill for fill in (fill, info.fill_value) if fill is not None and fill is not False}
    for each in fills.values():
        tally.fill_values(array, decoded, each, what)
    tally.ranges(array, decoded, missing_value(options, info), options, what)
    if options.get("keep_zeros"):
        tally.zeros(array, decoded, what)
    if "psnr" in options and bound:
        width, keep = valid_range(array, missing_value(options, info))
        reached = _wide_psnr(array, decoded, width, keep)
        if reached < options["psnr"] - 1e-6 or options["psnr"] + 0.7 + 1e-6 < reached < math.inf:
            raise Violation(f"psnr: {reached} dB")
    return info


def read(stream, array, request=None, max_error=0.0, enhance=True, threads=1):
    """All of a stream, or (start, count, step) of it, by a reader of parts."""
    reader = _core.Reader.of_bytes(stream, 0)
    reader.max_error(max_error)
    reader.enhance(enhance)
    request = request or ((0,) * array.ndim, array.shape, (1,) * array.ndim)
    return boxes.read(reader, array.dtype, *request, threads=threads)


def check_layers(tally, array, stream, info, options):
    """Reads of fewer layers keep the errors that the stream states."""
    for place, layer in enumerate(info.layers[:-1]):
        if not layer.max_error:  # 0, by chance: a reader that is asked for it takes all layers, which may be farther off
            continue
        rough = read(stream, array, max_error=layer.max_error)
        tally.within(array, rough, layer.max_error, f"the first {place + 1} layers", measured=True)
        if info.fill_value is not None:
            tally.fill_values(array, rough, info.fill_value, f"the first {place + 1} layers")
        if options.get("keep_zeros") and info.mode != "lossless":
            tally.zeros(array, rough, f"the first {place + 1} layers")
        if layer.max_error >= (h5stz.options.precision.best_error(_core.info(stream)) or 0) and layer.max_error > 0:
            shorter = h5stz.drop_layers(stream, layer.max_error)
            tally.same_bits(rough, h5stz.decompress(shorter), "drop_layers")


def check_parts(tally, source, stream, decoded):
    """Boxes and levels are those of the whole array."""
    if not decoded.size:
        return
    for _ in range(2):
        request = boxes.random_request(source.numbers, decoded.shape)
        part = read(stream, decoded, request, threads=source.between(1, 2))
        tally.same_bits(boxes.cut(decoded, *request), part, f"the part {request}")
    step = 2 ** source.between(1, 4)
    level = (0,) * decoded.ndim, tuple(-(-n // step) for n in decoded.shape), (step,) * decoded.ndim
    tally.same_bits(boxes.cut(decoded, *level), read(stream, decoded, level), f"every {step}th sample")
