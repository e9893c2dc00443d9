"""Compress and decompress speed of h5stz on generated 256^3 float32 fields, against SZ3 3.4 in the same run.

The figures are medians; their quotients can be compared between machines. docs/benchmarks.md describes the operations.
Parts beyond the fields: --settings, --chunks, --blocks, --kinds, --isa, --hdf5, --memory, or --all of them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import h5stz
import memory
from shared import codecs, fields, report, speeds, synthetic, targets

NOISE_RELATIVE = 1e-4
NOISY_FIELD = "radio_l1448_13co"
MASKED_SHARE = 0.3
EFFORTS = (5, 3)  # of chunks
SETTINGS = {
    "effort 3": {"effort": 3},
    "throughput, effort 3": {"effort": 3, "block": "throughput"},
    "throughput, effort 1": {"effort": 1, "block": "throughput"},
}
HDF5_CASES = ((5, 128), (5, 64), (3, 32))  # effort; samples per axis of a chunk
ISA_FLAGS = {"baseline": (), "avx2": ("avx2", "bmi2")}


def peer_names(text):
    """Names of PEERS; "all"."""
    found = list(speeds.PEERS) if text == "all" else report.names(text)
    if set(found) - set(speeds.PEERS):
        raise argparse.ArgumentTypeError(f"peers are {', '.join(speeds.PEERS)}, or all")
    return found


def parsed():
    parser = report.parser(__doc__, directory=False, edge=synthetic.EDGE, repeats=5, fields=None, threads=[1, 2])
    add = parser.add_argument
    add("directory", nargs="?", metavar="DIR", help="adds the development fields in DIR to the generated ones")
    add("--peers", type=peer_names, default=["pysz"], metavar="NAMES", help="of pysz,sz3,zfp,sperr,blosc2, or all")
    add("--settings", action="store_true", help='efforts and block="throughput" against SZ3')
    add("--chunks", type=int, nargs="*", metavar="EDGE", help="chunks of these edges, 64 32 16 unless told")
    add("--blocks", action="store_true", help='block="region" beside the default')
    add("--kinds", action="store_true", help="types, ranks, masks, integers, lossless, noise; radio from DIR or $H5STZ_DATA")
    add("--isa", nargs="*", choices=list(ISA_FLAGS), help="these instruction sets alone, avx2 and baseline unless told")
    add("--hdf5", type=float, nargs="?", const=1000.0, metavar="MB", help="a dataset of so many MB through h5py; 1000")
    add("--memory", action="store_true", help="peak memory")
    add("--all", action="store_true", help="every part")
    arguments = parser.parse_args()
    if arguments.all:
        arguments.settings = arguments.blocks = arguments.kinds = arguments.memory = True
        arguments.hdf5 = arguments.hdf5 or 1000.0
    for name, default in (("chunks", [64, 32, 16]), ("isa", ["avx2", "baseline"])):
        if getattr(arguments, name) == [] or (arguments.all and getattr(arguments, name) is None):
            setattr(arguments, name, default)
    return arguments


def absolute(array, relative=fields.RELATIVE):
    return {"absolute": relative * fields.value_range(array)}


def measure_fields(arrays, arguments):
    """Every codec on every field at every bound."""
    records = []
    for name, array in arrays.items():
        for relative in fields.RELATIVE_BOUNDS:
            bound = relative * fields.value_range(array)
            cases = speeds.against_peers(array, bound, arguments.threads, arguments.peers)
            records += speeds.measure(cases, arguments.repeats, part="fields", field=name, relative=relative)
    speeds.table(records, "Fields, one chunk, in memory")
    return records


def measure_settings(arrays, arguments):
    """Settings of h5stz in place of the default, one thread."""
    records = []
    for name, array in arrays.items():
        for relative in fields.RELATIVE_BOUNDS:
            bound = relative * fields.value_range(array)
            cases = [speeds.pysz([array], bound)]
            cases += [speeds.ours(setting, [array], absolute=bound, **more) for setting, more in SETTINGS.items()]
            records += speeds.measure(cases, arguments.repeats, part="settings", field=name, relative=relative)
    speeds.table(records, "Settings, one chunk, in memory")
    return records


def measure_chunks(arrays, arguments):
    """Chunks of some edges cut from the volumes, beside the volume as one with the same effort; the volume's bound for all.

    Of small chunks as many as make a quarter of the volume, evenly spread.
    """
    records = []
    for name, array in arrays.items():
        pieces = {edge: cut(array, edge) for edge in arguments.chunks if edge < min(array.shape)}
        for effort in EFFORTS:
            options = absolute(array) | {"effort": effort}
            cases = []
            for case, found in {"whole": [array], **{f"chunks of {edge}": found for edge, found in pieces.items()}}.items():
                cases += [speeds.ours(f"{case}, effort {effort}", found, count, **options) for count in arguments.threads]
            labels = {"part": "chunks", "field": name, "relative": fields.RELATIVE, "effort": effort}
            records += speeds.measure(cases, arguments.repeats, **labels)
    for effort in EFFORTS:
        own = [r for r in records if r["effort"] == effort]
        speeds.table(own, f"Chunks cut from a volume, effort {effort}", ("field", "case"))
    return records


def cut(array, edge):
    """Copies of the chunks of edge^3 samples that lie in the array whole: all of them, or a quarter spread evenly."""
    corners = np.stack(np.meshgrid(*(np.arange(0, extent - edge + 1, edge) for extent in array.shape), indexing="ij"), -1)
    corners = corners.reshape(-1, 3)
    wanted = max(8, len(corners) // 4)
    picked = corners[np.linspace(0, len(corners) - 1, min(wanted, len(corners))).astype(int)]
    return [array[tuple(slice(low, low + edge) for low in corner)].copy() for corner in picked.tolist()]


def measure_blocks(arrays, arguments):
    """block="region" beside the default."""
    records = []
    for name, array in arrays.items():
        cases = [speeds.ours(block, [array], block=block, **absolute(array)) for block in ("default", "region")]
        records += speeds.measure(cases, arguments.repeats, part="blocks", field=name, relative=fields.RELATIVE)
    speeds.table(records, 'block="region" beside the default', ("field", "case"))
    return records


def measure_kinds(_, arguments):
    """Kinds of data of about edge^3 samples each, beside a float32 volume.

    All are as rough from sample to sample as the volume, at the same relative bound; but noise, where codes are large.
    """
    edge, directory = arguments.edge, arguments.directory or fields.default_directory()
    volume = synthetic.rough_field(edge**3, 3)
    lossy = {"float32 3-D": volume, "float64": volume * np.float64(1.1)}
    lossy |= {f"{rank}-D": synthetic.rough_field(edge**3, rank) for rank in (1, 2, 4)}
    short, long = (np.rint(scale * volume).astype(kind) for scale, kind in ((3000, np.int16), (1e6, np.int32)))
    lossy |= {"int16, bound": short}
    cases = [speeds.ours(name, [array], integers="lossy", **absolute(array)) for name, array in lossy.items()]
    for name, where in masks(edge).items():
        cases.append(speeds.ours(name, [np.where(where, np.float32(np.nan), volume)], **absolute(volume)))
    exact = {"int16": short, "int32": long, "float32": volume}
    cases += [speeds.ours(f"{name}, lossless", [array], lossless=True) for name, array in exact.items()]
    noise = {"noise": np.random.default_rng(11).standard_normal(volume.shape, np.float32)}
    if directory:
        noise |= {"radio": np.load(Path(directory) / f"{NOISY_FIELD}.npy").astype(np.float32)}
    cases += [speeds.ours(name, [array], **absolute(array, NOISE_RELATIVE)) for name, array in noise.items()]
    labels = {"part": "kinds", "field": "grf", "relative": fields.RELATIVE}
    records = speeds.measure(cases, arguments.repeats, operations=("compress", "into"), **labels)
    speeds.table(records, f"Kinds of data, noise at {NOISE_RELATIVE:g}", ("case",))
    return records


def masks(edge):
    """{name: which samples of a volume are NaN}: MASKED_SHARE of them anywhere, in a box, in smooth regions."""
    shape = (edge,) * 3
    box = np.zeros(shape, bool)
    side = round(edge * MASKED_SHARE ** (1 / 3))
    low = (edge - side) // 3
    box[(slice(low, low + side),) * 3] = True
    land = synthetic.gaussian_field(edge, 12, 3.0)
    return {
        "30 % NaN": np.random.default_rng(13).random(shape) < MASKED_SHARE,
        "box of NaN": box,
        "land of NaN": land > np.quantile(land, 1 - MASKED_SHARE),
    }


def measure_isa(arrays, arguments):
    """The fields part from processes whose kernels are those of one instruction set."""
    records = []
    for isa in arguments.isa:
        flags = Path("/proc/cpuinfo").read_text().split() if ISA_FLAGS[isa] else ()
        if not all(flag in flags for flag in ISA_FLAGS[isa]):
            print(f"\nThis processor has no {isa}: not measured\n")
            continue
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "figures.json"
            command = [sys.executable, __file__, "--edge", arguments.edge, "--repeats", arguments.repeats, "--threads", 1]
            command += ["--json", file, "--fields", ",".join(arrays)]
            environment = os.environ | {"H5STZ_ISA": isa}
            subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, env=environment)
            found = [record | {"part": f"kernels for {isa} alone"} for record in json.loads(file.read_text())["records"]]
        speeds.table(found, f"Kernels for {isa} alone")
        records += found
    return records


def measure_hdf5(arrays, arguments):
    """A large dataset through h5py, beside the same chunks in memory, which are decompressed into new arrays.

    The file is in the directory for temporary files and in the page cache: HDF5 and the filter are measured, not the disk.
    """
    volumes, records = list(arrays.values()), []
    count = max(1, round(arguments.hdf5 * 1e6 / volumes[0].nbytes))
    array = np.concatenate([volumes[place % len(volumes)] for place in range(count)])
    bound, peers = absolute(array)["absolute"], [name for name in ("sz3", "zfp") if "pysz" in arguments.peers]
    for effort, edge in HDF5_CASES:
        chunks, threads = codecs.chunk_shape(array, edge), arguments.threads if edge == HDF5_CASES[0][1] else [1]
        with tempfile.TemporaryDirectory() as name:
            place = {"chunks": chunks, "directory": Path(name)}
            options = h5stz.STZ(absolute=bound, effort=effort)
            cut = fields.pieces(array, edge)
            cases = [speeds.ours("h5stz in memory", cut, count, into=False, absolute=bound, effort=effort) for count in threads]
            cases += [speeds.through_hdf5("h5stz", [array], bound, count, options, **place) for count in threads]
            cases += [speeds.through_hdf5(peer, [array], bound, **place) for peer in peers]
            labels = {"part": f"h5py, chunks of {edge}, effort {effort}", "field": "all", "relative": fields.RELATIVE}
            found = speeds.measure(cases, min(arguments.repeats, 3), **labels)
        size = f"{array.nbytes / 1e6:.0f} MB in chunks of {' x '.join(map(str, chunks))}"
        speeds.table(found, f"{size} through h5py, effort {effort}", ("case",))
        records += found
    return records


PARTS = {
    "settings": measure_settings,
    "chunks": measure_chunks,
    "blocks": measure_blocks,
    "kinds": measure_kinds,
    "isa": measure_isa,
    "hdf5": measure_hdf5,
    "memory": lambda arrays, arguments: memory.measure(arrays, arguments.threads),
}


def main():
    arguments = parsed()
    checks = report.Checks(have_targets=arguments.edge == synthetic.EDGE and arguments.fields is None)
    arrays = synthetic.volumes(arguments.edge) | (fields.comparison(arguments.directory) if arguments.directory else {})
    arrays = fields.chosen(arrays, arguments.fields)
    records = measure_fields(arrays, arguments)
    own = {name: array for name, array in arrays.items() if name in synthetic.VOLUMES}
    for part, measure in PARTS.items():
        if getattr(arguments, part):
            if not own:
                raise SystemExit(f"--fields must have one of {', '.join(synthetic.VOLUMES)} for parts beyond the fields")
            records += measure(own, arguments)
    timed = [r for r in records if r["part"] != "memory"]
    checks.promise("largest error / bound of h5stz", max(r["error"] for r in timed if r["case"] not in speeds.OTHERS), 1)
    speeds.check([r for r in timed if r["field"] in (*synthetic.VOLUMES, "all")], targets.SPEED, checks)
    for operation in ("compress", "decompress") if arguments.memory else ():
        most = max(r[operation] for r in records if r["part"] == "memory")
        checks.at_most(f"peak memory, {operation}, arrays", most, targets.PEAK_MEMORY)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
