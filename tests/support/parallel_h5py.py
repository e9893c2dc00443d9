"""A Python with mpi4py and an h5py for MPI, built from source against the parallel HDF5 of the host, as no wheel has MPI."""

import fcntl
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT
from support.requirements import has_package, needs

#: Pinned: h5py 3.14 takes HDF5 1.10.8 of Debian 12. Wheels of mpi4py find the host's MPI when they are loaded.
BUILD = ["setuptools>=77,<81", "wheel", "Cython==3.1.8", "pkgconfig", "numpy", "mpi4py==4.1.2"]
H5PY = "h5py==3.14.0"


def _call(*words, **variables):
    """Runs a program; True if it ends well."""
    return subprocess.run([str(word) for word in words], env=os.environ | variables, stdout=sys.stderr).returncode == 0


def _build(directory):
    """Makes the environment, which takes a minute and a half; True if everything could be had."""
    python = directory / "bin" / "python"
    variables = {"CC": "mpicc", "HDF5_MPI": "ON", "HDF5_PKGCONFIG_NAME": "hdf5-openmpi", "CFLAGS": "-O1"}
    pip = [python, "-m", "pip", "install", "--quiet"]
    return (
        _call(sys.executable, "-m", "venv", directory)
        and _call(*pip, *BUILD)
        and _call(
            *pip, "--no-build-isolation", "--no-cache-dir", "--no-binary=h5py", H5PY, **variables
        )  # no cached wheel without MPI
    )


def interpreter():
    """The path of such a Python that also imports h5stz: this one, or one in build/, which is made where it is missing."""
    h5py = importlib.import_module("h5py")
    if h5py.get_config().mpi and has_package("mpi4py"):
        return Path(sys.executable)
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    directory = ROOT / "build" / f"parallel-h5py-{version}"
    directory.parent.mkdir(exist_ok=True)
    made = directory / "made"
    with open(f"{directory}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs take turns
        if not made.exists() or made.read_text() != H5PY:
            shutil.rmtree(directory, ignore_errors=True)
            if not _build(directory):
                pytest.skip(needs("an h5py for MPI, which pip can build", False).kwargs["reason"])
            made.write_text(H5PY)
    # h5stz of this environment, behind the packages of that one.
    package = Path(importlib.import_module("h5stz").__file__).parents[1]
    (site,) = directory.glob("lib/python*/site-packages")
    (site / "h5stz.pth").write_text(f"{package}\n")
    return directory / "bin" / "python"
