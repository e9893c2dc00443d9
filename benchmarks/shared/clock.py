"""Times of actions that take turns, and programs that take turns on one processor: a disturbance meets all of them."""

import contextlib
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import time


def once(action):
    """Seconds of a single call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def times(actions, repeats, clock=time.perf_counter):
    """{name: [seconds]} of {name: function without arguments}.

    The actions take turns within each repeat. The first repeat is not counted. The result of an action is freed outside its
    time.
    """
    found = {name: [] for name in actions}
    for repeat in range(repeats + 1):
        for name, action in actions.items():
            start = clock()
            result = action()
            seconds = clock() - start
            del result
            if repeat:
                found[name].append(seconds)
    return found


def interleaved(actions, repeats, choose=statistics.median):
    """{name: seconds}, the median or the `min` of the repeats."""
    return {name: choose(found) for name, found in times(actions, repeats).items()}


@contextlib.contextmanager
def variable(name, text):
    """Sets a variable of the environment, which the h5stz filter reads at each call."""
    before = os.environ.get(name)
    os.environ[name] = text
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def filter_threads(threads):
    """Sets the number of threads of the h5stz filter."""
    return variable("H5STZ_THREADS", str(threads))


def serve(action):
    """The side of a program that takes turns: each line is passed to `action`, which returns its record as a dictionary."""
    for line in sys.stdin:
        print(json.dumps(action(line.strip())), flush=True)


def take(programs, turns, line="", uncounted=1):
    """{name: records of the turns} of {name: (words, environment variables)}, all on one processor.

    A turn should take some tenths of a second of processor time. Between turns a program waits for a line.
    """
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


def ratio(base, other):
    """The median ratio of the turns of `other` to the turns of `base` beside them, and the interval that holds it with 95 %.

    Each turn is compared with the mean of the turns of `base` before and after it, so that drift cancels.
    """
    around = itertools.pairwise(base)
    found = sorted(2 * seconds / (before + after) for seconds, (before, after) in zip(other, around, strict=False))
    half = 0.98 * math.sqrt(len(found))
    low, high = math.floor(len(found) / 2 - half), math.ceil(len(found) / 2 + half) - 1
    return statistics.median(found), found[max(low, 0)], found[min(high, len(found) - 1)]
