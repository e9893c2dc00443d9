"""Bytes with keep_zeros over bytes without it, and how many zeros change without it: fields with zeros, and generated ones.

Fields are those of $H5STZ_DATA of which more than 1 % is 0. Numbers that mark missing samples (FILLS) stay missing.
"""

import argparse
import os
from pathlib import Path

import numpy as np

import h5stz
from shared import report, synthetic

BOUNDS = (1e-2, 1e-3, 1e-4)  # of the range of the valid samples
FILLS = (1e20, -9999, -999)
EDGE = 96


def generated():
    """{name: array}: scattered numbers, rain that falls smoothly to 0, rain with edges, and the latter as counts."""
    random = np.random.default_rng(1)
    sparse = random.gamma(1, 1, (EDGE,) * 3).astype(np.float32)
    sparse[random.random(sparse.shape) < 0.8] = 0
    field = synthetic.gaussian_field(EDGE, 1, 12.0)
    field /= field.std()
    edges = np.where(field > 0.5, np.exp(field), 0).astype(np.float32)
    return {
        "sparse, 80 % zeros": sparse,
        "smooth patches of rain": np.maximum(field - 0.8, 0).astype(np.float32),
        "patches of rain with edges": edges,
        "counts": random.poisson(edges).astype(np.float32),
    }


def fields(directory):
    """{name: (array, fill value or None)} of a directory, of which more than 1 % is 0."""
    found = {}
    for path in sorted(Path(directory).glob("*.npy")):
        array = np.load(path)
        fill = next((number for number in FILLS if array.dtype.kind == "f" and np.any(array == array.dtype.type(number))), None)
        if np.mean(array == 0) > 0.01:
            found[path.stem] = array, fill
        elif fill is not None and path.stem.startswith(("radar", "ocean")):
            lowest = array[array != array.dtype.type(fill)].min()
            found[f"{path.stem}, 0 where missing"] = np.where(array == array.dtype.type(fill), 0, array - lowest), None
    return found


def measure(name, array, fill):
    """One row of the table."""
    numbers = array[np.isfinite(array)] if fill is None else array[np.isfinite(array) & (array != array.dtype.type(fill))]
    width = float(numbers.max()) - float(numbers.min())
    zeros = array == 0
    row = {"data": name, "zeros": float(zeros.mean())}
    for share in BOUNDS:
        options = {"absolute": share * width, "fill_value": False if fill is None else fill, "integers": "lossy"}
        plain, kept = h5stz.compress(array, **options), h5stz.compress(array, keep_zeros=True, **options)
        if np.any(h5stz.decompress(kept)[zeros]):
            raise SystemExit(f"{name}: keep_zeros lost a zero")
        row["bytes", share] = len(kept) / len(plain)
        row["changed", share] = float(np.mean(h5stz.decompress(plain)[zeros] != 0))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("H5STZ_DATA"), help="directory of fields, in place of $H5STZ_DATA")
    arguments = parser.parse_args()
    arrays = {name: (array, None) for name, array in generated().items()}
    arrays |= fields(arguments.data) if arguments.data else {}
    rows = [measure(name, *each) for name, each in arrays.items()]
    columns = {"data": "{data}", "zeros": "{zeros:.0%}"}
    columns |= {f"bytes, {share:g}": report.item(("bytes", share), ".3f") for share in BOUNDS}
    columns |= {f"changed, {share:g}": report.item(("changed", share), ".0%") for share in BOUNDS}
    report.table(rows, columns, "keep_zeros: bytes over those without it; zeros that change without it")


if __name__ == "__main__":
    main()
