"""Reads parts of a dataset from a web server: only the needed bytes are transferred.

    python remote_regions.py

Starts a server on this machine, reads a file of 10 MB from it in four ways, and prints requests and bytes of each read. Needs
fsspec and aiohttp: pip install 'h5stz[remote]'.
"""

import subprocess
import sys

import h5py
import numpy as np
from fsspec.implementations.http import HTTPFileSystem
from range_server import RangeServer

import h5stz

z, y, x = np.meshgrid(*3 * [np.linspace(0, 1, 256, dtype="f4")], indexing="ij")
rough = np.random.default_rng(1).normal(0, 0.01, z.shape).astype("f4")
field = np.sin(40 * x * y) * np.cos(30 * z) + np.sin(90 * z * x) / 4 + rough

with h5py.File("remote.h5", "w") as file:
    options = h5stz.STZ(absolute=1e-3, block="region")
    file.create_dataset("rho", data=field, chunks=(128, 128, 128), **options)
with h5py.File("remote.h5") as file:
    full = file["rho"][...]
    print("bytes of the dataset:", file["rho"].id.get_storage_size())
with open("remote.h5", "rb") as file:
    content = file.read()


def report(what, server, same):
    """Prints what was sent since the last report, and whether the result is that of h5py."""
    print(f"{what:34} {len(server.requests):4} requests {server.bytes_sent:9} bytes   as h5py reads it: {same}")
    server.reset()


box = np.s_[40:56, 80:96, 100:116]
with RangeServer({"remote.h5": content}) as server:
    url = f"{server.url}/remote.h5"

    with h5stz.open(url) as file:  # likewise "s3://bucket/remote.h5" and whatever else fsspec knows
        rho = file["rho"]
        report("h5stz.open", server, rho.shape == full.shape)
        report("  a box of 16 x 16 x 16", server, np.array_equal(rho[box], full[box]))
        report("  level 2, every fourth sample", server, np.array_equal(rho.level(2)[...], full[::4, ::4, ::4]))
        counted = file.stats
    print(counted)

    with HTTPFileSystem().open(url) as remote, h5py.File(remote) as file:
        report("h5py and fsspec, opening", server, file["rho"].shape == full.shape)
        report("  a box of 16 x 16 x 16", server, np.array_equal(file["rho"][box], full[box]))
        report("  every fourth sample", server, np.array_equal(file["rho"][::4, ::4, ::4], full[::4, ::4, ::4]))

    # Where something else has opened the file, h5stz.open takes the open file; of obstore too.
    with HTTPFileSystem().open(url, block_size=1 << 16) as remote, h5stz.open(remote) as file:
        report("h5stz.open of a file of fsspec", server, file.datasets() == ["rho"])
        report("  a box of 16 x 16 x 16", server, np.array_equal(file["rho"][box], full[box]))

    # The command line takes addresses too: h5stz info, verify, estimate, compare, extract.
    subprocess.run([sys.executable, "-m", "h5stz", "verify", url], check=True)
    server.reset()

    # A view works with files that fsspec or others have opened, too.
    with HTTPFileSystem().open(url, block_size=1 << 16) as remote, h5py.File(remote) as file:
        rho = h5stz.view(file["rho"])
        report("h5stz.view of a file of fsspec", server, rho.shape == full.shape)
        report("  a box of 16 x 16 x 16", server, np.array_equal(rho[box], full[box]))
