"""Reads of parts of datasets by tests/programs/region.c: the datasets, the words of its command line, what it prints."""

import h5py
import numpy as np

import h5stz
from h5stz import _core
from support.host_tools import field, run
from support.requirements import needs_programs

needs_hdf5_for_c = needs_programs("h5cc", "pkg-config")

SHAPE, CHUNKS = (150, 130, 140), (128, 128, 128)

REASONS = {str(value): name.removeprefix("STZ_H5_") for name, (value, _) in _core.H5_REASONS.items()}


def smooth(shape=SHAPE, dtype="f4"):
    """A sum of waves along the axes."""
    axes = np.meshgrid(*[np.arange(n) for n in shape], indexing="ij", sparse=True)
    return (sum(np.sin(axis / (7 + k)) for k, axis in enumerate(axes)) * 20).astype(dtype)


def settings(dtype="f4"):
    """Keyword arguments of create_dataset: lossless for integers, else with an absolute bound."""
    kind = {"lossless": True} if np.dtype(dtype).kind in "iub" else {"absolute": 1e-2}
    return dict(h5stz.STZ(block="region", **kind))


def write_datasets(path):
    """A file with datasets of all kinds; what is read through HDF5 has names that say why."""
    small = {"shape": (50, 70), "chunks": (16, 24)}
    with h5py.File(path, "w") as file:
        file.create_dataset("d", data=smooth(), chunks=CHUNKS, **settings())
        file.create_dataset("big_endian", data=smooth((40, 50), ">f8"), chunks=(32, 32), **settings(">f8"))
        file.create_dataset("complex", data=field((40, 50), "c8"), chunks=(32, 32), **settings("c8"))
        file.create_dataset("integers", data=smooth((40, 50), "i4"), chunks=(32, 32), **settings("i4"))
        file.create_dataset("flags", data=smooth((40, 50)) > 3, chunks=(32, 32), **settings("?"))
        file.create_dataset("line", data=smooth((5000,)), chunks=(700,), **settings())

        file.create_dataset("contiguous", data=smooth((50, 70)))
        file.create_dataset("unfiltered", data=smooth((50, 70)), chunks=(16, 24))
        file.create_dataset("gzip", data=smooth((50, 70)), chunks=(16, 24), compression="gzip")
        file.create_dataset("checksum", data=smooth((50, 70)), chunks=(16, 24), fletcher32=True, **settings())
        file.create_dataset("external", data=smooth((8, 9)), external=[(str(path.with_suffix(".raw")), 0, h5py.h5f.UNLIMITED)])
        layout = h5py.VirtualLayout(shape=(50, 70), dtype="f4")
        layout[...] = h5py.VirtualSource(".", "unfiltered", shape=(50, 70))
        file.create_virtual_dataset("virtual", layout)
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        h5py.h5d.create(file.id, b"compact", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((8, 9)), compact).write(
            h5py.h5s.ALL, h5py.h5s.ALL, smooth((8, 9))
        )

        sparse = file.create_dataset("sparse", dtype="f4", fillvalue=-7.5, **small, **settings())
        sparse[16:32, 24:48] = smooth((16, 24))
        never = file.create_dataset("never", dtype="f4", fill_time="never", **small, **settings())
        never[16:32, 24:48] = smooth((16, 24))

        masked = file.create_dataset("masked", data=smooth((50, 70)), **{**small, "shape": None}, **settings())
        file.flush()
        masked.id.write_direct_chunk((16, 24), smooth((16, 24)).tobytes(), filter_mask=1)

        foreign = file.create_dataset("foreign", data=smooth((50, 70)), **{**small, "shape": None}, **settings())
        file.flush()
        foreign.id.write_direct_chunk((16, 24), h5stz.compress(smooth((16, 1, 24)), absolute=1e-2))

        damaged = file.create_dataset("damaged", data=smooth((64, 64)), chunks=(64, 64), **settings())
        file.flush()
        _, stream = damaged.id.read_direct_chunk((0, 0))
        stream = bytearray(stream)
        stream[-40:] = bytes(40)
        damaged.id.write_direct_chunk((0, 0), bytes(stream))


def write_large_chunks(directory):
    """Files with a chunk of some megabytes, plain and with a user block, and one that links to the first."""
    data = np.random.default_rng(1).normal(size=(128, 128, 160)).astype("f4")
    for name, user_block in [("plain.h5", 0), ("block.h5", 512)]:
        with h5py.File(directory / name, "w", userblock_size=user_block) as file:
            file.create_dataset("d", data=data, chunks=CHUNKS, **settings())
    with h5py.File(directory / "linked.h5", "w") as file:
        file.create_dataset("other", data=data, chunks=CHUNKS, **settings())
        file["d"] = h5py.ExternalLink("plain.h5", "/d")


def printed(text):
    """Of the program's lines, what is behind each key; messages as a list."""
    lines = [line.split(" ", 1) for line in text.splitlines()]
    texts = {key: value for key, value in lines if key != "message"}
    numbers = {key: int(texts[key]) for key in ("reads", "through", "direct", "ranges", "missing", "chunks_through")}
    decoded, present = map(int, texts["blocks"].split())
    read, used = map(int, texts["bytes"].split())
    messages = [value for key, value in lines if key == "message"]
    return {**numbers, "decoded": decoded, "present": present, "read": read, "used": used, "messages": messages} | {
        "reason": REASONS[texts["reason"].split()[0]]
    }


def box(start, count, stride=None, block=None):
    """Words for a hyperslab of the file."""
    ones = [1] * len(start)
    return ["file", *(",".join(map(str, numbers)) for numbers in (start, stride or ones, count, block or ones))]


def read(program, path, dataset, *words):
    """What the program says of one read, having compared it with H5Dread."""
    result = printed(run(program, path, dataset, *words))
    assert result["reads"] == 1
    return result


def read_direct(program, path, dataset, *words):
    """The same of a read without H5Dread."""
    result = read(program, path, dataset, *words)
    assert result["through"] == 0 and result["reason"] == "DIRECT"
    assert result["used"] <= result["read"] and result["decoded"] <= result["present"]
    return result


SLABS = {
    "one sample": box((149, 129, 139), (1, 1, 1)),
    "a chunk": box((0, 0, 0), (128, 128, 128)),
    "everything": box((0, 0, 0), SHAPE),
    "steps": box((1, 2, 3), (50, 43, 46), (3, 3, 3)),
    "steps beyond chunks": box((1, 2, 3), (2, 1, 2), (140, 1, 130)),
    "blocks that touch": box((1, 2, 3), (10, 10, 10), (3, 4, 5), (3, 4, 5)),
    "few blocks with gaps": box((1, 2, 3), (3, 2, 3), (50, 60, 67), (10, 5, 3)),
    "many blocks with gaps": box((1, 2, 3), (30, 2, 40), (5, 60, 3), (2, 5, 2)),
    "wide gaps": box((1, 2, 3), (2, 1, 2), (100, 1, 90), (20, 9, 12)),
    "offset": [*box((3, 4, 5), (4, 5, 6)), "offset", "110,0,-4"],
}
