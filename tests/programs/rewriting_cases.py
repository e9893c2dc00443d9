"""Small programs that rewrite chunks: python rewriting_cases.py NAME [NUMBER], in a directory of its own.

Each prints a number: the largest error over the bound of what it did not write, or a ratio of processor times or bytes.
"""

import ctypes
import os
import resource
import shutil
import sys
from pathlib import Path
from time import process_time

import h5py
import numpy as np

BOUND, FILE = 1e-2, "f.h5"
ROOMY = {"rdcc_nbytes": 1 << 30, "rdcc_nslots": 200003, "rdcc_w0": 1.0}


def stz(bound=BOUND):
    """Options; h5stz is imported here, as one of the programs must not have it before HDF5 has a plug-in."""
    import h5stz

    return h5stz.STZ(absolute=bound)


def forget():
    """Has the plug-in forget what it decoded, as in a new process."""
    import h5stz

    ctypes.CDLL(Path(h5stz.plugin_path()) / "libh5stz.so").stz_h5_forget()


def walk(*shape, seed=1):
    """Rough rows."""
    return np.random.default_rng(seed).standard_normal(shape).cumsum(-1).astype("f4")


def create(data, chunks, bound=BOUND, name="a"):
    """A new file with one dataset."""
    with h5py.File(FILE, "w", libver="latest") as file:
        file.create_dataset(name, data=data, chunks=chunks, **stz(bound))


def read(name="a", part=...):
    """What a reader finds."""
    with h5py.File(FILE) as file:
        return file[name][part]


def largest(found, expected, bound=BOUND):
    """Largest error over the bound; differences of float32 numbers are exact in float64."""
    return float(abs(found.astype("f8") - expected).max() / bound)


def object_copy(_):
    """H5Ocopy of a dataset whose chunk in the cache was changed in all rows but some."""
    worst = 0
    for rows in (63, 62, 40):
        data = walk(64, 64)
        create(data, (64, 64))
        before = read()
        with h5py.File(FILE, "r+") as file:
            dataset = file["a"]
            dataset[:rows] = walk(rows, 64, seed=rows)
            file.copy("a", "b")
        for name in "ab":
            assert read(name)[rows:].tobytes() == before[rows:].tobytes() or name == "b"
            worst = max(worst, largest(read(name)[rows:], data[rows:]))
    return worst


def forgotten(_):
    """Five rewrites of all rows but one, where no stream is remembered."""
    worst = 0
    for n in (60, 64, 72, 80, 96, 120):
        data = walk(n, n)
        create(data, (n, n))
        for turn in range(5):
            with h5py.File(FILE, "r+", rdcc_nbytes=0) as file:
                file["a"][: n - 1] = walk(n - 1, n, seed=turn + 2)
        worst = max(worst, largest(read()[n - 1], data[n - 1]))
    return worst


def flushes(_):
    """Reads, parts written and flushes, chunk after chunk, with a cache for three."""
    worst = 0
    for n in (60, 70, 80, 100):
        data = walk(8 * n, n)
        create(data, (n, n))
        kept = np.arange(8 * n) % n >= 10
        for turn in range(4):
            with h5py.File(FILE, "r+", rdcc_nbytes=3 * n * n * 4) as file:
                dataset = file["a"]
                for chunk in range(8):
                    dataset[chunk * n, 0]
                    dataset[chunk * n : chunk * n + 10] = walk(10, n, seed=100 * turn + chunk)
                    file.flush()
        worst = max(worst, largest(read()[kept], data[kept]))
    return worst


def two_plugins_create(_):
    """A file, and a second copy of the plug-in."""
    import h5stz

    create(walk(64, 64), (64, 64))
    Path("copy").mkdir()
    shutil.copy(Path(h5stz.plugin_path()) / "libh5stz.so", "copy")
    return 0


def two_plugins(_):
    """HDF5 decodes with the copy that it finds, h5stz registers its own, which encodes."""
    with h5py.File(FILE, "r+") as file:
        dataset = file["a"]
        dataset[40:] = walk(24, 64, seed=None)
        assert "h5stz" not in sys.modules
        stz()
        dataset[:2] = 1
    return largest(read()[2:40], walk(64, 64)[2:40])


def many_read(_):
    """Keeps 9000 chunks that it has read, and changes a part of one more; what that did to the rest of it, in bounds."""
    count = 9000
    data = walk(16, 64) + (np.arange(count + 1, dtype="f4") % 97)[:, None, None]
    create(data, (1, 16, 64))
    before = read(part=count)
    with h5py.File(FILE, "r+") as file:
        dataset = file["a"]
        frames = [dataset[frame] for frame in range(count)]
        dataset[count, :15] = walk(15, 64, seed=2)
        file.flush()
        assert len(frames) == count
    return largest(read(part=count)[15], before[15])


