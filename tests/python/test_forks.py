"""A fork while another thread is in its first call or loads a name: the child goes on.

Calls import nothing, and names load at their first use, for which a fork waits (pyfilter/h5stz/loading.py).
"""

import os
import subprocess
import sys

import pytest

from support.requirements import needs

# Every import that a call makes would be one that a fork can catch half-way.
FIRST_CALLS = """
import sys
import h5py, numpy as np, h5stz
before = set(sys.modules)
a = np.linspace(0, 1, 64 * 64, dtype="f4").reshape(64, 64)
for bound in {"absolute": 1e-3}, {"relative": 1e-3}, {"psnr": 60}, {"ratio": 4}, {"lossless": True}:
    stream = h5stz.compress(a, **bound)
h5stz.decompress(stream), h5stz.info(stream), h5stz.verify(stream), h5stz.rewrite(a, stream, absolute=1e-3)
with h5py.File("x.h5", "w") as file:
    dataset = file.create_dataset("x", data=a, chunks=(32, 32), **h5stz.STZ(relative=1e-3, data=a))
    dataset[3:9], h5stz.STZ.from_dataset(dataset), h5stz.cd_values(lossless=True), h5stz.suggest_chunks((1000, 1000), "f4")
print(*sorted(set(sys.modules) - before))
"""
CALLS = """
import sys
import h5py, numpy as np, h5stz
from concurrent.futures import ThreadPoolExecutor  # whose threads the standard library loads late
a = np.linspace(0, 1, 64 * 64, dtype="f4").reshape(64, 64)
masked = np.ma.masked_less(a, 0.5)
h5stz.estimate, h5stz.compare, h5stz.repack, h5stz.view, h5stz.open
before = set(sys.modules)
bounds = {"absolute": 1e-3}, {"relative": 1e-3}, {"psnr": 60}, {"ratio": 4}, {"pointwise_relative": 1e-3}, {"lossless": True}
for bound in bounds:
    stream = h5stz.compress(a, **bound)
    h5stz.compress(masked, **bound) if "lossless" not in bound else None
    h5stz.STZ(data=a, **bound)
h5stz.decompress(stream), h5stz.info(stream), h5stz.verify(stream), h5stz.rewrite(a, stream, absolute=1e-3)
h5stz.estimate(a, psnr=60), h5stz.estimate(a, relative=1e-3, chunks=(8, 8), sample_bytes=512)
h5stz.compare(a, a + 1e-3)
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
a = np.ma.masked_less(np.ones((64, 64), "f4"), 0)
sys.meta_path.insert(0, Slow)
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

# The fork begins when the first of the modules that a name needs is looked for.
FORK_OF_NAMES = """
import faulthandler, os, sys, threading
import numpy as np, h5stz
name = sys.argv[1]
asked, forking = threading.Event(), threading.Event()
os.register_at_fork(before=forking.set)
class Slow:
    @staticmethod
    def find_spec(name, path=None, target=None):
        asked.set()
        forking.wait()
sys.meta_path.insert(0, Slow)
loader = threading.Thread(target=getattr, args=(h5stz, name))
loader.start()
asked.wait()
child = os.fork()
if child == 0:
    faulthandler.dump_traceback_later(20, exit=True)
    first = getattr(h5stz, name)
    os._exit(0 if vars(sys.modules[first.__module__])[name] is first else 3)
loader.join()
assert getattr(h5stz, name)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

THREADS = """
import sys, threading
import h5stz
names = [name for name in h5stz.__all__ if name not in vars(h5stz)] + ["open"]
assert len(names) > 20
start, found = threading.Barrier(8), []
def load(turn):
    start.wait()
    found.append({name: getattr(h5stz, name) for name in names[turn:] + names[:turn]})
threads = [threading.Thread(target=load, args=(3 * turn,)) for turn in range(8)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
assert len(found) == 8 and all(each == found[0] for each in found)
"""


@pytest.mark.parametrize("calls", [FIRST_CALLS, CALLS], ids=["as soon as it is imported", "whose names have been used"])
def test_calls_import_nothing(calls, tmp_path):
    done = subprocess.run([sys.executable, "-c", calls], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, []), done


@needs("fork", hasattr(os, "fork"))
def test_a_fork_during_the_first_call():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@needs("fork", hasattr(os, "fork"))
@pytest.mark.parametrize("name", ["view", "to_hdf5", "open"])
def test_a_fork_while_a_name_loads(name):
    done = subprocess.run([sys.executable, "-c", FORK_OF_NAMES, name], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_threads_that_use_names_first_get_the_same():
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
