"""Cases of rewriting: random programs that read and write parts of chunks; the bound, and the bits of what nobody writes.

Half of the programs are *ordinary*: they write boxes and frames. The others are *adversarial*: chunks of any size from one
sample on, masks and lists that leave few samples of a chunk as they were. Values are rough, so that what is quantised twice
shows in a quarter of the samples or more.
"""

import os

import h5py
import numpy as np

import h5stz
from exhaustive.model import Model, draw_part
from exhaustive.source import Violation
from exhaustive.through_h5py import directory, end, other_process  # noqa: F401  # a worker calls `end`
from support import exact, host_tools
from support.piecewise import write_points

MEMORY = "H5STZ_REWRITE_MEMORY"  # MiB
#: What a program does, as often as the number says.
ORDINARY = {
    "write box": 8, "write frames": 6, "write all": 2, "read": 8, "read on": 3, "write what was read": 2,
    "flush": 4, "reopen": 4, "forked": 1, "elsewhere": 1, "copy": 1, "resize": 2, "delete": 0.5,
}  # fmt: skip
ADVERSARIAL = ORDINARY | {"write box": 4, "write steps": 4, "write mask": 9, "write list": 4, "write all but": 4}
DTYPES = {"<f4": 8, "<f8": 4, ">f4": 1, "<i2": 1, "<i4": 2}


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


def rough(source, shape, dtype, bound):
    """Values with steps of many bounds between neighbours, at times with runs of one value; none is near zero."""
    numbers = source.numbers
    scale = bound * 10 ** source.real(0.7, 3)
    kind = source.weighted({"noise": 3, "walk": 3, "smooth": 2, "masked": 1, "few values": 0.5})
    if kind == "smooth":
        steps = sum(np.sin(np.arange(n) * source.real(0.1, 1) + source.real(0, 6)).reshape((n,) + (1,) * k)
                    for n, k in zip(shape, reversed(range(len(shape))), strict=True))  # fmt: skip
        values = scale * (steps + 0.05 * numbers.standard_normal(shape))
    else:
        values = scale * numbers.standard_normal(shape)
    if kind == "walk" and shape:
        values = np.cumsum(values, axis=-1) / 3
    elif kind == "masked":
        values = np.where(numbers.random(shape) < source.real(0.05, 0.9), 0, values)
    elif kind == "few values":
        values = numbers.integers(-2, 3, shape) * scale / 3
    values = values + 40 * scale
    return np.rint(values).clip(-30000, 30000).astype(dtype) if dtype.kind == "i" else values.astype(dtype)


class Kept(Model):
    """A Model that also keeps the bits that readers of the file have found, of samples that nobody has written since."""

    def __init__(self, *given):
        super().__init__(*given)
        self.found, self.known = self.values.copy(), np.zeros(self.values.shape, bool)

    def wrote(self, part, values):
        """Keeps what was written."""
        super().wrote(part, values)
        self.known[part] = False

    def resize(self, shape):
        """Cuts planes off, or adds planes that nobody wrote."""
        before, known = self.found, self.known
        super().resize(shape)
        self.found, self.known = self.values.copy(), np.zeros(shape, bool)
        common = tuple(slice(0, min(pair)) for pair in zip(known.shape, shape, strict=True))
        self.found[common], self.known[common] = before[common], known[common]

    def copy(self):
        """That of a copy of the dataset."""
        other = Kept(self.values.shape, self.dtype, self.options, self.fill, self.fills)
        other.values, other.defined = self.values.copy(), self.defined.copy()
        other.found, other.known = self.found.copy(), self.known.copy()
        return other

    def look(self, tally, found, what):
        """Judges a whole dataset read from the file. Returns how many samples changed that nobody wrote.

        Those that had no error at all are counted apart: they may have been stored without loss until now (docs/rewriting.md).
        """
        self.judge(tally, found, what)
        changed = self.known & (exact.bits(native(found)) != exact.bits(native(self.found)))
        were_exact = changed & (exact.bits(native(self.found)) == exact.bits(native(self.values)))
        tally.seen["exact samples that were quantised"] += int(were_exact.sum())
        self.found, self.known = found, self.defined.copy()
        return int((changed & ~were_exact).sum())


def native(array):
    """Contiguous and in the machine's byte order."""
    return np.ascontiguousarray(array, array.dtype.newbyteorder("="))


