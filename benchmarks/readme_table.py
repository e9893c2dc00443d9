"""The table of README.md: ratio (PSNR) of h5stz, SZ3 3.4, ZFP and SPERR at the same absolute bound, one chunk per
field.

Prints markdown to paste. ZFP and SPERR are those of hdf5plugin. A peer whose result breaks the bound is marked with
its error / bound.
"""

import fields
import peers
import report

CODECS = {"h5stz": peers.h5stz, "SZ3 3.4": peers.sz3, "ZFP": peers.zfp, "SPERR": peers.sperr}


def measure(array, bound):
    """{codec: Result}, without codecs that do not support the array."""
    results = {}
    for codec, run in CODECS.items():
        try:
            size, decoded = run(array, bound)
        except peers.Unsupported:
            continue
        results[codec] = report.measure(array, decoded, size, bound)
    return results


def cell(result):
    if result is None:
        return "-"
    broken = f", error {result.error_over_bound:.4g} x bound" if result.error_over_bound > 1 else ""
    return f"{result.ratio:.1f} ({result.psnr:.0f}{broken})"


def mean_cell(results, codec):
    """Geometric mean of h5stz's ratio over a peer's, on the fields that the peer supports."""
    pairs = [result["h5stz"].ratio / result[codec].ratio for result in results if codec in result]
    return f"{report.geometric_mean(pairs):.2f}"


def main():
    parser = report.parser(__doc__)
    parser.add_argument("--relative", type=float, default=1e-3, help="bound in units of max - min; default %(default)s")
    arguments = parser.parse_args()
    arrays = fields.comparison(arguments.directory)
    results = {name: measure(array, arguments.relative * fields.value_range(array)) for name, array in arrays.items()}
    rows = [[name, *(cell(result.get(codec)) for codec in CODECS)] for name, result in results.items()]
    others = [codec for codec in CODECS if codec != "h5stz"]
    rows.append(["**h5stz over this codec, geometric mean**", "", *(mean_cell(results.values(), codec) for codec in others)])
    print(report.markdown([f"field, bound {arguments.relative:g} x range", *CODECS], rows), end="\n\n")
    checks = report.Checks()
    checks.promise("largest error / bound of h5stz", max(result["h5stz"].error_over_bound for result in results.values()), 1)
    report.finish(arguments, [{"field": name} | result for name, result in results.items()], checks)


if __name__ == "__main__":
    main()
