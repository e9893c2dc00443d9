"""`h5stz` and `python` for tests that call them many times: forks of one process, which has imported what they need.

What a fresh Python imports, and in which order, such a call does not test.
"""

import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path

from support.paths import PROGRAMS

CLIENT = """#!{python} -IS
import os, socket, sys
if not sys.argv[0].endswith("h5stz") and {{"LD_PRELOAD", "HDF5_VOL_CONNECTOR"}} & os.environ.keys():
    # which are for a process that starts
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
connection = socket.socket(socket.AF_UNIX)
connection.connect({path!r})
message = repr((sys.argv, os.getcwd(), dict(os.environ))).encode() + b"\\0"
socket.send_fds(connection, [message[:1]], [0, 1, 2])
connection.sendall(message[1:])
status = int.from_bytes(connection.recv(4), "little", signed=True)
os.kill(os.getpid(), -status) if status < 0 else os._exit(status)
"""


@contextlib.contextmanager
def commands(*modules):
    """A directory for PATH with these two programs; `modules` are imported before the first call, where they are installed."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "socket"))
        command = [sys.executable, PROGRAMS / "warm_python.py", path, *modules]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as server:
            server.stdout.readline()
            (Path(folder) / "bin").mkdir()
            for name in ("h5stz", "python"):
                program = Path(folder, "bin", name)
                program.write_text(CLIENT.format(python=sys.executable, path=path))
                program.chmod(0o755)
            try:
                yield Path(folder, "bin")
            finally:
                server.terminate()
