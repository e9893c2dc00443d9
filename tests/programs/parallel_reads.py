"""Reads a dataset "x" on each rank of an MPI program, through h5py built for MPI: parallel_reads.py FILE DRIVER WHO.

DRIVER: `mpio` opens the file with all ranks, `sec2` each rank for itself. WHO: `all`, or `alone`: the first rank reads while
the others wait for it at a barrier. Prints for each rank whether views and partial reads give what h5py gives, why they leave
reads to h5py, and whether they decoded anything themselves.
"""

import sys

import h5py
from mpi4py import MPI

import h5stz

ranks = MPI.COMM_WORLD
name, driver, who = sys.argv[1:]
options = {"driver": "mpio", "comm": ranks} if driver == "mpio" else {"driver": "sec2"}
said = []
with h5py.File(name, "r", **options) as file:
    if who == "all" or ranks.rank == 0:
        stored = file["x"]
        box = slice(3, 5), slice(4, 7), slice(5 + ranks.rank, 9)
        view = h5stz.view(stored)
        same = view[box].tobytes() == stored[box].tobytes()
        with h5stz.partial_reads() as stats:
            same &= stored[box].tobytes() == view[box].tobytes()
        said = [same, view.fallback_reason, bool(stats.blocks_decoded)]
    ranks.Barrier()
everything = ranks.gather(said)
if ranks.rank == 0:
    print(everything)
