"""The promise |x - x'| <= bound, sample by sample, over fields, types, byte orders and bounds from 1e-1 to below one ulp."""

from fractions import Fraction

import numpy as np

import h5stz
from shared import codecs, fields, report

DTYPES = ("float16", "float32", "float64", "int16", "int32")
RELATIVE = tuple(10.0**-exponent for exponent in range(1, 16, 2))
LEAST = 5e-324  # the least positive bound there is
ULPS = (4.0, 2.0, 1.0, 0.5, 0.25)


def bounds(array):
    """Absolute bounds for an array: relative ones down to one ulp of the largest value, a few ulp and
    fractions of one, the smallest positive number.
    """
    finite = array[np.isfinite(array)].astype(np.float64)
    if not finite.any():
        return [1.0, LEAST]
    value_range = fields.value_range(finite)
    if array.dtype.kind in "iu":
        tried = [factor * value_range for factor in RELATIVE[:3]] + [3.0, 1.0, 0.5]
    else:
        ulp = float(np.spacing(np.abs(finite).max().astype(array.dtype)))
        tried = [factor * value_range for factor in RELATIVE if factor * value_range > 8 * ulp]
        tried += [factor * ulp for factor in ULPS] + [LEAST]
    return [bound for bound in tried if bound > 0]


def cast(array, dtype):
    """The field in another dtype, scaled to its range where it does not fit."""
    target = np.dtype(dtype)
    finite = np.where(np.isfinite(array), array, 0).astype(np.float64)
    limit = float(np.finfo(target).max if target.kind == "f" else np.iinfo(target).max)
    largest = np.abs(finite).max(initial=0) or 1.0
    if target.kind == "f":
        scale = limit / 4 / largest if largest > limit / 4 or largest < float(np.finfo(target).tiny) else 1
        return (array.astype(np.float64) * scale).astype(target)
    return np.rint(finite * (min(limit, 2.0**20) / 4 / largest)).astype(target)


def largest_error(array, decoded, bound):
    """(samples outside the bound, largest |x - x'| / bound); a changed or a new NaN or infinity is outside."""
    bits = np.dtype(f"u{array.dtype.itemsize}")
    native, result = array.astype(array.dtype.newbyteorder("=")), decoded.astype(array.dtype.newbyteorder("="))
    finite = np.isfinite(native)
    changed = np.count_nonzero(native.view(bits)[~finite] != result.view(bits)[~finite])
    lost = finite & ~np.isfinite(result)
    x, y = native[finite & ~lost], result[finite & ~lost]
    with np.errstate(over="ignore"):
        difference = np.abs(x.astype(np.float64) - y.astype(np.float64))
    outside = np.count_nonzero(difference - bound > 4 * np.spacing(bound))
    near = np.abs(difference - bound) <= 4 * np.spacing(bound)
    limit = Fraction(bound)
    outside += sum(abs(Fraction(a.item()) - Fraction(b.item())) > limit for a, b in zip(x[near], y[near], strict=True))
    return int(changed + np.count_nonzero(lost) + outside), float(difference.max(initial=0) / bound)


def run_case(name, array, bound):
    """One array and bound, in memory and through a file; the file's result is measured where it differs from that in memory."""
    stream = h5stz.compress(array, absolute=bound, integers="lossy")
    decoded = np.asarray(h5stz.decompress(stream)).reshape(array.shape)
    violations, error = largest_error(array, decoded, bound)
    _, stored = codecs.through_hdf5(array, h5stz.STZ(absolute=bound, integers="lossy"))
    if stored.tobytes() != decoded.tobytes():
        more, stored_error = largest_error(array, stored, bound)
        violations, error = violations + more, max(error, stored_error)
    record = {"field": name, "dtype": array.dtype.name, "order": "big" if array.dtype.str[0] == ">" else "little"}
    return record | {"bound": bound, "violations": violations, "error_over_bound": error}


def main():
    parser = report.parser(__doc__, crop=None, fields=None)
    parser.add_argument("--dtypes", type=report.names, default=DTYPES, help="comma-separated; default %(default)s")
    arguments = parser.parse_args()
    native = fields.floats(arguments.directory) | fields.integers(arguments.directory)
    records, rows = [], []
    for name, field in fields.chosen(native, arguments.fields).items():
        for dtype in arguments.dtypes:
            array = cast(fields.crop(field, arguments.crop), dtype)
            ordered = [array.astype(array.dtype.newbyteorder(order)) for order in "<>"]
            cases = [run_case(name, entry, bound) for entry in ordered for bound in bounds(array)]
            records += cases
            tried = [case["bound"] for case in cases]
            rows.append({"field": name, "dtype": dtype, "cases": len(cases), "least": min(tried), "largest": max(tried)})
            rows[-1] |= {"violations": sum(case["violations"] for case in cases)}
            rows[-1] |= {"error": max(case["error_over_bound"] for case in cases)}
    columns = {"field": "{field}", "dtype": "{dtype}", "cases": "{cases}", "least bound": "{least:.3g}"}
    columns |= {"largest bound": "{largest:.3g}", "violations": "{violations}", "max error / bound": "{error:.6f}"}
    report.table(rows, columns)
    checks = report.Checks()
    checks.promise(f"samples outside the bound in {len(records)} cases", sum(r["violations"] for r in records), 0)
    checks.promise("max error / bound", max(r["error_over_bound"] for r in records), 1)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
