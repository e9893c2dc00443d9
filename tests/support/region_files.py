"""What the tests of region reads share: datasets written to files, and the same bits asked for in two ways."""

import io
from contextlib import contextmanager

import h5py
import numpy as np
import pytest

import h5stz
from support import exact, fields

# The dataset "x" of the tests of h5stz.view.
SHAPE, CHUNKS = (150, 260), (128, 128)
USERBLOCK = 1 << 19  # longer than the rest of its file


def smooth(shape, dtype="f4", seed=1):
    """A smooth array of any dtype that can be compressed."""
    dtype = np.dtype(dtype)
    with np.errstate(invalid="ignore"):  # a single sample has no deviation
        field = np.nan_to_num(fields.random_field(shape, 4, seed))
    if dtype.kind == "b":
        return field > 0
    if dtype.kind == "c":
        return (field + 1j * np.flip(field)).astype(dtype)
    return (100 + 30 * field).clip(0, 255).astype(dtype)


def write(path, array, chunks, options=None, **more):
    """A file with the dataset "x": `options` of h5stz.STZ (default: an absolute bound), `more` of create_dataset."""
    file_options = {name: more.pop(name) for name in ("userblock_size", "libver", "driver") if name in more}
    with h5py.File(path, "w", **file_options) as file:
        options = {"integers": "lossy", **(options or {"absolute": 1e-2})}
        file.create_dataset("x", data=array, chunks=chunks, **more, **h5stz.STZ(**options))
    return path


@contextmanager
def opened(path, mode="r", **options):
    """The dataset "x" of a file."""
    with h5py.File(path, mode, **options) as file:
        yield file["x"]


def same(wanted, found):
    """Whether arrays or scalars agree in type, dtype, shape and bits."""
    return type(wanted) is type(found) and exact.same_bits(np.asarray(wanted), np.asarray(found))


def boxes(shape):
    """A few indices into an array of `shape` that cross chunks."""
    yield ...
    yield tuple(extent // 2 for extent in shape)
    yield tuple(slice(extent // 3, extent // 3 + 5) for extent in shape)
    yield (*(slice(None, None, 4) for _ in shape[1:]), -1)
    yield (slice(None, None, -3),)


def agrees(view, full):
    """Asserts that a view and the whole array in memory give the same for some indices; returns the view's stats."""
    for index in boxes(full.shape):
        wanted = full[index]
        assert same(wanted if np.ndim(wanted) else full.dtype.type(wanted), view[index]), index
    return view.stats


def route(dataset, full=None, **options):
    """Reads in many ways through a view; says how, having made sure that nothing differs from h5py."""
    full = dataset[...] if full is None else full
    part = h5stz.view(dataset, **options)
    assert same(full[::4, ::4], part.level(2)[...])
    stats = part.stats
    if stats.fallback_chunks:
        assert stats.blocks_decoded == 0
        taken = "h5py"
    elif stats.bytes_read == stats.bytes_touched_chunks:
        taken = "chunk"
    else:
        assert 0 < stats.bytes_read < stats.bytes_touched_chunks
        taken = "ranges"
    view = h5stz.view(dataset, **options)
    stats = agrees(view, full)
    assert (stats.fallback_chunks > 0) == (taken == "h5py")
    assert not view.fallback_reason or taken == "h5py"
    return taken


def overwrite(path, start, content):
    """Replaces bytes of a file."""
    with open(path, "r+b") as file:
        file.seek(start)
        file.write(content)


def in_fsspec_memory(path):
    """The file in fsspec's file system in memory."""
    fsspec = pytest.importorskip("fsspec", reason="needs Python package fsspec")
    fsspec.filesystem("memory").pipe("/regions/x.h5", path.read_bytes())
    return fsspec.filesystem("memory").open("/regions/x.h5")


def local_in_fsspec(path):
    """A file of this machine, opened by fsspec; it is a path for os.fspath(), too."""
    fsspec = pytest.importorskip("fsspec", reason="needs Python package fsspec")
    return fsspec.filesystem("file").open(str(path))


#: Python objects through which a file can be read: name -> how one is made of a path.
OBJECTS = {
    "in memory": lambda path: io.BytesIO(path.read_bytes()),
    "buffered": lambda path: open(path, "rb"),
    "raw": lambda path: open(path, "rb", buffering=0),
    "fsspec, in memory": in_fsspec_memory,
    "fsspec, local": local_in_fsspec,
}
