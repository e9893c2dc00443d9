"""Fuzz target in Python: the library's decoder and the second one on streams that are changed behind their checks.

    python fuzz/two_decoders.py [--first=N] [--iterations=N] [--seconds=N] [--findings=DIRECTORY] [FILE...]

Stream number n is made from the number n: a small stream of some form (tests/golden, or one that is compressed here from a
random array, the same for 64 numbers), changed in one of its parts, with checks that fit again
(tests/support/mutations.py). The second decoder is tests/reference_decoder. Both must give the same bits, or both an
error, and the content check must mean the same to both. A FILE is compared as it is. Needs the package, and the extra
"test".
"""

import argparse
import functools
import math
import sys
import time
import traceback
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import h5stz
from support import cases
from support.mutations import mutated
from support.small_streams import STREAMS
from support.two_decoders import Refused, decoded

#: The second decoder is slow: of 8 streams 6 have arrays of 300 elements at most, one of 1000, and one of 6000.
MOST_ELEMENTS = (300, 300, 300, 300, 300, 300, 1000, 6000)
DTYPES = ("f2", "f4", "f8", "i1", "u1", "i2", ">i2", "u2", "i4", "u4", "i8", "u8", "c8", "c16", ">f4", ">f8")
PATTERNS = ("smooth", "rough", "walk", "random bits", "layers")


def bases():
    """Small streams of every form, those of the tests and the golden ones: for each of MOST_ELEMENTS a list."""
    golden = sorted((ROOT / "tests/golden").glob(f"version_{h5stz.FORMAT_VERSION}/*.stz"))
    streams = [stream for _, stream in STREAMS.values()] + [path.read_bytes() for path in golden]
    sizes = [math.prod(h5stz.info(stream).shape) for stream in streams]
    return [[stream for stream, size in zip(streams, sizes, strict=True) if size <= most] for most in MOST_ELEMENTS]


@functools.lru_cache(maxsize=64)
def fresh_stream(number):
    """A stream of a small array of a random kind."""
    rng = np.random.default_rng([number, 1])
    shape = tuple(int(n) for n in rng.integers(1, 30, int(rng.integers(1, 4))))
    if math.prod(shape) > (1500 if rng.random() < 0.125 else 300):
        shape = shape[:2]
    array = cases.make(str(rng.choice(PATTERNS)), shape, str(rng.choice(DTYPES)))
    if array.dtype.kind in "fc" and rng.random() < 0.2:
        array[rng.random(shape) < 0.2] = np.nan
    with np.errstate(all="ignore"):
        finite = np.abs(array[np.isfinite(array)].astype("c16" if array.dtype.kind == "c" else "f8"))
    bound = float(rng.choice([1e-4, 1e-2, 0.1])) * (float(finite.max()) if finite.size else 1.0)
    options = {"lossless": True}
    if np.isfinite(bound) and bound > 0 and rng.random() < 0.8:
        options = {"absolute": bound}
        if rng.random() < 0.3:
            options["layers"] = int(rng.integers(2, 5))
        elif array.dtype.kind == "f" and rng.random() < 0.3:
            options["enhance"] = str(rng.choice(["relaxed", "strict", "both"]))
    try:
        return h5stz.compress(array, integers="lossy", **options)
    except (TypeError, ValueError, h5stz.StzError):
        return h5stz.compress(array, lossless=True)


def stream_of(number, streams):
    """Stream number n."""
    rng = np.random.default_rng(number)
    among = streams[int(rng.integers(len(streams)))]
    stream = fresh_stream(number // 64) if rng.random() < 0.3 else among[int(rng.integers(len(among)))]
    return mutated(rng, stream) if rng.random() < 0.97 else stream


def compare(stream):
    """Fails with AssertionError where the two differ."""
    try:
        if math.prod(h5stz.info(stream).shape) > max(MOST_ELEMENTS):
            return
    except h5stz.StzError:
        pass  # they have to agree on that as well
    try:
        decoded(stream)
    except Refused:
        pass


def main():
    """The program; see the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=sys.maxsize)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--findings", type=Path, default=Path())
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    for path in arguments.files:
        compare(path.read_bytes())
        print(f"{path}: no difference")
    if arguments.files:
        return
    if arguments.iterations == sys.maxsize and math.isinf(arguments.seconds):
        arguments.iterations = 1000
    streams, end, done = bases(), time.monotonic() + arguments.seconds, 0
    while done < arguments.iterations and time.monotonic() < end:
        number = arguments.first + done
        stream = stream_of(number, streams)
        try:
            compare(stream)
        except Exception:
            path = arguments.findings / f"two_decoders-{number}.stz"
            path.write_bytes(stream)
            traceback.print_exc()
            sys.exit(f"the decoders differ on stream {number}, {path}: repeat with --first={number} --iterations=1")
        done += 1
    print(f"{done} streams, no findings")


if __name__ == "__main__":
    main()
