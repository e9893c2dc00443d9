"""Ratios and speeds of the lossless codecs on one array; every result is compared with the original bit for bit."""

import statistics
import time

from shared import codecs, report

OURS = "h5stz"
OPENZL = "OpenZL"


def _timed(function, *arguments):
    start = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - start


def measure(arrays, running, repeats):
    """{codec: {"ratio", "share", "write", "read", "write over", "read over"}} of arrays that are compressed one by one.

    "share" is stored bytes over those of the arrays. Speeds are medians in MB/s of processor time. The codecs take turns. The
    first turn counts for the ratio only. "over" is the speed of h5stz over that of the codec in the same turn, the median. A
    codec that does not take the type, or changes a bit, has no entry.
    """
    found, seconds, raw = {}, {name: [] for name in running}, sum(array.nbytes for array in arrays)
    for turn in range(repeats + 1):
        for name, codec in running.items():
            if turn and name not in found:
                continue
            try:
                size, *spent = _turn(arrays, codec)
            except codecs.Unsupported:
                continue
            if size is not None:
                found[name] = {"ratio": raw / size, "share": size / raw}
                seconds[name] += [spent] * (turn > 0)
    for name, figures in found.items():
        for index, way in enumerate(("write", "read") if repeats else ()):
            times = [spent[index] for spent in seconds[name]]
            figures[way] = raw / 1e6 / statistics.median(times)
            if OURS in found:
                pairs = zip(times, seconds[OURS], strict=True)
                figures[f"{way} over"] = statistics.median(theirs / mine[index] for theirs, mine in pairs)
    return found


def _turn(arrays, codec):
    """Bytes, None if a bit has changed; seconds of compression, of decompression."""
    size, write, read, same = 0, 0.0, 0.0, True
    for array in arrays:
        stream, spent = _timed(codec.compress, array)
        write += spent
        decoded, spent = _timed(codec.decompress, stream, array)
        read += spent
        size += len(stream)
        same &= decoded.dtype == array.dtype and decoded.tobytes() == array.tobytes()
    return size if same else None, max(write, 1e-9), max(read, 1e-9)


def columns(running, key, form):
    """Columns of records with `measure`'s result as "codecs"."""
    return {name: _figure(name, (key,), form) for name in running}


def speed_table(records, running, label):
    """Prints MB/s of each codec, write / read, and how many times as fast h5stz is, as geometric means."""
    speeds = {name: _figure(name, ("write", "read"), "{:.0f} / {:.0f}") for name in running}
    report.table(records, {label: f"{{{label}}}"} | speeds, "Speeds, one thread, MB/s of processor time, write / read")
    for name in running:
        pairs = [record["codecs"][name] for record in records if OURS in record["codecs"] and name in record["codecs"]]
        if name != OURS and pairs:
            write, read = (report.geometric_mean([pair[f"{way} over"] for pair in pairs]) for way in ("write", "read"))
            print(f"speed of h5stz over {name}, write / read, geometric mean: {write:.3g} / {read:.3g}", flush=True)


def _figure(name, keys, form):
    def cell(record):
        return form.format(*(record["codecs"][name][key] for key in keys))

    return cell


def over_best(found, without=()):
    """The ratio of h5stz over the best of the others; None if there is none."""
    others = [figures["ratio"] for name, figures in found.items() if name not in (OURS, *without)]
    return found[OURS]["ratio"] / max(others) if OURS in found and others else None
