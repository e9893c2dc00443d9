"""Partial reads from C and from Python: both read a dataset directly, or both say by the same name why HDF5 reads it.

`SITUATIONS` has what each side does: "ranges" or "chunk", which are both "direct"; "parts" where HDF5 reads single chunks;
or the name of the reason, without "STZ_H5_", where HDF5 reads all. Where the two sides differ, it says why.
"""

import ctypes
import re
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import _core
from h5stz.reading import chunk_index, partial_reads
from support.host_tools import store_edge_chunks_unfiltered
from support.paths import ROOT
from support.region_files import same, smooth
from support.region_program import box, read, settings

REASONS = {name.removeprefix("STZ_H5_"): row for name, row in _core.H5_REASONS.items()}
UNCACHED = {"rdcc_nbytes": 1 << 15}  # HDF5 cannot hold a chunk back
INNER = (3, 4, 5), (1, 10, 8)  # start and extents of a small box
KEPT = "whole reads save nothing in C; a view keeps what it decoded"
NEW_ARRAY = "samples of missing chunks stay as they are in a buffer; a view's chunks are read one by one"
CACHED = "H5Dread_chunk writes what HDF5's cache holds, and forgets it: a view of a file that is written to leaves that to HDF5"
FOLLOWED = "a view opens the sources of a virtual dataset"
BY_INDEX = "C asks HDF5 for chunks, not for their addresses; a view needs the addresses"
NOTHING = "HDF5 gives an empty selection its meaning in C; in a view it is an empty array"
BY_USERBLOCK = "a view tries both addresses that a chunk can have behind a user block"


@dataclass(frozen=True)
class Situation:
    """One dataset and one read of it.

    Attributes:
        file, dataset: what is read, of region_file, large_chunks or odd_files.
        c, python: what each side does, None if it cannot be asked.
        why: why the two differ.
        part: start and extents of the box.
        words: of the program in C, in place of the box; `more` are added to them.
        index: of the dataset in Python, in place of the box.
        options: of h5py.File.
    """

    file: str
    dataset: str
    c: str | None
    python: str | None
    why: str = ""
    part: tuple = ((3, 4), (5, 5))
    words: list | None = None
    more: tuple = ()
    index: object = None
    options: dict = field(default_factory=dict)

    def name(self):
        """For pytest."""
        words = self.words if self.words is not None else self.more
        return "-".join([self.file.removesuffix(".h5"), self.dataset, *map(str, words), *map(str, self.options.values())])

    def c_words(self):
        """What the program in C is given."""
        return [*(box(*self.part) if self.words is None else self.words), *self.more]

    def python_index(self):
        """What is read in Python."""
        return tuple(slice(i, i + n) for i, n in zip(*self.part, strict=True)) if self.index is None else self.index


def regular(name, c, python="direct", why="", **more):
    """A situation of the file of region_program.write_datasets()."""
    return Situation("region.h5", name, c, python, why, **more)


def selection(words, c, index=None):
    """A selection in the dataset "d"; in Python an index that h5py alone has."""
    return regular("d", c, None if index is None else "SELECTION", words=words, index=index)


def virtual(name, reason, **more):
    """A virtual dataset that a view leaves to HDF5."""
    return Situation("odd.h5", name, "LAYOUT", f"VIRTUAL_{reason}", FOLLOWED, **more)


