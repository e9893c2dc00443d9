"""Compression ratio against SZ3 3.4 at the same absolute bound; docs/benchmarks.md describes the parts (--only)."""

import zlib

import numpy as np

import h5stz
from shared import codecs, fields, report, synthetic, targets

LAYERED_BOUNDS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
COLUMNS = {"field": "{field}", "bound": "{relative:g}"}
for _codec in ("h5stz", "SZ3"):
    COLUMNS |= {_codec: f"{{{_codec}.ratio:.2f}}", f"PSNR of {_codec}": f"{{{_codec}.psnr:.1f}}"}
    COLUMNS |= {f"error/bound of {_codec}": f"{{{_codec}.error:.4f}}"}
COLUMNS |= {"h5stz / SZ3": "{gain:.3f}"}
HOLES = {"changed holes of h5stz": "{changed}", "changed holes of SZ3": "{changed of SZ3}"}


def compare(part, name, array, relative):
    """Both codecs on one array as one chunk."""
    bound = relative * fields.value_range(array)
    record = {"part": part, "field": name, "relative": relative, "bound": bound}
    for codec, run in (("h5stz", codecs.h5stz), ("SZ3", codecs.sz3)):
        size, decoded = run(array, bound)
        record[codec] = report.measure(array, decoded, size, bound)
    return record | {"gain": record["h5stz"].ratio / record["SZ3"].ratio}


def one_chunk(part, title, arrays, bounds=fields.RELATIVE_BOUNDS):
    records = [compare(part, name, array, relative) for name, array in arrays.items() for relative in bounds]
    report.table(records, COLUMNS, title)
    return records


def chunked(arrays, edge, relative=fields.RELATIVE):
    """Fields cut into chunks of `edge` samples per axis; every chunk at the field's bound, not at one of its own."""
    records = []
    for name, array in arrays.items():
        bound = relative * fields.value_range(array)
        size, decoded = codecs.h5stz(array, bound, chunks=codecs.chunk_shape(array, edge))
        sz3 = sum(codecs.sz3(chunk, bound)[0] for chunk, _ in codecs.hdf5_chunks(array, edge))
        record = {"part": f"chunks of {edge}", "field": name, "relative": relative, "bound": bound, "gain": sz3 / size}
        records.append(record | {"h5stz": report.measure(array, decoded, size, bound), "SZ3 ratio": array.nbytes / sz3})
    columns = {name: column for name, column in COLUMNS.items() if "SZ3" not in name} | {"SZ3": "{SZ3 ratio:.2f}"}
    report.table(records, columns | {"h5stz / SZ3": "{gain:.3f}"}, f"Chunks of {edge} samples, edge chunks padded by HDF5")
    return records


def edge_chunk_overhead(array, edge=64, relative=fields.RELATIVE):
    """Bytes of the padded chunks of one field over those of its valid boxes, each written as a dataset of its own."""
    bound = relative * fields.value_range(array)
    stored, _ = codecs.h5stz(array, bound, chunks=codecs.chunk_shape(array, edge))
    return stored / sum(codecs.h5stz(array[box].copy(), bound)[0] for _, box in codecs.hdf5_chunks(array, edge))


def masked(name, array, relative):
    """h5stz, which finds the fill value itself, and SZ3 on the raw array and on the one with means in the holes."""
    valid = fields.valid_samples(name, array)
    bound = relative * fields.value_range(array[valid])
    options = h5stz.STZ(relative=relative, data=array, integers="lossy")
    results = {"h5stz": codecs.through_hdf5(array, options), "SZ3": codecs.sz3(array, bound)}
    bits = np.dtype(f"u{array.dtype.itemsize}")
    changed = {
        codec: int(np.sum(array.view(bits)[~valid] != decoded.view(bits)[~valid])) for codec, (_, decoded) in results.items()
    }
    record = {"part": "masked", "field": name, "relative": relative, "bound": bound}
    record |= {codec: report.measure(array, decoded, size, bound, valid) for codec, (size, decoded) in results.items()}
    filled = np.where(valid, array, array[valid].mean(dtype=np.float64)).astype(array.dtype)
    beside = len(zlib.compress(np.packbits(valid).tobytes(), 9))
    over_filled = record["h5stz"].ratio * (codecs.sz3(filled, bound)[0] + beside) / array.nbytes
    record |= {"changed": changed["h5stz"], "changed of SZ3": changed["SZ3"], "gain over filled": over_filled}
    return record | {"gain": record["h5stz"].ratio / record["SZ3"].ratio}


def check_means(records, checks, over, wanted, key="gain"):
    """Compares the mean at each bound with its target, if it has one."""
    for relative in dict.fromkeys(r["relative"] for r in records):
        mean = report.mean_of(records, key, relative=relative)
        checks.at_least(f"geometric mean {over} at {relative:g}", mean, wanted.get(relative, 0))
    largest = max(record["h5stz"].error for record in records)
    checks.promise(f"largest error / bound, {records[0]['part']}", largest, 1)


def run_one(arguments, checks):
    records = one_chunk("one chunk", "One chunk per field, float32", fields.comparison(arguments.directory))
    check_means(records, checks, "over SZ3", targets.RATIO_MEAN)
    checks.at_least("least field over SZ3", min(record["gain"] for record in records), targets.RATIO_MINIMUM)
    return records


