"""Programs that write the dataset "x" of a file piece by piece with h5py; the tests and benchmarks/rewriting.py run them.

Each is a function of a `Task`, writes a new file and returns the array that a reader must find: the values that were written
last; of several files {path: array}. `run` calls it. Programs for other hosts are in piecewise_hosts.
"""

import contextlib
import ctypes
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import h5py
import numpy as np

from support.host_tools import mapped_library

NAME = "x"
NO_CACHE = {"rdcc_nbytes": 0}
LARGE_CACHE = 1 << 26  # bytes: every chunk stays in it until the file is closed


@dataclass(frozen=True)
class Task:
    """What is to be written, and how it is stored."""

    path: Path
    values: np.ndarray
    chunks: tuple[int, ...]
    #: Options of create_dataset that name the filter: those of h5stz.STZ or of hdf5plugin.
    options: Mapping
    #: Bytes of the chunk cache of h5py's files, None for HDF5's own.
    cache: int | None = None

    @property
    def unlimited(self):
        """The shape of a dataset that grows along its first axis."""
        return (None, *self.values.shape[1:])


def read(path):
    """The dataset as a program finds it that opens the file anew."""
    with h5py.File(path, "r") as file:
        return file[NAME][...]


def stored_bytes(path):
    """Bytes of the dataset's chunks in the file."""
    with h5py.File(path, "r") as file:
        return file[NAME].id.get_storage_size()


@contextlib.contextmanager
def created(task, shape=None, *, file=None, **options):
    """A new dataset of the task in a new file, of the shape of its values unless another is given."""
    with h5py.File(task.path, "w", rdcc_nbytes=task.cache, **(file or {})) as new:
        yield new.create_dataset(
            NAME,
            task.values.shape if shape is None else shape,
            task.values.dtype,
            chunks=task.chunks,
            **task.options,
            **options,
        )


@contextlib.contextmanager
def opened(task):
    """The dataset in the existing file of a task, to be written to."""
    with h5py.File(task.path, "r+", rdcc_nbytes=task.cache) as file:
        yield file[NAME]


def grown(task, **options):
    """`created` without frames, and able to grow along the first axis."""
    return created(task, (0, *task.values.shape[1:]), maxshape=task.unlimited, **options)


def write_points(dataset, points, values):
    """Writes single samples; `points`: rows of coordinates."""
    space, memory = dataset.id.get_space(), h5py.h5s.create_simple((len(points),))
    space.select_elements(np.asarray(points))
    dataset.id.write(memory, space, np.ascontiguousarray(values))


def write_all_but(dataset, point, values):
    """Writes all samples of an array of the dataset's shape but one."""
    space, one = dataset.id.get_space(), (1,) * dataset.ndim
    space.select_all()
    space.select_hyperslab((0,) * dataset.ndim, dataset.shape)
    space.select_hyperslab(point, one, op=h5py.h5s.SELECT_NOTB)
    dataset.id.write(space, space, np.ascontiguousarray(values))


def altered(task, seed=2):
    """Other values of the same kind: the task's in another order."""
    return np.ascontiguousarray(np.roll(task.values, 3 + seed, axis=-1)[..., ::-1])


def second_of(task):
    """The same with other values in a second file."""
    return replace(task, path=task.path.with_suffix(".second.h5"), values=altered(task))


def run(program, task):
    """{path: the array that a reader must find} of what a program wrote."""
    expected = program(task)
    return expected if isinstance(expected, dict) else {task.path: expected}


# Whole arrays, to compare with.


def at_once(task):
    """The whole array, every chunk once."""
    with created(task) as dataset:
        dataset[...] = task.values
    return task.values


# Growing and frame by frame.


def append_frames(task):
    """Frame by frame into a dataset that grows."""
    with grown(task) as dataset:
        for index, frame in enumerate(task.values):
            dataset.resize(index + 1, axis=0)
            dataset[index] = frame
    return task.values


def append_pairs_of_files(task):
    """Frame by frame into two files in turn."""
    other = second_of(task)
    with grown(task) as first, grown(other) as second:
        for index in range(len(task.values)):
            for dataset, source in ((first, task), (second, other)):
                dataset.resize(index + 1, axis=0)
                dataset[index] = source.values[index]
    return {task.path: task.values, other.path: other.values}


def append_and_flush(task):
    """Frame by frame, with a flush after each."""
    with grown(task) as dataset:
        for index, frame in enumerate(task.values):
            dataset.resize(index + 1, axis=0)
            dataset[index] = frame
            dataset.flush()
    return task.values