UNION = [*box((3, 4, 5), (2, 2, 2)), *box((8, 5, 9), (2, 3, 4))]
POINTS = ["point", "3,4,5", "point", "1,100,130", "point", "2,2,2"]
SITUATIONS = [
    # The file.
    Situation("plain.h5", "d", "ranges", "ranges", part=INNER),
    Situation("linked.h5", "d", "ranges", "ranges", part=INNER),
    Situation("block.h5", "d", "chunk", "ranges", BY_USERBLOCK, part=INNER),
    Situation("plain.h5", "d", "chunk", "chunk", part=INNER, more=("core",), options={"driver": "core"}),
    Situation("plain.h5", "d", "chunk", "chunk", part=INNER, more=("update",), options={"mode": "r+", **UNCACHED}),
    Situation("plain.h5", "d", "chunk", "chunk", part=INNER, more=("twice",), options={"mode": "twice", **UNCACHED}),
    Situation("small.h5", "d", "direct", "WRITABLE", CACHED, more=("update",), options={"mode": "r+"}),
    regular("d", "DRIVER", "DRIVER", part=INNER, more=("mpi",), options={"driver": "mpi-like"}),
    # Layouts and filters.
    regular("contiguous", "LAYOUT", "LAYOUT"),
    regular("compact", "LAYOUT", "LAYOUT"),
    regular("external", "LAYOUT", "LAYOUT"),
    regular("unfiltered", "FILTERS", "FILTERS"),
    regular("gzip", "FILTERS", "FILTERS"),
    regular("checksum", "FILTERS", "FILTERS"),
    regular("virtual", "LAYOUT", "parts", FOLLOWED),
    Situation("odd.h5", "virtual", "LAYOUT", "direct", FOLLOWED),
    virtual("steps", "BOXES"),
    virtual("overlap", "OVERLAP"),
    virtual("no fill", "NO_FILL"),
    virtual("virtual", "WRITABLE", options={"mode": "r+"}),
    virtual("virtual", "DRIVER", options={"driver": "core"}),
    virtual("virtual", "PREFIX", options={"prefix": "/elsewhere"}),
    Situation("odd.h5", "virtual", None, "VIRTUAL_MOVED", options={"mode": "moved"}),
    # Types.
    Situation("odd.h5", "twelve bits", "TYPE", "TYPE"),
    regular("d", "TYPE", None, part=INNER, more=("type", "c8", "broken")),
    regular("d", "TRANSFER", None, part=INNER, more=("transform", "2*x+1")),
    # Chunks.
    regular("masked", "parts", "parts", part=((10, 20), (10, 10)), more=("spread",)),
    regular("foreign", "parts", "parts", part=((10, 20), (10, 10)), more=("spread",)),
    regular("foreign", "parts", None, words=[*box((10, 20), (5, 5), (3, 3), (2, 2)), "spread"]),
    Situation("odd.h5", "raw edges", "parts", "parts", part=((40, 40), (9, 30))),
    regular("sparse", "direct", part=((1, 2), (40, 60))),
    regular("never", "direct", part=((18, 26), (4, 5))),
    regular("never", "NO_FILL", "parts", NEW_ARRAY, part=((10, 20), (10, 10)), more=("all",)),
    regular("never", "NO_FILL", None, words=[*box((10, 20), (10, 10)), "type", "f8", "spread"]),
    Situation("grow.h5", "first", "ranges", "ranges", part=INNER),
    Situation("grow.h5", "second", "chunk", "CHUNK_INDEX", BY_INDEX, part=INNER),
    # Selections.
    regular("d", "WHOLE", "direct", KEPT, words=[], index=...),
    selection(UNION, "SELECTION", ([3, 4, 8],)),
    selection(POINTS, "SELECTION", ([1, 2, 3], 4, 5)),
    regular("d", "SELECTION", "nothing", NOTHING, words=["none", "all"], index=slice(5, 5)),
    selection([*box((0, 0, 0), (2, 2, 2)), "offset", "-1,0,0", "broken"], "SELECTION"),
    selection([*box((0, 0, 0), (2, 2, 2)), "memory", "3,3,3", "2,2,2", "broken"], "REFUSED"),
    Situation("small.h5", "d", None, "REFUSED", options={"mode": "closed"}),
    selection(box((0, 0, 0), (18, 18, 18), (7, 7, 7), (5, 5, 5)), "direct"),
    selection(box((0, 0, 0), (7, 6, 6), (20, 20, 20), (18, 18, 18)), "direct"),
    selection(box((0, 0, 0), (18, 18, 18), (7, 7, 7), (6, 6, 6)), "direct"),
    regular("line", "direct", None, words=box((0,), (800,), (6,), (5,))),
]
#: What no file and no read here bring about.
UNTESTED = {("LIBRARY", "C"), ("MEMORY", "C"), ("VIRTUAL_BEYOND", "Python")}


