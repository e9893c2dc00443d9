"""Cases of rewriting: random programs that read and write parts of chunks; the bound, and the bits of what nobody writes.

Half of the programs are *ordinary*: they write boxes and frames. The others are *adversarial*: chunks of any size from one
sample on, masks and lists that leave few samples of a chunk as they were. Values are rough, so that what is quantized twice
shows in a quarter of the samples or more. Datasets have any type, bound, fill value, and times of filling and allocation.
"""

import os
import shutil

import h5py
import numpy as np

import h5stz
from exhaustive.model import Kept, draw_part
from exhaustive.source import Violation
from exhaustive.through_h5py import directory, end, other_process  # noqa: F401  # a worker calls `end`
from support import host_tools
from support.piecewise import undefine_fill, write_points

MEMORY = "H5STZ_REWRITE_MEMORY"  # MiB
#: What a program does, as often as the number says: a method of Program.
ORDINARY = {
    "write box": 8, "write frames": 6, "write all": 2, "read": 8, "read on": 3, "write what was read": 2,
    "flush": 4, "reopen": 4, "forked": 1, "elsewhere": 1, "copy": 1, "repack": 0.3, "resize": 2, "delete": 0.5,
}  # fmt: skip
ADVERSARIAL = ORDINARY | {"write box": 4, "write steps": 4, "write mask": 9, "write list": 4, "write all but": 4}
DTYPES = {
    "<f4": 8, "<f8": 4, ">f4": 1, ">f8": 0.5, "<f2": 1, "<c8": 1, ">c16": 0.5,
    "<i2": 1, "<i4": 2, ">i4": 0.5, "|u1": 0.5, "<u8": 0.5,
}  # fmt: skip
ALLOCATION = [h5py.h5d.ALLOC_TIME_INCR, h5py.h5d.ALLOC_TIME_LATE, h5py.h5d.ALLOC_TIME_EARLY]
FILLING = {"if set": h5py.h5d.FILL_TIME_IFSET, "always": h5py.h5d.FILL_TIME_ALLOC, "never": h5py.h5d.FILL_TIME_NEVER}


def draw_chunks(source, adversarial):
    """A chunk shape: 64^3 at times, else up to some 6000 samples; of ordinary programs 100 at least."""
    if source.chance(0.02):
        return (64, 64, 64)
    low, high = (0, 3.8) if adversarial else (2, 3.8)
    size, rank = 10 ** source.real(low, high), source.between(1, 3)
    sides = []
    for left in range(rank, 0, -1):
        sides.append(max(1, round(size ** (1 / left) * (source.real(0.6, 1.6) if left > 1 else 1))))
        size = max(1, size / sides[-1])
    return tuple(sides)


def rough(source, shape, dtype, bound, fill=None):
    """Values with steps of many bounds between neighbours, at times with runs of one value; few are near zero."""
    if dtype.kind == "c":
        parts = rough(source, (*shape, 2), np.dtype(f"{dtype.str[0]}f{dtype.itemsize // 2}"), bound)
        return parts.view(dtype)[..., 0]
    numbers = source.numbers
    scale = bound * 10 ** source.real(0.7, 3)
    kind = source.weighted(
        {"noise": 3, "walk": 3, "smooth": 2, "masked": 1, "few values": 0.5, "constant": 0.2, "special": 0.3}
    )
    if kind == "smooth":
        steps = sum(np.sin(np.arange(n) * source.real(0.1, 1) + source.real(0, 6)).reshape((n,) + (1,) * k)
                    for n, k in zip(shape, reversed(range(len(shape))), strict=True))  # fmt: skip
        values = scale * (steps + 0.05 * numbers.standard_normal(shape))
    else:
        values = scale * numbers.standard_normal(() if kind == "constant" else shape)
    if kind == "walk" and shape:
        values = np.cumsum(values, axis=-1) / 3
    elif kind == "few values":
        values = numbers.integers(-2, 3, shape) * scale / 3
    values = np.broadcast_to(values + 40 * scale, shape)
    if kind == "masked":
        values = np.where(numbers.random(shape) < source.real(0.05, 0.9), fill or 0, values)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.rint(values).clip(max(-30000, limits.min), min(30000, limits.max)).astype(dtype)
    values = values.clip(-60000, 60000) if dtype.itemsize == 2 else values
    if kind == "special":
        values = np.where(numbers.random(shape) < 0.1, numbers.choice([np.nan, np.inf, -np.inf], shape), values)
    return values.astype(dtype)


