"""A machine of hypothesis that writes at random through the filter and knows what a reader must find.

Two datasets of one shape in one file, under different bounds, so that what is remembered of one must not be taken for the
other. Beside each is an array in memory, the values that were written last, and which of them are defined at all.
"""

import shutil
import tempfile
from pathlib import Path

import h5py
import numpy as np
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import h5stz
from support import exact, host_tools
from support.piecewise import undefine_fill, write_all_but, write_points

NAMES = ("first", "second")
SECOND_BOUND = 4  # times that of the first
DTYPES = ["<f4", ">f4", "<f8", ">f8", "<f2", "<c8", ">c16", "<i2", "|u1", ">i4", "<u8"]
BOUNDS = {
    "f": [("absolute", 0.5), ("absolute", 2.0**-6), ("pointwise_relative", 2.0**-7)],
    "c": [("absolute", 0.5)],
    "i": [("absolute", 0.5), ("absolute", 3)],
}
FILLS = {"f": [None, 0, -999.0, np.nan], "c": [None], "i": [None, 0, 99]}


@st.composite
def configurations(draw):
    """Shape, chunks, type, bound, fill value and times of the datasets."""
    rank = draw(st.integers(1, 3))
    longest = {1: 400, 2: 60, 3: 24}[rank]
    shape = tuple(draw(st.integers(1, longest)) for _ in range(rank))
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    kind = "i" if dtype.kind == "u" else dtype.kind
    return {
        "shape": shape,
        "chunks": tuple(draw(st.integers(min(4, n), n)) for n in shape),
        "dtype": dtype,
        "bound": draw(st.sampled_from(BOUNDS[kind])),
        "lossy_integers": kind == "i" and draw(st.booleans()),
        "fill": draw(st.sampled_from(FILLS[kind])),
        "fill_time": draw(st.sampled_from(["ifset", "ifset", "alloc", "never", "undefined"])),
        "allocation": draw(st.sampled_from([h5py.h5d.ALLOC_TIME_INCR, h5py.h5d.ALLOC_TIME_LATE, h5py.h5d.ALLOC_TIME_EARLY])),
        "append_axis": draw(st.sampled_from([None, None, 0, rank - 1])),
        "block": draw(st.sampled_from(["default", "region"])),
    }


@st.composite
def boxes(draw, shape):
    """Slices with a step along each axis, none empty."""
    slices = []
    for extent in shape:
        start = draw(st.integers(0, extent - 1))
        slices.append(slice(start, draw(st.integers(start + 1, extent)), draw(st.sampled_from([1, 1, 1, 2, 3]))))
    return tuple(slices)


def some_values(kind, shape, dtype, fill, seed):
    """An array of a kind of data."""
    rng = np.random.default_rng(seed)
    smooth = sum(
        np.sin(np.arange(n) / 5 + rng.uniform(0, 6)).reshape([-1 if a == b else 1 for b in range(len(shape))])
        for a, n in enumerate(shape)
    )
    values = {
        "smooth": 20 + 8 * smooth,
        "noise": rng.normal(20, 5, shape),
        "constant": np.full(shape, float(rng.integers(1, 90))),
        "missing": np.where(rng.random(shape) < 0.3, fill or 0, 20 + 8 * smooth),
        "special": np.where(rng.random(shape) < 0.1, rng.choice([np.nan, np.inf, -np.inf], shape), 20 + smooth),
    }[kind]
    values = np.broadcast_to(values, shape)
    if dtype.kind in "iu":
        return np.nan_to_num(values, posinf=3, neginf=7).clip(0, 120).astype(dtype)
    if dtype.kind == "c":
        return (values.astype(dtype).view(f"{dtype.str[0]}f{dtype.itemsize // 2}") + 1).view(dtype)
    return values.astype(dtype)


KINDS = st.sampled_from(["smooth", "noise", "constant", "missing", "special"])
SEEDS = st.integers(0, 1000)
CACHES = st.sampled_from([0, 0, 3000, 1 << 20])