class Program:
    """A file with up to three datasets, a program that works on it, and what must be in it."""

    def __init__(self, source, tally):
        self.source, self.tally = source, tally
        self.path = directory() / "rewriting.h5"
        self.adversarial = source.chance(0.5)
        self.kind = "adversarial" if self.adversarial else "ordinary"
        self.steps = ADVERSARIAL if self.adversarial else ORDINARY
        self.models, self.alive, self.born = {}, [], 0
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

    def create(self):
        """A new dataset."""
        source = self.source
        chunks, shape, dtype = self.layout if source.chance(0.7) else self.draw_layout()
        self.chunk_bytes = int(np.prod(chunks)) * dtype.itemsize
        name, self.born = f"d{self.born}", self.born + 1
        mode = source.weighted({"absolute": 5, "pointwise_relative": 1, "relative": 1})
        self.bound = float(source.between(1, 40)) if dtype.kind == "i" else source.real(0.5, 2) * 10.0 ** -source.between(0, 4)
        options = {mode if dtype.kind == "f" else "absolute": self.bound}
        if mode == "pointwise_relative" and dtype.kind == "f":
            options = {mode: 2.0 ** -source.between(4, 10)}
        if dtype.kind == "i":
            options["integers"] = "lossy"
        first = rough(source, shape, dtype, self.bound)
        if "relative" in options:  # it becomes an absolute bound, of which client data tell
            options = {"absolute": float(np.ptp(first.astype("f8"))) * 10.0 ** -source.between(2, 4) or 1.0}
        fill = source.pick([None, None, 0, 7, -999])
        self.file.create_dataset(
            name, shape, dtype, chunks=chunks, maxshape=(None,) * len(shape),
            fillvalue=None if fill is None else np.array(fill, dtype), **h5stz.STZ(**options, dtype=dtype),
        )  # fmt: skip
        self.models[name] = Kept(shape, dtype, options, fill, True)
        self.bounds = {**getattr(self, "bounds", {}), name: self.bound}
        run.described += f"; {name}: {dtype.str} {shape} in {chunks}, {options}, fill {fill}"
        if source.chance(0.9):
            self.write(name, ..., first)

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

    def write(self, name, part, values):
        """Through h5py."""
        self.dataset(name)[part] = values
        self.models[name].wrote(part, values)

    def write_samples(self, name, chosen):
        """Those of a mask, as a list of points."""
        where = np.nonzero(chosen)
        if where[0].size:
            values = rough(self.source, where[0].shape, self.models[name].dtype, self.bounds[name])
            write_points(self.dataset(name), np.stack(where, axis=1), values)
            self.models[name].wrote(where, values)

    def step(self, kind):
        """One thing that a program does."""
        source, models = self.source, self.models
        name = source.pick(sorted(models))
        model, numbers = models[name], source.numbers
        shape = model.values.shape
        if kind in ("write box", "write steps", "write frames", "elsewhere", "forked"):
            part = self.draw(kind, shape)
            values = rough(source, model.values[part].shape, model.dtype, self.bounds[name])
            if kind == "elsewhere":
                self.file.close()
                other_process().write(self.path, name, part, values)
                model.wrote(part, values)
                self.open()
            elif kind == "forked":
                self.file.close()
                write_in_a_fork(self.path, name, part, values)
                model.wrote(part, values)
                self.open()
            elif kind == "write frames":
                for index in range(shape[0])[part[0]]:
                    frame = rough(source, shape[1:], model.dtype, self.bounds[name])
                    self.write(name, (index,), frame)
            else:
                self.write(name, part, values)
        elif kind == "write all":
            self.write(name, ..., rough(source, shape, model.dtype, self.bounds[name]))
        elif kind == "write mask":
            self.write_samples(name, numbers.random(shape) < source.pick([0.02, 0.5, 0.9, 0.98, 0.98, 0.995]))
        elif kind == "write list":
            chosen = np.zeros(shape, bool)
            chosen.flat[numbers.choice(chosen.size, min(chosen.size, source.between(1, 60)), replace=False)] = True
            self.write_samples(name, chosen)
        elif kind == "write all but":
            chosen = np.ones(shape, bool)
            chosen.flat[numbers.choice(chosen.size, min(chosen.size, source.between(1, 9)), replace=False)] = False
            self.write_samples(name, chosen)
        elif kind in ("read", "read on"):
            part = draw_part(source, shape)
            values = self.dataset(name)[part]
            model.judge(self.tally, values, f"{self.kind} program, bound: read by its writer", part)
            if kind == "read on":  # the program keeps it, HDF5 gets other addresses
                self.alive.append(values)
                if source.chance(0.3):
                    del self.alive[: source.between(1, len(self.alive))]
        elif kind == "write what was read":
            part = draw_part(source, shape)
            self.write(name, part, self.dataset(name)[part])
        elif kind == "flush":
            self.file.flush()
        elif kind == "reopen":
            self.close()
            if source.chance(0.2):
                host_tools.forget()
            self.open()
        elif kind == "copy" and len(models) < 5:
            other, self.born = f"d{self.born}", self.born + 1
            self.file.copy(name, other)
            models[other], self.bounds[other] = model.copy(), self.bounds[name]
        elif kind == "resize":
            axis = source.between(0, len(shape) - 1)
            limit = 2 * shape[axis] if model.values.size < 60000 else shape[axis]
            change = source.between(-max(1, shape[axis] // 2), max(1, shape[axis] // 2))
            new = tuple(min(max(1, n + change), limit) if a == axis else n for a, n in enumerate(shape))
            self.dataset(name).resize(new)
            model.resize(new)
        elif kind == "delete" and len(models) > 1:
            self.opened.pop(name, None)
            del self.file[name], models[name]
            self.create()

    def draw(self, kind, shape):
        """The part that a write changes."""
        source = self.source
        if kind == "write frames":
            first = source.between(0, shape[0] - 1)
            return (slice(first, min(shape[0], first + source.between(1, 6))),)
        part = []
        for extent in shape:
            first = source.between(0, extent - 1)
            part.append(slice(first, source.between(first + 1, extent), source.between(1, 3) if kind == "write steps" else 1))
        return tuple(part)

    def close(self):
        """Closes the file; what another process finds in it then must be within the bound, with the bits of before."""
        self.opened = {}
        self.file.close()
        for name, model in self.models.items():
            changed = model.look(self.tally, other_process().read(self.path, name), f"{self.kind} program, bound: {name}")
            if changed and not self.changed:
                self.changed = f"{self.kind} program, bits: {changed} samples of {name} changed, which nobody had written"


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
    if program.changed:
        raise Violation(program.changed)
    return 0