def on_side(side):
    cases = [each for each in SITUATIONS if getattr(each, side)]
    return pytest.mark.parametrize("situation", cases, ids=Situation.name)


def write_odd(path):
    """A file with what h5py does not write of itself."""
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        own = file.create_dataset("own", data=smooth((50, 70)), chunks=(16, 24), **settings())
        for name, shape, places in [
            ("virtual", (50, 70), [np.s_[:]]),
            ("steps", (100, 70), [np.s_[::2], np.s_[1::2]]),
            ("overlap", (80, 70), [np.s_[:50], np.s_[30:]]),
        ]:
            layout = h5py.VirtualLayout(shape, "f4", maxshape=(None, None))
            for place in places:
                layout[place] = h5py.VirtualSource(own)
            file.create_virtual_dataset(name, layout)
        with_properties(file, "no fill", own, lambda properties: properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER))
        with_properties(file, "raw edges", own, store_edge_chunks_unfiltered)
    with h5py.File(path.with_name("twelve.h5"), "w") as file:
        file.create_dataset("twelve bits", data=smooth((50, 70), "i2"), chunks=(16, 24), **settings("i2"))
    content = path.with_name("twelve.h5").read_bytes()
    sixteen = (
        bytes.fromhex("10080000020000000000") + b"\x10"
    )  # the type's message: an integer of 2 bytes, and its bits from 0 on
    assert content.count(sixteen) == 1
    path.with_name("twelve.h5").write_bytes(content.replace(sixteen, sixteen[:-1] + b"\x0c"))
    with h5py.File(path, "r+") as file:
        file["twelve bits"] = h5py.ExternalLink("twelve.h5", "twelve bits")


def write_growing(path):
    """A file of format 1.10 with large chunks in datasets that can grow."""
    noise = np.random.default_rng(1).normal(size=(64, 40, 80))
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        for name, maxshape in [("first", (None, 40, 80)), ("second", (64, None, 80))]:
            options = h5stz.STZ(absolute=1e-9, block="region")
            file.create_dataset(name, data=noise, chunks=noise.shape, maxshape=maxshape, **options)


def with_properties(file, name, own, prepare):
    """A dataset whose creation properties `prepare` sets: a virtual one of `own`, or one with its samples."""
    properties, space = h5py.h5p.create(h5py.h5p.DATASET_CREATE), h5py.h5s.create_simple(own.shape)
    if name == "no fill":
        properties.set_virtual(space, b".", b"own", space)
    else:
        properties.set_chunk(own.chunks)
        properties.set_filter(h5stz.FILTER_ID, 0, h5stz.cd_values(absolute=1e-2))
    prepare(properties)
    dataset = h5py.Dataset(h5py.h5d.create(file.id, name.encode(), h5py.h5t.IEEE_F32LE, space, properties))
    if name != "no fill":
        dataset[...] = own[...]


@pytest.fixture(scope="module")
def odd_files(tmp_path_factory):
    """The directory of odd.h5, grow.h5, and small.h5, whose chunks are small."""
    directory = tmp_path_factory.mktemp("odd")
    write_odd(directory / "odd.h5")
    write_growing(directory / "grow.h5")
    with h5py.File(directory / "small.h5", "w") as file:
        file.create_dataset("d", data=smooth((50, 70)), chunks=(16, 24), **settings())
    return directory


@pytest.fixture
def path(situation, tmp_path, region_file, large_chunks, odd_files):
    """The file of a situation, a copy if it is written to or moved."""
    folders = (region_file.parent, large_chunks, odd_files)
    path = next(folder / situation.file for folder in folders if (folder / situation.file).exists())
    if "mode" not in situation.options:
        return path
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    return copy


def decision_in_c(result):
    if result["through"]:
        return result["reason"]
    assert result["reason"] == "DIRECT"
    if result["chunks_through"]:
        return "parts"
    assert not result["ranges"] or result["read"] < 1e6
    return "ranges" if result["ranges"] else "chunk"


