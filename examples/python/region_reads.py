"""Reads parts of a dataset: only the blocks that a slice, a level or a region needs are read and decoded.

    python region_reads.py

Prints, for four reads, which part of the chunk's bytes and blocks they took, and that the samples are those that h5py reads.
Level l has every 2^l-th sample along each axis. Draws region_reads.png: a region that gets finer with each level.
"""

import h5py
import numpy as np

import h5stz

z, y, x = np.meshgrid(*3 * [np.linspace(0, 1, 160, dtype="f4")], indexing="ij")
field = np.sin(40 * x * y) * np.cos(30 * z) + np.sin(90 * z * x) / 4 + np.sin(300 * y) / 50

with h5py.File("regions.h5", "w") as file:
    options = h5stz.STZ(relative=1e-4, data=field, block="region")
    file.create_dataset("rho", data=field, chunks=field.shape, **options)


def report(what, stats, same):
    """Prints the cost of a read, relative to reading the chunks that it touched, and whether the result is that of h5py."""
    share = 100 * stats.bytes_read / stats.bytes_touched_chunks
    print(f"{what}:")
    print(f"  bytes read: {stats.bytes_read} of {stats.bytes_touched_chunks}")
    print(f"  percent read: {share:.1f}")
    print(f"  blocks decoded: {stats.blocks_decoded} of {stats.blocks_present}")
    print(f"  as h5py reads it: {same}")


with h5py.File("regions.h5") as file:
    rho = file["rho"]
    full = rho[...]

    view = h5stz.view(rho)
    line = view[40:56, 80, ::-1]  # NumPy's basic indexing
    report("a plane of few rows", view.stats, np.array_equal(line, full[40:56, 80, ::-1]))

    view = h5stz.view(rho)
    coarse = view.level(2)  # a view of its own: every fourth sample of each axis
    overview = coarse[...]
    report(f"level 2, {coarse.shape}", view.stats, np.array_equal(overview, full[::4, ::4, ::4]))

    view = h5stz.view(rho)
    region, refined = np.s_[48:80, 48:80, 80], []
    for level, array in view.refine(region):  # coarse to fine; each step reads only what is new
        print(f"level {level}: {array.shape}, {view.stats.bytes_read} bytes so far")
        refined.append((level, array, view.stats.bytes_read))
    report("a region, refined", view.stats, np.array_equal(array, full[region]))

    with h5stz.partial_reads() as stats:  # for code that uses plain h5py
        corner = rho[:16, :16, :16]
    report("through h5py", stats, np.array_equal(corner, full[:16, :16, :16]))

# A picture, where matplotlib is installed.
from picture import Panel, draw

panels = [
    Panel(f"level {level}: {count} bytes", array, "rho (dimensionless)", -1.3, 1.3, "RdBu_r", extent=(48, 80, 48, 80))
    for level, array, count in refined[2:]
]
draw("region_reads.png", "A region of 32 x 32 samples, refined", panels, axes=("y (samples)", "z (samples)"))
