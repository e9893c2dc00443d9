"""Fuzzes every target in turn, over days: python fuzz/long_run.py DIRECTORY

DIRECTORY keeps what a later run goes on with: a corpus for each target, what was executed (executions.json), and findings.
A new directory goes on from fuzz/executions.json, what earlier runs came to. --jobs processes at a time, at the lowest
priority, in slices of a few minutes; the target that ran least and has not reached its goal is next. It ends at the first
finding, after every goal is reached, or with the time that --hours gives. Stop it at any time, with a signal too: slices that
were running are not counted.

Targets are libFuzzer's (clang, ASan and UBSan), but for two_decoders, which is fuzz/two_decoders.py. --python names a Python
that has h5stz. With --preset fuzz they are those of standalone.cpp, whose input number n follows from the number n: a slice
goes on behind the last number ("generated", which "executions" includes). A directory may have slices of both.
"""

import argparse
import contextlib
import datetime
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
ROOT = FUZZ.parent
sys.path[:0] = [str(FUZZ), str(ROOT / "filter/tools")]
import build_filter

import seeds

#: Executions without a finding: of each target, and of all together.
EACH, TOGETHER = 500_000, 20_000_000
SCRIPTS = ("two_decoders",)
BEFORE = FUZZ / "executions.json"
SANITIZERS = {
    "ASAN_OPTIONS": "allocator_may_return_null=1:detect_stack_use_after_return=0:handle_abort=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def native_targets():
    """The names of the targets in C++."""
    return sorted(path.stem.removeprefix("fuzz_") for path in FUZZ.glob("fuzz_*.cpp"))


def build(programs, preset):
    """Builds the targets and copies them to the directory `programs`, so that a later build does not disturb the run."""
    names = native_targets()
    built = build_filter.build(
        ROOT / "build" / (preset + build_filter.environment_key()), ["fuzz_targets"], {"H5STZ_BUILD_TESTS": "OFF"}, preset
    )
    programs.mkdir(parents=True, exist_ok=True)
    names = [name for name in names if (built / "fuzz" / f"fuzz_{name}").exists()]
    for name in names:
        shutil.copy2(built / "fuzz" / f"fuzz_{name}", programs)


class Log:
    """executions.json: the sum of all executions, and {target: {"executions", "generated", "seconds", "findings"}}."""

    def __init__(self, directory, before):
        """`before`: the file that a new directory goes on from."""
        self.path = directory / "executions.json"
        kept = self.path if self.path.exists() else before
        self.targets = json.loads(kept.read_text())["targets"] if kept.exists() else {}

    def of(self, target):
        """The entry of a target."""
        return self.targets.setdefault(target, {"executions": 0, "generated": 0, "seconds": 0.0, "findings": []})

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


def next_target(log, names, goal):
    """Of the targets below their goal the one that ran least; after all have reached theirs, of those in C++."""
    behind = [name for name in names if log.of(name)["executions"] < goal]
    native = [name for name in names if name not in SCRIPTS]
    return min(behind or native or names, key=lambda name: log.of(name)["seconds"], default=None)


def libfuzzer_command(directory, program, target, seconds):
    """The command of one slice."""
    corpus = directory / "corpus" / target
    corpus.mkdir(parents=True, exist_ok=True)
    findings = directory / "findings"
    options = [f"-max_total_time={seconds}", f"-artifact_prefix={findings}/{target}-", "-print_final_stats=1", "-max_len=8192"]
    options += ["-timeout=1800", "-rss_limit_mb=3000", "-reload=0", f"-dict={FUZZ / 'stz.dict'}"]
    options += ["-entropic=0"]  # its account of rare features takes half of the time and more where inputs have thousands
    if target == "hdf5":
        options += [
            "-detect_leaks=0"
        ]  # HDF5 keeps memory in free lists: the check at the end knows them, those between inputs do not
    return [program, *options, corpus, directory / "seeds" / target]


def executed(text):
    """How many new inputs libFuzzer ran, by what it printed: those that it read from the corpus are not new."""
    total = re.search(r"stat::number_of_executed_units:\s*(\d+)", text) or re.search(r"DONE\s.*?#(\d+)|Done (\d+) runs", text)
    loaded = re.search(r"^#(\d+)\s+INITED", text, re.M)
    if total is None:
        return 0
    return max(0, int(next(group for group in total.groups() if group)) - (int(loaded[1]) if loaded else 0))


def slice_command(arguments, log, target):
    """The command of a target's next slice."""
    if target in SCRIPTS:
        first = log.of(target)["executions"]
        command = [arguments.python, FUZZ / f"{target}.py", f"--first={first}", f"--seconds={arguments.slice}"]
        return [*command, f"--findings={arguments.directory / 'findings'}"]
    program = arguments.programs / f"fuzz_{target}"
    if arguments.preset == "fuzz":
        return [program, f"--first={log.of(target)['generated']}", f"--seconds={arguments.slice}"]
    return libfuzzer_command(arguments.directory, program, target, arguments.slice)


class LongRun:
    """Slices of targets, some at a time, until the goals, the time or a finding.

    Attributes:
        found: the target that found something.
    """

    def __init__(self, arguments, names):
        self.arguments, self.log, self.names = arguments, arguments.log, names
        self.end = time.monotonic() + 3600 * arguments.hours
        self.found, self.running, self.stopped = None, {}, False
        self.lock = threading.Lock()

    def reached(self):
        """Whether every goal is."""
        each, together = self.arguments.goals
        return all(self.log.of(name)["executions"] >= each for name in self.names) and self.log.executions() >= together

    def take(self):
        """The target of the next slice, None at the end."""
        with self.lock:
            if self.found or self.stopped or time.monotonic() > self.end or self.reached():
                return None
            target = next_target(self.log, [name for name in self.names if name not in self.running], self.arguments.goals[0])
            if target is not None:
                self.running[target] = None
            return target

    def work(self):
        """Slices, one after the other."""
        while (target := self.take()) is not None:
            self.run_slice(target)

    def run_slice(self, target):
        """Runs a target for some minutes and counts what it did."""
        directory, start = self.arguments.directory, time.monotonic()
        output = directory / "logs" / f"{target}.txt"
        with open(output, "wb") as file:
            command = ["nice", "-n", "19", *map(str, slice_command(self.arguments, self.log, target))]
            process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=os.environ | SANITIZERS)
            with self.lock:
                self.running[target] = process
                if self.stopped:
                    process.kill()
            status = process.wait()
        with self.lock:
            del self.running[target]
            if not self.stopped:
                self.count(target, output.read_text(errors="replace"), status, time.monotonic() - start)

    def count(self, target, text, status, seconds):
        """Adds what a slice printed to the log."""
        entry, directory = self.log.of(target), self.arguments.directory
        found = re.search(r"(\d+) (streams|inputs), no findings", text)
        entry["executions"] += int(found[1]) if found else executed(text)
        entry["generated"] += int(found[1]) if found and found[2] == "inputs" else 0
        entry["seconds"] = round(entry["seconds"] + seconds, 1)
        if status:
            kept = directory / "findings" / f"{target}-{datetime.datetime.now():%Y%m%d-%H%M%S}.txt"
            kept.write_text(text)
            entry["findings"].append(kept.name)
            self.found = target
        self.log.save()
        now = f"{datetime.datetime.now():%m-%d %H:%M}"
        print(f"{now} {target}: {entry['executions']} of {self.log.executions()}", flush=True)

    def stop(self):
        """Ends slices that are running."""
        with self.lock:
            self.stopped = True
            for process in filter(None, self.running.values()):
                process.kill()

    def run(self, jobs):
        """Works in so many threads. Returns when all have ended."""
        pool = ThreadPoolExecutor(jobs)
        workers = [pool.submit(self.work) for _ in range(jobs)]
        try:
            with contextlib.suppress(KeyboardInterrupt):
                for worker in workers:
                    worker.result()
        finally:
            self.stop()  # what still runs after an interruption or an error
            pool.shutdown()


