"""Measures what a bound on checkpoints does to a simulation: restarts `euler` and `heat` from compressed checkpoints.

    effect.py BUILD [--cells N]

BUILD is where the programs were built. Each runs once without interruption, and for each bound once from a compressed
checkpoint that was written half-way. The difference of both at the end is compared with the bound and with the error of the
scheme, which is known because both programs solve problems with a known solution. Files go to the working directory.
"""

import argparse
import subprocess
from pathlib import Path

import h5py
import numpy as np

import h5stz  # noqa: F401  h5py reads compressed datasets

#: Each program: number of steps, default number of cells, what is conserved, and the dataset whose exact values are known.
PROGRAMS = {"euler": (256, 64, ("mass", "energy"), "density"), "heat": (200, 32, ("heat",), "temperature")}
BOUNDS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 0)


def call(program: Path, prefix: str, **options: object) -> dict[str, float]:
    """Runs a program and returns the numbers that it prints at its end, by their labels."""
    words = [str(word) for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    done = subprocess.run([str(program.absolute()), prefix, *words], check=True, text=True, stdout=subprocess.PIPE)
    lines = [line.split(": ") for line in done.stdout.splitlines()]
    return {label: float(value) for label, value in lines if not label.startswith(("series", "checkpoint"))}


def checkpoint(prefix: str, step: int) -> tuple[dict[str, np.ndarray], float]:
    """The fields of a checkpoint, and how many times smaller than they the file's datasets are."""
    with h5py.File(f"{prefix}.{step:06d}.h5") as file:
        fields = {name: dataset[...] for name, dataset in file.items()}
        stored = sum(dataset.id.get_storage_size() for dataset in file.values())
    return fields, sum(field.nbytes for field in fields.values()) / stored


def largest_difference(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> float:
    """Over all fields."""
    return max(float(abs(a[name] - b[name]).max()) for name in a)


def measure(program: Path, cells: int | None) -> None:
    """Prints a table for one program."""
    steps, default, conserved, field = PROGRAMS[program.name]
    size = {"cells": cells or default, "checkpoint_every": steps // 2, "every": steps // 32}
    whole = call(program, f"{program.name}-whole", **size, steps=steps)
    halfway, _ = checkpoint(f"{program.name}-whole", steps // 2)
    end, _ = checkpoint(f"{program.name}-whole", steps)
    scheme = whole["error of the scheme"]
    print(f"\n{program.name}: {size['cells']} cells per axis, {steps} steps, restarted at {steps // 2}")
    print(f"error of the scheme in {field}: {scheme:.2e}\n")
    print(
        "| bound | checkpoint ratio | error of the checkpoint | difference at the end | over the bound |",
        "over the error of the scheme |",
        *(f"change of {name} |" for name in conserved),
    )
    print("|---" * (6 + len(conserved)) + "|")
    for bound in BOUNDS:
        name = f"{program.name}-{bound:g}"
        call(program, name, **size, steps=steps // 2, checkpoint=f"absolute={bound}" if bound else "lossless")
        restarted = call(program, name, **size, steps=steps, restart=f"{name}.{steps // 2:06d}.h5")
        stored, ratio = checkpoint(name, steps // 2)
        after, _ = checkpoint(name, steps)
        difference = largest_difference(end, after)
        cells_of_row = [
            f"{bound:g}" if bound else "lossless",
            f"{ratio:.1f}",
            f"{largest_difference(halfway, stored):.1e}",
            f"{difference:.1e}",
            f"{difference / bound:.2g}" if bound else "",
            f"{float(abs(end[field] - after[field]).max()) / scheme:.1e}",
            *(f"{abs(restarted[name] / whole[name] - 1):.1e}" for name in conserved),
        ]
        print("|", " | ".join(cells_of_row), "|")


def main() -> None:
    """The program; see the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="the directory with the programs")
    parser.add_argument("--cells", type=int, help="cells per axis; default: 64 for euler, 32 for heat")
    arguments = parser.parse_args()
    for name in PROGRAMS:
        measure(arguments.build / name, arguments.cells)


if __name__ == "__main__":
    main()
