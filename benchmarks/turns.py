"""Programs that take turns on one processor, so that what disturbs one of them disturbs the others as well.

A turn takes some tenths of a second of processor time; between turns a program waits for a line of its standard input.
"""

import itertools
import json
import math
import os
import statistics
import subprocess
import sys


def serve(action):
    """The program's side: each line is passed to `action`, which returns its record as a dictionary."""
    for line in sys.stdin:
        print(json.dumps(action(line.strip())), flush=True)


def take(programs, turns, line="", uncounted=1):
    """{name: records of the turns} of {name: (words, environment variables)}; the first turns are not counted."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(processors)})  # also that of the programs
    started = {}
    try:
        for name, (words, variables) in programs.items():
            words = [str(word) for word in (sys.executable, *words)]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            started[name] = subprocess.Popen(words, env=os.environ | variables, **pipes)
        records = {name: [] for name in programs}
        for _ in range(turns + uncounted):
            for name, process in started.items():
                process.stdin.write(line + "\n")
                process.stdin.flush()
                answer = process.stdout.readline()
                if not answer:
                    raise RuntimeError(f"{name}: the program ended")
                records[name].append(json.loads(answer))
    finally:
        os.sched_setaffinity(0, processors)
        for process in started.values():
            process.stdin.close()
            process.wait()
    return {name: entries[uncounted:] for name, entries in records.items()}


def ratios(base, other):
    """The seconds of each turn of `other` over the mean of the turns of `base` before and after it, sorted."""
    around = itertools.pairwise(base)
    return sorted(2 * seconds / (before + after) for seconds, (before, after) in zip(other, around, strict=False))


def ratio(base, other):
    """The median of the ratios, and the interval that holds it with 95 % probability."""
    found = ratios(base, other)
    half = 0.98 * math.sqrt(len(found))
    low, high = math.floor(len(found) / 2 - half), math.ceil(len(found) / 2 + half) - 1
    return statistics.median(found), found[max(low, 0)], found[min(high, len(found) - 1)]