class WritingMachine(RuleBasedStateMachine):
    """Writes, resizes, flushes, reopens and copies; every reader must find what was written last, within the bound."""

    def __init__(self):
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.path = self.directory / "f.h5"
        self.file, self.values, self.defined = None, {}, {}

    def teardown(self):
        """Looks a last time and removes the file."""
        if self.file and self.values:
            self.check_what_a_new_reader_finds()
            self.file.close()
        shutil.rmtree(self.directory)

    @initialize(configuration=configurations(), cache=CACHES, latest=st.booleans())
    def create(self, configuration, cache, latest):
        """Both datasets in a new file, with nothing remembered of other examples."""
        host_tools.forget()
        self.config, self.latest = configuration, latest
        self.shape, self.dtype, self.fill = configuration["shape"], configuration["dtype"], configuration["fill"]
        self.fills = configuration["fill_time"] not in ("never", "undefined")
        if configuration["fill_time"] == "undefined":
            self.fill = None
        self.open("w", cache)
        option, bound = configuration["bound"]
        self.bounds = {name: bound * factor for name, factor in zip(NAMES, (1, SECOND_BOUND), strict=True)}
        more = {} if configuration["append_axis"] is None else {"append_axis": configuration["append_axis"]}
        if configuration["lossy_integers"]:
            more["integers"] = "lossy"
        for name in NAMES:
            properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            properties.set_alloc_time(configuration["allocation"])
            if configuration["fill_time"] == "undefined":
                undefine_fill(properties, self.dtype)
            elif configuration["fill_time"] != "ifset":
                times = {"never": h5py.h5d.FILL_TIME_NEVER, "alloc": h5py.h5d.FILL_TIME_ALLOC}
                properties.set_fill_time(times[configuration["fill_time"]])
            self.file.create_dataset(
                name,
                self.shape,
                self.dtype,
                chunks=configuration["chunks"],
                maxshape=(None,) * len(self.shape),
                fillvalue=None if self.fill is None else np.array(self.fill, self.dtype),
                dcpl=properties,
                **h5stz.STZ(**{option: self.bounds[name]}, block=configuration["block"], **more),
            )
            self.values[name] = np.full(self.shape, 0 if self.fill is None else self.fill, self.dtype)
            self.defined[name] = np.full(self.shape, self.fills)

    def open(self, mode, cache):
        """The file with a chunk cache of so many bytes."""
        versions = {"libver": "latest"} if self.latest else {}
        self.file = h5py.File(self.path, mode, rdcc_nbytes=cache, **versions)

    def wrote(self, name, box, values):
        """Keeps what was written."""
        self.values[name][box], self.defined[name][box] = values, True

    def has_samples(self):
        """Whether there is anything to write."""
        return self.file is not None and all(values.size for values in self.values.values())

    # Writes.

    @precondition(has_samples)
    @rule(name=st.sampled_from(NAMES), data=st.data(), kind=KINDS, seed=SEEDS)
    def write_box(self, name, data, kind, seed):
        """A box, with steps along its axes."""
        box = data.draw(boxes(self.values[name].shape))
        values = some_values(kind, self.values[name][box].shape, self.dtype, self.fill, seed)
        self.file[name][box] = values
        self.wrote(name, box, values)

    @precondition(has_samples)
    @rule(name=st.sampled_from(NAMES), kind=KINDS, seed=SEEDS)
    def write_everything(self, name, kind, seed):
        """The whole dataset."""
        self.file[name][...] = values = some_values(kind, self.values[name].shape, self.dtype, self.fill, seed)
        self.wrote(name, ..., values)

    @precondition(has_samples)
    @rule(name=st.sampled_from(NAMES), axis=st.integers(0, 2), kind=KINDS, seed=SEEDS)
    def write_planes_one_by_one(self, name, axis, kind, seed):
        """Plane after plane across an axis, as a series is written."""
        axis %= len(self.shape)
        values = some_values(kind, self.values[name].shape, self.dtype, self.fill, seed)
        for index in range(min(values.shape[axis], 30)):
            plane = (slice(None),) * axis + (index,)
            self.file[name][plane] = values[plane]
            self.wrote(name, plane, values[plane])

    @precondition(has_samples)
    @rule(name=st.sampled_from(NAMES), count=st.integers(1, 40), kind=KINDS, seed=SEEDS)
    def write_points(self, name, count, kind, seed):
        """Single samples."""
        size = self.values[name].size
        places = np.random.default_rng(seed).choice(size, min(count, size), replace=False)
        where = np.unravel_index(places, self.values[name].shape)
        values = some_values(kind, (len(places),), self.dtype, self.fill, seed)
        write_points(self.file[name], np.stack(where, axis=1), values)
        self.wrote(name, where, values)

    @precondition(has_samples)
    @rule(name=st.sampled_from(NAMES), kind=KINDS, seed=SEEDS)
    def write_all_but_one(self, name, kind, seed):
        """All samples but one."""
        shape = self.values[name].shape
        keep = np.unravel_index(seed % self.values[name].size, shape)
        values = some_values(kind, shape, self.dtype, self.fill, seed)
        others = np.ones(shape, bool)
        others[keep] = False
        if others.any():
            write_all_but(self.file[name], tuple(int(n) for n in keep), values)
            self.wrote(name, others, values[others])

    @precondition(has_samples)
    @rule(source=st.sampled_from(NAMES), goal=st.sampled_from(NAMES), data=st.data())
    def write_what_was_read(self, source, goal, data):
        """A box of one dataset into the other or itself: what was read are new values, however they came about."""
        shape = np.minimum(self.values[source].shape, self.values[goal].shape)
        box = data.draw(boxes(tuple(int(n) for n in shape)))
        if self.defined[source][box].all():
            values = self.file[source][box]
            self.file[goal][box] = values
            self.wrote(goal, box, values)

    @rule(name=st.sampled_from(NAMES), axis=st.integers(0, 2), change=st.integers(-12, 12))
    def resize(self, name, axis, change):
        """A few planes more or less: new ones hold the fill value, if any."""
        axis %= len(self.shape)
        before = self.values[name].shape
        shape = tuple(min(max(0, n + change), 2 * self.shape[a] + 12) if a == axis else n for a, n in enumerate(before))
        self.file[name].resize(shape)
        common = tuple(slice(0, min(old, new)) for old, new in zip(before, shape, strict=True))
        values, defined = np.full(shape, 0 if self.fill is None else self.fill, self.dtype), np.full(shape, self.fills)
        values[common], defined[common] = self.values[name][common], self.defined[name][common]
        self.values[name], self.defined[name] = values, defined

    # Everything else that makes HDF5 decode and encode.

    @rule()
    def flush(self):
        """H5Fflush."""
        self.file.flush()

    @rule(cache=CACHES, new_process=st.booleans())
    def reopen(self, cache, new_process):
        """Closes the file and opens it again, perhaps with nothing remembered."""
        self.file.close()
        if new_process:
            host_tools.forget()
        self.open("r+", cache)

    @precondition(has_samples)
    @rule(name=st.sampled_from(NAMES), data=st.data())
    def read_box(self, name, data):
        """A box, from the file or from what the writer holds."""
        box = data.draw(boxes(self.values[name].shape))
        if self.defined[name][box].any():
            self.judge(name, self.file[name][box], box)

    @rule(cache=CACHES)
    def check_what_a_new_reader_finds(self, cache=0):
        """All of both datasets, from the file; twice the same bits, and the same through a view."""
        self.file.close()
        found = []
        for _ in range(2):
            with h5py.File(self.path, "r") as file:
                found.append({name: file[name][...] for name in NAMES if self.defined[name].any()})
        with h5py.File(self.path, "r") as file:
            for name in found[0]:
                assert exact.same_bits(found[0][name], found[1][name]), "reading is deterministic"
                self.judge(name, found[0][name], ...)
                self.compare_with_view(file[name], found[0][name], self.defined[name])
        self.open("r+", cache)

    @precondition(lambda self: shutil.which("h5repack"))
    @rule(cache=CACHES)
    def copy(self, cache):
        """A copy by h5repack takes the file's place."""
        if self.latest:  # of a version that Debian's h5repack cannot read
            return
        self.file.close()
        copied = self.directory / "copied.h5"
        host_tools.run("h5repack", self.path, copied)
        copied.replace(self.path)
        self.open("r+", cache)

    def judge(self, name, found, box):
        """The bound of one dataset for a box."""
        defined = self.defined[name][box]
        expected, found = self.values[name][box][defined], found[defined]
        if self.dtype.kind in "iu" and not self.config["lossy_integers"]:
            assert exact.same_bits(expected, found), name
            return
        share = exact.error_over_bound(expected, found, self.bounds[name], self.config["bound"][0] == "pointwise_relative")
        note(f"{name}: error / bound {share}")
        assert share <= 1, name
        if self.fill is not None and self.dtype.kind != "c":
            missing = expected == np.array(self.fill, self.dtype)
            assert exact.same_bits(expected[missing], found[missing]), f"{name}: fill values"

    def compare_with_view(self, dataset, expected, defined):
        """Partial reads and levels find the bits that HDF5 finds."""
        view = h5stz.view(dataset, cache_bytes=0)
        for level in (0, 1):
            step = (slice(None, None, 2**level),) * expected.ndim
            part = view.level(level)[...]
            assert exact.same_bits(expected[step][defined[step]], part[defined[step]])
