"""Reads parts of a dataset from a web server: only the needed bytes are transferred."""

import h5py
import numpy as np
from fsspec.implementations.http import HTTPFileSystem  # s3fs, gcsfs, adlfs are used in the same way
from range_server import RangeServer

import h5stz

z, y, x = np.meshgrid(*3 * [np.linspace(0, 1, 160, dtype="f4")], indexing="ij")
rough = np.random.default_rng(1).normal(0, 0.01, z.shape).astype("f4")
field = np.sin(40 * x * y) * np.cos(30 * z) + np.sin(90 * z * x) / 4 + rough

with h5py.File("remote.h5", "w") as file:
    options = h5stz.STZ(absolute=1e-3, block="region")
    file.create_dataset("rho", data=field, chunks=field.shape, **options)
with h5py.File("remote.h5") as file:
    full = file["rho"][...]
    print("bytes of the chunk:", file["rho"].id.get_storage_size())
with open("remote.h5", "rb") as file:
    content = file.read()


def report(what, server, same):
    """Prints how many bytes were sent since the last report, and whether the result is that of h5py."""
    print(f"{what}:")
    print(f"  bytes sent: {server.bytes_sent} in {len(server.requests)} requests")
    print(f"  as h5py reads it: {same}")
    server.reset()


with RangeServer({"remote.h5": content}) as server:
    remote = HTTPFileSystem().open(f"{server.url}/remote.h5", block_size=1 << 16)  # read-ahead of h5py's own reads
    with remote, h5py.File(remote) as file:
        view = h5stz.view(file["rho"])
        report("opening", server, view.shape == full.shape)

        box = view[40:56, 80:96, 100:116]
        report("a box of 16 x 16 x 16", server, np.array_equal(box, full[40:56, 80:96, 100:116]))

        view = h5stz.view(file["rho"])
        overview = view.level(2)[...]
        report(f"level 2, {overview.shape}", server, np.array_equal(overview, full[::4, ::4, ::4]))

        everything = file["rho"][40:56, 80:96, 100:116]
        report("the box without h5stz.view", server, np.array_equal(everything, full[40:56, 80:96, 100:116]))