class Program:
    """A file with up to five datasets, a program that works on it, and what must be in it."""

    def __init__(self, source, tally):
        self.source, self.tally = source, tally
        self.path = directory() / "rewriting.h5"
        self.adversarial = source.chance(0.5)
        self.kind = "adversarial" if self.adversarial else "ordinary"
        self.steps = ADVERSARIAL if self.adversarial else ORDINARY
        self.models, self.bounds, self.alive, self.born = {}, {}, [], 0
        self.changed = ""
        memory = source.pick(["0", "1", "", "", ""])
        self.latest = {"libver": "latest"} if source.chance(0.2) else {}
        os.environ.pop(MEMORY, None)
        if memory:
            os.environ[MEMORY] = memory
        host_tools.forget()  # reads the variable
        run.described = f"{self.kind}, {MEMORY} {memory or 'unset'}"
        self.chunk_bytes = 4
        self.layout = self.draw_layout()
        self.open("w")
        for _ in range(source.between(1, 3)):
            self.create()

    def draw_layout(self):
        """What datasets of one program share more often than not: chunks, type, how many chunks."""
        source = self.source
        chunks = draw_chunks(source, self.adversarial)
        most = 2 if chunks == (64, 64, 64) else 40 if np.prod(chunks) < 200 else 8
        counts, left = [], most
        for _ in chunks:
            counts.append(source.between(1, max(1, left)) if left > 1 else 1)
            left //= counts[-1]
        shape = tuple(max(1, n * c - (source.between(0, n - 1) if source.chance(0.2) else 0))
                      for n, c in zip(chunks, counts, strict=True))  # fmt: skip
        return chunks, shape, np.dtype(source.weighted(DTYPES))

    def draw_options(self, dtype, shape, fill):
        """Options of STZ, the bound that values go by, and the first values."""
        source = self.source
        bound = float(source.between(1, 40)) if dtype.kind in "iu" else source.real(0.5, 2) * 10.0 ** -source.between(0, 4)
        mode = source.weighted({"absolute": 5, "pointwise_relative": 1, "relative": 1}) if dtype.kind == "f" else "absolute"
        first = rough(source, shape, dtype, bound, fill)
        options = {"absolute": bound}
        if mode == "pointwise_relative":
            options = {mode: 2.0 ** -source.between(4, 10)}
        elif mode == "relative":  # it becomes an absolute bound, of which client data tell
            numbers = first[np.isfinite(first)].astype("f8")
            options = {"absolute": float(np.ptp(numbers) if numbers.size else 0) * 10.0 ** -source.between(2, 4) or 1.0}
        if dtype.kind in "iu" and source.chance(0.8):
            options["integers"] = "lossy"
        if source.chance(0.1):
            options["append_axis"] = source.between(0, len(shape) - 1)
        if source.chance(0.2):
            options["block"] = "region"
        return options, bound, first

    def create(self):
        """A new dataset."""
        source = self.source
        chunks, shape, dtype = self.layout if source.chance(0.7) else self.draw_layout()
        self.chunk_bytes = int(np.prod(chunks)) * dtype.itemsize
        name, self.born = f"d{self.born}", self.born + 1
        fill = None if dtype.kind == "c" else source.pick([None, None, 0, 7, 99 if dtype.kind in "iu" else -999])
        fill = np.nan if dtype.kind == "f" and source.chance(0.1) else fill
        options, bound, first = self.draw_options(dtype, shape, fill)
        times = source.weighted({"if set": 8, "always": 1, "never": 1, "undefined": 1})
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_alloc_time(source.pick(ALLOCATION))
        if times == "undefined":
            fill = None
            undefine_fill(properties, dtype)
        else:
            properties.set_fill_time(FILLING[times])
        self.file.create_dataset(
            name, shape, dtype, chunks=chunks, maxshape=(None,) * len(shape), dcpl=properties,
            fillvalue=None if fill is None else np.array(fill, dtype), **h5stz.STZ(**options, dtype=dtype),
        )  # fmt: skip
        self.models[name] = Kept(shape, dtype, options, fill, times in ("if set", "always"))
        self.bounds[name] = bound
        run.described += f"; {name}: {dtype.str} {shape} in {chunks}, {options}, fill {fill} {times}"
        if source.chance(0.9):
            self.put(name, ..., first)

    def open(self, mode="r+"):
        """The file, with a chunk cache that holds nothing, a chunk or two, or everything."""
        cache = self.source.pick([0, 0, 1.5, 3.2, 1e4])
        slots = self.source.pick([521, 521, 3])
        self.file = h5py.File(self.path, mode, rdcc_nbytes=int(cache * self.chunk_bytes), rdcc_nslots=slots, **self.latest)
        self.opened = {}

    def dataset(self, name):
        """A dataset, which stays open until the file is closed: so does its chunk cache."""
        if name not in self.opened:
            self.opened[name] = self.file[name]
        return self.opened[name]

    def values(self, name, shape):
        """New values of a dataset's kind."""
        model = self.models[name]
        return rough(self.source, shape, model.dtype, self.bounds[name], model.fill)

    def put(self, name, part, values):
        """Writes through h5py."""
        self.dataset(name)[part] = values
        self.models[name].wrote(part, values)

    def put_samples(self, name, chosen):
        """Writes those of a mask, as a list of points."""
        where = np.nonzero(chosen)
        if where[0].size:
            values = self.values(name, where[0].shape)
            write_points(self.dataset(name), np.stack(where, axis=1), values)
            self.models[name].wrote(where, values)

    def draw_box(self, shape, steps=1):
        """A box, of every so many samples."""
        source, part = self.source, []
        for extent in shape:
            first = source.between(0, extent - 1)
            part.append(slice(first, source.between(first + 1, extent), source.between(1, steps)))
        return tuple(part)

    # What a program does: methods that get the name of a dataset and its model.

    def write_box(self, name, model, steps=1):
        """A box of one dataset."""
        part = self.draw_box(model.values.shape, steps)
        self.put(name, part, self.values(name, model.values[part].shape))

    def write_steps(self, name, model):
        """A box with steps along its axes."""
        self.write_box(name, model, 3)

    def write_frames(self, name, model):
        """Planes across an axis, mostly the first, one by one."""
        shape = model.values.shape
        axis = 0 if self.source.chance(0.7) else self.source.between(0, len(shape) - 1)
        first = self.source.between(0, shape[axis] - 1)
        for index in range(first, min(shape[axis], first + self.source.between(1, 6))):
            plane = (slice(None),) * axis + (index,)
            self.put(name, plane, self.values(name, model.values[plane].shape))

    def write_all(self, name, model):
        """The whole dataset."""
        self.put(name, ..., self.values(name, model.values.shape))

    def write_mask(self, name, model):
        """Samples at random, from a few to nearly all."""
        share = self.source.pick([0.02, 0.5, 0.9, 0.98, 0.98, 0.995])
        self.put_samples(name, self.source.numbers.random(model.values.shape) < share)

    def draw_samples(self, shape, most):
        """A mask with some samples."""
        chosen = np.zeros(shape, bool)
        chosen.flat[self.source.numbers.choice(chosen.size, min(chosen.size, self.source.between(1, most)), replace=False)] = (
            True
        )
        return chosen

    def write_list(self, name, model):
        """A list of samples."""
        self.put_samples(name, self.draw_samples(model.values.shape, 60))

    def write_all_but(self, name, model):
        """All samples but a few."""
        self.put_samples(name, ~self.draw_samples(model.values.shape, 9))

    def elsewhere(self, name, model):
        """Another process writes a box."""
        part = self.draw_box(model.values.shape)
        values = self.values(name, model.values[part].shape)
        self.file.close()
        other_process().write(self.path, name, part, values)
        model.wrote(part, values)
        self.open()

    def forked(self, name, model):
        """A child of this process, which has its memory, writes a box."""
        part = self.draw_box(model.values.shape)
        values = self.values(name, model.values[part].shape)
        self.file.close()
        write_in_a_fork(self.path, name, part, values)
        model.wrote(part, values)
        self.open()

    def read(self, name, model):
        """A part, which may come from what HDF5 holds of it. Returns the values, if there are any."""
        if not model.defined.any():  # without a fill value HDF5 may have none to read
            return None
        part = draw_part(self.source, model.values.shape)
        values = self.dataset(name)[part]
        model.judge(self.tally, values, f"{self.kind} program, bound: read by its writer", part)
        return values

    def read_on(self, name, model):
        """A part that the program keeps: HDF5 gets other addresses."""
        self.alive.append(self.read(name, model))
        if self.source.chance(0.3):
            del self.alive[: self.source.between(1, len(self.alive))]

    def write_what_was_read(self, name, model):
        """A part of a dataset into itself or another: these are new values."""
        goal = self.source.pick(sorted(self.models))
        if self.models[goal].dtype != model.dtype or self.models[goal].values.ndim != model.values.ndim:
            goal = name
        shape = [min(pair) for pair in zip(model.values.shape, self.models[goal].values.shape, strict=True)]
        part = tuple(slice(*each.indices(n)) for each, n in zip(draw_part(self.source, tuple(shape)), shape, strict=True))
        if model.defined[part].all():
            self.put(goal, part, self.dataset(name)[part])

    def flush(self, name, model):
        """H5Fflush."""
        self.file.flush()

    def reopen(self, name, model):
        """Closes the file and opens it again, perhaps with nothing remembered."""
        self.close()
        if self.source.chance(0.2):
            host_tools.forget()
        self.open()

    def copy(self, name, model):
        """H5Ocopy, of chunks in the cache too."""
        if len(self.models) < 5:
            other, self.born = f"d{self.born}", self.born + 1
            self.file.copy(name, other)
            self.models[other], self.bounds[other] = model.copy(), self.bounds[name]

    def repack(self, name, model):
        """A copy by h5repack takes the file's place; Debian's cannot read the latest version."""
        if shutil.which("h5repack") and not self.latest:
            self.close()
            copied = self.path.with_suffix(".copy")
            host_tools.run("h5repack", self.path, copied)
            copied.replace(self.path)
            self.open()

    def resize(self, name, model):
        """Some planes more or less."""
        source, shape = self.source, model.values.shape
        axis = source.between(0, len(shape) - 1)
        limit = 2 * shape[axis] if model.values.size < 60000 else shape[axis]
        change = source.between(-max(1, shape[axis] // 2), max(1, shape[axis] // 2))
        new = tuple(min(max(1, n + change), limit) if a == axis else n for a, n in enumerate(shape))
        self.dataset(name).resize(new)
        model.resize(new)

    def delete(self, name, model):
        """Another dataset takes the place of one."""
        if len(self.models) > 1:
            self.opened.pop(name, None)
            del self.file[name], self.models[name]
            self.create()

    def step(self, kind):
        """One thing that a program does."""
        name = self.source.pick(sorted(self.models))
        getattr(self, kind.replace(" ", "_"))(name, self.models[name])

    def close(self):
        """Closes the file; what another process finds in it then must be within the bound, with the bits of before."""
        self.opened = {}
        self.file.close()
        for name, model in self.models.items():
            if not model.defined.any():
                continue
            found = other_process().read(self.path, name)
            changed = model.look(self.tally, found, f"{self.kind} program, bound: {name}")
            if changed and not self.changed:
                self.changed = f"{self.kind} program, bits: {changed} samples of {name} changed, which nobody had written"
            if self.source.chance(0.1):
                self.look_through_view(name, found, model.defined)

    def look_through_view(self, name, found, defined):
        """Views find the bits that HDF5 finds, in levels too."""
        with h5py.File(self.path, "r") as file:
            view = h5stz.view(file[name], cache_bytes=0)
            for level in (0, 1):
                step = (slice(None, None, 2**level),) * found.ndim
                part = view.level(level)[...][defined[step]]
                self.tally.same_bits(found[step][defined[step]], part, f"{self.kind} program, view: {name}, level {level}")


def write_in_a_fork(path, name, part, values):
    """Writes in a child of this process, which has its memory; the child ends without any clean-up of Python's."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with h5py.File(path, "r+") as file:
                file[name][part] = values
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1]:
        raise Violation("a forked process could not write")


def run(source, tally):
    """One case. Returns nothing to compare: bytes depend on what a process remembers."""
    before = os.environ.get(MEMORY)
    program = Program(source, tally)
    tally.seen[f"{program.kind} program"] += 1
    try:
        for _ in range(source.between(3, 16)):
            kind = source.weighted(program.steps)
            run.described += f", {kind}"
            program.step(kind)
            tally.seen[f"step {kind}"] += 1
        program.close()
    finally:
        program.opened = {}
        program.file.close()
        os.environ.pop(MEMORY, None)
        if before is not None:
            os.environ[MEMORY] = before
        host_tools.forget()  # what comes next in this process reads the variable anew
    if program.changed:
        raise Violation(program.changed)
    return 0