def say_how_to_repeat(arguments, target):
    """Tells where a finding is."""
    name = arguments.directory / "findings" / arguments.log.of(target)["findings"][-1]
    print(f"{target} has found something: {name}")
    for line in name.read_text(errors="replace").splitlines():
        if re.search(r"broken promise|ERROR: |SUMMARY|runtime error|Test unit written|differ|repeat with", line):
            print("  " + line[:300])
    print(f"Repeat with fuzz/run.sh {target} and the file that is named there.")


def parse(words):
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--slice", type=int, default=300, metavar="SECONDS", help="for each target in turn (default: 300)")
    parser.add_argument("--hours", type=float, default=1e9, help="at most (default: until every goal is reached)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="targets at a time (default: 1)")
    parser.add_argument("--targets", nargs="+", metavar="TARGET", help="these alone")
    parser.add_argument("--goals", type=int, nargs=2, default=(EACH, TOGETHER), metavar="N", help="executions: of each, of all")
    parser.add_argument("--python", default=sys.executable, help="a Python that has h5stz, for two_decoders")
    parser.add_argument("--no-build", action="store_true", help="the programs of DIRECTORY/bin/PRESET as they are")
    parser.add_argument("--preset", default="libfuzzer", help="how the targets are built; fuzz: for standalone.cpp")
    parser.add_argument("--before", type=Path, default=BEFORE, metavar="FILE", help="what a new directory goes on from")
    return parser.parse_args(words)


def main(words=None):
    """The program; see the top of this file. Returns the exit status."""
    arguments = parse(words)
    arguments.directory = arguments.directory.absolute()
    arguments.programs = arguments.directory / "bin" / arguments.preset
    for folder in ("findings", "logs"):
        (arguments.directory / folder).mkdir(parents=True, exist_ok=True)
    arguments.log = Log(arguments.directory, arguments.before)
    seeds.write(arguments.directory / "seeds")
    if not arguments.no_build:
        build(arguments.programs, arguments.preset)
    names = [path.name.removeprefix("fuzz_") for path in sorted(arguments.programs.glob("fuzz_*"))]
    names += SCRIPTS
    names = [name for name in names if not arguments.targets or name in arguments.targets]
    run = LongRun(arguments, names)
    run.run(arguments.jobs)
    if run.found:
        say_how_to_repeat(arguments, run.found)
    elif run.reached():
        print("every goal is reached")
    return int(run.found is not None)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
