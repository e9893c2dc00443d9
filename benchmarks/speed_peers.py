"""The codecs of the speed figure, with a common interface: compress, decompress into an existing array, into a new one.

Codecs of one library run as users would call them: h5stz and SZ3 3.4 (`pysz`) in memory, the filters of hdf5plugin, and
h5stz once more, through an HDF5 file in memory, as one chunk. All peers run with one thread, their default.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

import h5stz
import peers
import timing

FILTERS = {"h5stz": "h5stz in HDF5", "sz3": "SZ3 of hdf5plugin", "zfp": "ZFP of hdf5plugin"}
FILTERS |= {"sperr": "SPERR of hdf5plugin", "blosc2": "Blosc2 of hdf5plugin, lossless"}
PEERS = ("pysz", "sz3", "zfp", "sperr", "blosc2")
REFERENCE = "SZ3 3.4"


@dataclasses.dataclass(frozen=True)
class Codec:
    """One way to compress and decompress.

    Attributes:
        name: of the codec in tables.
        threads: that it works with.
        compress: array -> stream (bytes, or the image of a file).
        into: (stream, out) -> out, which holds the array; None if the codec has no such call.
        fresh: (stream, array like the result) -> a new array.
        size: stream -> its bytes, in a file those of the dataset's chunks.
    """

    name: str
    threads: int
    compress: Callable
    into: Callable | None
    fresh: Callable
    size: Callable = len


def ours(bound, threads=1, name="h5stz", **options):
    """h5stz in memory at an absolute bound (None: by `options` alone)."""
    options |= {"threads": threads} | ({} if bound is None else {"absolute": bound})
    return Codec(
        name,
        threads,
        lambda array: h5stz.compress(array, **options),
        lambda stream, out: h5stz.decompress(stream, out=out, threads=threads),
        lambda stream, like: h5stz.decompress(stream, threads=threads),
    )


def pysz(bound):
    """SZ3 3.4: it always makes a new array."""
    return Codec(
        REFERENCE,
        1,
        lambda array: peers.sz3_compress(array, bound),
        None,
        lambda stream, like: peers.sz3_decompress(stream, like),
    )


def through_hdf5(name, bound, threads=1):
    """A filter on a dataset of one chunk in a file in memory; `name` as of `peers.filter_options`."""

    def with_threads(function, *arguments):
        with timing.filter_threads(threads):
            return function(*arguments)

    return Codec(
        FILTERS[name],
        threads,
        lambda array: with_threads(peers.write_hdf5, array, peers.filter_options(name, array, bound)),
        lambda image, out: with_threads(peers.read_hdf5_into, image, out),
        lambda image, like: with_threads(peers.read_hdf5, image)[1],
        peers.stored_bytes,
    )


def codecs(bound, threads, names):
    """h5stz with each number of threads and the named of `PEERS`; with filters among them also h5stz in HDF5."""
    result = [ours(bound, count) for count in threads]
    result += [pysz(bound)] if "pysz" in names else []
    filters = [name for name in names if name in FILTERS]
    if filters:
        result += [through_hdf5("h5stz", bound, count) for count in threads]
    return result + [through_hdf5(name, bound) for name in filters]


@dataclasses.dataclass
class Speed:
    """Medians in seconds; `into` is None where the codec has no such call."""

    compress: float
    into: float | None
    fresh: float
    error_over_bound: float
    ratio: float


OPERATIONS = ("compress", "into", "fresh")


def measure(array, bound, table, repeats):
    """[Speed] of the codecs in `table` on one array, their repeats interleaved; `bound` is for the error alone."""
    out = np.zeros_like(array)
    actions, found = {}, []
    for place, codec in enumerate(table):
        stream = codec.compress(array)
        decoded = np.asarray(codec.fresh(stream, array)).reshape(array.shape)
        found.append((largest_error(array, decoded) / bound, array.nbytes / codec.size(stream)))
        del decoded
        actions |= actions_of(codec, place, stream, array, out)
    seconds = timing.interleaved(actions, repeats)
    return [Speed(*(seconds.get((place, operation)) for operation in OPERATIONS), *entry) for place, entry in enumerate(found)]


def actions_of(codec, place, stream, array, out):
    """{(place, operation): function without arguments} of one codec."""
    actions = {(place, "compress"): lambda: codec.compress(array), (place, "fresh"): lambda: codec.fresh(stream, array)}
    if codec.into:
        actions[place, "into"] = lambda: codec.into(stream, out)
    return actions


def largest_error(array, decoded):
    """The largest |x - x'| over finite samples, as float64."""
    finite = np.isfinite(array) if array.dtype.kind == "f" else slice(None)
    return float(np.abs(array[finite].astype(np.float64) - decoded[finite].astype(np.float64)).max())
