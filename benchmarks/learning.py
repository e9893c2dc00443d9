"""What small chunks gain from the chunks before them (H5STZ_LEARN=1): writing through h5py, with and without, in turns.

Chunks of each size of generated volumes and, with a directory, of the float fields in it. Times are processor time of h5py's
`create_dataset` into memory, the least of the repeats. Each repeat is a new process: what is learned ends with it.
"""

import json
import os
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
MOST = 64 << 20  # bytes of a field


def write(path, edge, effort):
    """Prints seconds and bytes of a dataset of chunks of edge^3 samples."""
    array = np.load(path)
    chunks = tuple(min(edge, extent) for extent in array.shape)
    bound = fields.RELATIVE * fields.value_range(array)
    with h5py.File("x", "w", driver="core", backing_store=False) as file:
        start = time.process_time()
        made = file.create_dataset("x", data=array, chunks=chunks, **h5stz.STZ(absolute=bound, effort=effort))
        file.flush()
        print(json.dumps({"seconds": time.process_time() - start, "bytes": made.id.get_storage_size()}))


def measured(path, edge, effort, repeats):
    """{"0" or "1": [seconds, bytes]} by H5STZ_LEARN."""
    found = {}
    for _ in range(repeats):
        for learn in "01":
            words = [sys.executable, __file__, "--write", path, str(edge), str(effort)]
            done = subprocess.run(words, env={**os.environ, "H5STZ_LEARN": learn}, check=True, capture_output=True, text=True)
            run = json.loads(done.stdout)
            least = min(run["seconds"], found.get(learn, (run["seconds"],))[0])
            found[learn] = (least, run["bytes"])
    return found


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
                (before, plain), (after, learned) = runs["0"], runs["1"]
                records.append({"field": name, "chunk": f"{edge}^3", "speed": before / after, "bytes": learned / plain})
    columns = {"field": "{field}", "chunk": "{chunk}", "speed with H5STZ_LEARN=1 over without": "{speed:.2f}"}
    report.table(records, columns | {"bytes over without": "{bytes:.4f}"})
    for edge in EDGES:
        means = {
            key: report.geometric_mean([r[key] for r in records if r["chunk"] == f"{edge}^3"]) for key in ("speed", "bytes")
        }
        records.append({"field": "mean", "chunk": f"{edge}^3"} | means)
        print(f"{edge}^3: {means['speed']:.2f} times the speed, {means['bytes']:.4f} of the bytes (geometric means)")
    report.finish(arguments, records, report.Checks(have_targets=False))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        main()
