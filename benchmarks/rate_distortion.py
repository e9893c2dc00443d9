"""PSNR and largest error against bit rate: h5stz, SZ3 3.4, and ZFP and SPERR of hdf5plugin.

Each field is one chunk, coded at absolute bounds from 1e-1 to 1e-6 of its range. Blosc2 (zstd behind its byte shuffle) and
h5stz's lossless mode are single rates. --plots draws a picture of each field.
"""

import math
from pathlib import Path

import numpy as np

from shared import codecs, fields, report, synthetic

CODECS = ("h5stz", "SZ3 3.4", "ZFP", "SPERR")
LOSSLESS = ("h5stz", "Blosc2, byte shuffle")
BOUNDS = tuple(10.0 ** -(half / 2) for half in range(2, 13))  # relative, two per decade
LEVELS = (50, 70, 90, 110)  # PSNR in dB of the table of rates


def lossy(name, array):
    """A record for each codec and bound, without codecs that do not support the array."""
    records, width = [], fields.value_range(array)
    for relative in BOUNDS:
        for codec in CODECS:
            try:
                size, decoded = codecs.LOSSY[codec](array, relative * width)
            except codecs.Unsupported:
                continue
            result = report.measure(array, decoded, size, relative * width)
            record = {"field": name, "codec": codec, "relative": relative, "rate": 8 * size / array.size}
            records.append(record | {"psnr": result.psnr, "error": result.error, "over range": result.error * relative})
    return records


def lossless(name, array):
    sizes = {codec: codecs.LOSSLESS[codec](array)[0] for codec in LOSSLESS}
    return [{"field": name, "codec": f"{codec}, lossless", "rate": 8 * size / array.size} for codec, size in sizes.items()]


def rate_at(records, psnr):
    """Bits per sample of one codec at a PSNR, interpolated linearly between its points; None beyond them.

    Beyond the last of them it is the rate at which the codec gave every bit back, if it did.
    """
    points = sorted((r["psnr"], r["rate"]) for r in records if math.isfinite(r["psnr"]))
    exact = [r["rate"] for r in records if math.isinf(r["psnr"])]
    if not points or psnr > points[-1][0]:
        return min(exact, default=None)
    return float(np.interp(psnr, *zip(*points, strict=True))) if psnr >= points[0][0] else None


def rates(records, name):
    """Rows with the bits per sample at the same PSNR, which the bounds alone do not show."""
    own = {codec: [r for r in records if (r["field"], r["codec"]) == (name, codec)] for codec in CODECS}
    return [{"field": name, "psnr": level, "rates": {c: rate_at(found, level) for c, found in own.items()}} for level in LEVELS]


def draw(path, array, records):
    from shared import plots

    quality = {
        codec: [(r["rate"], r["psnr"]) for r in records if r["codec"] == codec and r["psnr"] < math.inf] for codec in CODECS
    }
    errors = {codec: [(r["rate"], r["over range"]) for r in records if r["codec"] == codec] for codec in CODECS}
    verticals = {f"{r['codec']}: {r['rate']:.1f} bits/sample": r["rate"] for r in records if "psnr" not in r}
    panels = [
        plots.Panel(("bit rate (bits/sample)", "PSNR (dB)"), {c: p for c, p in quality.items() if p}, verticals=verticals)
    ]
    label = "bit rate (bits/sample)", "largest error / (max - min)"
    lines = {c: p for c, p in errors.items() if p}
    panels.append(plots.Panel(label, lines, y_log=True, verticals=verticals))
    plots.draw(path, panels, f"{path.stem}, {' x '.join(map(str, array.shape))} float32")


def main():
    parser = report.parser(__doc__, edge=128, crop=None, fields=None)
    parser.add_argument("--plots", type=Path, metavar="DIRECTORY", help="draws NAME.png of each field there")
    arguments = parser.parse_args()
    arrays = synthetic.volumes(arguments.edge) | (fields.comparison(arguments.directory) if arguments.directory else {})
    columns = {"field": "{field}", "codec": "{codec}", "bound / range": "{relative:.2e}", "bits/sample": "{rate:.4f}"}
    columns |= {"PSNR, dB": "{psnr:.2f}", "largest error / range": "{over range:.3e}", "error / bound": "{error:.4f}"}
    records = []
    for name, array in fields.chosen(arrays, arguments.fields).items():
        part = fields.crop(array, arguments.crop)
        found = lossy(name, part) + lossless(name, part)
        report.table(found, columns)
        if arguments.plots:
            arguments.plots.mkdir(parents=True, exist_ok=True)
            draw(arguments.plots / f"{name}.png", part, found)
        records += found
    rows = [row for name in dict.fromkeys(r["field"] for r in records) for row in rates(records, name)]
    columns = {codec: report.item(codec, ".3f", "rates") for codec in CODECS}
    report.table(
        rows, {"field": "{field}", "PSNR, dB": "{psnr}"} | columns, "Bits per sample at the same PSNR, between the points"
    )
    checks = report.Checks()
    worst = max(r["error"] for r in records if r["codec"] == "h5stz")
    checks.promise("largest error / bound of h5stz", worst, 1)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
