"""`h5stz run --threads`: where threads write and read whole datasets, bytes, values and errors are those of HDF5 alone."""

import random

import h5py
import numpy as np
import pytest

from h5stz.programs import run
from support import host_tools, whole_datasets
from support.created_files import python
from support.paths import PROGRAMS
from support.requirements import each_package, needs_programs, require

BOUND = 1e-3


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    require(needs_programs("h5cc"))
    target = tmp_path_factory.mktemp("whole") / "whole"
    host_tools.run("h5cc", "-shlib", "-o", target, PROGRAMS / "whole.c", "-lm", directory=target.parent)
    return target


class Case:
    """A case for programs/whole.c, under the preload library with one thread and with three."""

    def __init__(self, program, directory, steps, dtype="f4", shape="80x80x48", chunk="32x16x48", learn=0, **keys):
        self.alone, self.threads = directory / "alone.h5", directory / "threads.h5"
        options = [f"{key}={value}" for key, value in keys.items()]
        words = self.words = [dtype, shape, chunk, *options, "--", *steps.split()]
        variables = {"H5STZ_LEARN": str(learn)}
        self.printed, self.read, _ = whole_datasets.outcome([program, self.alone, *words], self.alone, "preload", 1, variables)
        self.printed_by_threads, self.read_by_threads, self.ways = whole_datasets.outcome(
            [program, self.threads, *words], self.threads, "preload", 3, variables
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


@pytest.mark.parametrize(
    "number",
    [0, *(pytest.param(number, marks=pytest.mark.slow if number < 3 else pytest.mark.night) for number in range(1, 6))],
)
def test_products_without_a_chunk_cache(program, tmp_path, number):
    """HDF5 then writes each chunk at once, so that the whole file must be the same, whatever follows."""
    taken = set()
    for steps, dtype, shape, chunk, keys in drawn(number, 24):
        case = Case(program, tmp_path, steps, dtype, shape, chunk, cache=0, **keys)
        ways = case.check()
        assert ways.get("write/threads", 0) == is_first(steps, dtype), (case.words, ways)
        taken.update(ways)
    assert taken >= {"read/threads", "read/part", "write/threads", "write/part", "write/stored"}


@pytest.mark.parametrize("cache", [pytest.param(300_000, marks=pytest.mark.slow), 1 << 20, 1 << 26])
def test_products_with_a_chunk_cache(program, tmp_path, cache):
    """HDF5 writes chunks when they leave its cache, so that their places in the file may differ. A dirty cache stays HDF5's."""
    for number, writes in enumerate(WRITES + OTHERS):
        shape, chunk = SHAPES[number % len(SHAPES)]
        case = Case(program, tmp_path, f"{writes} readonly read", "f4", shape, chunk, cache=cache, **FILLS[number % 2])
        ways = case.check(same_file=writes in OTHERS)
        assert ways.get("write/threads", 0) == (writes not in OTHERS), (case.words, ways)
        assert ("read/threads" in ways) == (cache < 1 << 26) and ("read/cache" in ways) == (cache == 1 << 26), ways


@pytest.mark.parametrize("cache", [1 << 20, *(pytest.param(cache, marks=pytest.mark.slow) for cache in (0, 1 << 26))])
@pytest.mark.parametrize("writes", REWRITES)
def test_the_bound_holds_when_chunks_are_written_again(program, tmp_path, writes, cache):
    """The reference is a lossless file of the same program. Chunks learn from others here."""
    shape, chunk = SHAPES[2]
    case = Case(program, tmp_path, f"{writes} readonly read", "f4", shape, chunk, learn=1, cache=cache, words=bound(BOUND))
    assert case.ways["write/threads"] == 1
    with h5py.File(case.threads) as file:
        found = file["x"][...]
    words = ["f4", shape, chunk, f"words={WORDS['lossless']}", "--", *writes.split()]
    whole_datasets.outcome([program, case.alone, *words], case.alone)
    with h5py.File(case.alone) as file:
        wanted = file["x"][...]
    assert host_tools.largest_error(wanted, found) <= BOUND
    assert np.frombuffer(case.read_by_threads[-found.nbytes :], "f4").tobytes() == found.tobytes()


@pytest.mark.parametrize("cache", [0, 1 << 20])
def test_a_full_disk_is_reported_as_by_hdf5(program, tmp_path, cache):
    """The program stops then, as HDF5 may crash when it closes such a file."""
    case = Case(program, tmp_path, "full write stop", cache=cache)
    assert case.printed_by_threads == case.printed
    assert case.printed.startswith("write failed\nH5FD__sec2_write: file write failed") and "H5Dwrite: " in case.printed


def test_a_damaged_chunk_is_reported_as_by_hdf5(program, tmp_path):
    words = ["f4", "90x81x50", "32x16x17"]
    target = tmp_path / "x.h5"
    whole_datasets.outcome([program, target, *words, "--", "write"], target)
    with h5py.File(target) as file:
        chunk = file["x"].id.get_chunk_info(17)
    contents = bytearray(target.read_bytes())
    contents[chunk.byte_offset + chunk.size // 2] ^= 0x55
    target.write_bytes(contents)
    words = [program, target, *words, "existing=1", "--", "read"]
    alone, threads = (whole_datasets.outcome(words, target, "preload", count) for count in (1, 3))
    assert threads[:2] == alone[:2] and threads[2] == {"read/failed": 1}
    assert "h5stz: a chunk of" in alone[0] and "a checksum does not match" in alone[0]


@pytest.mark.parametrize(
    "keys, way",
    [
        ({"raw_edges": 1}, "write/raw edges"),
        ({"early": 1}, "write/stored"),
        ({"chunk": "200x81x50", "unlimited": 1}, "write/small"),
        ({"shape": "9x81x50", "chunk": "3x16x17"}, "write/small"),
    ],
)
def test_what_is_left_to_hdf5(program, tmp_path, keys, way):
    case = Case(program, tmp_path, "write", **{"shape": "90x81x50", "chunk": "32x16x17", "cache": 0} | keys)
    assert case.check() == {way: 1}


def test_without_threads_the_caller_does_all_of_it(program, tmp_path):
    """As where the system has no more threads."""
    require(needs_programs("cc"))
    source, library = tmp_path / "none.c", tmp_path / "none.so"
    source.write_text("#include <errno.h>\nint pthread_create(void) { return EAGAIN; }\n")
    host_tools.run("cc", "-shared", "-fPIC", "-fno-builtin", "-o", library, source)
    words = ["f4", "90x81x50", "32x16x17", "--", "write", "readonly", "read"]
    found = {}
    for name, preload in {"alone": "", "none": f"{library} "}.items():
        target = tmp_path / f"{name}.h5"
        variables = {"LD_PRELOAD": f"{preload}{run.PRELOAD}"}
        found[name] = whole_datasets.outcome([program, target, *words], target, "preload", 3, variables)
    assert found["alone"] == found["none"] and found["none"][2] == {"write/threads": 1, "read/threads": 1}
    assert whole_datasets.stored(tmp_path / "none.h5") == whole_datasets.stored(tmp_path / "alone.h5")


WRITERS = {
    "h5py": """
import h5py
with h5py.File(path, "w") as file:
    file.create_dataset("x", data=data, chunks=(32, 40, 50), fillvalue=-1, **h5stz.STZ(absolute=1e-3))
    file.create_dataset("y", data.shape, data.dtype, chunks=(32, 40, 50), **h5stz.STZ(absolute=1e-3))[...] = data
    file["y"][3:70, 5] = 7
""",
    "netCDF4": """
import netCDF4
with netCDF4.Dataset(path, "w") as file:
    for axis, length in zip("abc", data.shape):
        file.createDimension(axis, length)
    variable = file.createVariable("x", "f4", tuple("abc"), chunksizes=(32, 40, 50), fill_value=-1)
    variable[...] = data
""",
    "tables": """
import tables
with tables.open_file(path, "w") as file:
    file.create_carray("/", "x", obj=data, chunkshape=(32, 40, 50))
""",
}
#: With the chunk cache that HDF5 1.10 has, as HDF5 reads a dataset that its cache has room for.
READERS = {
    "h5py": """
import h5py, h5stz, numpy as np
with h5py.File(path) as file:
    found = np.empty(file["x"].shape, "f4")
    file["x"].read_direct(found)
""",
    "netCDF4": """
import netCDF4
netCDF4.set_chunk_cache(1 << 20)
with netCDF4.Dataset(path) as file:
    found = file["x"][...].data
""",
    "tables": """
import tables
tables.parameters.CHUNK_CACHE_SIZE = 1 << 20
with tables.open_file(path) as file:
    found = file.root.x[...]
""",
}
PRINT = "import zlib; print(zlib.crc32(found.tobytes()))"
DATA = """
import numpy as np, h5stz
z, y, x = np.ogrid[:150, :140, :141]
data = (np.sin(z / 7) + np.cos(y / 9) * 3 + np.random.default_rng(3).normal(0, 1e-2, (150, 140, 141)) + x * 0.01).astype("f4")
"""


@pytest.mark.parametrize("through", run.ROUTES)
@pytest.mark.parametrize("package", each_package(WRITERS))
def test_python_packages(package, through, tmp_path):
    """Under a rule that makes compressed datasets of plain ones, and without one."""
    found, counted = {}, {}
    for threads in (1, 3):
        target = tmp_path / f"{threads}.h5"
        variables = {"H5STZ_COMPRESS": "/*=absolute:1e-3", "H5STZ_COMPRESS_CACHE": "1"}
        *_, counted[threads] = whole_datasets.outcome(
            [*python(DATA + WRITERS[package]), target], target, through, threads, variables
        )
        printed, _, reads = whole_datasets.outcome([*python(READERS[package] + PRINT), target], target, through, threads)
        counted[threads] |= reads
        found[threads] = printed, [whole_datasets.stored(target, name) for name in ("x", "y")[: 1 + (package == "h5py")]]
    assert found[1] == found[3]
    assert counted[3]["write/threads"] >= 1 and counted[3]["read/threads"] == 1, counted
    assert "write/threads" not in counted[1] and "read/threads" not in counted[1]


@needs_programs("h5dump", "h5repack")
def test_programs_of_hdf5(program, tmp_path):
    source = tmp_path / "x.h5"
    whole_datasets.outcome([program, source, "f4", "90x81x50", "32x16x17", "--", "write"], source)
    found = {}
    for threads in (1, 3):
        target = tmp_path / f"{threads}.h5"
        words = ["h5repack", "-f", "UD=34765,0,4,102,1,1,3", "-l", "CHUNK=30x27x25", source, target]
        *_, ways = whole_datasets.outcome(words, target, "preload", threads)
        dumped, _, read = whole_datasets.outcome(["h5dump", "-d", "x", target], target, "preload", threads)
        found[threads] = whole_datasets.stored(target), dumped.split("DATA", 1)[1], sorted(ways | read)
    assert found[1][:2] == found[3][:2] and found[1][2] != found[3][2], found[3][2]


def test_threads_of_the_program_and_forks(tmp_path):
    require(needs_programs("h5cc"))
    target = tmp_path / "forks"
    host_tools.run("h5cc", "-shlib", "-o", target, PROGRAMS / "whole_forks.c", "-lm", "-lpthread", directory=tmp_path)
    printed, _, ways = whole_datasets.outcome([target, tmp_path / "x", 3, 4], tmp_path / "x", "preload", 3)
    assert printed in ("done\n", "not thread-safe\n")
    assert printed != "done\n" or ways == {"write/threads": 14, "read/threads": 14}, ways


SWMR = """
import h5py
with h5py.File(path, "w", libver="latest") as file:
    stored = file.create_dataset("x", data.shape, data.dtype, chunks=(32, 40, 50), **h5stz.STZ(absolute=1e-3))
    file.swmr_mode = True
    stored[...] = data
    stored.flush()
    with h5py.File(path, swmr=True) as reader:
        assert abs(reader["x"][...] - data).max() <= 1e-3
"""


@pytest.mark.parametrize("through", run.ROUTES)
def test_swmr_is_left_to_hdf5(through, tmp_path):
    target = tmp_path / "x.h5"
    *_, ways = whole_datasets.outcome([*python(DATA + SWMR), target], target, through, 3)
    assert ways == {"write/swmr": 1, "read/swmr": 1}


def test_chunks_that_learn_do_not_depend_on_the_threads(program, tmp_path):
    """They take predictions that are trained on some chunks of the dataset, whatever the process wrote before."""
    words = ["f4", "100x81x50", "8x16x17", "words=" + bound(BOUND), "--", "write", "readonly", "read"]
    found = {}
    for threads, learn in ((2, 1), (5, 1), (5, 0)):
        target = tmp_path / f"{threads}{learn}.h5"
        _, read, ways = whole_datasets.outcome(
            [program, target, *words], target, "preload", threads, {"H5STZ_LEARN": str(learn)}
        )
        assert ways == {"write/threads": 1, "read/threads": 1}
        found[threads, learn] = whole_datasets.stored(target), read
    assert found[2, 1] == found[5, 1] != found[5, 0]
