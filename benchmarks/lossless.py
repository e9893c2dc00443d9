"""Lossless ratio and speed in native precision against Blosc2, bit shuffle with LZ4, fpzip, pcodec, ZipNN and OpenZL, and the
best of them on each field; growth of random data.

Every result is compared with the original bit for bit. A codec that is not installed is left out, and a line says so.
"""

import numpy as np

from shared import codecs, exact, fields, report, synthetic, targets

COLUMNS = {"over best": "h5stz over the best other without OpenZL", "over all": "h5stz over the best other"}


def compare(part, name, array, running, arguments):
    """The figures of all codecs on a field, and h5stz over the best of the others."""
    array = fields.crop(array, arguments.crop) if part != "layered" else array
    found = exact.measure([array], running, arguments.repeats)
    if exact.OURS not in found:
        return {"part": part, "field": name, "dtype": str(array.dtype), "codecs": found, "over best": 0.0, "over all": 0.0}
    best = {"over best": exact.over_best(found, without=[exact.OPENZL]), "over all": exact.over_best(found)}
    return {"part": part, "field": name, "dtype": str(array.dtype), "codecs": found} | best


def layered():
    """(name, array) of the generated models, with labels and mask as integers too."""
    arrays = synthetic.layered()
    return [*arrays.items(), ("labels", arrays["labels"].astype(np.int32)), ("mask", arrays["mask"].astype(np.uint8))]


def records_of(running, arguments):
    """Records of the parts that are asked for: {part: records}."""
    found = {"float": [], "integer": [], "layered": []}
    if arguments.only != "layered":
        found["float"] = fields.floats(arguments.directory).items()
        found["integer"] = fields.integers(arguments.directory).items()
    if arguments.only != "fields":
        found["layered"] = layered()
    return {part: [compare(part, *item, running, arguments) for item in items] for part, items in found.items()}


def check(found, running, checks):
    """Compares with targets. Without a codec, "best" is the best of the others."""
    floats, integers, models = found["float"], found["integer"], found["layered"]
    changed = [r["field"] for r in floats + integers + models if exact.OURS not in r["codecs"]]
    checks.promise("fields that came back changed", len(changed), 0)
    if floats and not changed:
        best, own = "over the best rival of each field", floats + integers
        mean, least = report.mean_of(own, "over best"), min(r["over best"] for r in own)
        checks.at_least(f"{best} without OpenZL, geometric mean", mean, targets.LOSSLESS_OVER_BEST)
        checks.at_least(f"{best} without OpenZL, least", least, targets.LOSSLESS_MINIMUM)
        if exact.OPENZL in running:
            checks.at_least(f"{best} with OpenZL, geometric mean", report.mean_of(own, "over all"), targets.LOSSLESS_OVER_ALL)
    for rival in running if floats and not changed else ():
        ratios = [(r["codecs"][exact.OURS]["ratio"], r["codecs"][rival]["ratio"]) for r in floats if rival in r["codecs"]]
        if rival != exact.OURS and ratios:
            gains = report.geometric_mean([mine / theirs for mine, theirs in ratios])
            checks.at_least(f"float fields, geometric mean over {rival}", gains, targets.LOSSLESS_MEAN)
    for r in integers:
        checks.at_least(f"{r['field']} over the best other without OpenZL", r["over best"], targets.LOSSLESS_MEAN)
    for r in models:
        if r["field"] in ("labels", "mask", "blobs"):
            what = f"{r['field']} {r['dtype']} over the best other without OpenZL"
            checks.at_least(what, r["over best"], targets.LAYERED_LOSSLESS)


def growth(checks):
    """Records of random samples."""
    random, records = np.random.default_rng(1).integers(0, 2**64, 2**16, dtype=np.uint64), []
    for array in (random, random.view(np.float64), random.view(np.int64)):
        grown = len(codecs.LOSSLESS[exact.OURS].compress(array)) - array.nbytes
        records.append({"part": "random", "field": "random", "dtype": str(array.dtype), "growth": grown})
        checks.promise(f"growth of {array.size} random {array.dtype} samples, bytes", grown, targets.RANDOM_EXPANSION)
    return records


def main():
    arguments = report.parser(__doc__, only=("fields", "layered"), crop=None, repeats=3).parse_args()
    checks = report.Checks(have_targets=arguments.directory is not None)
    running = codecs.installed()
    found = records_of(running, arguments)
    records = [record for part in found.values() for record in part]
    columns = {"field": "{field}", "dtype": "{dtype}"} | exact.columns(running, "ratio", "{:.3f}")
    columns |= {heading: f"{{{key}:.3f}}" for key, heading in COLUMNS.items()}
    report.table(records, columns, "Ratios")
    if arguments.repeats:
        exact.speed_table(records, running, "field")
    check(found, running, checks)
    report.finish(arguments, records + growth(checks), checks)


if __name__ == "__main__":
    main()
