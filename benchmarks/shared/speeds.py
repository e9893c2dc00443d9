"""Speeds of compression and decompression: cases that take turns, each also over one of them.

Codecs of one library run as users would call them: h5stz and SZ3 3.4 (`pysz`) in memory, the filters of hdf5plugin, and h5stz
once more, through an HDF5 file. All peers run with one thread, their default.
"""

import dataclasses
import io
import statistics
from collections.abc import Callable

import numpy as np

import h5stz
from shared import clock, codecs, report

SZ3 = "SZ3 3.4"
FILTERS = {"h5stz": "h5stz in HDF5", "sz3": "SZ3 of hdf5plugin", "zfp": "ZFP of hdf5plugin"}
FILTERS |= {"sperr": "SPERR of hdf5plugin", "blosc2": "Blosc2 of hdf5plugin, lossless"}
PEERS = ("pysz", "sz3", "zfp", "sperr", "blosc2")
OTHERS = {SZ3, *FILTERS.values()} - {FILTERS["h5stz"]}
#: What is timed: array to stream; stream into an array that has been written to before; stream to a new array.
OPERATIONS = ("compress", "into", "fresh")


@dataclasses.dataclass
class Case:
    """One way to compress arrays of one shape and dtype, one after the other, and to decompress them.

    Attributes:
        name: in tables.
        arrays: a list.
        compress: array -> stream (bytes, or the file).
        decompress: (stream, array of the same shape, whether to decompress into it) -> array.
        size: stream -> its bytes, in a file those of the dataset's chunks.
        into: False if the codec can only make new arrays.
        bound: that the largest error is divided by; None for lossless cases.
    """

    name: str
    arrays: list
    compress: Callable
    decompress: Callable
    size: Callable = len
    into: bool = True
    bound: float | None = None

    @property
    def samples(self):
        return sum(array.size for array in self.arrays)


def named(name, threads):
    """The name of a case with several threads."""
    return name if threads == 1 else f"{name}, {threads} threads"


def ours(name, arrays, threads=1, into=True, **options):
    """h5stz in memory."""

    def decompress(stream, array, into):
        return h5stz.decompress(stream, threads=threads, **({"out": array} if into else {}))

    compress = lambda array: h5stz.compress(array, threads=threads, **options)  # noqa: E731
    return Case(named(name, threads), arrays, compress, decompress, into=into, bound=options.get("absolute"))


def pysz(arrays, bound):
    """SZ3 3.4: it always makes a new array."""
    compress = lambda array: codecs.sz3_compress(array, bound)  # noqa: E731
    return Case(SZ3, arrays, compress, lambda stream, array, _: codecs.sz3_decompress(stream, array), into=False, bound=bound)


def through_hdf5(codec, arrays, bound, threads=1, options=None, chunks=None, directory=None):
    """A filter on one dataset, by default of one chunk, in a file in memory or in `directory`; `codec`: a key of FILTERS."""
    options = options or codecs.filter_options(codec, arrays[0], bound)
    name = named(FILTERS[codec], threads)

    def compress(array):
        with clock.filter_threads(threads):
            return codecs.write_hdf5(directory / f"{name}.h5" if directory else io.BytesIO(), array, options, chunks)

    def decompress(file, array, into):
        with clock.filter_threads(threads):
            return codecs.read_hdf5(file, array if into else None)

    return Case(name, arrays, compress, decompress, codecs.stored_bytes, bound=None if codec == "blosc2" else bound)


def against_peers(array, bound, threads, peers):
    """SZ3 3.4 first, if it is among `peers`; h5stz with each number of threads; with filters also h5stz in HDF5."""
    arrays = [array]
    cases = [pysz(arrays, bound)] if "pysz" in peers else []
    cases += [ours("h5stz", arrays, count, absolute=bound) for count in threads]
    filters = [name for name in peers if name in FILTERS]
    if filters:
        cases += [through_hdf5("h5stz", arrays, bound, count) for count in threads]
    return cases + [through_hdf5(name, arrays, bound) for name in filters]


