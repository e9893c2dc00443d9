"""Calls that wait for threads of Python go on where the caller holds h5py's lock and those threads collect garbage.

Freeing an object of h5py takes that lock, so a thread that collected one while it is waited for would never answer. Each call
runs in a process of its own. There every other thread collects as soon as the main one waits, unless nothing may be collected.
"""

import os
import subprocess
import sys

import pytest

from support.paths import TESTS
from support.range_servers import written
from support.requirements import needs, needs_packages

BEFORE = """
import faulthandler, gc, sys, threading
faulthandler.dump_traceback_later(60, exit=True)
import h5py, numpy as np, h5stz
from h5stz import waiting

class Cycle:
    def __init__(self, held):
        self.itself, self.held = self, held

holders, collected = [], []
main = threading.main_thread().ident

def is_waiting():
    frame = sys._current_frames()[main]
    return frame.f_code.co_name in ("wait", "result", "_wait_for_tstate_lock", "shutdown")

def collect(frame, event, argument):
    if holders and is_waiting():
        collected.append(waiting._paused > 0)
        if gc.isenabled():
            holders.clear()
            gc.collect()

threading.setprofile(collect)
"""

CALLS = {
    "view": "h5stz.view(item, threads=3)[...]",
    "estimate": "h5stz.estimate(item, jobs=3, psnr=60, chunks=(32, 32, 32))",
    "compress": "h5stz.repack(path, 'copy.h5', jobs=3, lossless=True, again=True)",
    "open": "read(item)",
    "fsspec": "h5stz.view(other['chunks'])[3:5, 3:5, 3:5]",
    "fsspec in h5stz": "given['chunks'][3:5, 3:5, 3:5]",
}

PREPARE = {
    "open": "far = h5stz.open(url)\ndef read(item):\n    far['chunks'][3:5, 3:5, 3:5]",
    "fsspec": "import fsspec\nother = h5py.File(fsspec.open(url).open())\nother['chunks']",
    "fsspec in h5stz": "import fsspec\ngiven = h5stz.open(fsspec.open(url).open())\ngiven['chunks']",
}

SERVE = """
from support.range_servers import Server
server = Server({"x.h5": open(path, "rb").read()}).__enter__()
url = server.url + "/x.h5"
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("waiting") / "x.h5"
    path.write_bytes(written())
    return path


REMOTE = ["fsspec", "aiohttp"]
NEEDED = {"open": REMOTE, "fsspec": REMOTE, "fsspec in h5stz": REMOTE}


@pytest.mark.slow
@pytest.mark.parametrize("call", [pytest.param(call, marks=needs_packages(*NEEDED.get(call, []))) for call in CALLS])
def test_no_thread_collects_while_it_is_waited_for(call, path):
    program = f"""{BEFORE}
path = sys.argv[1]
sys.path.insert(0, sys.argv[2])
{SERVE if "url" in PREPARE.get(call, "") else ""}
{PREPARE.get(call, "")}
with h5py.File(path) as file:
    def visit(name, item):
        gc.disable()
        holders.append(Cycle(h5py.File(path)["chunks"]))
        gc.enable()
        {CALLS[call]}
        return True
    file.visititems(visit)
assert gc.isenabled() and collected and all(collected), collected
for opened in filter(None, map(globals().get, ("far", "other", "given"))):
    opened.close()  # HDF5 calls the object of one that is open at the end, when Python has ended
"""
    done = subprocess.run([sys.executable, "-c", program, path, TESTS], cwd=path.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


FORK = """
import gc, os, sys, threading
from h5stz.waiting import no_garbage_collection
inside, forked = threading.Event(), threading.Event()
def pause():
    with no_garbage_collection():
        inside.set()
        forked.wait()
thread = threading.Thread(target=pause)
thread.start()
inside.wait()
with no_garbage_collection():
    child = os.fork()
    if child == 0:
        enabled = gc.isenabled()
forked.set()
if child == 0:
    with no_garbage_collection():
        enabled = enabled and not gc.isenabled()
    os._exit(0 if enabled and gc.isenabled() else 1)
thread.join()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) or not gc.isenabled())
"""


@needs("fork", hasattr(os, "fork"))
def test_a_child_collects_again():
    assert subprocess.run([sys.executable, "-c", FORK]).returncode == 0
