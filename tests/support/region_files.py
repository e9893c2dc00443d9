"""What the tests of region reads share: datasets written to files, and the same bits asked for in two ways."""

from contextlib import contextmanager

import h5py
import numpy as np

import h5stz
from support import exact, fields


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
        file.create_dataset("x", data=array, chunks=chunks, **more, **h5stz.STZ(**(options or {"absolute": 1e-2})))
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