def measure(cases, repeats, choose=statistics.median, operations=OPERATIONS, base=0, **labels):
    """A record for each case: MB/s (10^6 bytes), ratio, largest error over the bound, and all that over case number `base`.

    `compress over` and so on are quotients of samples a second. Where the base makes new arrays only, both ways to decompress
    are compared with that. `labels` are added to each record.
    """
    actions, records = {}, []
    for place, case in enumerate(cases):
        streams = [case.compress(array) for array in case.arrays]
        out = np.zeros_like(case.arrays[0])
        records.append({**labels, "case": case.name, "samples": case.samples, **quality(case, streams, out)})
        ways = [way for way in operations if way != "into" or case.into]
        actions |= {(place, way): action_of(case, way, streams, out) for way in ways}
    seconds = clock.interleaved(actions, repeats, choose)
    for place, (case, record) in enumerate(zip(cases, records, strict=True)):
        size = case.samples * case.arrays[0].itemsize / 1e6
        record |= {way: size / seconds[place, way] for way in operations if (place, way) in seconds}
        record |= {"bytes per sample": case.arrays[0].itemsize, "base": cases[base].name}
    for record in records:
        found = {way: over(record, records[base], way) for way in (*OPERATIONS, "ratio")}
        record |= {f"{way} over": value for way, value in found.items() if value}
    return records


def quality(case, streams, out):
    """Ratio and largest error over the bound."""
    error = 0.0
    for array, stream in zip(case.arrays, streams, strict=True):
        decoded = np.asarray(case.decompress(stream, out, case.into)).reshape(array.shape)
        finite = np.isfinite(array) if array.dtype.kind == "f" else slice(None)
        error = max(error, float(np.abs(array[finite].astype(np.float64) - decoded[finite].astype(np.float64)).max()))
    size = sum(array.nbytes for array in case.arrays) / sum(map(case.size, streams))
    if not case.bound and error:
        raise RuntimeError(f"{case.name} is lossless and changed the array")
    return {"ratio": size, "error": error / case.bound if case.bound else 0.0}


def action_of(case, way, streams, out):
    """The operation as a function without arguments. New arrays are freed one by one."""

    def compress():
        return [case.compress(array) for array in case.arrays]

    def decompress():
        for stream in streams:
            case.decompress(stream, out, way == "into")

    return compress if way == "compress" else decompress


def over(record, base, way):
    """Quotient of samples a second, or of ratios; None where one has no such operation."""
    mine = record.get(way)
    theirs = base.get(way, base.get("fresh") if way == "into" else None)
    if mine is None or theirs is None:
        return None
    return mine / theirs if way == "ratio" else mine / theirs * base["bytes per sample"] / record["bytes per sample"]


def table(records, title, first=("field", "relative", "case")):
    """Prints the records of one call of `measure`, or of several with the same base."""
    base = records[0]["base"]
    columns = {name: f"{{{name}}}" for name in first} | {"ratio": "{ratio:.1f}"}
    headings = {"compress": "compress", "into": "decompress(out=)", "fresh": "decompress"}
    columns |= {f"{heading}, MB/s": f"{{{way}:.0f}}" for way, heading in headings.items()}
    columns |= {f"{heading} / {base}": f"{{{way} over:.3g}}" for way, heading in (headings | {"ratio": "ratio"}).items()}
    report.table(records, columns, f"{title}; quotients are of samples a second")


def check(records, wanted, checks):
    """Compares with targets: `wanted` has (part, case, case to divide by, {operation: (geometric mean, least)}).

    The mean is that over all fields and bounds of the part. What was not measured is left out.
    """
    group = lambda r: (r["part"], r["field"], r.get("relative"))  # noqa: E731
    found = {(*group(r), r["case"]): r for r in records}
    for part, name, base, limits in wanted:
        pairs = [(r, found.get((*group(r), base))) for r in records if (r["part"], r["case"]) == (part, name)]
        for way, (mean, least) in limits.items():
            values = [over(mine, theirs, way) for mine, theirs in pairs if theirs]
            if values and None not in values:
                what = f"{part}: {name}, {way} over {base}"
                checks.at_least(f"{what}, geometric mean", report.geometric_mean(values), mean)
                if least:
                    checks.at_least(f"{what}, least", min(values), least)