def append_and_reopen(task):
    """Frame by frame, the file closed after each."""
    with grown(task):
        pass
    for index, frame in enumerate(task.values):
        with opened(task) as dataset:
            dataset.resize(index + 1, axis=0)
            dataset[index] = frame
    return task.values


def frames_of_fixed_size(task):
    """Frame by frame into a dataset that has its shape from the start."""
    with created(task) as dataset:
        for index, frame in enumerate(task.values):
            dataset[index] = frame
    return task.values


def last_frame_first(task):
    """Frame by frame, from the last to the first, into a dataset that could grow."""
    with created(task, maxshape=task.unlimited) as dataset:
        for index in reversed(range(len(task.values))):
            dataset[index] = task.values[index]
    return task.values


def frame_by_frame_of_time(when):
    """Frame by frame with a time of fill or allocation: "undefined", "never" or "early"."""

    def program(task):
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if when == "undefined":
            undefine_fill(properties, task.values.dtype)
        elif when == "never":
            properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        elif when == "early":
            properties.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        with created(task, dcpl=properties) as dataset:
            for index, frame in enumerate(task.values):
                dataset[index] = frame
        return task.values

    return program


def undefine_fill(properties, dtype):
    """H5Pset_fill_value without a value, which h5py does not wrap."""
    call = ctypes.CDLL(mapped_library("libhdf5", "h5py")).H5Pset_fill_value
    call.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    assert call(properties.id, h5py.h5t.py_create(dtype).id, None) >= 0


def frames_that_end_in_fill(task):
    """Frame by frame, where the last two frames of every chunk hold the fill value alone; then they get values."""
    fill = task.values.dtype.type(-7)
    expected = task.values.copy()
    depth = task.chunks[0]
    of_fill = np.arange(len(expected)) % depth >= depth - 2
    expected[of_fill] = fill
    with grown(task, fillvalue=fill) as dataset:
        for index, frame in enumerate(expected):
            dataset.resize(index + 1, axis=0)
            dataset[index] = frame
    with opened(task) as dataset:
        for index in np.flatnonzero(of_fill)[::2]:
            dataset[index] = expected[index] = task.values[index]
    return expected


