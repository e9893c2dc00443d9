"""Arrays with short axes: sizes and speeds beside the same samples in the order that suits the codec best.

Tensors and vectors on the last axes and on the first ones, colours, and two-dimensional data with one axis cut into four. The
two arrays take turns in each repeat; the fastest counts.
"""

import numpy as np

import h5stz
import report
import synthetic
import targets
import timing

RELATIVE_BOUND = 1e-3
CUT = (2, 3, 3, 5)  # an axis of 90


def tensors(edge=64):
    """Nine fields that have nothing to do with each other, as (3, 3, edge, edge, edge)."""
    fields = [synthetic.gaussian_field(edge, seed, edge / 6) for seed in range(9)]
    return np.stack(fields).reshape(3, 3, edge, edge, edge)


def gradients(edge=64):
    """The derivatives of three fields along three axes, as (3, 3, edge, edge, edge)."""
    fields = [synthetic.gaussian_field(edge, 20 + seed, edge / 6) for seed in range(3)]
    return np.array([np.gradient(field) for field in fields]).astype(np.float32)


def colours(edge=512):
    """Three fields that have most in common, as (3, edge, edge)."""
    base = synthetic.gaussian_field(edge, 3, edge / 8, 2)
    return np.stack([base + 0.2 * synthetic.gaussian_field(edge, 40 + seed, edge / 6, 2) for seed in range(3)]).astype(
        np.float32
    )


def last(array, count):
    """The array with its first `count` axes behind the others."""
    return np.ascontiguousarray(np.moveaxis(array, range(count), range(-count, 0)))


def cases(edge, rows):
    """{name: (the array, the same samples to compare it with, the target for its bytes, that for its speed or None)}."""
    plane = synthetic.gaussian_field(2048, 5, 2048 / 6, 2)[:rows, :90].copy()
    tensor, gradient, colour = tensors(edge), gradients(edge), colours(8 * edge)
    bytes_of_last = targets.SHAPES["last axes over first"]
    return {
        "tensors on the last axes, or the first": (last(tensor, 2), tensor, bytes_of_last, None),
        "gradients on the last axes, or the first": (last(gradient, 2), gradient, bytes_of_last, None),
        "vectors on the last axis, or the first": (last(tensor[0], 1), tensor[0], bytes_of_last, None),
        "colours on the last axis, or the first": (last(colour, 1), colour, bytes_of_last, None),
        "an axis cut into four, or whole": (
            plane.reshape(rows, *CUT),
            plane,
            targets.SHAPES["cut axis over whole"],
            targets.SHAPES["cut axis speed"],
        ),
    }


def measure(name, array, other, repeats):
    """The record of an array and the one to compare it with: shapes, bytes, MB/s of compression and decompression."""
    bound = RELATIVE_BOUND * float(np.ptp(array))
    streams = [h5stz.compress(each, absolute=bound) for each in (array, other)]
    actions = {
        "compress": lambda: h5stz.compress(array, absolute=bound),
        "decompress": lambda: h5stz.decompress(streams[0]),
        "compress other": lambda: h5stz.compress(other, absolute=bound),
        "decompress other": lambda: h5stz.decompress(streams[1]),
    }
    times = timing.interleaved(actions, repeats, choose=min)  # of a few milliseconds: others may be at work in most calls
    record = {"case": name, "shape": list(array.shape), "other shape": list(other.shape)}
    record |= {"ratio": array.nbytes / len(streams[0]), "ratio other": array.nbytes / len(streams[1])}
    record |= {"bytes over other": len(streams[0]) / len(streams[1])}
    return record | {what: timing.megabytes_per_second(array.nbytes, seconds) for what, seconds in times.items()}


def table(records):
    """Prints the records."""
    speeds = ["compress", "decompress", "compress other", "decompress other"]
    rows = []
    for record in records:
        shapes = [" x ".join(map(str, record[key])) for key in ("shape", "other shape")]
        ratios = [f"{record['ratio']:.2f}", f"{record['ratio other']:.2f}", f"{record['bytes over other']:.4f}"]
        rows.append([record["case"], *shapes, *ratios, *[f"{record[speed]:.0f}" for speed in speeds]])
    header = ["samples", "shape", "the other", "ratio", "of the other", "bytes over the other"]
    header += ["compress MB/s", "decompress", "compress the other", "decompress it"]
    print(report.markdown(header, rows), end="\n\n")


def main():
    parser = report.parser(__doc__, directory=False)
    parser.add_argument("--edge", type=int, default=64, help="edge of the volumes, default %(default)s; the targets are for it")
    parser.add_argument("--rows", type=int, default=2000, help="rows of the array with an axis of 90, default %(default)s")
    parser.add_argument("--repeats", type=int, default=15, help="default %(default)s")
    arguments = parser.parse_args()
    checks = report.Checks(have_targets=(arguments.edge, arguments.rows) == (64, 2000))
    records, limits = [], []
    for name, (array, other, *limit) in cases(arguments.edge, arguments.rows).items():
        records.append(measure(name, array, other, arguments.repeats))
        limits.append(limit)
    table(records)
    for record, (most_bytes, least_speed) in zip(records, limits, strict=True):
        checks.at_most(f"{record['case']}: bytes over the other", record["bytes over other"], most_bytes)
        if least_speed:
            for way in ("compress", "decompress"):
                checks.at_least(f"{record['case']}: {way}, MB/s", record[way], least_speed)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
