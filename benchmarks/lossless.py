"""Lossless ratio in native precision against Blosc2, fpzip, pcodec, and the best of them on each field; growth of random data.

Every result is compared with the original bit for bit.
"""

import numpy as np

from shared import codecs, fields, report, synthetic, targets

RIVALS = [name for name in codecs.LOSSLESS if name != "h5stz"]
COLUMNS = {"field": "{field}", "dtype": "{dtype}"} | {name: f"{{{name}:.3f}}" for name in codecs.LOSSLESS}
COLUMNS |= {"h5stz over the best other": "{over best:.3f}"}


def ratio(array, run):
    """Original over stored bytes; None if any bit changed or the codec does not take the type."""
    try:
        size, decoded = run(array)
    except codecs.Unsupported:
        return None
    return array.nbytes / size if decoded.tobytes() == array.tobytes() else None


def compare(part, name, array, crop=None):
    """The ratios of all codecs on a field, and h5stz over the best of the others."""
    array = fields.crop(array, crop)
    record = {"part": part, "field": name, "dtype": str(array.dtype)}
    record |= {codec: ratio(array, run) for codec, run in codecs.LOSSLESS.items()}
    return record | {"over best": (record["h5stz"] or 0) / max(record[rival] or 0 for rival in RIVALS)}


def layered():
    """(name, array) of the generated models, with labels and mask as integers too."""
    arrays = synthetic.layered()
    return [*arrays.items(), ("labels", arrays["labels"].astype(np.int32)), ("mask", arrays["mask"].astype(np.uint8))]


def check(floats, integers, models, checks):
    changed = [r["field"] for r in floats + integers + models if r["h5stz"] is None]
    checks.promise("fields that came back changed", len(changed), 0)
    if floats:
        best = report.mean_of(floats + integers, "over best")
        checks.at_least("all fields, geometric mean over the best rival of each", best, targets.LOSSLESS_OVER_BEST)
    for rival in RIVALS if floats else ():
        gains = [r["h5stz"] / r[rival] for r in floats if r[rival]]
        checks.at_least(f"float fields, geometric mean over {rival}", report.geometric_mean(gains), targets.LOSSLESS_MEAN)
    for r in integers:
        checks.at_least(f"{r['field']} over the best other", r["over best"], targets.LOSSLESS_MEAN)
    for r in models:
        if r["field"] in ("labels", "mask", "blobs"):
            checks.at_least(f"{r['field']} {r['dtype']} over the best other", r["over best"], targets.LAYERED_LOSSLESS)


def main():
    arguments = report.parser(__doc__, only=("fields", "layered"), crop=None).parse_args()
    checks = report.Checks(have_targets=arguments.directory is not None)
    floats = integers = models = []
    if arguments.only != "layered":
        floats = [compare("float", *item, arguments.crop) for item in fields.floats(arguments.directory).items()]
        integers = [compare("integer", *item, arguments.crop) for item in fields.integers(arguments.directory).items()]
    if arguments.only != "fields":
        models = [compare("layered", *item) for item in layered()]
    report.table(floats + integers + models, COLUMNS)
    check(floats, integers, models, checks)
    random, records = np.random.default_rng(1).integers(0, 2**64, 2**16, dtype=np.uint64), []
    for array in (random, random.view(np.float64), random.view(np.int64)):
        records.append(
            {
                "part": "random",
                "field": "random",
                "dtype": str(array.dtype),
                "growth": codecs.h5stz_lossless(array)[0] - array.nbytes,
            }
        )
        what = f"growth of {array.size} random {array.dtype} samples, bytes"
        checks.promise(what, records[-1]["growth"], targets.RANDOM_EXPANSION)
    report.finish(arguments, floats + integers + models + records, checks)


if __name__ == "__main__":
    main()
