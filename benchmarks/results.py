"""The tables of docs/results.md: h5stz beside all peers at the same absolute bound, and at the same PSNR.

For each bound: ratio (PSNR) of every codec on every field as one chunk of float32, and the geometric means of h5stz's
ratio over each peer's. A peer whose result breaks the bound is marked with its error / bound. Then, for each result of
a peer, h5stz's ratio with `psnr=` that of the peer over the peer's ratio: codecs that stay far below their bound win
there what they lose in the first table. Peers that are not installed are named and left out; those of `built_peers`
have to be built.
"""

import math

import built_peers
import fields
import peers
import report

CODECS = {
    "h5stz": peers.h5stz,
    "SZ3 3.4": peers.sz3,
    "QoZ 2": built_peers.qoz,
    "SPERR": peers.sperr,
    "ZFP": peers.zfp,
    "MGARD-X": built_peers.mgard,
    "EBCC": peers.ebcc,
    "LC": peers.lc,
}


def measure(array, bound, codecs):
    """{codec: Result}, without codecs that do not support the array."""
    results = {}
    for codec, run in codecs.items():
        try:
            size, decoded = run(array, bound)
        except peers.Unsupported:
            continue
        results[codec] = report.measure(array, decoded, size, bound)
    return results


def cell(result):
    """Ratio and PSNR, with the error where it is beyond the bound."""
    if result is None:
        return "-"
    broken = f", error {result.error_over_bound:.8g} x bound" if result.error_over_bound > 1 else ""
    return f"{result.ratio:.1f} ({result.psnr:.0f}{broken})"


def mean_cell(results, codec):
    """Geometric mean of h5stz's ratio over a peer's, on the fields that the peer supports."""
    gains = [result["h5stz"].ratio / result[codec].ratio for result in results if codec in result]
    return f"{report.geometric_mean(gains):.2f}" if gains else "-"


def table(results, codecs, first):
    """Markdown: a row for each field, {field: {codec: Result}}, and one of means."""
    rows = [[name, *(cell(result.get(codec)) for codec in codecs)] for name, result in results.items()]
    means = [mean_cell(results.values(), codec) for codec in codecs if codec != "h5stz"]
    rows.append(["**h5stz over this codec, geometric mean**", "", *means])
    return report.markdown([first, *codecs], rows)


def equal_quality(arrays, results):
    """{codec: [h5stz's ratio at a PSNR of at least the peer's over the peer's ratio, for each field]}."""
    gains = {}
    for name, result in results.items():
        for codec, peer in result.items():
            if codec != "h5stz" and not math.isinf(peer.psnr):
                size, decoded = peers.h5stz_psnr(arrays[name], peer.psnr)
                ours = report.measure(arrays[name], decoded, size, 1)
                gains.setdefault(codec, []).append(ours.ratio / peer.ratio)
    return gains


def installed(wanted):
    """The codecs among `wanted` that run here; names the others."""
    probe = fields.comparison(None)["volume"]
    found = {}
    for codec in wanted:
        try:
            CODECS[codec](probe, 0.1 * fields.value_range(probe))
            found[codec] = CODECS[codec]
        except (ImportError, peers.Unsupported) as reason:
            print(f"left out: {codec}: {reason}", flush=True)
    return found


def main():
    parser = report.parser(__doc__)
    bounds = ",".join(f"{relative:g}" for relative in fields.RELATIVE_BOUNDS)
    parser.add_argument("--relative", default=bounds, help="bounds in units of max - min; default %(default)s")
    parser.add_argument("--codecs", default=",".join(CODECS), help="default %(default)s")
    arguments = parser.parse_args()
    wanted = arguments.codecs.split(",")
    if "h5stz" not in wanted or not set(wanted) <= set(CODECS):
        parser.error(f"--codecs takes h5stz and any of {', '.join(CODECS)}, separated by commas")
    codecs = installed(wanted)
    others = [codec for codec in codecs if codec != "h5stz"]
    arrays = fields.comparison(arguments.directory)
    records, quality, checks = [], [], report.Checks()
    for relative in map(float, arguments.relative.split(",")):
        results = {name: measure(array, relative * fields.value_range(array), codecs) for name, array in arrays.items()}
        print("\n" + table(results, codecs, f"field, bound {relative:g} x range"), flush=True)
        gains = {codec: report.geometric_mean(values) for codec, values in equal_quality(arrays, results).items()}
        quality.append([f"{relative:g}", *(f"{gains[codec]:.2f}" if codec in gains else "-" for codec in others)])
        largest = max(result["h5stz"].error_over_bound for result in results.values())
        records += [{"field": name, "relative": relative} | result for name, result in results.items()]
        records.append({"relative": relative, "equal PSNR": gains})
        checks.promise(f"largest error / bound of h5stz at {relative:g}", largest, 1)
    print("\n" + report.markdown(["h5stz over this codec at its PSNR", *others], quality), end="\n\n")
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