def shrink_and_regrow(task):
    """All at once; then again and again less of it and all of it, where new frames are written one by one."""
    source, frames = altered(task), len(task.values)
    with created(task, maxshape=task.unlimited) as dataset:
        dataset[...] = task.values
        expected = task.values.copy()
        for kept in (frames - 1, frames // 2 + 1, frames - 2, 2):
            dataset.resize(kept, axis=0)
            dataset.resize(frames, axis=0)
            for index in range(kept, frames):
                dataset[index] = expected[index] = source[index]
    return expected


def shrink_and_leave(task):
    """All at once; then less of it and more of it, the new frames left as fill, and one sample written."""
    frames = len(task.values)
    expected = task.values.copy()
    with created(task, maxshape=task.unlimited) as dataset:
        dataset[...] = task.values
    for kept in (frames - 1, frames - 2, frames // 2 + 1):
        with opened(task) as dataset:
            dataset.resize(kept, axis=0)
            dataset.resize(frames, axis=0)
            expected[kept:] = 0
            dataset[0, 0, 0] = expected[0, 0, 0] = expected[0, 0, 0] + 1
    return expected


def tail_reset(task):
    """All at once; then the last frames are set to the fill value and written again, several times."""
    fill = task.values.dtype.type(-7)
    source, tail = altered(task), max(1, task.chunks[0] // 2)
    expected = task.values.copy()
    with created(task, fillvalue=fill) as dataset:
        dataset[...] = expected
        for turn in range(4):
            dataset[-tail:] = fill
            dataset.flush()
            dataset[-tail:] = expected[-tail:] = np.roll(source[-tail:], turn, axis=1)
    return expected


# Parts of chunks.


def random_boxes(count, seed=5):
    """All at once, then `count` boxes of random places and sizes with other values, without a chunk cache."""

    def program(task):
        rng, source = np.random.default_rng(seed), altered(task)
        expected = task.values.copy()
        with created(task, **NO_CACHE) as dataset:
            dataset[...] = expected
            for turn in range(count):
                edges = [rng.integers(0, n + 1, 2) for n in expected.shape]
                box = tuple(
                    slice(min(a, b, n - 1), max(a, b, min(a, b, n - 1) + 1))
                    for (a, b), n in zip(edges, expected.shape, strict=True)
                )
                dataset[box] = expected[box] = np.roll(source, turn, axis=0)[box]
        return expected

    return program


def columns(task):
    """Column by column along the last axis into a dataset of fixed size, without a chunk cache."""
    with created(task, **NO_CACHE) as dataset:
        for index in range(task.values.shape[-1]):
            dataset[..., index] = task.values[..., index]
    return task.values


def strides(task):
    """All at once; then every second, third, ... sample along each axis in turn gets another value."""
    source, expected = altered(task), task.values.copy()
    with created(task, **NO_CACHE) as dataset:
        dataset[...] = expected
        for step in range(2, 6):
            for axis in range(expected.ndim):
                part = tuple(slice(step // 2, None, step if a == axis else 1) for a in range(expected.ndim))
                dataset[part] = expected[part] = np.roll(source, step, axis=0)[part]
    return expected


def points(task):
    """All at once, then lists of single samples."""
    rng, source, expected = np.random.default_rng(6), altered(task), task.values.copy()
    with created(task, **NO_CACHE) as dataset:
        dataset[...] = expected
        for turn in range(12):
            places = rng.choice(expected.size, 5 + 20 * turn, replace=False)
            rows = np.stack(np.unravel_index(places, expected.shape), axis=1)
            expected.flat[places] = source.flat[places] + turn
            write_points(dataset, rows, expected.flat[places])
    return expected


def all_but_one(task):
    """All at once; then, several times, all samples but one get other values."""
    rng, expected = np.random.default_rng(7), task.values.copy()
    with created(task, **NO_CACHE) as dataset:
        dataset[...] = expected
        for turn in range(6):
            keep = tuple(int(rng.integers(0, n)) for n in expected.shape)
            kept, expected = expected[keep], np.roll(altered(task), turn, axis=0)
            write_all_but(dataset, keep, expected)
            expected[keep] = kept
    return expected


def all_columns_but_one(task):
    """All at once; then sessions with a large chunk cache that write all columns but the last, with and without a flush."""
    expected = task.values.copy()
    at_once(task)
    for turn in range(6):
        with opened(replace(task, cache=LARGE_CACHE)) as dataset:
            expected[..., :-1] = np.roll(altered(task), turn, axis=0)[..., :-1]
            dataset[..., :-1] = expected[..., :-1]
            if turn % 2:
                dataset.flush()
    return expected


def still_scene(task):
    """Chunks that differ from each other in few samples; then sessions that change some of these in each chunk and flush."""
    rng, depth = np.random.default_rng(8), task.chunks[0]
    expected = np.repeat(task.values[:1], len(task.values), axis=0)
    places = rng.choice(expected[:depth].size, 60, replace=False)
    chunks = [expected[first : first + depth] for first in range(0, len(expected), depth)]
    for number, chunk in enumerate(chunks):
        chunk.flat[places[places < chunk.size]] += 1 + number
    at_once(replace(task, values=expected))
    for turn in range(8):
        with opened(replace(task, cache=LARGE_CACHE)) as dataset:
            for number, chunk in enumerate(chunks):
                places_in = np.unravel_index(places[places < chunk.size][turn : turn + 20], chunk.shape)
                chunk[places_in] += 0.1
                rows = np.stack(places_in, axis=1)
                rows[:, 0] += number * depth
                write_points(dataset, rows, chunk[places_in])
            dataset.flush()
    return expected


def one_sample_at_a_time(task):
    """All at once; then one sample, many times over."""
    expected = task.values.copy()
    with created(task, **NO_CACHE) as dataset:
        dataset[...] = expected
        for turn in range(20):
            dataset[0, 0, turn] = expected[0, 0, turn] = expected[0, 0, turn] + 1
    return expected


def threads(task):
    """Two threads append to two files of one shape at the same time."""
    other = second_of(task)
    workers = [threading.Thread(target=append_frames, args=(each,)) for each in (task, other)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return {task.path: task.values, other.path: other.values}


#: Programs that touch every frame of a series, under names for people.
SERIES = {
    "frame by frame": append_frames,
    "frame by frame, flushed": append_and_flush,
    "frame by frame, reopened": append_and_reopen,
    "frame by frame, two files in turn": append_pairs_of_files,
    "frame by frame, two threads and files": threads,
    "frame by frame, fixed size": frames_of_fixed_size,
    "last frame first": last_frame_first,
    "fill undefined": frame_by_frame_of_time("undefined"),
    "fill time NEVER": frame_by_frame_of_time("never"),
    "early allocation": frame_by_frame_of_time("early"),
    "frames that end in fill": frames_that_end_in_fill,
    "shrink and regrow": shrink_and_regrow,
    "shrink and leave fill": shrink_and_leave,
    "tail reset": tail_reset,
}
#: Programs that write parts of chunks.
PARTS = {
    "column by column": columns,
    "strides": strides,
    "points": points,
    "all samples but one": all_but_one,
    "all columns but one": all_columns_but_one,
    "one sample at a time": one_sample_at_a_time,
    "still scene": still_scene,
}