def run_whole(arguments, checks):
    records = one_chunk("whole", "Arrays with all their axes, float32", fields.whole(arguments.directory))
    check_means(records, checks, "over SZ3, whole arrays,", {})
    return records


def run_chunks(arguments, checks):
    arrays, records = fields.volumes(arguments.directory), []
    for edge in map(int, arguments.chunks.split(",")):
        found = chunked(arrays, edge)
        check_means(found, checks, f"over SZ3, chunks of {edge},", {fields.RELATIVE: targets.CHUNK_RATIO_MEAN.get(edge, 0)})
        records += found
    overhead = edge_chunk_overhead(arrays[fields.BOX_FIELD])
    checks.at_most("bytes of 91^3 in 64^3 chunks over those of its valid boxes", overhead, targets.EDGE_CHUNK_OVERHEAD)
    return [*records, {"part": "edge chunks over valid boxes", "field": fields.BOX_FIELD, "bytes": overhead}]


def run_masked(arguments, checks):
    arrays = fields.masked(arguments.directory)
    records = [masked(name, array, relative) for name, array in arrays.items() for relative in fields.RELATIVE_BOUNDS]
    columns = COLUMNS | {"h5stz / SZ3 filled": "{gain over filled:.3f}"} | HOLES
    report.table(records, columns, "Fields with NaN or a fill value, float32")
    check_means(records, checks, "over SZ3 on the filled array", targets.MASKED_OVER_FILLED, "gain over filled")
    raw = report.mean_of(records, "gain")
    checks.at_least("geometric mean over SZ3 on the raw array, all bounds", raw, targets.MASKED_RATIO_MEAN)
    checks.promise("NaN and fill samples that changed", sum(r["changed"] for r in records), 0)
    return records


def run_layered(_, checks):
    title = "Layered models, labels, a mask and sparse data, float32"
    records = one_chunk("layered", title, synthetic.layered(), LAYERED_BOUNDS)
    check_means(records, checks, "over SZ3, layered models,", {})
    checks.promise(
        "SZ3 over h5stz, largest of all layered models and bounds",
        1 / min(r["gain"] for r in records),
        1 / targets.LAYERED_RATIO,
    )
    return records


def sizes(name, array, relative, crop):
    """Bytes and PSNR of effort 5 with each favour, and of effort 9, on the first samples of one field."""
    part = fields.crop(array, crop)
    valid = fields.valid_samples(name, part)
    bound = relative * fields.value_range(array[fields.valid_samples(name, array)])
    record = {"part": "size", "field": name, "relative": relative, "bound": bound}
    for way, options in {"effort 5": {}, "size": {"favour": "size"}, "effort 9": {"effort": 9}}.items():
        stream = h5stz.compress(part, absolute=bound, fill_value=fields.FILL_VALUES.get(name, False), **options)
        record[way] = report.measure(part, h5stz.decompress(stream), len(stream), bound, valid)
    for way in ("size", "effort 9"):
        record |= {f"bytes, {way}": record["effort 5"].ratio / record[way].ratio}
        record |= {f"dB, {way}": record["effort 5"].psnr - record[way].psnr}
    return record


def run_size(arguments, checks):
    arrays = fields.comparison(arguments.directory) | fields.masked(arguments.directory)
    crop, bounds = arguments.crop, fields.RELATIVE_BOUNDS
    records = [sizes(name, array, relative, crop) for name, array in arrays.items() for relative in bounds]
    columns = {"field": "{field}", "bound": "{relative:g}"}
    for way in ("size", "effort 9"):
        columns |= {f"bytes over effort 5, {way}": f"{{bytes, {way}:.3f}}", f"dB lost, {way}": f"{{dB, {way}:.2f}}"}
    report.table(records, columns, 'favour="size" and effort 9 over effort 5')
    for way in ("size", "effort 9"):
        for relative in fields.RELATIVE_BOUNDS:
            found = [record for record in records if record["relative"] == relative]
            checks.at_most(f"bytes over effort 5 at {relative:g}, {way}", report.mean_of(found, f"bytes, {way}"), 1)
            lost = [record[f"dB, {way}"] for record in found if np.isfinite(record[f"dB, {way}"])]
            print(f"dB lost at {relative:g}, {way}: {np.mean(lost):.2f}")
    checks.promise("largest bytes of effort 9 over effort 5", max(record["bytes, effort 9"] for record in records), 1)
    return records


PARTS = {
    "one": run_one,
    "whole": run_whole,
    "chunks": run_chunks,
    "masked": run_masked,
    "layered": run_layered,
    "size": run_size,
}


def main():
    parser = report.parser(__doc__, only=list(PARTS))
    parser.add_argument("--chunks", default="64,32", help="chunk edges, comma-separated; default %(default)s")
    parser.add_argument("--crop", type=int, default=128, help="part size takes N^3 samples; default %(default)s", metavar="N")
    arguments = parser.parse_args()
    checks = report.Checks(have_targets=arguments.directory is not None)
    records = [record for part in ([arguments.only] if arguments.only else PARTS) for record in PARTS[part](arguments, checks)]
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
