"""Forks writers, each of which is interrupted at another moment, and judges what every one of them leaves in its file.

    interrupted_writers.py kill  DIRECTORY CACHE APPEND MOMENTS    SIGKILL within a write to the file, under SWMR
    interrupted_writers.py stop  DIRECTORY CACHE APPEND MOMENTS    SIGKILL between two calls of HDF5, without SWMR
    interrupted_writers.py full  DIRECTORY CACHE APPEND MOMENTS    the disk is full, under SWMR

CACHE: bytes of the chunk cache. APPEND: 1 for append_axis=0, else 0. MOMENTS: how many, spread over all there are; 0: all.
tests/programs/faulty_writes.c must be preloaded. Prints a line for each moment: its number, the steps that were flushed
before, and for a full disk what the writer was told. An exit status other than 0 tells of a writer, or a file, that is not as
it should be.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import h5py

import h5stz

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.interrupted import NAME, Steps

mode, directory, cache, append, moments = sys.argv[1], Path(sys.argv[2]), *(int(word) for word in sys.argv[3:])
steps = Steps(append_axis=bool(append))
faults = ctypes.CDLL(None)
VERSIONS = {"libver": ("v110", "v110")}


def in_child(work, *words):
    """How a child ended that calls work(*words): its status, negative for a signal."""
    child = os.fork()
    if child == 0:
        try:
            work(*words)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def write_steps(path, first, tell, pause=lambda: None, arm=lambda: None):
    """The steps from the first on, each flushed and told; `pause` is called between calls of HDF5, `arm` before the first."""
    swmr = mode != "stop"
    with h5py.File(path, "r+", rdcc_nbytes=cache, **(VERSIONS if swmr else {})) as file:
        if swmr:
            file.swmr_mode = True
        arm()
        dataset = file[NAME]
        try:
            for step in range(first, steps.steps + 1):
                for write in steps.calls(dataset, step):
                    write()
                    pause()
                (dataset if swmr else file).flush()
                tell(step)
                pause()
        except (OSError, RuntimeError) as error:
            if mode != "full":
                raise
            tell(f"error {str(error).splitlines()[0]}")
            os._exit(0)  # closing such a file, HDF5 itself crashes, whatever the filter, and without one


def interrupted(path, moment):
    """How a writer ended that is interrupted at a moment, how many steps it had flushed, and what it was told."""
    flushed, told = os.pipe()
    count = 0

    def pause():
        nonlocal count
        count += 1
        if mode == "stop" and count == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def work():
        kill_at, room = (moment if mode == "kill" else 0), (moment if mode == "full" else -1)

        def arm():
            faults.faulty_writes_arm(str(directory).encode(), ctypes.c_long(kill_at), ctypes.c_long(room))

        write_steps(path, 1, lambda step: os.write(told, f"{step}\n".encode()), pause, arm)
        counts = faults.faulty_writes_count(), faults.faulty_writes_bytes()
        os.write(told, f"counts {counts[0]} {counts[1]} {count}\n".encode())

    steps.create(path, **(VERSIONS if mode != "stop" else {}))
    status = in_child(work)
    os.close(told)
    with os.fdopen(flushed) as pipe:
        lines = pipe.read().splitlines()
    return status, [int(line) for line in lines if line.isdigit()], [line for line in lines if not line.isdigit()]


def judge(path, flushed):
    """What a reader finds that opens the file as it was left."""
    with h5py.File(path, "r", swmr=mode != "stop") as file:
        found = file[NAME][...]
        steps.judge(found, flushed, exactly=mode == "stop")
        if mode != "stop":
            assert h5stz.view(file[NAME])[...].tobytes() == found.tobytes()


def go_on(path, flushed):
    """Another writer repeats the step that was interrupted, and does the rest."""
    if mode != "stop":
        subprocess.run(["h5clear", "-s", "-i", path], check=True, stdout=subprocess.DEVNULL)
    write_steps(path, flushed + 1, lambda step: None)
    with h5py.File(path, "r") as file:
        steps.judge(file[NAME][...], steps.steps, exactly=True)


def main():
    path = directory / "x.h5"
    status, told, more = interrupted(path, 0 if mode != "full" else 1 << 40)
    assert status == 0 and told == list(range(1, steps.steps + 1)), (status, told, more)
    of_mode = {"kill": 0, "full": 1, "stop": 2}[mode]
    most = int(more[-1].split()[1 + of_mode])
    chosen = range(1, most + 1) if moments == 0 else [1 + k * most // moments for k in range(moments)]
    for number, moment in enumerate(chosen):
        path.unlink()
        status, told, more = interrupted(path, moment)
        assert status == (-signal.SIGKILL if mode != "full" else 0), (moment, status, more)
        flushed = told[-1] if told else 0
        assert in_child(judge, path, flushed) == 0, f"after moment {moment}, {flushed} steps flushed"
        if number % 4 == 0 and mode != "full" and shutil.which("h5clear"):
            assert in_child(go_on, path, flushed) == 0, f"going on after moment {moment}"
        print(moment, flushed, *more, flush=True)


main()
