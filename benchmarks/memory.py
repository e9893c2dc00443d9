"""Peak memory of h5stz above its input and output, as a multiple of the array, each case in a process of its own.

The child loads the array, warms the library up on a small one, touches the output buffer, resets its high-water mark
(/proc/self/clear_refs) and reads it again (VmHWM) after the call. Linux only.

As a program, `memory.py FILE OPERATION BOUND THREADS` is the child: it prints the bytes.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import h5stz
import numpy as np

import fields
import speed_cases


def kilobytes(name):
    """A line of /proc/self/status in bytes: "VmRSS" or "VmHWM"."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def peak_above(action):
    """Bytes by which memory rose above that before the call, at its highest."""
    Path("/proc/self/clear_refs").write_text("5")
    before = kilobytes("VmRSS")
    result = action()
    peak = kilobytes("VmHWM") - before
    del result
    return peak


def child(file, operation, bound, threads):
    """Bytes above array and stream at the peak of one operation, both of which are in memory as a user's would be."""
    array = np.load(file)
    bound, threads = float(bound), int(threads)
    small = np.random.default_rng(1).standard_normal((32, 32, 32), np.float32)
    h5stz.decompress(h5stz.compress(small, absolute=1e-2, threads=threads), threads=threads)
    if operation == "compress":
        size = []
        peak = peak_above(lambda: size.append(len(h5stz.compress(array, absolute=bound, threads=threads))))
        return max(0, peak - size[0])  # the stream was there at the peak, or memory for as much more is not needed
    stream = h5stz.compress(array, absolute=bound, threads=threads)
    out = np.ones_like(array)
    return max(0, peak_above(lambda: h5stz.decompress(stream, out=out, threads=threads)))


def measure(arrays, threads):
    """Records of both operations on every array at the bound of the parts that have one only."""
    records = []
    for name, array in arrays.items():
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "array.npy"
            np.save(file, array)
            for count in threads:
                record = {"part": "memory", "field": name, "threads": count, "array_bytes": array.nbytes}
                for operation in ("compress", "decompress"):
                    bound = speed_cases.RELATIVE * fields.value_range(array)
                    command = [sys.executable, __file__, file, operation, repr(bound), str(count)]
                    done = subprocess.run(command, check=True, capture_output=True, text=True)
                    record[operation] = int(done.stdout) / array.nbytes
                records.append(record)
    return records


if __name__ == "__main__":
    print(child(*sys.argv[1:]))
