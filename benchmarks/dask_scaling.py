"""How to_hdf5 scales with the workers of dask.distributed: measured for 1 and 2, and what bounds it for more.

Workers are processes of one thread on this machine, and hold their blocks in memory, so that what is timed is compression, the
way of the streams to the writer, and storing them. Turns alternate; of the repeats the best one counts. Processor times tell
how the work is shared out on a machine that is busy with other things, too: workers beyond the number at which the writer has
as much to do as each of them are of no use.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import dask.array as da
import distributed
import h5py
import numpy as np

import h5stz
import timing

EDGE = 128
MORE = (4, 8, 16, 32)


def block(block_info=None):
    """A rough cube, another one at each place."""
    place = block_info[None]["chunk-location"]
    z, y, x = np.meshgrid(*3 * [np.linspace(0, 1, EDGE, dtype="f4")], indexing="ij")
    rough = np.random.default_rng(place).normal(0, 0.01, z.shape).astype("f4")
    return np.sin(40 * x * y + place[0]) * np.cos(30 * z) + rough


def field(blocks):
    """An array of so many cubes in a row."""
    chunks = ((EDGE,) * blocks, (EDGE,), (EDGE,))
    return da.map_blocks(block, chunks=chunks, dtype="f4", meta=np.empty((0, 0, 0), "f4"))


def times_of(client, array, path):
    """(seconds, processor time of the busiest worker, processor time of this process) that to_hdf5 takes."""
    Path(path).unlink(missing_ok=True)
    before = client.run(time.process_time)
    own, begin = time.process_time(), time.perf_counter()
    h5stz.to_hdf5(array, path, "x", chunks=(EDGE, EDGE, EDGE), absolute=1e-3, scheduler=client)
    seconds, own = time.perf_counter() - begin, time.process_time() - own
    after = client.run(time.process_time)
    return seconds, max(after[worker] - before[worker] for worker in before), own


def measured(array, repeats, path):
    """{number of workers: (seconds, processor times as of times_of)}, of each the best."""
    settings = {"threads_per_worker": 1, "dashboard_address": ":0"}
    taken = {1: [], 2: []}
    with distributed.LocalCluster(n_workers=1, **settings) as one, distributed.LocalCluster(n_workers=2, **settings) as two:
        with distributed.Client(one, set_as_default=False) as client_1, distributed.Client(two) as client_2:
            clients = {1: client_1, 2: client_2}
            held = {workers: client.persist(array) for workers, client in clients.items()}
            distributed.wait(list(held.values()))
            for _ in range(repeats):
                for workers, client in clients.items():
                    taken[workers].append(times_of(client, held[workers], path))
    return {workers: tuple(map(min, zip(*times, strict=True))) for workers, times in taken.items()}


def main():
    """Prints the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--blocks", type=int, default=16, help="cubes of 8.4 MB")
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    array = field(given.blocks)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "x.h5")
        best = measured(array, given.repeats, path)
        with h5py.File(path) as file:
            ratio = array.nbytes / file["x"].id.get_storage_size()
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
    print(f"{given.blocks} chunks, {array.nbytes / 1e6:.0f} MB, ratio {ratio:.1f}, {load}")
    one = best[1]
    for workers, (seconds, worker, own) in best.items():
        speed = timing.megabytes_per_second(array.nbytes, seconds)
        print(
            f"{workers} workers: {speed:.0f} MB/s, {one[0] / seconds:.2f} times one worker; processor time of the busiest ",
            end="",
        )
        print(f"worker {worker:.3f} s ({one[1] / worker:.2f} times less), of the writer and the scheduler {own:.3f} s")
    for workers in MORE:
        bound = timing.megabytes_per_second(array.nbytes, max(one[1] / workers, one[2]))
        print(f"{workers} workers: at most {bound:.0f} MB/s by these processor times (not measured)")


if __name__ == "__main__":
    main()
