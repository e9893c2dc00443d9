"""Times of interleaved repeats, and the two environment variables that control h5stz.

As a program it prints the CPU time of `import h5stz` beside that of `import h5py`.
"""

import contextlib
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ISA_FLAGS = {
    "baseline": (),
    "avx2": ("avx2", "bmi2"),
    "avx512": ("avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd", "avx512vbmi", "avx512_vbmi2"),
}


def interleaved(actions, repeats, choose=statistics.median):
    """{name: seconds} of {name: function without arguments}; of the repeats `choose` takes one: the median, or `min`.

    The actions take turns within each repeat, so that a busy machine slows all of them; the first repeat is not
    counted. What an action returns is freed outside its time.
    """
    times = {name: [] for name in actions}
    for repeat in range(repeats + 1):
        for name, action in actions.items():
            start = time.perf_counter()
            result = action()
            seconds = time.perf_counter() - start
            del result
            if repeat:
                times[name].append(seconds)
    return {name: choose(found) for name, found in times.items()}


def megabytes_per_second(size, seconds):
    """`size` in bytes; 1 MB is 10^6 bytes."""
    return size / 1e6 / seconds


@contextlib.contextmanager
def filter_threads(threads):
    """Sets the number of threads of the h5stz filter, which reads H5STZ_THREADS at each call."""
    before = os.environ.get("H5STZ_THREADS")
    os.environ["H5STZ_THREADS"] = str(threads)
    try:
        yield
    finally:
        if before is None:
            del os.environ["H5STZ_THREADS"]
        else:
            os.environ["H5STZ_THREADS"] = before


def has_isa(name):
    """Whether this processor can run the kernels of H5STZ_ISA=`name`; otherwise others would run."""
    flags = Path("/proc/cpuinfo").read_text().split() if ISA_FLAGS[name] else ()
    return all(flag in flags for flag in ISA_FLAGS[name])


def import_seconds(modules, repeats):
    """{module: CPU seconds of processes that import it, a list}. The processes take turns, and find compiled bytecode."""
    seconds = {module: [] for module in modules}
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = bytecode
        for repeat in range(repeats + 1):
            for module in modules:
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run([sys.executable, "-c", f"import {module}"], check=True, env=environment)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                if repeat:  # the first one compiles
                    seconds[module].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return seconds


def main():
    found = import_seconds(("h5py", "h5stz"), 15)
    of_h5py, of_h5stz = map(statistics.median, found.values())
    print(f"import h5stz: {of_h5stz:.3f} s of CPU, import h5py alone: {of_h5py:.3f} s; ratio {of_h5stz / of_h5py:.2f}", end="")
    print(f" of medians, {min(found['h5stz']) / min(found['h5py']):.2f} of minima")


if __name__ == "__main__":
    main()
