"""Fuzzes every target in turn, over days: python fuzz/long_run.py DIRECTORY

DIRECTORY keeps what a later run goes on with: a corpus for each target, what was executed (executions.json), and findings.
One process at a time, at the lowest priority, in slices of a few minutes; the target that is farthest from its goal is next.
It ends at the first finding, after every goal is reached, or with the time that --hours gives. Stop it at any time, with a
signal too: the slice that was running is not counted.

Targets are libFuzzer's (clang, ASan and UBSan), but for two_decoders, which is fuzz/two_decoders.py. --python names a Python
that has h5stz.
"""

import argparse
import contextlib
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
ROOT = FUZZ.parent
sys.path[:0] = [str(FUZZ), str(ROOT / "filter/tools")]
import build_filter

import seeds

#: Executions without a finding: of each target, and of all together.
EACH, TOGETHER = 500_000, 20_000_000
SCRIPTS = ("two_decoders",)
SANITIZERS = {
    "ASAN_OPTIONS": "allocator_may_return_null=1:detect_stack_use_after_return=0:handle_abort=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def native_targets():
    """The names of the targets in C++."""
    return sorted(path.stem.removeprefix("fuzz_") for path in FUZZ.glob("fuzz_*.cpp"))


def build(directory, preset):
    """Builds the targets and copies them to directory/bin, so that a later build does not disturb the run."""
    names = native_targets()
    built = build_filter.build(
        ROOT / "build" / (preset + build_filter.environment_key()), ["fuzz_targets"], {"H5STZ_BUILD_TESTS": "OFF"}, preset
    )
    (directory / "bin").mkdir(exist_ok=True)
    names = [name for name in names if (built / "fuzz" / f"fuzz_{name}").exists()]
    for name in names:
        shutil.copy2(built / "fuzz" / f"fuzz_{name}", directory / "bin")


class Log:
    """executions.json: the sum of all executions, and {target: {"executions", "seconds", "findings"}}."""

    def __init__(self, directory):
        self.path = directory / "executions.json"
        self.targets = json.loads(self.path.read_text())["targets"] if self.path.exists() else {}

    def of(self, target):
        """The entry of a target."""
        return self.targets.setdefault(target, {"executions": 0, "seconds": 0.0, "findings": []})

    def save(self):
        """Writes it, so that a reader always finds a whole file."""
        total = sum(entry["executions"] for entry in self.targets.values())
        text = json.dumps({"total": total, "targets": self.targets}, indent=1)
        waiting = self.path.with_suffix(".new")
        waiting.write_text(text + "\n")
        waiting.replace(self.path)

    def executions(self):
        """The sum of all targets."""
        return sum(entry["executions"] for entry in self.targets.values())


def next_target(log, names, turn, goal):
    """Of the targets below their goal the one that ran least; after all have reached theirs, those in C++ in turn."""
    behind = [name for name in names if log.of(name)["executions"] < goal]
    native = [name for name in names if name not in SCRIPTS] or names
    if behind:
        return min(behind, key=lambda name: log.of(name)["seconds"])
    return native[turn % len(native)]


def libfuzzer_command(directory, target, seconds):
    """The command of one slice, and the folder of its corpus."""
    corpus = directory / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    findings = directory / "findings"
    findings.mkdir(exist_ok=True)
    program = directory / "bin" / f"fuzz_{target}"
    options = [f"-max_total_time={seconds}", f"-artifact_prefix={findings}/{target}-", "-print_final_stats=1", "-max_len=8192"]
    options += ["-timeout=120", "-rss_limit_mb=3000", "-reload=0", f"-dict={FUZZ / 'stz.dict'}"]
    options += ["-entropic=0"]  # its account of rare features takes half of the time and more where inputs have thousands
    return [program, *options, corpus, directory / "seeds" / target]


def executed(text):
    """How many new inputs libFuzzer ran, by what it printed: those that it read from the corpus are not new."""
    total = re.search(r"stat::number_of_executed_units:\s*(\d+)", text) or re.search(r"DONE\s.*?#(\d+)|Done (\d+) runs", text)
    loaded = re.search(r"^#(\d+)\s+INITED", text, re.M)
    if total is None:
        return 0
    return max(0, int(next(group for group in total.groups() if group)) - (int(loaded[1]) if loaded else 0))


def run_slice(arguments, log, target):
    """Runs a target for some minutes and counts what it did. Returns whether it found nothing."""
    directory, entry = arguments.directory, log.of(target)
    environment = os.environ | SANITIZERS
    if target in SCRIPTS:
        command = [arguments.python, FUZZ / f"{target}.py", f"--first={entry['executions']}", f"--seconds={arguments.slice}"]
        command.append(f"--findings={directory / 'findings'}")
    else:
        command = libfuzzer_command(directory, target, arguments.slice)
    start = time.monotonic()
    output = directory / "logs" / f"{target}.txt"
    output.parent.mkdir(exist_ok=True)
    with open(output, "wb") as file:
        done = subprocess.run(["nice", "-n", "19", *map(str, command)], stdout=file, stderr=subprocess.STDOUT, env=environment)
    text = output.read_text(errors="replace")
    found = re.search(r"(\d+) streams, no findings", text)
    entry["executions"] += int(found[1]) if found else executed(text)
    entry["seconds"] += round(time.monotonic() - start, 1)
    if done.returncode:
        kept = directory / "findings" / f"{target}-{datetime.datetime.now():%Y%m%d-%H%M%S}.txt"
        kept.write_text(text)
        entry["findings"].append(kept.name)
    log.save()
    return done.returncode == 0


def say_how_to_repeat(arguments, target):
    """Tells where a finding is."""
    name = arguments.directory / "findings" / arguments.log.of(target)["findings"][-1]
    print(f"{target} has found something: {name}")
    for line in name.read_text(errors="replace").splitlines():
        if re.search(r"broken promise|ERROR: |SUMMARY|runtime error|Test unit written|differ|repeat with", line):
            print("  " + line[:300])
    print(f"Repeat with fuzz/run.sh {target} and the file that is named there.")


def main():
    """The program; see the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--slice", type=int, default=300, metavar="SECONDS", help="for each target in turn (default: 300)")
    parser.add_argument("--hours", type=float, default=1e9, help="at most (default: until every goal is reached)")
    parser.add_argument("--targets", nargs="+", metavar="TARGET", help="these alone")
    parser.add_argument("--goals", type=int, nargs=2, default=(EACH, TOGETHER), metavar="N", help="executions: of each, of all")
    parser.add_argument("--python", default=sys.executable, help="a Python that has h5stz, for two_decoders")
    parser.add_argument("--no-build", action="store_true", help="the programs of DIRECTORY/bin as they are")
    parser.add_argument("--preset", default="libfuzzer")
    arguments = parser.parse_args()
    arguments.directory = arguments.directory.absolute()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    arguments.log = log = Log(arguments.directory)
    seeds.write(arguments.directory / "seeds")
    if not arguments.no_build:
        build(arguments.directory, arguments.preset)
    names = [path.name.removeprefix("fuzz_") for path in sorted((arguments.directory / "bin").glob("fuzz_*"))]
    names += SCRIPTS
    names = [name for name in names if not arguments.targets or name in arguments.targets]
    end, turn = time.monotonic() + 3600 * arguments.hours, 0
    while time.monotonic() < end:
        each, together = arguments.goals
        if all(log.of(name)["executions"] >= each for name in names) and log.executions() >= together:
            print("every goal is reached")
            return
        target = next_target(log, names, turn, each)
        if not run_slice(arguments, log, target):
            say_how_to_repeat(arguments, target)
            sys.exit(1)
        now = f"{datetime.datetime.now():%m-%d %H:%M}"
        print(f"{now} {target}: {log.of(target)['executions']} of {log.executions()}", flush=True)
        turn += 1


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
