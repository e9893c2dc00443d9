"""Draws the pictures of docs/benchmarks.md: runs three benchmarks on generated fields, for about 4 minutes.

    ./run python docs/benchmark_pictures.py [--output DIRECTORY] [--quick]

Times of region reads are ratios to a full read in the same run; do it on a machine that has nothing else to do.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
COLORS = 64
#: Picture -> benchmark, its option for a file or a directory, other options; those of --quick.
PICTURES = {
    "rate_distortion": ("rate_distortion", "--plots", ["--fields", "grf"], ["--edge", "16"]),
    "regions": (
        "region",
        "--plot",
        ["--fields", "grf", "--positions", "50"],
        ["--edge", "80", "--positions", "4", "--repeats", "1"],
    ),
    "effort": ("effort", "--plot", [], ["--edge", "40", "--repeats", "1"]),
}


def draw(name, directory, quick):
    """Makes one picture in `directory`."""
    benchmark, option, options, smaller = PICTURES[name]
    script = ROOT / "benchmarks" / f"{benchmark}.py"
    variables = {key: value for key, value in os.environ.items() if key != "H5STZ_DATA"}  # generated fields
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) if option == "--plots" else Path(scratch, f"{name}.png")
        words = [sys.executable, script, *options, *(smaller if quick else []), option, target]
        subprocess.run(list(map(str, words)), check=True, env=variables, stdout=sys.stderr)
        (picture,) = Path(scratch).glob("*.png")
        Image.open(picture).convert("RGB").quantize(COLORS).save(picture, optimize=True)
        shutil.copyfile(picture, directory / f"{name}.png")


def main():
    """All pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "docs", help="default %(default)s")
    parser.add_argument("--quick", action="store_true", help="small fields, to see whether it runs")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in PICTURES:
        draw(name, arguments.output, arguments.quick)


if __name__ == "__main__":
    main()
