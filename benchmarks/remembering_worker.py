"""A program that reads or writes whole chunks through two plug-ins in turn, for remembering.py.

    remembering_worker.py read FILE CHUNKS PLUGIN... | write FILE EDGE OPTIONS PLUGIN...

A turn reads so many chunks, or writes all. A line asks for turns of each plug-in, "COUNTED UNCOUNTED [forget]", the uncounted
ones first; `forget` empties the plug-in's memory before each turn, outside the time.
"""

import ctypes
import json
import sys
import time

import h5py
import numpy as np

from shared import clock


class Plugin:
    """A plug-in that this program has loaded itself."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.H5PLget_plugin_info.restype = ctypes.c_void_p

    def seconds(self, action, forget=False):
        """Time of the action while HDF5 uses this plug-in and no other."""
        h5py.h5z.register_filter(self.library.H5PLget_plugin_info())
        if forget:
            self.library.stz_h5_forget()
        start = time.process_time()
        action(self)
        return time.process_time() - start


class Reader:
    """Reads chunks along axis 0, one after the other and round and round, as each plug-in in turn."""

    def __init__(self, path, chunks):
        self.dataset = h5py.File(path)["x"]
        self.edge, self.chunks, self.next = self.dataset.chunks[0], int(chunks), {}
        self.out = np.zeros(self.dataset.chunks, self.dataset.dtype)

    def turn(self, plugin):
        at = self.next.get(plugin, 0)
        for _ in range(self.chunks):
            self.dataset.read_direct(self.out, np.s_[at : at + self.edge])
            at = (at + self.edge) % len(self.dataset)
        self.next[plugin] = at


class Writer:
    """Writes the chunks of a file, read without any filter, to a new file each turn."""

    def __init__(self, path, edge, options):
        self.values, self.path, self.edge = np.load(path), f"{path}.h5", int(edge)
        self.options = json.loads(options)

    def turn(self, _):
        shape, edge = self.values.shape, self.edge
        with h5py.File(self.path, "w") as file:
            options = {"compression": self.options[0], "compression_opts": tuple(self.options[1])}
            dataset = file.create_dataset("x", shape, "f4", chunks=(edge, *shape[1:]), **options)
            for at in range(0, len(dataset), edge):
                dataset[at : at + edge] = self.values[at : at + edge]


def main():
    way, *words = sys.argv[1:]
    program = Reader(*words[:2]) if way == "read" else Writer(*words[:3])
    plugins = [Plugin(path) for path in words[2 if way == "read" else 3 :]]

    def take_turns(line):
        counted, uncounted, *forget = line.split()
        rounds = int(counted) + int(uncounted)
        seconds = [[plugin.seconds(program.turn, bool(forget)) for plugin in plugins] for _ in range(rounds)]
        return {"seconds": seconds[int(uncounted) :]}

    clock.serve(take_turns)


if __name__ == "__main__":
    main()
