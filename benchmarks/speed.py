"""Compress and decompress speed of h5stz on generated 256^3 float32 fields, against SZ3 3.4 in the same run.

The repeats of all codecs are interleaved, so that a busy machine slows all of them; the figures are medians, and
their ratio over SZ3 is what can be compared between machines. "decompress(out=)" writes into memory that has been
touched; "decompress" makes a new array, as SZ3 always does. Peers have one thread.

Parts beyond the fields: --settings, --chunks, --blocks, --kinds, --isa, --hdf5, --memory, or --all of them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import fields
import hdf5_throughput
import memory
import report
import speed_cases
import speed_peers
import speed_tables
import synthetic
import timing

PARTS = ("settings", "chunks", "blocks", "isa", "hdf5", "memory")  # those on the generated fields that --fields leaves


def names(text):
    return [name for name in text.split(",") if name]


def peer_names(text):
    """Names of PEERS; "all"."""
    found = list(speed_peers.PEERS) if text == "all" else names(text)
    if set(found) - set(speed_peers.PEERS):
        raise argparse.ArgumentTypeError(f"peers are {', '.join(speed_peers.PEERS)}, or all")
    return found


def parsed():
    parser = report.parser(__doc__, directory=False)
    add = parser.add_argument
    add("directory", nargs="?", metavar="DIR", help="adds the development fields in DIR to the generated ones")
    add("--edge", type=int, default=synthetic.EDGE, help="samples per axis of the generated fields; default %(default)s")
    add("--repeats", type=int, default=5, help="counted repeats; default %(default)s")
    add("--fields", type=names, metavar="NAMES", help="comma-separated, only these")
    add("--peers", type=peer_names, default=["pysz"], metavar="NAMES", help="of pysz,sz3,zfp,sperr,blosc2, or all")
    add("--threads", type=int, nargs="+", default=[1, 2], metavar="N", help="of h5stz; default 1 2")
    add("--chunks", type=int, nargs="*", metavar="EDGE", help="chunks of these edges, 64 32 16 unless told")
    add("--settings", action="store_true", help='efforts and block="throughput" against SZ3')
    add("--blocks", action="store_true", help='block="region" beside the default')
    add(
        "--kinds",
        action="store_true",
        help="dtypes, ranks, masks, integers, lossless, noise; radio from DIR or $H5STZ_DATA",
    )
    add(
        "--isa",
        nargs="*",
        choices=list(timing.ISA_FLAGS),
        help="these instruction sets alone, avx2 and baseline unless told",
    )
    add("--hdf5", type=float, nargs="?", const=1000.0, metavar="MB", help="a dataset of so many MB through h5py; 1000")
    add("--memory", action="store_true", help="peak memory")
    add("--all", action="store_true", help="every part")
    add("--plot", type=Path, metavar="FILE", help="bar chart of the speeds over SZ3 as FILE.png")
    arguments = parser.parse_args()
    if arguments.all:
        arguments.settings = arguments.blocks = arguments.kinds = arguments.memory = True
        arguments.hdf5 = arguments.hdf5 or 1000.0
    if arguments.chunks == [] or (arguments.all and arguments.chunks is None):
        arguments.chunks = [64, 32, 16]
    if arguments.isa == [] or (arguments.all and arguments.isa is None):
        arguments.isa = ["avx2", "baseline"]
    if arguments.fields and not generated(arguments.fields) and any(getattr(arguments, part) for part in PARTS):
        parser.error(f"--fields must have one of {', '.join(synthetic.VOLUMES)} for parts beyond the fields")
    if arguments.plot and "pysz" not in arguments.peers:
        parser.error("--plot shows speeds over SZ3 3.4: it needs pysz among --peers")
    return arguments


def generated(wanted):
    """Those names of fields that are of generated ones: parts beyond the fields are about these."""
    return [name for name in wanted if name in synthetic.VOLUMES]


def forced_isa(isa, arguments):
    """The records of the fields part from a process whose kernels are those of one instruction set."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "figures.json"
        command = [sys.executable, __file__, "--edge", str(arguments.edge), "--repeats", str(arguments.repeats)]
        command += ["--threads", "1", "--peers", "pysz", "--json", str(file)]
        command += ["--fields", ",".join(generated(arguments.fields or synthetic.VOLUMES))]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ | {"H5STZ_ISA": isa})
        records = json.loads(file.read_text())["records"]
    return [record | {"part": "isa", "isa": isa} for record in records if record["part"] == "fields"]


def draw(path, records):
    """h5stz with one thread over SZ3 3.4: a group of bars for each field and bound."""
    import plots

    shown = [r for r in records if r["part"] == "fields" and r["codec"] == "h5stz" and r["threads"] == 1]
    groups = [f"{r['field']}\n{r['relative']:g}" for r in shown]
    series = {name: [r[f"{key} over pysz"] for r in shown] for key, name in speed_tables.NAMES.items()}
    labels = "field, bound / (max - min)", f"speed / speed of {speed_peers.REFERENCE}"
    plots.bars(path, groups, series, labels, speed_peers.REFERENCE)


def main():
    arguments = parsed()
    checks = report.Checks(have_targets=arguments.edge == synthetic.EDGE and arguments.fields is None)
    arrays = speed_cases.volumes(arguments.edge, arguments.directory, arguments.fields)
    own = {name: arrays[name] for name in generated(arrays)}
    records = speed_cases.against_peers(arrays, arguments.repeats, arguments.threads, arguments.peers)
    speed_tables.fields_table(records)
    speed_tables.check_fields(records, checks)

    def part(measure, show):
        found = measure()
        records.extend(found)
        show(found, checks)

    if arguments.settings:
        part(lambda: speed_cases.settings(own, arguments.repeats), speed_tables.settings)
    if arguments.chunks:
        part(lambda: speed_cases.chunks(own, arguments.chunks, arguments.repeats), speed_tables.chunks)
    if arguments.blocks:
        part(lambda: speed_cases.blocks(own, arguments.repeats), speed_tables.blocks)
    if arguments.kinds:
        directory = arguments.directory or fields.default_directory()
        part(lambda: speed_cases.kinds(arguments.edge, arguments.repeats, directory), speed_tables.kinds)
    for isa in arguments.isa or ():
        if timing.has_isa(isa):
            found = forced_isa(isa, arguments)
            records += found
            speed_tables.fields_table(found, f"Kernels for {isa} alone")
            speed_tables.check_isa(found, checks)
        else:
            print(f"\nThis processor has no {isa}: not measured\n")
    if arguments.hdf5:
        repeats, with_peer = min(arguments.repeats, 3), bool({"pysz", "sz3"} & set(arguments.peers))
        part(
            lambda: hdf5_throughput.measure(own, arguments.hdf5, repeats, arguments.threads, with_peer),
            speed_tables.hdf5,
        )
    if arguments.memory:
        part(lambda: memory.measure(own, arguments.threads), speed_tables.memory)
    if arguments.plot:
        draw(arguments.plot, records)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()
