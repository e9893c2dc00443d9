"""Reads beside a writer under SWMR until it finds the writer's last step in all chunks; each chunk must be as a step left it.

    swmr_reader.py FILE HOW STEPS

HOW: "h5py", "view" or "partial". The dataset is that of tests/support/swmr_steps.py. Its standard input has a line for each
step that was flushed. Prints "ready" when it has read once; at the end the number of reads, of different steps, and of reads
that HDF5 refused.
"""

import os
import sys
from pathlib import Path

import h5py

import h5stz

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import swmr_steps

path, how, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.set_blocking(sys.stdin.fileno(), False)


def read(dataset):
    """The dataset in one of the ways."""
    if how == "view":
        return h5stz.view(dataset, cache_bytes=0)[...]
    if how == "partial":
        with h5stz.partial_reads():
            return dataset[0 : dataset.shape[0], :, :]
    return dataset[...]


def main():
    seen, reads, refused, flushed, last = set(), 0, 0, 0, set()
    with h5py.File(path, "r", swmr=True) as file:
        dataset = file["x"]
        while last != {steps}:
            try:
                flushed += os.read(sys.stdin.fileno(), 1 << 16).count(b"\n")
            except BlockingIOError:
                pass
            try:
                dataset.refresh()
                found = read(dataset)
            except OSError as error:
                refused += 1
                print("refused:", error, file=sys.stderr)
                assert refused < 100
                continue
            last = swmr_steps.steps_of(found, flushed)
            seen |= last
            if reads == 0:
                print("ready", flush=True)
            reads += 1
    print(reads, len(seen), refused)


main()
