"""Programs as those of piecewise.py, of other hosts than h5py in this process: C, Fortran, MPI, netCDF4, xarray, copying tools.

Those of tests/programs are built first (`build`) and get the task as arguments, the filter as its number and client data.
"""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np

from support import piecewise
from support.host_tools import plugin_directory
from support.paths import PROGRAMS
from support.piecewise import NAME

#: For Open MPI in a container: as root, more ranks than cores, without ssh, network and debugging rights. Others ignore it.
#: The time, in seconds, is for ranks that wait for ever: mpirun ends them then.
MPI = {
    "MPIEXEC_TIMEOUT": "60",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_plm": "isolated",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
COMPILERS = {"piecewise.c": "h5cc", "piecewise.f90": "h5fc", "piecewise_mpi.c": "h5pcc", "other_values.c": "h5cc"}


def environment():
    """Variables for a program that finds this plug-in, and those of H5STZ_PEER_PLUGINS if any."""
    directories = [plugin_directory(), *filter(None, [os.environ.get("H5STZ_PEER_PLUGINS")])]
    return os.environ | MPI | {"HDF5_PLUGIN_PATH": ":".join(directories)}


def call(*words, seconds=600, directory=None):
    """Runs a program; an error shows what it printed."""
    words = [str(word) for word in words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(words, env=environment(), cwd=directory, text=True, timeout=seconds, **pipes)
    assert done.returncode == 0, f"{words} -> {done.returncode}\n{done.stdout}"
    return done.stdout


def build(source, directory, *options):
    """The executable of a program of tests/programs, compiled with these options besides."""
    executable = directory / source.replace(".", "_")
    call(COMPILERS[source], "-shlib", *options, "-o", executable, PROGRAMS / source, directory=directory)
    return executable


def filter_words(task):
    """Number and client data of the task's filter."""
    options = dict(task.options)
    return [options["compression"], *options["compression_opts"]]


def raw(task):
    """A file with the samples as they are in memory, float32."""
    path = task.path.with_suffix(".raw")
    task.values.astype("f4").tofile(path)
    return path


def saved(task):
    """A file with the samples for numpy."""
    path = task.path.with_suffix(".npy")
    np.save(path, task.values)
    return path


def in_c(executable, order, cache=-1, under=()):
    """tests/programs/piecewise.c in one of its orders; `under` is a program and its options that runs it."""

    def program(task):
        words = [executable, task.path, raw(task), *task.values.shape, task.chunks[0], order, cache, *filter_words(task)]
        call(*under, *words)
        return task.values

    return program


def in_fortran(executable):
    """tests/programs/piecewise.f90."""

    def program(task):
        call(executable, task.path, raw(task), *task.values.shape, task.chunks[0], *filter_words(task))
        return task.values

    return program


def on_ranks(executable, ranks=2):
    """tests/programs/piecewise_mpi.c."""

    def program(task):
        words = [executable, task.path, raw(task), *task.values.shape, task.chunks[0], *filter_words(task)]
        call("mpirun", "-n", ranks, *words, seconds=90 if task.values.nbytes < 1 << 24 else 600)
        return task.values

    return program


def netcdf_records(fill, order, cache=-1):
    """tests/programs/netcdf_records.py."""

    def program(task):
        script = PROGRAMS / "netcdf_records.py"
        call(sys.executable, script, task.path, saved(task), task.chunks[0], fill, order, cache, *filter_words(task))
        return task.values

    return program


def dask_blocks(blocks):
    """An xarray dataset of dask blocks of this shape, which share chunks, saved with the engine h5netcdf."""

    def program(task):
        import dask.array
        import xarray

        array = dask.array.from_array(task.values, chunks=blocks)
        dataset = xarray.Dataset({NAME: (("time", "row", "column"), array)})
        encoding = {NAME: {**task.options, "chunksizes": task.chunks, "_FillValue": None}}
        # Chunks of dask that share chunks of a file are refused where they are written at the same time.
        dataset.to_netcdf(task.path, engine="h5netcdf", encoding=encoding)
        return task.values

    return program


class Steps:
    """tests/programs/piecewise_steps.py at work."""

    def __init__(self, task, values, cache=0, swmr=False):
        words = [sys.executable, PROGRAMS / "piecewise_steps.py", task.path, values, cache, *["swmr"] * swmr]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([str(word) for word in words], env=environment(), text=True, **pipes)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(60) in (0, -signal.SIGKILL)

    def ask(self, line):
        """Waits until the process has done what a line says."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def kill(self):
        """Ends it without a chance to do anything more."""
        self.process.kill()
        self.process.wait(60)


def new_processes(count):
    """A process for each of `count` frames in turn; the first frames of the series are written again when it ends."""

    def program(task):
        with piecewise.grown(task):
            pass
        values, frames = saved(task), len(task.values)
        for turn in range(max(count, frames)):
            with Steps(task, values) as writer:
                writer.ask(f"write {turn % frames}")
        return task.values

    return program


def killed(count):
    """A writer that is killed after each flush, `count` times, and another one that goes on."""

    def program(task):
        with piecewise.grown(task):
            pass
        values, frames = saved(task), len(task.values)
        each = -(-frames // count)
        for first in range(0, frames, each):
            with Steps(task, values) as writer:
                for index in range(first, min(first + each, frames)):
                    writer.ask(f"write {index}")
                    writer.ask("flush")
                writer.kill()
        return task.values

    return program


def beside_a_reader(look):
    """Appends under SWMR with a flush after each frame; `look` is called with (dataset of a reader, frames written so far)."""

    def program(task):
        with piecewise.grown(task, file={"libver": "latest"}):
            pass
        with Steps(task, saved(task), swmr=True) as writer:
            for index in range(len(task.values)):
                writer.ask(f"write {index}")
                writer.ask("flush")
                look(task.path, index + 1)
        return task.values

    return program


def copy(tool, source, target):
    """A copy of a file by "h5repack", "nccopy" or "ncks", which does not note its command in the copy."""
    call(*{"ncks": ["ncks", "-O", "-h"]}.get(tool, [tool]), source, target)


def copied(tool, times=3):
    """All at once, then copied so many times by "h5repack", "nccopy" or "ncks"; the last copy is what is read."""

    def program(task):
        last = task.path.with_suffix(".copy")
        if tool == "h5repack":
            piecewise.at_once(task)
        else:
            netcdf_records("fill", "steps")(replace(task, chunks=(1, *task.chunks[1:])))
        for _ in range(times):
            copy(tool, task.path, last)
            last.replace(task.path)
        return task.values

    return program
