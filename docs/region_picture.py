"""Draws docs/region_blocks.png: the blocks that a box and a slice of a two-dimensional array touch, level by level.

    ./run python docs/region_picture.py [FILE]

The picture shows the ranges that a reader really plans to fetch.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import patches, pyplot

import h5stz
from h5stz import _core

EDGE, BLOCK, LEVELS = 2048, 256, 3  # samples of the array and of a block along each axis; levels drawn
REQUESTS = {"a box": ((1100, 700), (200, 200)), "a row, odd index": ((1001, 0), (1, EDGE))}


def overlap(ranges, others, low, high):
    """Whether two lists of (offset, size) share bytes in [low, high)."""
    mine = [(max(o, low), min(o + n, high)) for o, n in ranges]
    theirs = [(max(o, low), min(o + n, high)) for o, n in others]
    return any(max(a, c) < min(b, d) for a, b in mine for c, d in theirs)


def main():
    """Writes the picture."""
    rng = np.random.default_rng(1)
    rough = np.cumsum(np.cumsum(rng.standard_normal((EDGE, EDGE)), 0), 1).astype("f4")
    stream = h5stz.compress(rough, absolute=1e-2)
    ends = h5stz.info(stream).level_bytes
    figure, panels = pyplot.subplots(len(REQUESTS), LEVELS, figsize=(3.2 * LEVELS, 3.4 * len(REQUESTS)), layout="constrained")
    for row, (name, (start, count)) in zip(panels, REQUESTS.items(), strict=True):
        wanted = _core.Reader.of_bytes(stream, 0).plan(start, count, (1, 1))
        for level, axes in enumerate(row):
            step, blocks, touched = 2**level, EDGE // 2**level // BLOCK, 0
            for i in range(blocks):
                for j in range(blocks):
                    corner, size = (i * BLOCK * step, j * BLOCK * step), (BLOCK, BLOCK)
                    own = _core.Reader.of_bytes(stream, 0).plan(corner, size, (step, step))
                    hit = overlap(wanted, own, ends[level + 1], ends[level])
                    touched += hit
                    color = "#1f5fa8" if hit else "#eef2f7"
                    place = (j * BLOCK * step, i * BLOCK * step)
                    axes.add_patch(
                        patches.Rectangle(place, BLOCK * step, BLOCK * step, facecolor=color, edgecolor="white", alpha=0.75)
                    )
            box = patches.Rectangle(
                start[::-1], count[1], max(count[0], 12), facecolor="none", edgecolor="#e07b39", linewidth=2
            )
            axes.add_patch(box)
            axes.set(xlim=(0, EDGE), ylim=(EDGE, 0), aspect="equal", xticks=[], yticks=[])
            axes.set_title(f"{name}, level {level}: {touched} of {blocks**2} blocks", fontsize=10)
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("region_blocks.png")
    figure.savefig(path, dpi=90)


if __name__ == "__main__":
    main()
