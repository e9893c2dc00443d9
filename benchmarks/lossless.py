"""Lossless ratio in native precision against Blosc2 (zstd with byte and with bit shuffle), fpzip, pcodec, and the best of
them on each field; and how much random 64-bit samples grow.

Every result is compared with the original bit for bit. fpzip takes no integers.
"""

import numpy as np

import fields
import peers
import report
import targets

RIVALS = {"blosc2": peers.blosc2, "blosc2 bits": peers.blosc2_bits, "fpzip": peers.fpzip, "pcodec": peers.pcodec}


def ratio(array, run):
    """Original over stored bytes; None if any bit changed or the codec does not take the type."""
    try:
        size, decoded = run(array)
    except peers.Unsupported:
        return None
    return array.nbytes / size if decoded.tobytes() == array.tobytes() else None


def compare(name, array):
    """The ratios of all codecs on a field, and h5stz over the best of the others."""
    record = {"field": name, "dtype": str(array.dtype), "h5stz": ratio(array, peers.h5stz_lossless)}
    record |= {rival: ratio(array, run) for rival, run in RIVALS.items()}
    best = max(record[rival] or 0 for rival in RIVALS)
    return record | {"over best": record["h5stz"] / best if record["h5stz"] else None}


def table(records):
    """One line for each field."""
    codecs = ("h5stz", *RIVALS, "over best")
    rows = [[r["field"], r["dtype"], *(f"{r[c]:.3f}" if r[c] else "-" for c in codecs)] for r in records]
    print(report.markdown(["field", "dtype", *codecs], rows), end="\n\n")


def mean_over(records, codec):
    """Geometric mean over a peer, on the fields that the peer restores exactly."""
    return report.geometric_mean([r["h5stz"] / r[codec] for r in records if r[codec]])


def main():
    arguments = report.parser(__doc__).parse_args()
    checks = report.Checks(have_targets=arguments.directory is not None)

    floats = [compare(name, array) for name, array in fields.floats(arguments.directory).items()]
    integers = [compare(name, array) for name, array in fields.integers(arguments.directory).items()]
    table(floats + integers)
    checks.promise("fields that came back changed", sum(r["h5stz"] is None for r in floats + integers), 0)
    if all(r["h5stz"] for r in floats + integers):
        over_best = report.geometric_mean([r["over best"] for r in floats + integers])
        checks.at_least("all fields, geometric mean over the best rival of each", over_best, targets.LOSSLESS_OVER_BEST)
        for codec in RIVALS:
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
