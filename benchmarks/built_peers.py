"""Peers that no package brings, run as programs that you have built: QoZ 2 (HPEZ) and MGARD-X.

H5STZ_QOZ is the path of `qoz`, built from https://github.com/szcompressor/QoZ:
    cmake -S QoZ -B build -D CMAKE_BUILD_TYPE=Release -D QoZ_USE_BUNDLED_ZSTD=ON && cmake --build build    (build/test/qoz)
H5STZ_MGARD that of `mgard-x`, built from https://github.com/CODARcode/MGARD (needs the packages of zstd and protobuf):
    cmake -S MGARD -B build -D CMAKE_BUILD_TYPE=Release -D MGARD_ENABLE_SERIAL=ON && cmake --build build   (build/bin/mgard-x)

Functions take an array of float32 and an absolute bound and return (bytes of the stream, decoded array), as those of
`peers`. They raise `peers.Unsupported` without the variable, and where the program fails on an array.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import peers


def _program(variable, array):
    """The path of a program that the environment names."""
    path = os.environ.get(variable)
    if not path:
        raise peers.Unsupported(f"{variable} names no program")
    if array.dtype != np.float32:
        raise peers.Unsupported("measured for float32 only")
    return path


def _call(*words):
    """Runs a program."""
    result = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if result.returncode != 0:
        raise peers.Unsupported(f"{words[0]} failed: {result.stderr.strip()}")


def _through_files(array, run):
    """(bytes of the stream, array) of what `run` makes of the paths of array, stream and decoded array."""
    with tempfile.TemporaryDirectory() as directory:
        source, stream, out = (Path(directory) / name for name in ("in", "stream", "out"))
        array.tofile(source)
        run(source, stream, out)
        return stream.stat().st_size, np.fromfile(out, np.float32).reshape(array.shape)


def qoz(array, bound):
    """QoZ 2 with all features of HPEZ (level 4), tuned for the ratio; ranks 1 to 4."""
    program = _program("H5STZ_QOZ", array)
    options = [
        f"-{array.ndim}",
        *reversed(array.shape),
        "-M",
        "ABS",
        repr(bound),
        "-q",
        4,
        "-T",
        "CR",
    ]  # the fastest axis first
    return _through_files(
        array, lambda source, stream, out: _call(program, "-f", "-i", source, "-z", stream, "-o", out, *options)
    )


def mgard(array, bound):
    """MGARD-X on the processor, absolute bound in the maximum norm (s = infinity), Huffman coding and zstd."""
    program = _program("H5STZ_MGARD", array)
    if array.ndim > 4 or min(array.shape) < 3:
        raise peers.Unsupported("MGARD-X is for up to four axes of 3 samples or more")
    options = ["-dt", "s", "-dim", array.ndim, *array.shape, "-em", "abs", "-e", repr(bound), "-s", "inf", "-l", "huffman-zstd"]

    def run(source, stream, out):
        _call(program, "-z", "-i", source, "-o", stream, *options, "-d", "serial")
        _call(program, "-x", "-i", stream, "-o", out, "-d", "serial")

    return _through_files(array, run)
