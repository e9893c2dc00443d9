"""The lines of the codec that the fuzz targets reach: python fuzz/coverage.py [--corpus DIRECTORY] [--show] [--least PERCENT]

Builds the targets with clang's counters (preset fuzz-coverage), runs each once over its seeds and, where there is one, over
its corpus of a long run (DIRECTORY/corpus/TARGET), and prints the share of lines of filter/format, filter/decoder and
filter/reader that were reached. --show lists the lines that were not; --least ends with an error where a folder has less.
Needs clang, llvm-profdata and llvm-cov.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
ROOT = FUZZ.parent
sys.path[:0] = [str(FUZZ), str(ROOT / "filter/tools")]
import build_filter

import seeds

FOLDERS = ("format", "decoder", "reader")
PRESET = "fuzz-coverage"


def tool(name):
    """The path of an LLVM program of the version of clang++."""
    version = re.search(r"clang version (\d+)", subprocess.run(["clang++", "--version"], capture_output=True, text=True).stdout)
    found = shutil.which(f"{name}-{version[1]}" if version else name) or shutil.which(name)
    return found or sys.exit(f"{name} was not found: apt install llvm")


def counted(build, corpus):
    """Runs every target; returns its programs and the merged counters."""
    seeds.write(build / "seeds")
    programs = sorted(path for path in (build / "fuzz").glob("fuzz_*") if path.is_file() and os.access(path, os.X_OK))
    profiles = []
    for program in programs:
        target = program.name.removeprefix("fuzz_")
        inputs = [folder for folder in (build / "seeds" / target, corpus / target) if folder.is_dir()]
        profiles.append(build / f"{target}.profraw")
        environment = os.environ | {"LLVM_PROFILE_FILE": str(profiles[-1])}
        run = [program, "-runs=0", "-max_len=8192", "-timeout=600", "-detect_leaks=0", f"-artifact_prefix={build}/", *inputs]
        done = subprocess.run(run, env=environment, capture_output=True, text=True, errors="replace")
        if done.returncode:
            sys.exit(f"{target} stopped:\n{done.stderr[-3000:]}")
    merged = build / "all.profdata"
    subprocess.run([tool("llvm-profdata"), "merge", "-sparse", "-o", merged, *profiles], check=True)
    return programs, merged


def reached_lines(programs, merged):
    """{path in filter/: {line: whether it was reached}}"""
    objects = [part for program in programs[1:] for part in ("-object", program)]
    command = [tool("llvm-cov"), "export", "-format=lcov", f"-instr-profile={merged}", programs[0], *objects]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    lines, current = {}, None
    for row in done.stdout.splitlines():
        if row.startswith("SF:"):
            path = Path(os.path.normpath(row[3:]))
            inside = path.is_relative_to(ROOT / "filter")
            current = lines.setdefault(str(path.relative_to(ROOT / "filter")), {}) if inside else None
        elif row.startswith("DA:") and current is not None:
            line, count = map(int, row[3:].split(",")[:2])
            current[line] = current.get(line, False) or count > 0
    return lines


def main():
    """The program; see the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=Path("none"), help="the directory of a long run")
    parser.add_argument("--show", action="store_true", help="list the lines that were not reached")
    parser.add_argument("--least", type=float, default=0, metavar="PERCENT")
    arguments = parser.parse_args()
    directory = ROOT / "build" / (PRESET + build_filter.environment_key())
    build = build_filter.build(directory, ["fuzz_targets"], {"H5STZ_BUILD_TESTS": "OFF"}, PRESET)
    lines = reached_lines(*counted(build, arguments.corpus / "corpus"))
    low = False
    for folder in FOLDERS:
        of_folder = {path: found for path, found in lines.items() if path.startswith(folder + "/")}
        total = sum(len(found) for found in of_folder.values())
        reached = sum(sum(found.values()) for found in of_folder.values())
        low = low or 100 * reached < arguments.least * total
        print(f"filter/{folder}: {reached} of {total} lines, {100 * reached / max(total, 1):.1f} %")
        for path, found in sorted(of_folder.items() if arguments.show else ()):
            missing = sorted(line for line, hit in found.items() if not hit)
            if missing:
                print(f"  {path}: {' '.join(map(str, missing))}")
    sys.exit(low)


if __name__ == "__main__":
    main()
