"""How far h5stz.estimate() is from what compress() makes: size and PSNR, and the time of one over that of the other.

Generated float32 volumes at relative bounds of 1e-2, 1e-3 and 1e-4, on one thread, and variants of one of them: double
precision, with missing samples, whole numbers, a picture, and as a dataset of which some chunks are looked at. With a directory
also its fields: arrays of up to 2^21 samples are compressed to estimate them, so what is said of those is exact.
"""

import statistics
from pathlib import Path

import numpy as np

import fields
import h5stz
import report
import synthetic
import targets
import timing
from h5stz.slabs import boxes

CHUNK_EDGE, SAMPLED_BYTES = 64, 8 << 20


def variants(volume):
    """{name: (array, chunks)} of other kinds than the volumes."""
    land = synthetic.gaussian_field(volume.shape[0], 4, 3.0) > 0.4
    return {
        "float64": (volume.astype("f8"), None),
        "land of NaN": (np.where(land, np.float32(np.nan), volume), None),
        "int16, lossless": (np.round(volume * 1000).astype("i2"), None),
        "picture": (volume.reshape(-1, volume.shape[2])[: 16 * volume.shape[0]], None),
        "eighth of the chunks": (volume, (CHUNK_EDGE,) * 3),
    }


def stored_fields(directory):
    """{name: (array, chunks)} of all fields of a directory."""
    return {path.stem: (np.load(path), None) for path in sorted(Path(directory).glob("*.npy"))}


def pieces(array, chunks):
    """The chunks of an array, or itself."""
    if chunks is None:
        return [array]
    return [np.ascontiguousarray(array[box]) for box in boxes(array.shape, chunks)]


def psnr(array, streams, chunks):
    """Of what the streams hold, in dB."""
    errors, values = [], []
    for piece, stream in zip(pieces(array, chunks), streams, strict=True):
        finite = np.isfinite(piece)
        before = piece[finite].astype("f8")
        errors.append(np.abs(before - h5stz.decompress(stream)[finite].astype("f8")))
        values.append(before)
    return report.psnr(fields.value_range(np.concatenate(values)), np.concatenate(errors))


def measure(name, array, chunks, relative, repeats):
    """The record of one array and bound."""
    array = np.ascontiguousarray(array)
    finite = array[np.isfinite(array)].astype("f8")
    options = {"absolute": relative * fields.value_range(finite), "threads": 1, "fill_value": False}
    streams = [h5stz.compress(piece, **options) for piece in pieces(array, chunks)]

    def compress():
        for piece in pieces(array, chunks):
            h5stz.compress(piece, **options)

    def estimate():
        return h5stz.estimate(array, chunks=chunks or array.shape, sample_bytes=SAMPLED_BYTES if chunks else 1 << 40, **options)

    times = timing.interleaved({"compress": compress, "estimate": estimate}, repeats, choose=min)
    found, size = estimate(), sum(map(len, streams))
    return {
        "array": name,
        "relative": relative,
        "megabytes": array.nbytes / 1e6,
        "bytes": size,
        "error": found.bytes / size - 1,
        "spread": found.spread / size,
        "decibels": found.psnr - psnr(array, streams, chunks) if np.isfinite(found.psnr) else 0.0,
        "time": times["estimate"] / times["compress"],
        "exact": found.exact,
    }


def table(records):
    """One row for each array."""
    rows = []
    for name in dict.fromkeys(record["array"] for record in records):
        row = [f"{name}"]
        for record in (each for each in records if each["array"] == name):
            size = "exact" if record["exact"] else f"{100 * record['error']:+.1f} %"
            row.append(f"{size}, {record['decibels']:+.1f} dB, {100 * record['time']:.0f} %")
        rows.append(row)
    header = ["array", *(f"{relative:g}" for relative in fields.RELATIVE_BOUNDS)]
    return report.markdown(header, rows)


def main():
    parser = report.parser(__doc__)
    parser.add_argument("--edge", type=int, default=synthetic.EDGE, help="samples per axis; default %(default)s")
    parser.add_argument("--repeats", type=int, default=5, help="counted repeats; default %(default)s")
    arguments = parser.parse_args()
    volumes = {name: (np.ascontiguousarray(each, "f4"), None) for name, each in synthetic.volumes(arguments.edge).items()}
    others = variants(volumes["grf"][0])
    if arguments.directory:
        others |= stored_fields(arguments.directory)
    records = [
        measure(name, *array, relative, arguments.repeats if name in volumes else 2)
        for name, array in (volumes | others).items()
        for relative in fields.RELATIVE_BOUNDS
    ]
    print("\nExpected size, PSNR and time over what compressing gives and takes, at relative bounds of\n")
    print(table(records) + "\n")
    checks = report.Checks(arguments.edge == synthetic.EDGE)
    errors = [abs(each["error"]) for each in records if not each["exact"]]
    checks.at_most("size, estimated: median error", statistics.median(errors), targets.ESTIMATE_ERROR["median"])
    checks.at_most("size, estimated: worst error", max(errors), targets.ESTIMATE_ERROR["worst"])
    slowest = max(each["time"] for each in records if each["array"] in volumes)
    checks.at_most("time over compressing, worst volume", slowest, targets.ESTIMATE_TIME)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
