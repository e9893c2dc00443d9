"""The table of README.md: ratio (PSNR) of h5stz, SZ3 3.4, ZFP and SPERR at the same absolute bound, one chunk per
field.

Prints markdown to paste. ZFP and SPERR are those of hdf5plugin. `results.py` has more codecs and bounds.
"""

import fields
import report
import results

CODECS = {codec: results.CODECS[codec] for codec in ("h5stz", "SZ3 3.4", "ZFP", "SPERR")}


def main():
    parser = report.parser(__doc__)
    parser.add_argument("--relative", type=float, default=1e-3, help="bound in units of max - min; default %(default)s")
    arguments = parser.parse_args()
    arrays = fields.comparison(arguments.directory)
    measured = {
        name: results.measure(array, arguments.relative * fields.value_range(array), CODECS) for name, array in arrays.items()
    }
    print(results.table(measured, CODECS, f"field, bound {arguments.relative:g} x range"), end="\n\n")
    checks = report.Checks()
    checks.promise("largest error / bound of h5stz", max(result["h5stz"].error_over_bound for result in measured.values()), 1)
    report.finish(arguments, [{"field": name} | result for name, result in measured.items()], checks)


if __name__ == "__main__":
    main()
