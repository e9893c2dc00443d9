"""Cases through h5py: a dataset with the filter, a random program of writes, and what readers find."""

import tempfile
from pathlib import Path

import h5py
import numpy as np

import h5stz
from exhaustive import arrays, choices
from exhaustive.memory import AMBIGUOUS, Expected, describe
from exhaustive.model import Model, draw_chunks, draw_part
from exhaustive.other_process import OtherProcess
from exhaustive.source import Violation
from support import boxes, cases, host_tools
from support.piecewise import write_all_but, write_points

BUDGETS = {30: 25, 300: 40, 2500: 32, 20000: 3}
CACHES = (0, 0, 4000, 1 << 20)
NAME = "x"
_held = {}


def directory():
    """Where the files of this process are."""
    if "directory" not in _held:
        _held["directory"] = tempfile.TemporaryDirectory(prefix="night-")
    return Path(_held["directory"].name)


def other_process():
    """The second process."""
    if "other" not in _held:
        _held["other"] = OtherProcess()
    return _held["other"]


def end():
    """Removes the files, ends the second process."""
    if "other" in _held:
        _held.pop("other").end()
    if "directory" in _held:
        _held.pop("directory").cleanup()


def stored_options(options, dtype):
    """The STZ of options; Expected where client data cannot hold them."""
    try:
        return h5stz.STZ(**options, dtype=dtype)
    except h5stz.StzError as error:
        if AMBIGUOUS in str(error):
            raise Expected(str(error)) from None
        raise


class Program:
    """One dataset in one file, and the model of what is in it."""

    def __init__(self, source, tally):
        self.source, self.tally = source, tally
        self.path = directory() / "case.h5"
        self.dtype = source.pick(cases.DTYPES)
        self.shape = arrays.draw_shape(
            source, source.between(1, 6) if source.chance(0.3) else source.between(1, 3), source.weighted(BUDGETS), 0.0
        )
        first = arrays.draw_array(source, self.dtype, self.shape, reordered=False)
        self.options = choices.draw_options(source, first, stored=True)
        run.described = describe(first, self.options)
        self.first = first
        self.latest = {"libver": "latest"} if source.chance(0.25) else {}

    def create(self):
        """The new file, with nothing remembered of earlier cases."""
        source = self.source
        stz = stored_options(self.options, self.dtype)
        host_tools.forget()
        fill = None
        if source.chance(0.4):
            fill = self.first.fill if self.first.fill is not None else source.pick([0, 7, 99])
            fill = float("nan") if self.dtype.kind == "f" and source.chance(0.2) else fill
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_alloc_time(source.pick([h5py.h5d.ALLOC_TIME_INCR, h5py.h5d.ALLOC_TIME_LATE, h5py.h5d.ALLOC_TIME_EARLY]))
        never = source.chance(0.1)
        if never:
            properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        chunks = draw_chunks(source, self.shape)
        if source.chance(0.1):
            properties.set_chunk(chunks)
            host_tools.store_edge_chunks_unfiltered(properties)
        grows = source.chance(0.5)
        self.file = h5py.File(self.path, "w", rdcc_nbytes=source.pick(CACHES), **self.latest)
        self.file.create_dataset(
            NAME,
            self.shape,
            self.dtype,
            chunks=chunks,
            maxshape=(None,) * len(self.shape) if grows else None,
            fillvalue=None if fill is None else np.array(fill, self.dtype),
            dcpl=properties,
            **stz,
        )
        self.model = Model(self.shape, self.dtype, self.options, fill, not never)
        self.steps = ["write", "write", "write", "points", "all but one", "flush", "reopen", "elsewhere", "read", "copy"] + [
            "resize"
        ] * grows * 2
        run.described += f", chunks {chunks}, fillvalue {fill}"

    def values(self, shape):
        """Other values of the dataset's type."""
        return arrays.draw_array(self.source, self.dtype, shape, reordered=False).array

    def step(self, kind):
        """One thing that a program does."""
        source, model = self.source, self.model
        shape = model.values.shape
        if kind in ("write", "points", "all but one", "elsewhere", "copy", "read") and not model.values.size:
            return
        if kind == "write":
            part = draw_part(source, shape)
            values = self.values(model.values[part].shape)
            self.file[NAME][part] = values
            model.wrote(part, values)
        elif kind == "points":
            places = source.numbers.choice(model.values.size, min(source.between(1, 30), model.values.size), replace=False)
            where = np.unravel_index(places, shape)
            values = self.values((len(places),))
            write_points(self.file[NAME], np.stack(where, axis=1), values)
            model.wrote(where, values)
        elif kind == "all but one" and model.values.size > 1:
            keep = np.unravel_index(source.between(0, model.values.size - 1), shape)
            values, others = self.values(shape), np.ones(shape, bool)
            others[keep] = False
            write_all_but(self.file[NAME], tuple(int(n) for n in keep), values)
            model.wrote(others, values[others])
        elif kind == "copy" and model.defined.all():  # what was read are new values
            part = draw_part(source, shape)
            values = self.file[NAME][part]
            self.file[NAME][part] = values
            model.wrote(part, values)
        elif kind == "read":
            part = draw_part(source, shape)
            model.judge(self.tally, self.file[NAME][part], "read by its writer", part)
        elif kind == "flush":
            self.file.flush()
        elif kind == "reopen":
            self.reopen()
        elif kind == "elsewhere":
            self.file.close()
            part = draw_part(source, shape)
            values = self.values(model.values[part].shape)
            other_process().write(self.path, NAME, part, values)
            model.wrote(part, values)
            self.open()
        elif kind == "resize":
            axis = source.between(0, len(shape) - 1)
            new = tuple(max(0, n + source.between(-3, 5)) if a == axis else n for a, n in enumerate(shape))
            self.file[NAME].resize(new)
            model.resize(new)

    def open(self):
        """The file again."""
        self.file = h5py.File(self.path, "r+", rdcc_nbytes=self.source.pick(CACHES), **self.latest)

    def reopen(self):
        """Closes the file and opens it again, perhaps with nothing remembered."""
        self.file.close()
        if self.source.chance(0.5):
            host_tools.forget()
        self.open()

    def finish(self):
        """What new readers find: this process, the other one, views of parts and levels."""
        self.file.close()
        if not self.model.defined.any():
            return
        with h5py.File(self.path, "r") as file:
            found = file[NAME][...]
            self.model.judge(self.tally, found, "read from the file")
            if self.source.chance(0.3) and found.size:
                view, defined = h5stz.view(file[NAME], cache_bytes=0), self.model.defined
                for level in (0, 1):
                    step = (slice(None, None, 2**level),) * found.ndim
                    self.tally.same_bits(
                        found[step][defined[step]], view.level(level)[...][defined[step]], f"view, level {level}"
                    )
                request = boxes.random_request(self.source.numbers, found.shape)
                part = tuple(slice(b, b + (n - 1) * k + 1, k) for b, n, k in zip(*request, strict=True))
                self.tally.same_bits(found[part][defined[part]], view[part][defined[part]], f"view of {request}")
        if self.source.chance(0.1):
            elsewhere = other_process().read(self.path, NAME)
            self.tally.same_bits(found[self.model.defined], elsewhere[self.model.defined], "read by another process")


