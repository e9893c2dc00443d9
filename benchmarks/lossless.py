"""Lossless ratio against fpzip and Blosc2 (zstd, byte shuffle) in native precision; integer fields against Blosc2;
and how much random 64-bit samples grow.

Every codec's result is compared with the original bit for bit.
"""

import numpy as np

import fields
import peers
import report
import targets


def ratio(array, size, decoded):
    """Original over stored bytes, or None if any bit changed."""
    return array.nbytes / size if decoded.tobytes() == array.tobytes() else None


def compare(name, array, others):
    record = {"field": name, "dtype": str(array.dtype), "h5stz": ratio(array, *peers.h5stz_lossless(array))}
    return record | {codec: ratio(array, *run(array)) for codec, run in others.items()}


def table(records, others):
    header = ["field", "dtype", "h5stz", *others]
    rows = [[r["field"], r["dtype"], *(f"{r[c]:.3f}" if r[c] else "not exact" for c in ("h5stz", *others))] for r in records]
    print(report.markdown(header, rows), end="\n\n")


def mean_over(records, codec):
    """Geometric mean over a peer, on the fields that the peer restores exactly."""
    return report.geometric_mean([r["h5stz"] / r[codec] for r in records if r[codec]])


def main():
    arguments = report.parser(__doc__).parse_args()
    checks = report.Checks(have_targets=arguments.directory is not None)

    others = {"fpzip": peers.fpzip, "blosc2": peers.blosc2}
    floats = [compare(name, array, others) for name, array in fields.floats(arguments.directory).items()]
    integers = [compare(name, array, {"blosc2": peers.blosc2}) for name, array in fields.integers(arguments.directory).items()]
    table(floats, others)
    table(integers, ["blosc2"])
    checks.promise("fields that came back changed", sum(r["h5stz"] is None for r in floats + integers), 0)
    if all(r["h5stz"] for r in floats + integers):
        for codec in others:
            checks.at_least(f"float fields, geometric mean over {codec}", mean_over(floats, codec), targets.LOSSLESS_MEAN)
        checks.at_least("integer fields over blosc2", min(r["h5stz"] / r["blosc2"] for r in integers), targets.LOSSLESS_MEAN)

    random = np.random.default_rng(1).integers(0, 2**64, 2**16, dtype=np.uint64)
    random_records = []
    for array in (random, random.view(np.float64), random.view(np.int64)):
        growth = peers.h5stz_lossless(array)[0] - array.nbytes
        checks.promise(f"growth of {array.size} random {array.dtype} samples, bytes", growth, targets.RANDOM_EXPANSION)
        random_records.append({"field": "random", "dtype": str(array.dtype), "growth": growth})
    report.finish(arguments, floats + integers + random_records, checks)


if __name__ == "__main__":
    main()
