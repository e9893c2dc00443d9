"""The allocators under which the plug-in must keep its promises, for LD_PRELOAD in a process that is started."""

import functools
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.paths import PROGRAMS
from support.requirements import needs

#: Name -> the library that takes malloc's place, "" for none.
LIBRARIES = {
    "glibc": "",
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
    "plain": "plain_malloc.c",
}
_FOLDERS = [f"{root}/{each}" for root in ("/usr/lib", "/lib") for each in (f"{os.uname().machine}-linux-gnu", "", "64")]
_FOLDERS += ["/usr/lib64", "/lib64", "/usr/local/lib"]
_built = []


def library(name):
    """The path of an allocator's library, "" for the C library's; None where the host has none."""
    file = LIBRARIES[name]
    if not file or file.endswith(".c"):
        return file and _plain()
    return next((path for folder in _FOLDERS if os.path.exists(path := f"{folder}/{file}")), None)


@functools.cache
def _plain():
    """Compiles the allocator that tells nothing; its first lines say why without optimisation."""
    _built.append(tempfile.TemporaryDirectory(prefix="allocator-"))
    path = Path(_built[-1].name) / "plain_malloc.so"
    source = PROGRAMS / LIBRARIES["plain"]
    words = [os.environ.get("CC", "cc"), "-O0", "-fno-builtin", "-fPIC", "-shared", "-o", str(path), str(source)]
    subprocess.run(words, check=True)
    return str(path)


def environment(name):
    """The variables of this process, with which another one has the allocator."""
    path = library(name)
    if path is None:
        raise FileNotFoundError(f"this host has no {LIBRARIES[name]}: .ci/packages names the packages of the allocators")
    return {**os.environ, "LD_PRELOAD": path} if path else dict(os.environ)


def each(fast=tuple(LIBRARIES)):
    """Parameters for a test under each allocator, slow but for those named; Debian has packages of all of them."""
    there = {name: not file or file.endswith(".c") or library(name) for name, file in LIBRARIES.items()}
    marks = {name: () if name in fast else (pytest.mark.slow,) for name in LIBRARIES}
    return [pytest.param(name, marks=(needs(f"library {file}", there[name]), *marks[name])) for name, file in LIBRARIES.items()]
