"""Point-wise relative bound |x - x'| <= r |x| against SZ3 3.4 with the log transform at the same r.

SZ3's side: ln|x| of the valid non-zero samples at the absolute bound ln(1 + r), computed and coded in float64; signs,
zeros and NaN as bit planes through zlib where there are any. Samples without a logarithm are filled in the way that
costs SZ3 least: the nearest earlier valid sample, the mean, or NaN left in the array. Both codecs' results are
checked sample by sample.
"""

import zlib

import numpy as np

import fields
import h5stz
import peers
import report
import targets

RELATIVE = 1e-3


def log_transform(array, relative):
    """SZ3 behind the log transform: (bytes of all parts, decoded array)."""
    values = array.astype(np.float64)
    coded = np.isfinite(values) & (values != 0)
    logarithm = np.log(np.abs(values, where=coded, out=np.ones_like(values)))
    candidates = [logarithm] if coded.all() else fillings(logarithm, coded)
    size, decoded = min((peers.sz3(candidate, np.log1p(relative)) for candidate in candidates), key=lambda result: result[0])
    result = np.where(coded, np.copysign(np.exp(decoded), values), values).astype(array.dtype)
    planes = [np.signbit(values) & coded, np.isnan(values), values == 0]
    return size + sum(plane_size(plane) for plane in planes), result


def fillings(logarithm, coded):
    last_valid = np.maximum.accumulate(np.where(coded.ravel(), np.arange(coded.size), 0))
    nearest = logarithm.ravel()[last_valid].reshape(logarithm.shape)
    return [nearest, np.where(coded, logarithm, logarithm[coded].mean()), np.where(coded, logarithm, np.nan)]


def plane_size(plane):
    """Bytes of a bit plane through zlib; nothing if it is empty."""
    return len(zlib.compress(np.packbits(plane).tobytes(), 9)) if plane.any() else 0


def violations(array, decoded, relative):
    """Samples outside |x - x'| <= r |x| (with the rounding of the comparison itself allowed), or not kept where they
    must be.
    """
    x, y = array.astype(np.float64), decoded.astype(np.float64)
    exact = ~np.isfinite(x) | (x == 0)
    kept = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore"):
        inside = np.abs(x - y) <= relative * np.abs(x) * (1 + 4 * np.finfo(np.float64).eps)
    return int(np.count_nonzero(~np.where(exact, kept, inside)))


def compare(name, array, relative):
    record = {"field": name, "dtype": str(array.dtype), "relative": relative}
    options = h5stz.STZ(pointwise_relative=relative)
    for codec, result in (("h5stz", peers.through_hdf5(array, options)), ("sz3", log_transform(array, relative))):
        record[codec] = array.nbytes / result[0]
        record[f"{codec} violations"] = violations(array, result[1], relative)
    record["gain"] = record["h5stz"] / record["sz3"]
    return record


def main():
    arguments = report.parser(__doc__).parse_args()
    native = fields.pointwise(arguments.directory)
    arrays = [(name, array.astype(dtype)) for name, array in native.items() for dtype in (np.float64, np.float32)]
    records = [compare(name, array, RELATIVE) for name, array in arrays]
    header = ["field", "dtype", "r", "h5stz", "violations", "SZ3, log transform", "violations", "h5stz / SZ3"]
    rows = []
    for r in records:
        row = [r["field"], r["dtype"], f"{RELATIVE:g}", f"{r['h5stz']:.2f}", str(r["h5stz violations"])]
        rows.append([*row, f"{r['sz3']:.2f}", str(r["sz3 violations"]), f"{r['gain']:.3f}"])
    print(report.markdown(header, rows), end="\n\n")

    checks = report.Checks(have_targets=arguments.directory is not None)
    for r in records:
        checks.at_least(f"{r['field']} {r['dtype']} over SZ3 with the log transform", r["gain"], targets.POINTWISE_RATIO)
    checks.promise("samples outside the bound", sum(r["h5stz violations"] for r in records), 0)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
