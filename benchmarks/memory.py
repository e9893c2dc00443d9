"""Peak memory of h5stz above its input and output, as a multiple of the array; `speed.py --memory` prints it. Linux only.

As a program, `memory.py FILE OPERATION BOUND THREADS` is the process of one case: it prints the bytes.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import h5stz
from shared import fields, report


def kilobytes(name):
    """A line of /proc/self/status in bytes: "VmRSS" or "VmHWM"."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def peak_above(action):
    """Peak memory of a call above the memory before it, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    before = kilobytes("VmRSS")
    result = action()
    peak = kilobytes("VmHWM") - before
    del result
    return peak


def child(file, operation, bound, threads):
    """Bytes above array and stream at the peak of one operation, both of which are in memory as a user's would be.

    `file` holds the array to compress or the stream to decompress: whatever made them has left no free memory behind
    that the operation could use unseen.
    """
    bound, threads = float(bound), int(threads)
    small = np.random.default_rng(1).standard_normal((32, 32, 32), np.float32)
    h5stz.decompress(h5stz.compress(small, absolute=1e-2, threads=threads), threads=threads)
    if operation == "compress":
        array, sizes = np.load(file), []
        peak = peak_above(lambda: sizes.append(len(h5stz.compress(array, absolute=bound, threads=threads))))
        return max(0, peak - sizes[0])
    stream = Path(file).read_bytes()
    header = h5stz.info(stream)
    out = np.ones(header.shape, header.dtype)
    return max(0, peak_above(lambda: h5stz.decompress(stream, out=out, threads=threads)))


def measure(arrays, threads):
    """Records of both operations on every array; prints them."""
    records = []
    for name, array in arrays.items():
        bound = fields.RELATIVE * fields.value_range(array)
        with tempfile.TemporaryDirectory() as directory:
            files = {"compress": Path(directory) / "array.npy", "decompress": Path(directory) / "array.stz"}
            np.save(files["compress"], array)
            files["decompress"].write_bytes(h5stz.compress(array, absolute=bound))
            for count in threads:
                record = {"part": "memory", "field": name, "threads": count, "array_bytes": array.nbytes}
                for operation, file in files.items():
                    command = [sys.executable, __file__, file, operation, repr(bound), str(count)]
                    done = subprocess.run(command, check=True, capture_output=True, text=True)
                    record[operation] = int(done.stdout) / array.nbytes
                records.append(record)
    columns = {"field": "{field}", "threads": "{threads}"}
    columns |= {"compress": "{compress:.2f}", "decompress(out=)": "{decompress:.2f}"}
    report.table(records, columns, "Peak memory above input and output, in arrays")
    return records


if __name__ == "__main__":
    print(child(*sys.argv[1:]))
