"""Compression ratio against SZ3 3.4 at the same absolute bound (the relative bound times max - min of the field).

Three parts: each field as one chunk; the arrays with more axes, whole; the volumes cut into chunks (--chunks), edge
chunks as HDF5 pads them. Sizes of h5stz are those of the chunks in the HDF5 file, its settings the defaults throughout.
`results.py` has more codecs.
"""

import fields
import peers
import report
import targets


def compare(part, name, array, relative):
    """Both codecs on one array as one chunk."""
    bound = relative * fields.value_range(array)
    record = {"part": part, "field": name, "relative": relative, "bound": bound}
    for codec, run in (("h5stz", peers.h5stz), ("sz3", peers.sz3)):
        size, decoded = run(array, bound)
        record[codec] = report.measure(array, decoded, size, bound)
    record["gain"] = record["h5stz"].ratio / record["sz3"].ratio
    return record


def one_chunk(part, arrays):
    records = [compare(part, name, array, relative) for name, array in arrays.items() for relative in fields.RELATIVE_BOUNDS]
    header = ["field", "bound", "h5stz", "PSNR", "error/bound", "SZ3", "PSNR", "error/bound", "h5stz / SZ3"]
    rows = [[r["field"], f"{r['relative']:g}", *r["h5stz"].cells(), *r["sz3"].cells(), f"{r['gain']:.3f}"] for r in records]
    print(report.markdown(header, rows), flush=True)
    return records


def chunked(arrays, edge, relative=1e-3):
    """Fields cut into chunks of `edge` samples per axis; every chunk at the field's bound, not at one of its own."""
    records = []
    for name, array in arrays.items():
        bound = relative * fields.value_range(array)
        size, decoded = peers.h5stz(array, bound, chunks=peers.chunk_shape(array, edge))
        sz3 = sum(peers.sz3(chunk, bound)[0] for chunk, _ in peers.hdf5_chunks(array, edge))
        ours = report.measure(array, decoded, size, bound)
        record = {"part": f"chunks of {edge}", "field": name, "relative": relative, "bound": bound, "h5stz": ours}
        records.append(record | {"sz3": array.nbytes / sz3, "gain": sz3 / size})
    header = ["field", "bound", f"h5stz, chunks of {edge}", "PSNR", "error/bound", "SZ3", "h5stz / SZ3"]
    rows = [[r["field"], f"{relative:g}", *r["h5stz"].cells(), f"{r['sz3']:.2f}", f"{r['gain']:.3f}"] for r in records]
    print(report.markdown(header, rows), flush=True)
    return records


def edge_chunk_overhead(array, edge=64, relative=1e-3):
    """Bytes of the padded chunks of one field over those of its valid boxes, each written as a dataset of its own."""
    bound = relative * fields.value_range(array)
    stored, _ = peers.h5stz(array, bound, chunks=peers.chunk_shape(array, edge))
    boxes = sum(peers.h5stz(array[box].copy(), bound)[0] for _, box in peers.hdf5_chunks(array, edge))
    return stored / boxes


def largest_error(records):
    return max(record["h5stz"].error_over_bound for record in records)


def mean_gain(records, relative):
    return report.geometric_mean([record["gain"] for record in records if record["relative"] == relative])


def main():
    parser = report.parser(__doc__)
    parser.add_argument("--chunks", default="64,32", help="chunk edges of the third part, comma-separated; default %(default)s")
    parser.add_argument("--only", choices=("one", "whole", "chunks"), help="one part only")
    arguments = parser.parse_args()
    records, checks = [], report.Checks(have_targets=arguments.directory is not None)

    if arguments.only in (None, "one"):
        print("\nOne chunk per field, float32\n")
        part = one_chunk("one chunk", fields.comparison(arguments.directory))
        print()
        for relative in fields.RELATIVE_BOUNDS:
            target = targets.RATIO_MEAN[relative]
            checks.at_least(f"geometric mean over SZ3 at {relative:g}", mean_gain(part, relative), target)
        checks.at_least("least field over SZ3", min(record["gain"] for record in part), targets.RATIO_MINIMUM)
        checks.promise("largest error / bound", largest_error(part), 1)
        records += part
    if arguments.only in (None, "whole"):
        print("\nArrays with all their axes, float32\n")
        part = one_chunk("whole", fields.whole(arguments.directory))
        print()
        for relative in fields.RELATIVE_BOUNDS:
            print(f"geometric mean over SZ3, whole arrays, at {relative:g}: {mean_gain(part, relative):.4g}")
        checks.promise("largest error / bound, whole arrays", largest_error(part), 1)
        records += part
    if arguments.only in (None, "chunks"):
        volumes = fields.volumes(arguments.directory)
        for edge in (int(text) for text in arguments.chunks.split(",")):
            print(f"\nChunks of {edge} samples per axis, edge chunks padded by HDF5\n")
            part = chunked(volumes, edge)
            print()
            target = targets.CHUNK_RATIO_MEAN.get(edge, 0)
            checks.at_least(f"geometric mean over SZ3, chunks of {edge}, at 0.001", mean_gain(part, 1e-3), target)
            checks.promise(f"largest error / bound, chunks of {edge}", largest_error(part), 1)
            records += part
        overhead = edge_chunk_overhead(volumes[fields.BOX_FIELD])
        checks.at_most("bytes of 91^3 in 64^3 chunks over those of its valid boxes", overhead, targets.EDGE_CHUNK_OVERHEAD)
        records.append({"part": "edge chunks over valid boxes", "field": fields.BOX_FIELD, "bytes": overhead})
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