def flush_small(count):
    """Seconds of a flush of chunks of 16 x 16, of which every row but one was changed."""
    rng = np.random.default_rng(1)
    create((5 + rng.random((count * 16, 16))).astype("f4"), (16, 16), 0.02)
    with h5py.File(FILE, "r+", **ROOMY) as file:
        dataset = file["a"]
        dataset[...]
        for row in range(15):
            dataset[row::16] = (5 + rng.random((count, 16))).astype("f4")
        begin = process_time()
        file.flush()
        return process_time() - begin


def read_equal(count):
    """Seconds of reading chunks that all have the same content."""
    one = (5 + np.random.default_rng(1).random((16, 16))).astype("f4")
    create(np.tile(one, (count, 1)), (16, 16), 0.02)
    with h5py.File(FILE, **ROOMY) as file:
        begin = process_time()
        file["a"][...]
        return process_time() - begin


def flush_large(count):
    """Seconds of a flush of chunks of 64 x 64, of which every fourth row was changed."""
    data = walk(count * 64, 64)
    create(data, (64, 64), 0.05)
    with h5py.File(FILE, "r+", **ROOMY) as file:
        dataset = file["a"]
        dataset[...]
        dataset[::4] = data[::4] + 1
        begin = process_time()
        file.flush()
        return process_time() - begin


#: Chunks that take some hundredths of a second.
FEW = {flush_small: 250, read_equal: 1500, flush_large: 80}


def growth(name):
    """Seconds of one of these with four times as many chunks, over those with few: the least of three runs each."""
    program = globals()[name]

    def seconds(count):
        forget()
        return program(count)

    few, many = (min(seconds(times * FEW[program]) for _ in range(3)) for times in (1, 4))
    return many / few


def in_a_fork(work):
    """Runs a function in a child of this process, which must end well."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def short_of_memory(_):
    """Writes half of a chunk of 4 MiB with so many times its size left of memory, then another part with plenty.

    Prints for each number how the chunk was stored: "raw", by HDF5 without the filter, "exact" or "bounded". What was not
    written must have its bits in any case, and after the second write too unless the chunk was raw.
    """
    import h5stz

    side = 1024
    data, new = walk(side, side), walk(side // 2, side, seed=2)
    for times in (1.5, 4.0, 5.0, 6.0, 20.0):
        create(data, data.shape)
        before = read()[1 : side // 2]
        forget()

        def write(times=times):
            with h5py.File(FILE, "r+", rdcc_nbytes=0) as file:
                dataset = file["a"]
                mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (mapped + int(times * data.nbytes), resource.RLIM_INFINITY))
                dataset[side // 2 :] = new
                resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)

        def write_on():
            with h5py.File(FILE, "r+", rdcc_nbytes=0) as file:
                file["a"][0] = new[0]

        in_a_fork(write)
        assert read(part=np.s_[1 : side // 2]).tobytes() == before.tobytes()
        forget()
        with h5py.File(FILE) as file:
            mask, stream = file["a"].id.read_direct_chunk((0, 0))
        outcome = "raw" if mask else "exact" if h5stz.info(stream).mode == "lossless" else "bounded"
        if outcome != "raw":
            in_a_fork(write_on)
            assert read(part=np.s_[1 : side // 2]).tobytes() == before.tobytes()
            forget()
        print(f"{times}: {outcome}")
    return 0


def again(bound):
    """The bytes of an array that is written again after it was read, over those of the first time."""
    x, rng = np.linspace(0, 6, 64), np.random.default_rng(0)
    waves = np.sin(x)[:, None, None] + np.cos(x)[None, :, None] * np.sin(x)[None, None, :]
    data, sizes = (waves + 280 + 0.01 * rng.standard_normal((64, 64, 64))).astype("f4"), []
    for _ in range(2):
        with h5py.File(FILE, "w") as file:
            file.create_dataset("a", data=data, chunks=data.shape, **stz(float(bound)))
        with h5py.File(FILE) as file:
            sizes.append(file["a"].id.get_storage_size())
            values = file["a"][...]
    assert values.shape == data.shape
    return sizes[1] / sizes[0]


if __name__ == "__main__":
    print(globals()[sys.argv[1]](sys.argv[2] if len(sys.argv) > 2 else None))
