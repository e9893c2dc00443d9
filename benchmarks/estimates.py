"""How far h5stz.estimate() is from the result of compress(): size and PSNR, and the time of one over that of the other.

Arrays of up to 2^21 samples are compressed to estimate them, so that their figures are exact.
"""

import statistics
from pathlib import Path

import numpy as np

import h5stz
from shared import clock, fields, report, synthetic, targets

CHUNK_EDGE, SAMPLED_BYTES = 64, 8 << 20


def variants(volume):
    """{name: (array, edge of chunks)} of other kinds than the volumes."""
    land = synthetic.gaussian_field(volume.shape[0], 4, 3.0) > 0.4
    return {
        "float64": (volume.astype("f8"), None),
        "land of NaN": (np.where(land, np.float32(np.nan), volume), None),
        "int16, lossless": (np.round(volume * 1000).astype("i2"), None),
        "picture": (volume.reshape(-1, volume.shape[2])[: 16 * volume.shape[0]], None),
        "eighth of the chunks": (volume, CHUNK_EDGE),
    }


def psnr(pieces, streams):
    """Of what the streams hold, in dB."""
    finite = [np.isfinite(piece) for piece in pieces]
    values = [piece[where].astype("f8") for piece, where in zip(pieces, finite, strict=True)]
    decoded = [h5stz.decompress(stream)[where].astype("f8") for stream, where in zip(streams, finite, strict=True)]
    values, decoded = np.concatenate(values), np.concatenate(decoded)
    return report.psnr(fields.value_range(values), np.abs(values - decoded))


def measure(name, array, edge, relative, repeats):
    """The record of one array and bound."""
    array = np.ascontiguousarray(array)
    pieces = fields.pieces(array, edge) if edge else [array]
    bound = relative * fields.value_range(array[np.isfinite(array)].astype("f8"))
    options = {"absolute": bound, "threads": 1, "fill_value": False}
    sample = (
        {"chunks": (edge,) * 3, "sample_bytes": SAMPLED_BYTES} if edge else {"chunks": array.shape, "sample_bytes": 1 << 40}
    )
    actions = {
        "compress": lambda: [h5stz.compress(piece, **options) for piece in pieces],
        "estimate": lambda: h5stz.estimate(array, **sample, **options),
    }
    streams, found = actions["compress"](), actions["estimate"]()
    seconds, size = clock.interleaved(actions, repeats, choose=min), sum(map(len, streams))
    return {
        "array": name,
        "relative": relative,
        "bytes": size,
        "error": found.bytes / size - 1,
        "decibels": found.psnr - psnr(pieces, streams) if np.isfinite(found.psnr) else 0.0,
        "time": seconds["estimate"] / seconds["compress"],
        "exact": found.exact,
    }


def table(records):
    """One row for each array."""
    rows = {}
    for r in records:
        size = "exact" if r["exact"] else f"{100 * r['error']:+.1f} %"
        cell = f"{size}, {r['decibels']:+.1f} dB, {100 * r['time']:.0f} %"
        rows.setdefault(r["array"], {"array": r["array"]})[f"{r['relative']:g}"] = cell
    columns = {f"{at:g}": report.item(f"{at:g}", "") for at in fields.RELATIVE_BOUNDS}
    title = "Expected size, PSNR and time over what compressing gives and takes, at relative bounds of"
    report.table(rows.values(), {"array": "{array}"} | columns, title)


def main():
    arguments = report.parser(__doc__, edge=synthetic.EDGE, repeats=5).parse_args()
    volumes = {name: (np.ascontiguousarray(each, "f4"), None) for name, each in synthetic.volumes(arguments.edge).items()}
    others = variants(volumes["grf"][0])
    for path in sorted(Path(arguments.directory).glob("*.npy")) if arguments.directory else ():
        others[path.stem] = np.load(path), None
    records = [
        measure(name, *array, relative, arguments.repeats if name in volumes else min(2, arguments.repeats))
        for name, array in (volumes | others).items()
        for relative in fields.RELATIVE_BOUNDS
    ]
    table(records)
    checks = report.Checks(arguments.edge == synthetic.EDGE)
    if errors := [abs(each["error"]) for each in records if not each["exact"]]:
        checks.at_most("size, estimated: median error", statistics.median(errors), targets.ESTIMATE_ERROR["median"])
        checks.at_most("size, estimated: worst error", max(errors), targets.ESTIMATE_ERROR["worst"])
    slowest = max(each["time"] for each in records if each["array"] in volumes)
    checks.at_most("time over compressing, worst volume", slowest, targets.ESTIMATE_TIME)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
