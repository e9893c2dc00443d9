"""Enhancement: bytes at the PSNR of a plain relative bound, largest errors and decoding, for each floating-point field.

    python benchmarks/enhance.py [--relative R]... [DIRECTORY]

DIRECTORY (or H5STZ_DATA) has .npy fields. For each field and bound: the plain stream; the enhanced stream with the loosest
bound that has the plain stream's PSNR (or the plain one, if that is not longer); what the tighter plain bound would cost that
has the PSNR of the enhanced stream at the same bound; the largest error, in bounds; decoding times of one thread, the best of
five turns.
"""

import math
import os
import sys
import time
from pathlib import Path

import click
import numpy as np

import h5stz

FILLS = (1e20, -999.0, -9999.0)  # of the development fields
STEPS = 9  # of a bisection


def valid_part(array):
    """(options for the fill value, mask of the samples that count)."""
    valid = np.isfinite(array)
    for fill in FILLS:
        found = array == np.asarray(fill, array.dtype)
        if found.any():
            return {"fill_value": fill}, valid & ~found
    return {"fill_value": False}, valid


def seconds(stream):
    """To decompress it."""
    turns = []
    for _ in range(5):
        start = time.perf_counter()
        h5stz.decompress(stream, threads=1)
        turns.append(time.perf_counter() - start)
    return min(turns)


class Field:
    """An array, and streams of it."""

    def __init__(self, path):
        self.array = np.load(path)
        self.options, self.valid = valid_part(self.array)
        self.original = self.array[self.valid].astype("f8")
        self.width = float(np.ptp(self.original))

    def compress(self, bound, **options):
        return h5stz.compress(self.array, absolute=bound, **self.options, **options)

    def error(self, stream):
        return h5stz.decompress(stream)[self.valid].astype("f8") - self.original

    def psnr(self, stream):
        return 20 * math.log10(self.width / math.sqrt(np.mean(self.error(stream) ** 2)))

    def loosest(self, target, low, high, **options):
        """(bound, stream): nearly the loosest bound from `low` to `high` with this PSNR; the first one is taken to have it."""
        best = low, self.compress(low, **options)
        for _ in range(STEPS):
            middle = math.sqrt(low * high)
            stream = self.compress(middle, **options)
            if self.psnr(stream) >= target:
                low, best = middle, (middle, stream)
            else:
                high = middle
        return best


def row(name, field, relative):
    """(ratio of bytes, ratio of speeds); prints a line."""
    bound = relative * field.width
    plain = field.compress(bound)
    at_bound, stream = field.loosest(field.psnr(plain), bound, 1.6 * bound, enhance="relaxed")
    if len(stream) > len(plain):
        at_bound, stream = bound, plain
    same_bound = field.compress(bound, enhance="relaxed")
    tighter = field.loosest(field.psnr(same_bound), bound / 2, bound)[1]
    largest = np.max(np.abs(field.error(stream))) / bound
    speed = seconds(plain) / seconds(stream)
    print(
        f"{name:28s} {relative:7.0e} {len(plain):9d} {len(stream):9d} {100 * (len(stream) / len(plain) - 1):6.1f} %"
        f"  bound x {at_bound / bound:.2f}  largest {largest:.2f}  speed {speed:.2f}"
        f"  same bound {100 * (len(same_bound) / len(plain) - 1):5.1f} %,"
        f" tighter {100 * (len(tighter) / len(plain) - 1):5.1f} %",
        flush=True,
    )
    return len(stream) / len(plain), speed


@click.command()
@click.argument("directory", default=os.environ.get("H5STZ_DATA", ""))
@click.option("--relative", multiple=True, type=float, default=[1e-2], help="Relative bounds of the plain streams.")
def main(directory, relative):
    """Prints a line for each field and bound, and geometric means."""
    if not directory:
        sys.exit("name a directory of .npy fields, or set H5STZ_DATA")
    for one in relative:
        rows = []
        for path in sorted(Path(directory).glob("*.npy")):
            if np.load(path, mmap_mode="r").dtype.kind == "f":
                rows.append(row(path.stem, Field(path), one))
        size, speed = np.exp(np.mean(np.log(rows), axis=0))
        print(f"{len(rows)} fields at {one:g}: {100 * (size - 1):.1f} % of the bytes, decoding at {speed:.2f} of the speed")


if __name__ == "__main__":
    main()
