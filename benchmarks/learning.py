"""What small chunks gain from other chunks.

Datasets are written through h5py in three ways, in turns: every chunk is fitted (learn=no), chunks take predictions of the
chunks before (the default), or predictions are trained on the data first (`data=`, `chunks=`). The data are generated volumes
and, with a directory, the float fields in it, in chunks of several sizes.

Times are processor time of `h5stz.STZ` and h5py's `create_dataset` into memory, the least of the repeats. Each repeat is a new
process, because what is learned ends with the process.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np

import h5stz
from shared import fields, report, synthetic

EDGES = (64, 32, 16)
WAYS = ("fitted", "learned", "trained")
MOST = 64 << 20  # bytes of a field


def write(path, edge, effort, way):
    """Prints seconds and bytes of a dataset of chunks of edge^3 samples."""
    array = np.load(path)
    chunks = tuple(min(edge, extent) for extent in array.shape)
    bound = fields.RELATIVE * fields.value_range(array)
    with h5py.File("x", "w", driver="core", backing_store=False) as file:
        start = time.process_time()
        more = {"data": array, "chunks": chunks} if way == "trained" else {"learn": way == "learned"}
        made = file.create_dataset("x", data=array, chunks=chunks, **h5stz.STZ(absolute=bound, effort=effort, **more))
        file.flush()
        print(json.dumps({"seconds": time.process_time() - start, "bytes": made.id.get_storage_size()}))


def measured(path, edge, effort, repeats):
    """{way: (seconds, bytes)}."""
    found = {}
    for _ in range(repeats):
        for way in WAYS:
            words = [sys.executable, __file__, "--write", path, str(edge), str(effort), way]
            run = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
            least = min(run["seconds"], found.get(way, (run["seconds"],))[0])
            found[way] = (least, run["bytes"])
    return found


def gain(run, seconds, size):
    """Speed and bytes of a run over those of another."""
    yield "speed", seconds / run[0]
    yield "bytes", run[1] / size


def main():
    parser = report.parser(__doc__, edge=256, repeats=3)
    parser.add_argument("--effort", type=int, default=5)
    arguments = parser.parse_args()
    arrays = synthetic.volumes(arguments.edge)
    if arguments.directory:
        arrays |= {name: array for name, array in fields.comparison(arguments.directory).items() if array.ndim == 3}
    records = []
    with tempfile.TemporaryDirectory() as directory:
        for name, array in arrays.items():
            path = str(Path(directory, "x.npy"))
            np.save(path, array[: max(1, MOST // array[0].nbytes)])
            for edge in EDGES:
                runs = measured(path, edge, arguments.effort, arguments.repeats)
                seconds, size = runs["fitted"]
                gains = {f"{way} {what}": value for way in WAYS[1:] for what, value in gain(runs[way], seconds, size)}
                records.append({"field": name, "chunk": f"{edge}^3"} | gains)
    gains = list(records[0])[2:]
    columns = {f"{gain} over fitted": f"{{{gain}:.3f}}" for gain in gains}
    for edge in EDGES:
        of_edge = [record for record in records if record["chunk"] == f"{edge}^3"]
        means = {gain: report.geometric_mean([record[gain] for record in of_edge]) for gain in gains}
        records.append({"field": "mean", "chunk": f"{edge}^3"} | means)
    report.table(records, {"field": "{field}", "chunk": "{chunk}"} | columns)
    report.finish(arguments, records, report.Checks(have_targets=False))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    else:
        main()
