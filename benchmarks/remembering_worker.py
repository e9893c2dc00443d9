"""A program that reads or writes whole chunks through the plug-in that it is given, for remembering.py.

    remembering_worker.py PLUGIN read FILE CHUNKS | PLUGIN write FILE CHUNKS OPTIONS

Each turn reads or writes so many chunks. `forget` as the line of a turn empties the plug-in's memory before, outside the time.
"""

import ctypes
import json
import resource
import sys
import time

import h5py
import numpy as np

import turns


def load(path):
    """Has HDF5 use this plug-in and no other."""
    plugin = ctypes.CDLL(path)
    plugin.H5PLget_plugin_info.restype = ctypes.c_void_p
    h5py.h5z.register_filter(plugin.H5PLget_plugin_info())
    return plugin


def timed(action):
    """The record of a turn."""
    start = time.process_time()
    action()
    seconds = time.process_time() - start
    return {"seconds": seconds, "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


class Reader:
    """Reads chunks along axis 0, one after the other and round and round."""

    def __init__(self, path, chunks):
        self.dataset = h5py.File(path)["x"]
        self.edge, self.chunks, self.next = self.dataset.chunks[0], chunks, 0
        self.out = np.zeros(self.dataset.chunks, self.dataset.dtype)

    def turn(self):
        for _ in range(self.chunks):
            self.dataset.read_direct(self.out, np.s_[self.next : self.next + self.edge])
            self.next = (self.next + self.edge) % len(self.dataset)


class Writer:
    """Writes the chunks of a file, read without any filter, to a new file each turn."""

    def __init__(self, path, chunks, options):
        self.values, self.path, self.edge = np.load(path), f"{path}.h5", chunks
        self.options = json.loads(options)

    def turn(self):
        shape, edge = self.values.shape, self.edge
        with h5py.File(self.path, "w") as file:
            options = {"compression": self.options[0], "compression_opts": tuple(self.options[1])}
            dataset = file.create_dataset("x", shape, "f4", chunks=(edge, *shape[1:]), **options)
            for at in range(0, len(dataset), edge):
                dataset[at : at + edge] = self.values[at : at + edge]


def main():
    path, way, *arguments = sys.argv[1:]
    plugin = load(path)
    program = (
        Reader(arguments[0], int(arguments[1])) if way == "read" else Writer(arguments[0], int(arguments[1]), arguments[2])
    )

    def turn(line):
        if line == "forget":
            plugin.stz_h5_forget()
        return timed(program.turn)

    turns.serve(turn)


if __name__ == "__main__":
    main()
