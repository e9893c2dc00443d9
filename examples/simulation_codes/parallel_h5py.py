"""MPI ranks write steps of a field into one compressed dataset together: mpi4py and an h5py that was built for MPI.

    mpirun -n 4 python parallel_h5py.py [FILE]

docs/simulation_codes.md says how to build that h5py. Parallel HDF5 writes compressed datasets collectively only: all ranks
write, at the same time, samples of the dataset's own type. Here each rank has some rows, and the chunks have rows of several
ranks. The bound is agreed upon first: it is relative to the range of the whole field, of which each rank sees a part.
"""

import sys
import zlib

import h5py
import numpy as np
from mpi4py import MPI

import h5stz

STEPS, ROWS, COLUMNS = 6, 90, 128
RELATIVE = 1e-4


def field(step, rows):
    """The field at a step in some of its rows, float32."""
    y, x = np.meshgrid(rows, np.arange(COLUMNS), indexing="ij")
    return (np.sin(x / 9 - step / 4) * np.cos(y / 11) + 0.3 * np.sin((x + 2 * y) / 5 + step)).astype("f4")


def main():
    """Writes the steps, reads them back, and prints the error, and a check sum of what each rank has read."""
    ranks = MPI.COMM_WORLD
    mine = slice(ROWS * ranks.rank // ranks.size, ROWS * (ranks.rank + 1) // ranks.size)
    first = field(0, np.arange(ROWS)[mine])
    largest, smallest = ranks.allreduce(first.max(), MPI.MAX), ranks.allreduce(first.min(), MPI.MIN)
    bound = RELATIVE * (float(largest) - float(smallest))

    path = sys.argv[1] if len(sys.argv) > 1 else "parallel_h5py.h5"
    with h5py.File(path, "w", driver="mpio", comm=ranks) as file:
        shape, chunks = (STEPS, ROWS, COLUMNS), (1, 40, COLUMNS)
        series = file.create_dataset("rho", shape, "f4", chunks=chunks, **h5stz.STZ(absolute=bound))
        for step in range(STEPS):
            with series.collective:
                series[step, mine] = field(step, np.arange(ROWS)[mine])
    ranks.Barrier()

    with h5py.File(path, driver="mpio", comm=ranks) as file:
        read = file["rho"][:, mine]
        ratio = STEPS * ROWS * COLUMNS * 4 / file["rho"].id.get_storage_size()
    written = np.array([field(step, np.arange(ROWS)[mine]) for step in range(STEPS)])
    error = ranks.allreduce(abs(read.astype("f8") - written).max(), MPI.MAX)
    sums = ranks.gather(zlib.crc32(read.tobytes()))
    if ranks.rank == 0:
        print(f"ratio: {ratio:.1f}")
        print(f"max error / bound: {error / bound:.6f}")
        print(f"check sums: {sums}")


if __name__ == "__main__":
    main()
