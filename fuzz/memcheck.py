"""Runs the fuzz targets under valgrind: python fuzz/memcheck.py [--corpus DIRECTORY] [--each N] [--targets TARGET...]

Memcheck finds reads of memory that nobody has set, which AddressSanitizer does not; MemorySanitizer would call for a C++
library that is built with it. N inputs of each target are run (default: 150): evenly spread over its seeds and its corpus of
a long run (DIRECTORY/corpus/TARGET). Ends with an error where valgrind has a complaint. Needs valgrind and any compiler.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
ROOT = FUZZ.parent
sys.path[:0] = [str(FUZZ), str(ROOT / "filter/tools")]
import build_filter

import seeds

PRESET = "fuzz-memcheck"
#: HDF5 and what it calls are not looked at.
LEFT_OUT = ("hdf5",)


def main():
    """The program; see the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=Path("none"), help="the directory of a long run")
    parser.add_argument("--each", type=int, default=150, metavar="N")
    parser.add_argument("--targets", nargs="+", metavar="TARGET")
    arguments = parser.parse_args()
    directory = ROOT / "build" / (PRESET + build_filter.environment_key())
    build = build_filter.build(directory, ["fuzz_targets"], {"H5STZ_BUILD_TESTS": "OFF"}, PRESET)
    seeds.write(build / "seeds")
    failed = []
    for program in sorted(path for path in (build / "fuzz").glob("fuzz_*") if path.is_file() and os.access(path, os.X_OK)):
        target = program.name.removeprefix("fuzz_")
        if target in LEFT_OUT or (arguments.targets and target not in arguments.targets):
            continue
        folders = (build / "seeds" / target, arguments.corpus / "corpus" / target)
        inputs = [path for folder in folders for path in sorted(folder.glob("*"))]
        chosen = inputs[:: max(1, len(inputs) // arguments.each)][: arguments.each]
        command = ["valgrind", "-q", "--error-exitcode=9", "--track-origins=yes", "--max-stackframe=8000000", program, *chosen]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        print(f"{target}: {len(chosen)} inputs, {'no complaints' if done.returncode == 0 else 'COMPLAINTS'}", flush=True)
        if done.returncode:
            print(done.stderr[-4000:])
            failed.append(target)
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
