"""PSNR and largest error against bit rate: h5stz, SZ3 3.4, and SZ3, ZFP and SPERR of hdf5plugin.

Each field is one chunk, coded at absolute bounds from 1e-1 to 1e-6 of its range. Blosc2 (zstd level 5 behind its byte
shuffle) and h5stz's lossless mode are single rates. --plots draws a picture of each field.
"""

import math
from pathlib import Path

import numpy as np

import fields
import h5stz
import peers
import report
import speed_peers
import synthetic

CODECS = {"h5stz": peers.h5stz, "SZ3 3.4": peers.sz3, "SZ3 of hdf5plugin": peers.hdf5plugin_sz3}
CODECS |= {"ZFP of hdf5plugin": peers.zfp, "SPERR of hdf5plugin": peers.sperr}
BOUNDS = tuple(10.0 ** -(half / 2) for half in range(2, 13))  # relative, two per decade
LEVELS = (50, 70, 90, 110)  # PSNR in dB of the table of rates
EDGE = 128


def arrays(arguments):
    """{name: float32 array}: generated volumes, with a directory also the development fields, cut to --crop."""
    found = synthetic.volumes(arguments.edge)
    if arguments.directory:
        found |= fields.comparison(arguments.directory)
    wanted = arguments.fields.split(",") if arguments.fields else list(found)
    return {name: fields.crop(found[name], arguments.crop) for name in wanted}


def bit_rate(array, size):
    """Bits per sample of `size` stored bytes."""
    return 8 * size / array.size


def lossy(name, array):
    """A record for each codec and bound, without codecs that do not support the array."""
    records, width = [], fields.value_range(array)
    for relative in BOUNDS:
        for codec, run in CODECS.items():
            try:
                size, decoded = run(array, relative * width)
            except peers.Unsupported:
                continue
            result = report.measure(array, decoded, size, relative * width)
            record = {"field": name, "codec": codec, "relative": relative, "bits_per_sample": bit_rate(array, size)}
            record |= {"psnr": result.psnr, "error_over_bound": result.error_over_bound}
            records.append(record | {"error_over_range": result.error_over_bound * relative})
    return records


def lossless(name, array):
    """The two lossless codecs."""
    rates = {
        "h5stz, lossless": h5stz.STZ(lossless=True),
        speed_peers.FILTERS["blosc2"]: peers.filter_options("blosc2", array, 0),
    }
    records = []
    for codec, options in rates.items():
        size, decoded = peers.through_hdf5(array, options)
        assert np.array_equal(decoded.view("u4"), array.view("u4")), codec
        records.append({"field": name, "codec": codec, "bits_per_sample": bit_rate(array, size)})
    return records


def points_table(records):
    header = ["field", "codec", "bound / range", "bits/sample", "PSNR, dB", "largest error / range", "error / bound"]
    rows = []
    for r in records:
        row = [
            r["field"],
            r["codec"],
            f"{r['relative']:.2e}" if "relative" in r else "-",
            f"{r['bits_per_sample']:.4f}",
        ]
        row += (
            [f"{r['psnr']:.2f}", f"{r['error_over_range']:.3e}", f"{r['error_over_bound']:.4f}"] if "psnr" in r else ["-"] * 3
        )
        rows.append(row)
    print(report.markdown(header, rows), end="\n\n")


def rate_at(records, psnr):
    """Bits per sample of one codec at a PSNR, interpolated linearly between its points; None beyond them.

    Beyond the last of them it is the rate at which the codec gave every bit back, if it did.
    """
    points = sorted((r["psnr"], r["bits_per_sample"]) for r in records if math.isfinite(r["psnr"]))
    exact = [r["bits_per_sample"] for r in records if math.isinf(r["psnr"])]
    if not points or psnr > points[-1][0]:
        return min(exact, default=None)
    return float(np.interp(psnr, *zip(*points, strict=True))) if psnr >= points[0][0] else None


def rates_table(records):
    """Bits per sample at the same PSNR, which the bounds alone do not show."""
    header, rows = ["field", "PSNR, dB", *CODECS], []
    for name in dict.fromkeys(r["field"] for r in records):
        for level in LEVELS:
            own = [[r for r in records if r["field"] == name and r["codec"] == codec and "psnr" in r] for codec in CODECS]
            rates = [rate_at(points, level) for points in own]
            rows.append([name, str(level), *("-" if rate is None else f"{rate:.3f}" for rate in rates)])
    print("Bits per sample at the same PSNR, between the points above:\n")
    print(report.markdown(header, rows), end="\n\n")


def draw(directory, name, array, records):
    import plots

    curves = {codec: [] for codec in CODECS}
    for r in records:
        if "psnr" in r:
            psnr = r["psnr"] if math.isfinite(r["psnr"]) else None
            curves[r["codec"]].append((r["bits_per_sample"], psnr, r["error_over_range"]))
    single = {r["codec"]: r["bits_per_sample"] for r in records if "psnr" not in r}
    title = f"{name}, {' x '.join(map(str, array.shape))} float32"
    plots.rate_distortion(directory / f"{name}.png", title, {k: v for k, v in curves.items() if v}, single)


def main():
    parser = report.parser(__doc__)
    parser.add_argument("--edge", type=int, default=EDGE, help="samples per axis of the generated fields; default %(default)s")
    parser.add_argument("--crop", type=int, metavar="N", help="first N^3 samples of each field only; default all")
    parser.add_argument("--fields", metavar="NAMES", help="comma-separated, only these")
    parser.add_argument("--plots", type=Path, metavar="DIRECTORY", help="draws NAME.png of each field there")
    arguments = parser.parse_args()
    if arguments.plots:
        arguments.plots.mkdir(parents=True, exist_ok=True)
    records = []
    for name, array in arrays(arguments).items():
        found = lossy(name, array) + lossless(name, array)
        points_table(found)
        if arguments.plots:
            draw(arguments.plots, name, array, found)
        records += found
    rates_table(records)
    checks = report.Checks()
    worst = max(r["error_over_bound"] for r in records if r["codec"] == "h5stz")
    checks.promise("largest error / bound of h5stz", worst, 1)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
