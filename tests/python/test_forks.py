"""A fork while another thread is in its first call: the child goes on, as calls of the package import nothing."""

import os
import subprocess
import sys

from support.requirements import needs

# Every import that a call makes would be one that a fork can catch half-way.
CALLS = """
import sys
import h5py, numpy as np, h5stz
from concurrent.futures import ThreadPoolExecutor  # whose threads the standard library loads late
before = set(sys.modules)
a = np.linspace(0, 1, 64 * 64, dtype="f4").reshape(64, 64)
masked = np.ma.masked_less(a, 0.5)
bounds = {"absolute": 1e-3}, {"relative": 1e-3}, {"psnr": 60}, {"ratio": 4}, {"pointwise_relative": 1e-3}, {"lossless": True}
for bound in bounds:
    stream = h5stz.compress(a, **bound)
    h5stz.compress(masked, **bound) if "lossless" not in bound else None
    h5stz.STZ(data=a, **bound)
h5stz.decompress(stream), h5stz.info(stream), h5stz.verify(stream), h5stz.rewrite(a, stream, absolute=1e-3)
h5stz.estimate(a, psnr=60), h5stz.estimate(a, relative=1e-3, chunks=(8, 8), sample_bytes=512)
h5stz.compare(a, a + 1e-3, ssim=False)
h5stz.suggest_chunks((1000, 1000), "f4")
with h5py.File("x.h5", "w") as file:
    file.create_dataset("x", data=a, chunks=(32, 32), **h5stz.STZ(absolute=1e-3, layers=2))
h5stz.repack("x.h5", "y.h5", lossless=True, again=True)
with h5py.File("x.h5") as file:
    view = h5stz.view(file["x"])
    view[3:9, 2], view.level(1), view.at_error(0.1)[:3], repr(view), np.asarray(view), h5stz.STZ.from_dataset(file["x"])
with h5stz.open("x.h5") as file:
    file["x"][2:5]
print(*sorted(set(sys.modules) - before))
"""

FORK = """
import faulthandler, os, sys, threading
import numpy as np, h5stz
asked, forked = threading.Event(), threading.Event()
class Slow:
    @staticmethod
    def find_spec(name, path=None, target=None):
        asked.set()
        forked.wait()
sys.meta_path.insert(0, Slow)
a = np.ma.masked_less(np.ones((64, 64), "f4"), 0)
def first():
    h5stz.compress(a, absolute=1e-3)
    asked.set()
threading.Thread(target=first).start()
asked.wait()
child = os.fork()
if child == 0:
    forked.set()
    faulthandler.dump_traceback_later(20, exit=True)
    h5stz.compress(a, absolute=1e-3)
    os._exit(0)
forked.set()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_calls_import_nothing(tmp_path):
    done = subprocess.run([sys.executable, "-c", CALLS], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, []), done


@needs("fork", hasattr(os, "fork"))
def test_a_fork_during_the_first_call():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
