"""A second process, with a memory of its own for rewriting, that reads and writes datasets through h5py."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np


def packed(array):
    """An array as bytes, in whatever byte order."""
    return array.tobytes(), array.dtype.str, array.shape


def unpacked(packed_array):
    """Reverses it."""
    content, dtype, shape = packed_array
    return np.frombuffer(content, dtype).reshape(shape)


class OtherProcess:
    """Does what it is told, one thing after the other."""

    def __init__(self):
        words = [sys.executable, "-m", "exhaustive.other_process"]
        self._process = subprocess.Popen(
            words, cwd=Path(__file__).resolve().parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def _ask(self, *request):
        pickle.dump(request, self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def read(self, path, name):
        """The dataset."""
        return unpacked(self._ask("read", str(path), name, None, None))

    def write(self, path, name, part, values):
        """Writes a part of it."""
        self._ask("write", str(path), name, part, packed(values))

    def end(self):
        """Ends the process."""
        self._process.stdin.close()
        self._process.wait(30)


def main():
    """Obeys until its input ends."""
    import h5py

    import h5stz  # noqa: F401  # writes need the filter

    while True:
        try:
            kind, path, name, part, values = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        with h5py.File(path, "r" if kind == "read" else "r+") as file:
            if kind == "read":
                answer = packed(file[name][...])
            else:
                answer = None
                file[name][part] = unpacked(values)
        pickle.dump(answer, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
