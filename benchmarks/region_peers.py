"""A small box from files of other codecs: bytes that the process reads, time, and the size of the dataset beside.

h5stz stores the volume as one chunk and reads through `h5stz.view`. SZ3 and ZFP (of hdf5plugin, at the same bound) have
chunks of 64^3, so that a box does not take all of it; Blosc2 (lossless: it has no bound) has one chunk that b2h5py slices
and, through HDF5 alone, chunks of 64^3. Bytes are what the process has read according to the system (rchar of
/proc/self/io), with HDF5's own metadata: the file is opened before they are counted.
"""

import statistics
import time
from pathlib import Path

import h5py
import numpy as np

import fields
import h5stz
import peers
import report

EDGE = 32  # samples per axis of the box
CHUNK = 64  # of the chunks of codecs that decode whole chunks
POSITIONS = 20


def bytes_read():
    """Bytes that this process has read from files so far."""
    for line in Path("/proc/self/io").read_text().splitlines():
        if line.startswith("rchar:"):
            return int(line.split()[1])
    raise RuntimeError("/proc/self/io has no rchar")


def overhead():
    """Bytes that a look at /proc/self/io reads itself."""
    first = bytes_read()
    return bytes_read() - first


def readers():
    """{name: (codec of peers.filter_options, chunk edge or None for one chunk, block, function(dataset, region))}."""
    found = {
        f"h5stz, one chunk, blocks {block}": ("h5stz", None, block, lambda d, region: h5stz.view(d, cache_bytes=0)[region])
        for block in ("default", "region")
    }
    plain = lambda dataset, region: dataset[region]  # noqa: E731
    found["SZ3, chunks of 64^3"] = "sz3", CHUNK, None, plain
    found["ZFP, chunks of 64^3"] = "zfp", CHUNK, None, plain
    found["Blosc2 (lossless), chunks of 64^3"] = "blosc2", CHUNK, None, plain
    try:
        import b2h5py
    except ImportError:
        return found
    found["Blosc2 (lossless), one chunk, b2h5py"] = "blosc2", None, None, lambda d, region: b2h5py.B2Dataset(d)[region]
    return found


def measure(directory, name, array, relative, repeats):
    """Records of the first field: mean bytes and median seconds of a box, bytes of the dataset."""
    bound = relative * fields.value_range(array)
    rng = np.random.default_rng(3)
    corners = [[int(rng.integers(0, extent - EDGE + 1)) for extent in array.shape] for _ in range(POSITIONS)]
    regions = [tuple(slice(low, low + EDGE) for low in corner) for corner in corners]
    records, own = [], overhead()
    for label, (codec, edge, block, read) in readers().items():
        path = directory / "peer.h5"
        options = h5stz.STZ(absolute=bound, block=block) if block else peers.filter_options(codec, array, bound)
        chunks = (edge,) * array.ndim if edge else array.shape
        with h5py.File(path, "w") as file:
            file.create_dataset("field", data=array, chunks=chunks, **options)
        times, taken = [], []
        for region in regions:
            each = []
            for _ in range(repeats):
                with h5py.File(path) as file:  # opened anew: no chunk is kept
                    dataset = file["field"]
                    before, start = bytes_read(), time.perf_counter()
                    part = read(dataset, region)
                    each.append(time.perf_counter() - start)
                    taken.append(bytes_read() - before - own)
            times.append(statistics.median(each))
            if not np.all(np.abs(part.astype("f8") - array[region]) <= bound):
                raise RuntimeError(f"{label} broke the bound")
        with h5py.File(path) as file:
            size = file["field"].id.get_storage_size()
        record = {"part": "peers", "field": name, "reader": label, "dataset_bytes": size}
        records.append(record | {"seconds": statistics.mean(times), "bytes": statistics.mean(taken)})
    return records


def table(records):
    """Prints the records."""
    print(f"\n{records[0]['field']}: a box of {EDGE}^3 samples, mean over {POSITIONS} positions\n")
    header = ["reader", "time (ms)", "bytes read", "bytes of the dataset"]
    rows = [[r["reader"], f"{1e3 * r['seconds']:.2f}", f"{r['bytes']:.0f}", str(r["dataset_bytes"])] for r in records]
    print(report.markdown(header, rows))