@on_side("c")
def test_c(region_reader, monkeypatch, path, situation):
    if "prefix" in situation.options:
        monkeypatch.setenv("HDF5_VDS_PREFIX", situation.options["prefix"])
    result = read(region_reader, path, situation.dataset, *situation.c_words())
    check(situation.c, decision_in_c(result))
    if situation.c in REASONS and situation.c != "NO_FILL":
        assert result["read"] == result["direct"] == 0


def decision_in_python(view, index, dataset):
    assert same(dataset[index], view[index])
    if view.fallback_reason is not None:
        return named(view.fallback_reason)
    stats = view.stats
    if stats.fallback_chunks:
        return "parts"
    if not stats.bytes_touched_chunks:
        return "nothing"
    return "ranges" if stats.bytes_read < stats.bytes_touched_chunks else "chunk"


@on_side("python")
def test_python(monkeypatch, path, situation):
    options, index = {"mode": "r", **situation.options}, situation.python_index()
    if options.get("driver") == "mpi-like":
        monkeypatch.setattr(chunk_index, "_open_through_mpi", lambda file: bool(options.pop("driver", True)))
        options.pop("driver")
    if "prefix" in options:
        monkeypatch.setenv("HDF5_VDS_PREFIX", options.pop("prefix"))
    mode = options.pop("mode")
    first = "r+" if mode in ("r+", "twice") else "r"
    with h5py.File(path, first, **options) as file, h5py.File(path, **options) as again:
        dataset = (again if mode == "twice" else file)[situation.dataset]
        if mode == "moved":
            path.rename(path.with_name("moved.h5"))
        if mode == "closed":
            file.close()
            again.close()
        planned = plan_of_h5py(dataset, index)
        if situation.python in ("SELECTION", "REFUSED"):
            check(situation.python, planned)
            return
        found = decision_in_python(h5stz.view(dataset), index, dataset)
        check(situation.python, found)
        # Under h5py's own indexing it is the same, except that virtual datasets are not followed.
        assert planned == ("LAYOUT" if dataset.is_virtual else found if found in REASONS else None)


def plan_of_h5py(dataset, index):
    """Why partial_reads() leaves dataset[index] to h5py, None if it does not."""
    with h5stz.partial_reads():
        plan = partial_reads._open[0]._plan(dataset, index)
    return None if isinstance(plan, tuple) else named(plan)


def named(reason):
    assert (reason.value, str(reason)) == _core.H5_REASONS[reason.name]
    return reason.name.removeprefix("STZ_H5_")


def check(expected, found):
    assert found in (("ranges", "chunk") if expected == "direct" else (expected,))


def test_both_sides_agree_or_the_situation_says_why():
    for each in SITUATIONS:
        direct = {each.c, each.python} <= {"ranges", "chunk", "direct"} and "direct" in (each.c, each.python)
        alike = each.c == each.python or direct or None in (each.c, each.python)
        assert bool(each.why) != alike, each.name()


def test_the_page_explains_each_reason_once():
    """docs/region_reads_c.md, which also says which side has a reason."""
    page = (ROOT / "docs/region_reads_c.md").read_text()
    rows = re.findall(r"^\| `(STZ_H5_\w+)` \| (\d+) \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", page, re.MULTILINE)
    listed = [(name, (int(value), text)) for name, value, text, _ in rows]
    assert listed == [row for row in _core.H5_REASONS.items() if row[0] != "STZ_H5_DIRECT"]
    said = {(name.removeprefix("STZ_H5_"), side) for name, _, _, sides in rows for side in sides.split(", ")}
    seen = {(getattr(each, side.lower()), side) for each in SITUATIONS for side in ("C", "Python")}
    assert {pair for pair in seen if pair[0] in REASONS} == said - UNTESTED


def test_the_library_has_the_texts():
    library = ctypes.CDLL(str(Path(h5stz.__file__).parent / "lib" / "libh5stz_read.so"))
    library.stz_h5_reason_text.restype = ctypes.c_char_p
    texts = [text.encode() for _, text in _core.H5_REASONS.values()]
    assert [library.stz_h5_reason_text(value) for value in range(-1, len(texts) + 1)] == [
        b"unknown reason",
        *texts,
        b"unknown reason",
    ]
    assert len(set(texts)) == len(texts)
