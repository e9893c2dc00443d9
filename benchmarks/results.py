"""The tables of docs/results.md: h5stz beside all peers at the same absolute bound, and at the same PSNR.

Peers that are not installed, or not built, are named and left out. A peer that breaks the bound is marked with error / bound.
--short prints the table of README.md: one bound, four codecs, no search for a PSNR. --plots draws PSNR and largest error over
the bit rate, also without that search.
"""

import math
from pathlib import Path

from shared import codecs, fields, report, synthetic

SHORT = ["h5stz", "SZ3 3.4", "ZFP", "SPERR"]
PLOTTED = [10.0 ** -(half / 2) for half in range(2, 13)]  # bounds over the range, two per decade


def measure(array, bound, wanted):
    """{codec: Result}, without codecs that do not support the array."""
    results = {}
    for codec in wanted:
        try:
            size, decoded = codecs.LOSSY[codec](array, bound)
        except codecs.Unsupported:
            continue
        results[codec] = report.measure(array, decoded, size, bound)
    return results


def cell(record, codec):
    """Ratio and PSNR, with the error where it is beyond the bound; the mean in the last row."""
    result = record[codec]
    if isinstance(result, str):
        return result
    broken = f", error {result.error:.8g} x bound" if result.error > 1 else ""
    return f"{result.ratio:.1f} ({result.psnr:.0f}{broken})"


def table(records, wanted, relative):
    """A row for each field, and one with the geometric means of h5stz's ratio over that of each peer."""
    means = {"field": "**h5stz over this codec, geometric mean**", "h5stz": ""}
    for codec in wanted[1:]:
        gains = [record["h5stz"].ratio / record[codec].ratio for record in records if codec in record]
        means[codec] = f"{report.geometric_mean(gains):.2f}" if gains else "-"
    columns = {codec: lambda record, codec=codec: cell(record, codec) for codec in wanted}
    report.table([*records, means], {f"field, bound {relative:g} x range": "{field}"} | columns, "")


def equal_quality(arrays, records, wanted):
    """{codec: geometric mean of h5stz's ratio at a PSNR of at least the peer's, over the peer's ratio}."""
    gains = {codec: [] for codec in wanted[1:]}
    for record in records:
        array = arrays[record["field"]]
        for codec, found in gains.items():
            if codec in record and not math.isinf(record[codec].psnr):
                size, _ = codecs.h5stz_psnr(array, record[codec].psnr)
                found.append(array.nbytes / size / record[codec].ratio)
    return {codec: report.geometric_mean(found) for codec, found in gains.items() if found}


def installed(wanted):
    """The codecs among `wanted` that run here; names the others."""
    probe = fields.comparison(None)["volume"]
    found = []
    for codec in wanted:
        try:
            codecs.LOSSY[codec](probe, 0.1 * fields.value_range(probe))
            found.append(codec)
        except (ImportError, codecs.Unsupported) as reason:
            print(f"left out: {codec}: {reason}", flush=True)
    return found


def draw(path, records, wanted, bits):
    """PSNR and largest error over the bits per sample; `bits` has those of the array itself."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(12, 5), layout="constrained")
    for codec, marker in zip(wanted, "osD^vXP*", strict=False):
        points = [(bits / r[codec].ratio, r[codec].psnr, r[codec].error * r["relative"]) for r in records if codec in r]
        for axes, place in zip(panels, (1, 2), strict=True):
            axes.plot([p[0] for p in points], [p[place] for p in points], label=codec, marker=marker, markersize=5)
    for axes, label in zip(panels, ("PSNR (dB)", "largest error / (max - min)"), strict=True):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set(xlabel="bit rate (bits/sample)", ylabel=label)
        axes.grid(alpha=0.3)
    panels[1].set_yscale("log")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def main():
    bounds = list(fields.RELATIVE_BOUNDS)
    parser = report.parser(__doc__, fields=None, codecs=list(codecs.LOSSY), relative=bounds, edge=128)
    parser.add_argument("--short", action="store_true", help="the table of README.md")
    parser.add_argument("--plots", type=Path, metavar="DIRECTORY", help="draws NAME.png of each field there, from 11 bounds")
    arguments = parser.parse_args()
    wanted = SHORT if arguments.short else arguments.codecs
    if wanted[0] != "h5stz" or not set(wanted) <= set(codecs.LOSSY):
        parser.error(f"--codecs takes h5stz and then any of {', '.join(codecs.LOSSY)}, separated by commas")
    wanted, checks = installed(wanted), report.Checks()
    arrays = fields.comparison(arguments.directory)
    if set(arguments.fields or ()) & set(synthetic.VOLUMES):
        arrays |= synthetic.volumes(arguments.edge)
    arrays = fields.chosen(arrays, arguments.fields)
    records, quality = [], []
    bounds = [fields.RELATIVE] if arguments.short else PLOTTED if arguments.plots else arguments.relative
    for relative in bounds:
        found = [
            {"field": name, "relative": relative} | measure(array, relative * fields.value_range(array), wanted)
            for name, array in arrays.items()
        ]
        table(found, wanted, relative)
        checks.promise(f"largest error / bound of h5stz at {relative:g}", max(r["h5stz"].error for r in found), 1)
        records += found
        if not arguments.short and not arguments.plots:
            quality.append({"relative": relative, "equal PSNR": equal_quality(arrays, found, wanted)})
    for name, array in arrays.items() if arguments.plots else ():
        own = [record for record in records if record["field"] == name]
        draw(arguments.plots / f"{name}.png", own, wanted, 8 * array.itemsize)
    if quality:
        columns = {codec: report.item(codec, ".2f", "equal PSNR") for codec in wanted[1:]}
        report.table(quality, {"h5stz over this codec at its PSNR": "{relative:g}"} | columns, "")
    report.finish(arguments, records + quality, checks)


if __name__ == "__main__":
    main()
