"""`h5stz run --threads`: where threads write and read whole datasets, bytes, values and errors are those of HDF5 alone."""

import random

import h5py
import numpy as np
import pytest

from support import host_tools, whole_datasets
from support.paths import PROGRAMS
from support.requirements import needs_programs, require

BOUND = 1e-3


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    require(needs_programs("h5cc"))
    target = tmp_path_factory.mktemp("whole") / "whole"
    host_tools.run("h5cc", "-shlib", "-o", target, PROGRAMS / "whole.c", "-lm", directory=target.parent)
    return target


class Case:
    """A case for programs/whole.c, under the preload library with one thread and with three."""

    def __init__(self, program, directory, steps, dtype="f4", shape="80x80x48", chunk="32x16x48", **keys):
        self.alone, self.threads = directory / "alone.h5", directory / "threads.h5"
        options = [f"{key}={value}" for key, value in keys.items()]
        words = self.words = [dtype, shape, chunk, *options, "--", *steps.split()]
        self.printed, self.read, _ = whole_datasets.outcome([program, self.alone, *words], self.alone, "preload", 1)
        self.printed_by_threads, self.read_by_threads, self.ways = whole_datasets.outcome(
            [program, self.threads, *words], self.threads, "preload", 3
        )

    def check(self, same_file=True):
        """All is the same: what was printed and read, and the file, or at least its chunks.

        Unused bytes of new kinds of metadata (latest=1) are what HDF5 happened to have in memory.
        """
        same_file = same_file and "latest=1" not in self.words
        assert self.printed_by_threads == self.printed, self.words
        same = {
            "read": self.read_by_threads == self.read,
            "chunks": whole_datasets.stored(self.threads) == whole_datasets.stored(self.alone),
            "file": not same_file or self.threads.read_bytes() == self.alone.read_bytes(),
        }
        assert all(same.values()), (self.words, self.ways, same)
        return self.ways


def bound(value):
    """Client data: an absolute bound."""
    return ",".join(map(str, (101, host_tools.ABSOLUTE, *host_tools.double_words(value))))


#: Client data, with which data each is of use.
WORDS = {
    "absolute": "102,1,1,3",
    "pointwise": "102,2,1,3",
    "lossless": "102,0",
    "tight": bound(1e-7),
}
TYPES = ["f4", "f8", "i4", ">f4"]
#: Whole chunks, then edge chunks along each axis, chunks that are one run in memory, one axis, four axes.
SHAPES = [
    ("96x80x48", "32x16x24"),
    ("102x80x40", "17x80x40"),
    ("90x81x50", "32x16x17"),
    ("105x80x40", "17x80x40"),
    ("300007", "20000"),
    ("13x40x21x30", "5x40x17x30"),
    ("2x200x801", "1x70x801"),
    ("7x5x90x100", "3x1x45x101"),
]
WHOLE_CHUNKS = 2  # shapes
#: Where there is no fill value, HDF5 pads edge chunks with what it has in memory.
FILLS = [{}, {"fill": "-999"}, {"fill": "undefined"}, {"fill": "never"}]
FILES = [{}, {"latest": 1}, {"unlimited": 1}, {"unlimited": 1, "latest": 1}, {"core": 1}, {"optional": 1}]
#: Sequences in which the first write is of everything, then with later ones, then those that threads must leave alone.
WRITES = ["write", "slab", "write flush", "secondwhole", "flush write again"]
REWRITES = [
    "write part",
    "write write",
    "slab part again write",
    "write again part readonly look",
    "write grow part",
    "write shrink",
]
REWRITES += [
    "write second",
    "write secondwhole part",
    "write again write part write",
    "write grow write",
    "write flush part look part",
]
OTHERS = [
    "part write",
    "second write",
    "part flush write",
    "part again write",
    "double write",
    "transform",
    "gaps",
    "transform write",
]
READS = ["read", "readslab", "look read", "readgaps", "readdouble", "read look readslab read"]


def drawn(seed, count):
    """Cases in which every value of every choice occurs."""
    generator = random.Random(seed)
    choices = [TYPES, SHAPES, list(WORDS), FILLS, FILES, WRITES + REWRITES + OTHERS, READS, ["again", "readonly"]]
    decks = []
    for choice in choices:
        deck = [each for _ in range(-(-count // len(choice))) for each in choice]
        generator.shuffle(deck)
        decks.append(deck)
    for dtype, (shape, chunk), words, fill, file, writes, reads, reopen in list(zip(*decks, strict=False))[:count]:
        if fill in FILLS[2:] and SHAPES.index((shape, chunk)) >= WHOLE_CHUNKS:
            shape, chunk = generator.choice(SHAPES[:WHOLE_CHUNKS])
        yield f"{writes} {reopen} {reads}", dtype, shape, chunk, {"words": WORDS[words], **fill, **file}


def is_first(steps, dtype):
    """Whether the first write is of the whole dataset and of its type."""
    return not any(steps.startswith(other) for other in OTHERS) or (dtype == "f8" and steps.startswith("double"))


@pytest.mark.parametrize("number", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, 6))])
def test_products_without_a_chunk_cache(program, tmp_path, number):
    """HDF5 then writes each chunk at once, so that the whole file must be the same, whatever follows."""
    taken = set()
    for steps, dtype, shape, chunk, keys in drawn(number, 40):
        case = Case(program, tmp_path, steps, dtype, shape, chunk, cache=0, **keys)
        ways = case.check()
        assert ways.get("write/threads", 0) == is_first(steps, dtype), (case.words, ways)
        taken.update(ways)
    assert taken >= {"read/threads", "read/part", "write/threads", "write/part", "write/stored"}


@pytest.mark.parametrize("cache", [300_000, 1 << 20, 1 << 26])
def test_products_with_a_chunk_cache(program, tmp_path, cache):
    """HDF5 writes chunks when they leave its cache, so that their places in the file may differ. A dirty cache stays HDF5's."""
    for number, writes in enumerate(WRITES + OTHERS):
        shape, chunk = SHAPES[number % len(SHAPES)]
        case = Case(program, tmp_path, f"{writes} readonly read", "f4", shape, chunk, cache=cache, **FILLS[number % 2])
        ways = case.check(same_file=writes in OTHERS)
        assert ways.get("write/threads", 0) == (writes not in OTHERS), (case.words, ways)
        assert ("read/threads" in ways) == (cache < 1 << 26) and ("read/cache" in ways) == (cache == 1 << 26), ways


@pytest.mark.parametrize("cache", [0, pytest.param(1 << 20, marks=pytest.mark.slow), 1 << 26])
@pytest.mark.parametrize("writes", REWRITES)
def test_the_bound_holds_when_chunks_are_written_again(program, tmp_path, writes, cache):
    """The reference is a lossless file of the same program."""
    shape, chunk = SHAPES[2]
    case = Case(program, tmp_path, f"{writes} readonly read", "f4", shape, chunk, cache=cache, words=bound(BOUND))
    assert case.ways["write/threads"] == 1
    with h5py.File(case.threads) as file:
        found = file["x"][...]
    exact = Case(program, tmp_path, f"{writes} readonly read", "f4", shape, chunk, cache=cache, words=WORDS["lossless"])
    with h5py.File(exact.alone) as file:
        wanted = file["x"][...]
    assert host_tools.largest_error(wanted, found) <= BOUND
    assert np.frombuffer(case.read_by_threads[-found.nbytes :], "f4").tobytes() == found.tobytes()
