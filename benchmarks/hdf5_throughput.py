"""Speed of writing and reading small chunks with h5py's `create_dataset` and `read_direct`, beside the filters of hdf5plugin.

One thread writes and reads a generated volume of float32 samples, with a bound of 1e-3 of its range, in a file in memory. Times
are processor time. The time of h5stz is compared with that of the peer in the same repeat. Each figure is the median of these
quotients. The first repeat is not counted.
"""

import functools
import json
import statistics
import subprocess
import sys
import time

import h5py
import hdf5plugin

import h5stz
from shared import fields, report, synthetic, targets

SHAPES = ((64, 64, 64), (32, 32, 32), (16, 32, 32), (16, 16, 16))
PEERS = {"SZ3": hdf5plugin.SZ3, "ZFP": hdf5plugin.Zfp}


def options(codec, bound):
    if codec == "h5stz":
        return h5stz.STZ(absolute=bound)
    return PEERS[codec](**({"accuracy": bound} if codec == "ZFP" else {"absolute": bound}))


def written(array, chunks, codec, chosen):
    """Seconds, and the file with the dataset x."""
    file = h5py.File(f"{codec} {time.monotonic_ns()}", "w", driver="core", backing_store=False)
    start = time.process_time()
    file.create_dataset("x", data=array, chunks=chunks, **chosen())
    file.flush()
    return time.process_time() - start, file


def reading(file, out):
    """Seconds."""
    start = time.process_time()
    file["x"].read_direct(out)
    return time.process_time() - start


def measured(array, chunks, codecs, repeats):
    """{codec: [[seconds of writing, of reading, bytes], ...]} of {codec: function that makes the options}.

    Nothing is read before everything was written: chunks that were read are recognised when they are written, which takes time.
    """
    writes = [{codec: written(array, chunks, codec, chosen) for codec, chosen in codecs.items()} for _ in range(repeats + 1)]
    out = array.copy()  # memory that is there: new pages would have to be cleared
    reads = [{codec: reading(writes[-1][codec][1], out) for codec in codecs} for _ in range(repeats + 1)]
    return {
        codec: [
            [write[codec][0], read[codec], write[codec][1]["x"].id.get_storage_size()]
            for write, read in zip(writes[1:], reads[1:], strict=True)
        ]
        for codec in codecs
    }


def worker(edge, name, repeats, chunks):
    """Prints the result of `measured`: in a process of its own, as chunks learn from others."""
    array = synthetic.volumes(edge)[name]
    bound = fields.RELATIVE * fields.value_range(array)
    shape = tuple(min(extent, edge) for extent in chunks)
    codecs = {codec: functools.partial(options, codec, bound) for codec in ("h5stz", *PEERS)}
    print(json.dumps(measured(array, shape, codecs, repeats)))


def quotient(runs, peer, index):
    pairs = zip(runs[peer], runs["h5stz"], strict=True)
    return statistics.median(theirs[index] / mine[index] for theirs, mine in pairs)


def main():
    parser = report.parser(__doc__, directory=False, edge=synthetic.EDGE, repeats=5)
    parser.add_argument("--field", default="grf", help="the generated volume; default %(default)s")
    arguments = parser.parse_args()
    checks = report.Checks(have_targets=arguments.edge == synthetic.EDGE)
    records = []
    for chunks in SHAPES:
        words = [sys.executable, __file__, "--worker", arguments.edge, arguments.field, arguments.repeats, *chunks]
        done = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True)
        runs = json.loads(done.stdout)
        size = 4e-6 * arguments.edge**3
        for codec, found in runs.items():
            write, read, stored = (statistics.median(run[index] for run in found) for index in range(3))
            records.append({"chunks": chunks, "codec": codec, "write": size / write, "read": size / read})
            records[-1]["ratio"] = 1e6 * size / stored
        for peer, targets_of_peer in targets.HDF5_THROUGHPUT.items():
            for index, (what, target) in enumerate(zip(("write", "read"), targets_of_peer.get(chunks, ()), strict=False)):
                shape = " x ".join(map(str, chunks))
                checks.at_least(f"chunks of {shape}: {what} over {peer}", quotient(runs, peer, index), target)
    columns = {
        "chunks": "{chunks}",
        "codec": "{codec}",
        "write MB/s": "{write:.0f}",
        "read MB/s": "{read:.0f}",
        "ratio": "{ratio:.1f}",
    }
    report.table(records, columns)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), tuple(map(int, sys.argv[5:])))
    else:
        main()
