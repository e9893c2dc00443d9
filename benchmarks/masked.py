"""Fields with NaN or a fill value against SZ3 3.4 at the same absolute bound: on the raw array, and on the array with
the mean of the valid samples in place of the others, with its mask beside it (a bit for each sample, through zlib).

The bound is relative to the range of the valid samples. h5stz finds the fill value itself (`STZ(relative=...,
data=...)`); its NaN and fill samples must come back bit for bit, its valid samples within the bound.
"""

import zlib

import numpy as np

import fields
import h5stz
import peers
import report
import targets


def compare(name, array, relative):
    valid = fields.valid_samples(name, array)
    bound = relative * fields.value_range(array[valid])
    options = h5stz.STZ(relative=relative, data=array, integers="lossy")
    record = {"field": name, "relative": relative, "bound": bound, "invalid share": float(1 - valid.mean())}
    for codec, (size, decoded) in (("h5stz", peers.through_hdf5(array, options)), ("sz3", peers.sz3(array, bound))):
        record[codec] = report.measure(array, decoded, size, bound, valid)
        record[f"{codec} mask bits differ"] = different_bits(array, decoded, ~valid)
    record["gain"] = record["h5stz"].ratio / record["sz3"].ratio
    filled = np.where(valid, array, array[valid].mean(dtype=np.float64)).astype(array.dtype)
    beside = len(zlib.compress(np.packbits(valid).tobytes(), 9))
    record["gain over filled"] = record["h5stz"].ratio * (peers.sz3(filled, bound)[0] + beside) / array.nbytes
    return record


def different_bits(array, decoded, where):
    """How many of the chosen samples differ in any bit."""
    bits = np.dtype(f"u{array.dtype.itemsize}")
    return int(np.count_nonzero(array.view(bits)[where] != decoded.view(bits)[where]))


def main():
    arguments = report.parser(__doc__).parse_args()
    arrays = fields.masked(arguments.directory)
    records = [compare(name, array, relative) for name, array in arrays.items() for relative in fields.RELATIVE_BOUNDS]
    header = ["field", "invalid", "bound", "h5stz", "PSNR", "error/bound", "changed holes"]
    header += ["SZ3 raw", "PSNR", "error/bound", "changed holes", "h5stz / SZ3", "h5stz / SZ3 filled"]
    rows = []
    for r in records:
        row = [r["field"], f"{100 * r['invalid share']:.0f} %", f"{r['relative']:g}"]
        row += [
            *r["h5stz"].cells(),
            str(r["h5stz mask bits differ"]),
            *r["sz3"].cells(),
            str(r["sz3 mask bits differ"]),
        ]
        rows.append([*row, f"{r['gain']:.3f}", f"{r['gain over filled']:.3f}"])
    print(report.markdown(header, rows), end="\n\n")

    checks = report.Checks(have_targets=arguments.directory is not None)
    for relative in fields.RELATIVE_BOUNDS:
        mean = report.geometric_mean([r["gain"] for r in records if r["relative"] == relative])
        print(f"geometric mean over SZ3 on the raw array at {relative:g}: {mean:.4g}")
        filled = report.geometric_mean([r["gain over filled"] for r in records if r["relative"] == relative])
        checks.at_least(
            f"geometric mean over SZ3 on the filled array at {relative:g}", filled, targets.MASKED_OVER_FILLED[relative]
        )
    overall = report.geometric_mean([r["gain"] for r in records])
    checks.at_least("geometric mean over SZ3 on the raw array, all bounds", overall, targets.MASKED_RATIO_MEAN)
    checks.promise("NaN and fill samples that changed", sum(r["h5stz mask bits differ"] for r in records), 0)
    checks.promise("largest error / bound", max(r["h5stz"].error_over_bound for r in records), 1)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
