"""What benchmarks/rewriting.py runs: programs of tests/support that write piece by piece, with their fields and codecs.

The tests hold the same programs to the bound; so this command needs a checkout.
"""

import dataclasses
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import h5stz
from shared import synthetic

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))  # for support

from support import piecewise, piecewise_hosts

POINTWISE = 1e-3
ABSOLUTE_CODECS = ("h5stz", "h5stz, append_axis=0", "SZ3", "ZFP")


@dataclasses.dataclass(frozen=True)
class Case:
    """A program with the array that it writes.

    `limits`: keys of targets.REWRITING to compare the sizes with; `growing`: the growth axis can be named.
    """

    name: str
    program: Callable
    values: np.ndarray
    chunks: tuple[int, ...]
    cache: int | None = 0
    growing: bool = True
    pointwise: bool = True
    limits: Mapping = dataclasses.field(default_factory=dict)


def options(codec, bound, pointwise=False):
    """Options of create_dataset of a codec."""
    if codec.startswith("h5stz"):
        grows = {"append_axis": 0} if "append_axis" in codec else {}
        return h5stz.STZ(**{"pointwise_relative" if pointwise else "absolute": bound}, **grows)
    import hdf5plugin

    os.environ["H5STZ_PEER_PLUGINS"] = hdf5plugin.PLUGIN_PATH
    return hdf5plugin.SZ3(absolute=bound) if codec == "SZ3" else hdf5plugin.Zfp(accuracy=bound)


def series(frames, edge):
    """A rough series of frames without zeros, float32."""
    return (6 + synthetic.gaussian_field(edge, 7, edge / 6)[:frames]).astype("f4")


def headline(quick):
    """Frame by frame, in chunks of few and of many frames, with the chunk cache that HDF5 gives."""
    values = series(16, 64) if quick else series(64, 256)
    for depth in (4, 16) if quick else (8, 64):
        grown = {"h5stz, append_axis=0": "append_axis over whole chunks", "h5stz": "over one chunk per frame"}
        common = {"values": values, "chunks": (depth, *values.shape[1:]), "cache": 0 if quick else None}
        yield Case("frame by frame, unlimited axis", piecewise.append_frames, **common, limits=grown)
        fixed = {"h5stz": "over one chunk per frame"}
        yield Case("frame by frame, fixed size", piecewise.frames_of_fixed_size, **common, growing=False, limits=fixed)


def boxes(quick):
    """Many random boxes over a cubic chunk."""
    edge, count = (32, 24) if quick else (128, 200)
    values = series(edge, edge)
    limits = {"h5stz": "boxes over lossless"}
    yield Case(f"{count} random boxes", piecewise.random_boxes(count), values, values.shape, growing=False, limits=limits)


def others(quick):
    """The other programs in this process, in chunks of a quarter of the series, without a chunk cache."""
    values = series(8, 32) if quick else series(48, 128)
    chunks = (len(values) // 2, *values.shape[1:])
    for name, program in piecewise.SERIES.items():
        if program not in (piecewise.append_frames, piecewise.frames_of_fixed_size):
            yield Case(name, program, values, chunks)
    for name, program in piecewise.PARTS.items():
        yield Case(name, program, values, chunks, growing=False)


def hosts(quick, directory):
    """Programs in other hosts and processes, as far as this machine has them."""
    values = series(8, 32) if quick else series(48, 128)
    chunks = (len(values) // 2, *values.shape[1:])
    processes = 3 if quick else 20
    programs = {
        f"{processes} new processes": piecewise_hosts.new_processes(processes),
        "writer killed between rewrites": piecewise_hosts.killed(processes),
        "SWMR": piecewise_hosts.beside_a_reader(lambda path, frames: None),
    }
    if shutil.which("h5cc"):
        executable = piecewise_hosts.build("piecewise.c", directory)
        for order in ("append", "flush", "reopen", "columns", "strides", "points"):
            programs[f"C, {order}"] = piecewise_hosts.in_c(executable, order, cache=0)
    if shutil.which("h5fc"):
        programs["Fortran"] = piecewise_hosts.in_fortran(piecewise_hosts.build("piecewise.f90", directory))
    if shutil.which("h5pcc") and shutil.which("mpirun"):
        programs["MPI, owners in turn"] = piecewise_hosts.on_ranks(piecewise_hosts.build("piecewise_mpi.c", directory))
    if find_spec("netCDF4"):
        programs["netCDF4 records"] = piecewise_hosts.netcdf_records("fill", "steps", cache=0)
        programs["netCDF4 records, NOFILL"] = piecewise_hosts.netcdf_records("nofill", "steps", cache=0)
        programs["netCDF4 records, reopened"] = piecewise_hosts.netcdf_records("fill", "reopen", cache=0)
    if all(map(find_spec, ("dask", "xarray", "h5netcdf"))):
        blocks = tuple(max(1, n * 2 // 5) for n in values.shape)
        wide = np.ascontiguousarray(np.tile(values, (1, 1, 4)))  # chunks beyond h5py's cache
        yield Case("dask blocks across chunks", piecewise_hosts.dask_blocks(blocks), wide, (len(wide), *wide.shape[1:]))
    for tool in filter(shutil.which, ("h5repack", "nccopy", "ncks")):
        programs[f"{tool}, three times"] = piecewise_hosts.copied(tool)
    for name, program in programs.items():
        yield Case(name, program, values, chunks, pointwise=False, growing=False)


def all_cases(quick, directory):
    """Every case; programs are built in `directory`."""
    yield from headline(quick)
    yield from boxes(quick)
    yield from others(quick)
    yield from hosts(quick, directory)