def scalar(source, tally):
    """A dataset of rank 0 has no chunks: it is refused with the filter, and exact without."""
    value = arrays.draw_array(source, source.pick(cases.DTYPES), (), reordered=False).array
    run.described = f"a scalar {value.dtype.str}"
    with h5py.File(directory() / "case.h5", "w") as file:
        try:
            file.create_dataset(NAME, data=value, **h5stz.STZ(absolute=1.0))
        except (TypeError, ValueError):
            pass
        else:
            raise Violation("a scalar dataset took a filter")
        file["plain"] = value
        tally.same_bits(value, np.asarray(file["plain"][()]).astype(value.dtype), "a scalar")


def run(source, tally):
    """One case. Returns nothing to compare: bytes depend on what a process remembers."""
    if source.chance(0.01):
        return scalar(source, tally) or 0
    program = Program(source, tally)
    try:
        program.create()
    except Expected:
        tally.seen["refused as documented"] += 1
        return 0
    try:
        if source.chance(0.85):
            program.file[NAME][...] = program.first.array
            program.model.wrote(..., program.first.array)
        for _ in range(source.between(0, 5)):
            kind = source.pick(program.steps)
            run.described += f", {kind}"
            program.step(kind)
            tally.seen[f"step {kind}"] += 1
        program.finish()
    finally:
        program.file.close()
    tally.seen[f"rank {len(program.shape)}"] += 1
    tally.seen[f"dtype {program.dtype.str}"] += 1
    for name in program.options:
        tally.seen[f"with {name}"] += 1
    return 0
