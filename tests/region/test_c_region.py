"""Region reads from C and Fortran: libh5stz_read.so gives what H5Dread gives, decodes little, and leaves to HDF5 what it must.

tests/programs/region.c compares the two readers' buffers, whole, bit for bit; here is what the reads must have done.
"""

import ctypes
import re
import shlex
import shutil
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from support import host_tools
from support.host_tools import field, pkg_config, run
from support.paths import EXAMPLES, PROGRAMS
from support.requirements import needs_programs, require

needs_hdf5_for_c = needs_programs("h5cc", "pkg-config")

PACKAGE = Path(h5stz.__file__).parent
SHAPE, CHUNKS = (150, 130, 140), (128, 128, 128)


def smooth(shape=SHAPE, dtype="f4"):
    axes = np.meshgrid(*[np.arange(n) for n in shape], indexing="ij", sparse=True)
    return (sum(np.sin(axis / (7 + k)) for k, axis in enumerate(axes)) * 20).astype(dtype)


def settings(dtype="f4"):
    kind = {"lossless": True} if np.dtype(dtype).kind in "iub" else {"absolute": 1e-2}
    return dict(h5stz.STZ(block="region", **kind))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Datasets of all kinds; what is read through HDF5 has names that say why."""
    path = tmp_path_factory.mktemp("region") / "region.h5"
    small = {"shape": (50, 70), "chunks": (16, 24)}
    with h5py.File(path, "w") as file:
        file.create_dataset("d", data=smooth(), chunks=CHUNKS, **settings())
        file.create_dataset("big_endian", data=smooth((40, 50), ">f8"), chunks=(32, 32), **settings(">f8"))
        file.create_dataset("complex", data=field((40, 50), "c8"), chunks=(32, 32), **settings("c8"))
        file.create_dataset("integers", data=smooth((40, 50), "i4"), chunks=(32, 32), **settings("i4"))
        file.create_dataset("flags", data=smooth((40, 50)) > 3, chunks=(32, 32), **settings("?"))
        file.create_dataset("line", data=smooth((5000,)), chunks=(700,), **settings())

        file.create_dataset("contiguous", data=smooth((50, 70)))
        file.create_dataset("unfiltered", data=smooth((50, 70)), chunks=(16, 24))
        file.create_dataset("gzip", data=smooth((50, 70)), chunks=(16, 24), compression="gzip")
        file.create_dataset("checksum", data=smooth((50, 70)), chunks=(16, 24), fletcher32=True, **settings())
        file.create_dataset("external", data=smooth((8, 9)), external=[(str(path.with_suffix(".raw")), 0, h5py.h5f.UNLIMITED)])
        layout = h5py.VirtualLayout(shape=(50, 70), dtype="f4")
        layout[...] = h5py.VirtualSource(".", "unfiltered", shape=(50, 70))
        file.create_virtual_dataset("virtual", layout)
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        h5py.h5d.create(file.id, b"compact", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((8, 9)), compact).write(
            h5py.h5s.ALL, h5py.h5s.ALL, smooth((8, 9))
        )

        sparse = file.create_dataset("sparse", dtype="f4", fillvalue=-7.5, **small, **settings())
        sparse[16:32, 24:48] = smooth((16, 24))
        never = file.create_dataset("never", dtype="f4", fill_time="never", **small, **settings())
        never[16:32, 24:48] = smooth((16, 24))

        masked = file.create_dataset("masked", data=smooth((50, 70)), **{**small, "shape": None}, **settings())
        file.flush()
        masked.id.write_direct_chunk((16, 24), smooth((16, 24)).tobytes(), filter_mask=1)

        foreign = file.create_dataset("foreign", data=smooth((50, 70)), **{**small, "shape": None}, **settings())
        file.flush()
        foreign.id.write_direct_chunk((16, 24), h5stz.compress(smooth((16, 1, 24)), absolute=1e-2))

        damaged = file.create_dataset("damaged", data=smooth((64, 64)), chunks=(64, 64), **settings())
        file.flush()
        _, stream = damaged.id.read_direct_chunk((0, 0))
        stream = bytearray(stream)
        stream[-40:] = bytes(40)
        damaged.id.write_direct_chunk((0, 0), bytes(stream))
    return path


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """Files with a chunk of some megabytes, plain and with a user block, and one that links to the first."""
    directory = tmp_path_factory.mktemp("noisy")
    data = np.random.default_rng(1).normal(size=(128, 128, 160)).astype("f4")
    for name, user_block in [("plain.h5", 0), ("block.h5", 512)]:
        with h5py.File(directory / name, "w", userblock_size=user_block) as file:
            file.create_dataset("d", data=data, chunks=CHUNKS, **settings())
    with h5py.File(directory / "linked.h5", "w") as file:
        file.create_dataset("other", data=data, chunks=CHUNKS, **settings())
        file["d"] = h5py.ExternalLink("plain.h5", "/d")
    return directory


def printed(text):
    """Of the program's lines, what is behind each key; messages as a list."""
    lines = [line.split(" ", 1) for line in text.splitlines()]
    found = {key: value for key, value in lines if key != "message"}
    numbers = {key: int(found[key]) for key in ("reads", "through", "direct", "ranges", "missing", "chunks_through")}
    decoded, present = map(int, found["blocks"].split())
    read, used = map(int, found["bytes"].split())
    messages = [value for key, value in lines if key == "message"]
    return {**numbers, "decoded": decoded, "present": present, "read": read, "used": used, "messages": messages} | {
        "reason": int(found["reason"].split()[0])
    }


def box(start, count, stride=None, block=None):
    """Words for a hyperslab of the file."""
    ones = [1] * len(start)
    return ["file", *(",".join(map(str, numbers)) for numbers in (start, stride or ones, count, block or ones))]


WHOLE, DRIVER, LAYOUT, FILTERS, SELECTION, TYPE, TRANSFER, NO_FILL, REFUSED = 1, 3, 4, 5, 6, 7, 8, 9, 11


def test_pkg_config_path_of_the_command_line(capsys):
    assert cli.main(["pkg-config-path"]) == 0
    assert (Path(capsys.readouterr().out.strip()) / "h5stz.pc").exists()


@pytest.fixture(scope="module", params=["shared", "static"])
def program(request, tmp_path_factory):
    """tests/programs/region.c with HDF5 as a shared library and linked in."""
    require(needs_hdf5_for_c)
    directory = tmp_path_factory.mktemp("region")
    link = "-shlib" if request.param == "shared" else "-noshlib"
    flags = pkg_config("--cflags", "--libs")
    command = ["h5cc", link, "-Wall", "-Wextra", "-Werror", PROGRAMS / "region.c", *flags, "-o", directory / "program"]
    run(*command, directory=directory)
    return directory / "program"


def read(program, path, dataset, *words):
    result = printed(run(program, path, dataset, *words))
    assert result["reads"] == 1
    return result


def read_direct(program, path, dataset, *words):
    result = read(program, path, dataset, *words)
    assert result["through"] == 0 and result["reason"] == 0
    assert result["used"] <= result["read"] and result["decoded"] <= result["present"]
    return result


def test_few_blocks_of_few_chunks_are_decoded(program, path):
    inside = read_direct(program, path, "d", *box((3, 4, 5), (1, 10, 8)))
    assert inside["direct"] == 1 and inside["decoded"] < inside["present"] / 20
    across = read_direct(program, path, "d", *box((120, 120, 120), (16, 10, 20)))
    assert across["direct"] == 8


FILES = [
    ("plain.h5", []),
    ("linked.h5", []),
    ("block.h5", []),
    *(("plain.h5", [word]) for word in ("core", "update", "twice")),
]


@pytest.mark.parametrize(("name", "words"), FILES, ids=lambda part: part if isinstance(part, str) else "".join(part))
def test_ranges_of_large_chunks_in_plain_files(tmp_path, program, noisy, name, words):
    shutil.copytree(noisy, tmp_path, dirs_exist_ok=True)
    result = read_direct(program, tmp_path / name, "d", *box((3, 4, 5), (1, 10, 8)), *words)
    by_ranges = int(name != "block.h5" and not words)
    assert (result["direct"], result["ranges"]) == (1, by_ranges)
    assert result["used"] < result["read"] or by_ranges
    assert result["read"] < 1e6 or not by_ranges


def test_most_of_a_chunk_is_fetched_as_a_whole(program, noisy):
    assert read_direct(program, noisy / "plain.h5", "d", *box((3, 4, 5), (120, 120, 120)))["ranges"] == 0


SLABS = {
    "one sample": box((149, 129, 139), (1, 1, 1)),
    "a chunk": box((0, 0, 0), (128, 128, 128)),
    "everything": box((0, 0, 0), SHAPE),
    "steps": box((1, 2, 3), (50, 43, 46), (3, 3, 3)),
    "steps beyond chunks": box((1, 2, 3), (2, 1, 2), (140, 1, 130)),
    "blocks that touch": box((1, 2, 3), (10, 10, 10), (3, 4, 5), (3, 4, 5)),
    "few blocks with gaps": box((1, 2, 3), (3, 2, 3), (50, 60, 67), (10, 5, 3)),
    "many blocks with gaps": box((1, 2, 3), (30, 2, 40), (5, 60, 3), (2, 5, 2)),
    "wide gaps": box((1, 2, 3), (2, 1, 2), (100, 1, 90), (20, 9, 12)),
    "offset": [*box((3, 4, 5), (4, 5, 6)), "offset", "110,0,-4"],
}


@pytest.mark.parametrize("slab", SLABS)
@pytest.mark.parametrize("memory", ["packed", "all", "spread"])
def test_hyperslabs(program, path, slab, memory):
    read_direct(program, path, "d", *SLABS[slab], memory)


@pytest.mark.parametrize(
    "memory",
    [("10,20,30", "0,0,0"), ("10,20,30", "5,6,7"), ("9,5,6", "4,0,0"), ("4,5,6", "0,0,0"), ("4,5,7", "0,0,1")],
    ids=["corner", "inside", "planes", "exact", "rows"],
)
@pytest.mark.parametrize("kind", ["f4", "f8", "i2"])
def test_boxes_in_memory(program, path, memory, kind):
    read_direct(program, path, "d", *box((126, 10, 20), (4, 5, 6)), "memory", *memory, "type", kind)


@pytest.mark.parametrize("dataset", ["big_endian", "complex", "integers", "flags"])
def test_types(program, path, dataset):
    assert read_direct(program, path, dataset, *box((30, 20), (5, 20)))["direct"] == 4


@pytest.mark.parametrize("dataset", ["d", "big_endian", "integers"])
@pytest.mark.parametrize("kind", ["f4", ">f4", "f8", "i2"])
@pytest.mark.parametrize("memory", ["packed", "spread"])
def test_conversions_between_numbers(program, path, dataset, kind, memory):
    rank = 3 if dataset == "d" else 2
    read_direct(program, path, dataset, *box((30, 20, 9)[:rank], (5, 20, 8)[:rank]), "type", kind, memory)


@pytest.mark.parametrize("level", [0, 1, 2, 3, 5, 9])
def test_levels(program, path, level):
    grid = [-(-n // 2**level) for n in SHAPE]
    count = ",".join(map(str, grid))
    whole = read_direct(program, path, "d", "level", level, "0,0,0", count)
    if level == 2:
        # A level is a part of each stream: of 64 samples 1, so few blocks.
        full = read_direct(program, path, "d", *SLABS["everything"])
        assert whole["decoded"] < full["decoded"] / 2 and whole["used"] < full["used"]
    last = ",".join(str(n - 1) for n in grid)
    read_direct(program, path, "d", "level", level, last, "1,1,1", "type", "f8")


def test_levels_of_chunks_that_are_no_multiples(program, path):
    read_direct(program, path, "line", "level", 3, "3", "600")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((1, "70,0,0", "6,1,1"), "axis 0 of level 1 has 75 samples: a box of 6 from 70 sticks out"),
        ((1, "0,0,71", "1,1,0"), "axis 2 of level 1 has 70 samples"),
        ((63, "0,0,0", "1,1,1"), "level 63: levels are 0"),
    ],
)
def test_wrong_levels_are_on_the_error_stack(program, path, words, text):
    shown = printed(run(program, path, "d", "level", *words, "broken"))
    assert any(f"h5stz: {text}" in message for message in shown["messages"]), shown


@pytest.mark.parametrize(
    ("dataset", "words", "reason"),
    [
        ("d", [], WHOLE),
        ("d", [*box((3, 4, 5), (2, 2, 2)), "mpi"], DRIVER),
        ("contiguous", box((3, 4), (5, 6)), LAYOUT),
        ("compact", box((3, 4), (5, 5)), LAYOUT),
        ("external", box((3, 4), (5, 5)), LAYOUT),
        ("virtual", box((3, 4), (5, 6)), LAYOUT),
        ("unfiltered", box((3, 4), (5, 6)), FILTERS),
        ("gzip", box((3, 4), (5, 6)), FILTERS),
        ("checksum", box((3, 4), (5, 6)), FILTERS),
        ("d", [*box((3, 4, 5), (2, 2, 2)), *box((8, 5, 9), (2, 3, 4))], SELECTION),
        ("d", ["point", "3,4,5", "point", "1,100,130", "point", "2,2,2"], SELECTION),
        ("d", ["none", "all"], SELECTION),
        ("d", box((0, 0, 0), (18, 18, 18), (7, 7, 7), (5, 5, 5)), None),
        ("d", box((0, 0, 0), (7, 6, 6), (20, 20, 20), (18, 18, 18)), None),
        ("d", box((0, 0, 0), (18, 18, 18), (7, 7, 7), (6, 6, 6)), None),
        ("line", box((0,), (800,), (6,), (5,)), None),
        ("d", [*box((3, 4, 5), (2, 2, 2)), "type", "c8"], TYPE),
        ("d", [*box((3, 4, 5), (2, 2, 2)), "transform", "2*x+1"], TRANSFER),
        ("never", [*box((10, 20), (10, 10)), "all"], NO_FILL),
        ("never", [*box((10, 20), (10, 10)), "type", "f8", "spread"], NO_FILL),
    ],
)
def test_what_is_left_to_hdf5(program, path, dataset, words, reason):
    fails = ["broken"] if reason == TYPE else []  # no such conversion in HDF5 either
    result = read(program, path, dataset, *words, *fails)
    assert result["reason"] == (reason or 0) and result["through"] == (reason is not None)
    if reason is not None and reason != NO_FILL:
        assert result["read"] == result["direct"] == 0


def test_no_file_is_touched_beyond_the_selection_without_fill_value(program, path):
    stored = read(program, path, "never", *box((18, 26), (4, 5)))
    assert stored["through"] == 0 and stored["direct"] == 1


@pytest.mark.parametrize("memory", ["packed", "all", "spread"])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_missing_chunks_are_fill_values(program, path, memory, kind):
    result = read_direct(program, path, "sparse", *box((1, 2), (40, 60)), memory, "type", kind)
    assert (result["direct"], result["missing"], result["chunks_through"]) == (1, 8, 0)


@pytest.mark.parametrize("dataset", ["masked", "foreign"])
@pytest.mark.parametrize("words", [box((10, 20), (10, 10)), box((10, 20), (5, 5), (3, 3), (2, 2))], ids=["box", "gaps"])
def test_chunks_that_only_hdf5_reads(program, path, dataset, words):
    """A filter mask; a stream with one more axis. The other chunks are read directly."""
    result = read_direct(program, path, dataset, *words, "spread")
    assert (result["direct"], result["chunks_through"]) == (3, 1)


def test_unfiltered_edge_chunks(tmp_path, program):
    run("h5cc", "-shlib", "-o", tmp_path / "writer", PROGRAMS / "filter.c", directory=tmp_path)
    run(tmp_path / "writer", tmp_path / "f.h5", 0.01, "rawedges")
    result = read_direct(program, tmp_path / "f.h5", "field", *box((40, 40), (9, 30)))
    assert (result["direct"], result["chunks_through"]) == (1, 3)


def test_raw_edge_chunk_that_looks_like_a_stream(tmp_path, program):
    """The property decides, not the bytes."""
    run("h5cc", "-shlib", "-o", tmp_path / "writer", PROGRAMS / "filter.c", directory=tmp_path)
    run(tmp_path / "writer", tmp_path / "f.h5", 0.01, "rawedges")
    stream = h5stz.compress(smooth((16, 24)), absolute=1e-2)
    raw = stream.ljust(16 * 24 * 4, b"\0")
    with h5py.File(tmp_path / "f.h5", "a") as file:
        file["field"][48:50, 0:24] = np.frombuffer(raw, "f4").reshape(16, 24)[:2]
    read_direct(program, tmp_path / "f.h5", "field", *box((40, 0), (10, 30)))


def test_samples_that_are_not_in_the_file_yet(tmp_path, path, program):
    copy = tmp_path / "copy.h5"
    copy.write_bytes(path.read_bytes())
    read_direct(program, copy, "d", *box((0, 0, 0), (2, 3, 4)), "update")


def test_errors_of_hdf5_stay_on_the_stack(program, path):
    """Also over the closing of what a level's read opens."""
    for words in (["level", 1, "0,0,0", "5,5,5"], box((0, 0, 0), (5, 5, 5))):
        shown = printed(run(program, path, "d", *words, "type", "c8", "broken"))
        assert shown["reason"] == TYPE and any("convert" in message for message in shown["messages"]), shown


def test_hdf5_of_the_program_beside_another(program, path):
    command = ["env", f"LD_PRELOAD={host_tools.mapped_library('libhdf5', 'h5py')}", program]
    if "libhdf5_serial" not in run("ldd", program):  # it is linked in: the other one is not meant
        assert printed(run(*command, path, "d", *box((3, 4, 5), (1, 10, 8))))["direct"] == 1


def test_damaged_chunk(program, path):
    result = printed(run(program, path, "damaged", *box((0, 0), (64, 60)), "broken"))
    text = "h5stz: the chunk at (0, 0) cannot be decoded: the stream"
    assert any(text in message for message in result["messages"]), result["messages"]
    assert result["through"] == 0


@pytest.mark.parametrize("words", [[*box((140, 0, 0), (20, 5, 5))], [*box((0, 0, 0), (2, 2, 2)), "offset", "-1,0,0"]])
def test_selections_that_stick_out(program, path, words):
    result = printed(run(program, path, "d", *words, "broken"))
    assert result["reason"] in (SELECTION, REFUSED) and result["messages"]


def build_with_newer_hdf5(*options):
    """The test program with the library of h5py's wheel: the same interface, other functions for stored chunks."""
    library = Path(host_tools.mapped_library("libhdf5", "h5py"))
    includes = [word for word in shlex.split(run("h5cc", "-shlib", "-show")) if word.startswith("-I")]
    flags = [*pkg_config("--cflags", "--libs"), library, f"-Wl,-rpath,{library.parent}"]
    run("gcc", *includes, PROGRAMS / "region.c", *flags, *options)


UNCHECKED = ("env", "HDF5_DISABLE_VERSION_CHECK=2")  # the headers are of another version


@needs_hdf5_for_c
def test_newer_hdf5(tmp_path, path, noisy):
    build_with_newer_hdf5("-o", tmp_path / "program")
    command = [*UNCHECKED, tmp_path / "program"]
    for dataset, words in [
        ("d", SLABS["few blocks with gaps"]),
        ("sparse", box((1, 2), (40, 60))),
        ("masked", box((10, 20), (10, 10))),
        ("d", ["level", 2, "0,0,0", "38,33,35"]),
    ]:
        assert printed(run(*command, path, dataset, *words))["through"] == 0
    assert printed(run(*command, noisy / "plain.h5", "d", *box((3, 4, 5), (1, 10, 8))))["ranges"] == 1
    assert printed(run(*command, noisy / "block.h5", "d", *box((3, 4, 5), (1, 10, 8))))["ranges"] == 0
    assert printed(run(*command, path, "virtual", *box((3, 4), (5, 6))))["reason"] == LAYOUT


@needs_hdf5_for_c
def test_two_hdf5_in_one_process(tmp_path, path):
    """Two shared libraries with their own HDF5 share this library; each is served by its own."""
    shared = ["-shared", "-fPIC", "-Dmain=run_program"]
    build_with_newer_hdf5(*shared, "-o", tmp_path / "newer.so")
    flags = [*shared, PROGRAMS / "region.c", *pkg_config("--cflags", "--libs"), "-o", tmp_path / "older.so"]
    run("h5cc", "-shlib", *flags, directory=tmp_path)
    script = (
        "import ctypes, sys\n"
        "words = [word.encode() for word in sys.argv[3:]]\n"
        "for name in sys.argv[1:3] * 2:\n"
        "    run = ctypes.CDLL(name).run_program\n"
        "    assert run(len(words) + 1, (ctypes.c_char_p * (len(words) + 2))(b'', *words)) == 0, name\n"
    )
    words = [path, "d", *box((3, 4, 5), (1, 10, 8))]
    shown = run(*UNCHECKED, sys.executable, "-c", script, tmp_path / "newer.so", tmp_path / "older.so", *words)
    assert shown.count("direct 1\n") == 4


def check_example(program, path, output):
    text = run(program, path, "d", 70, 2, output)
    with h5py.File(path) as file:
        expected = [file["d"][70:71], file["d"][::4, ::4, ::4]]
    assert output.read_bytes() == b"".join(part.tobytes() for part in expected)
    decoded = [tuple(map(int, pair)) for pair in re.findall(r"blocks decoded: (\d+) of (\d+)", text)]
    assert len(decoded) == 2 and all(0 < few < all_of_them / 2 for few, all_of_them in decoded), text


@needs_hdf5_for_c
def test_c_example(tmp_path, path):
    source, flags = EXAMPLES / "read_slab.c", pkg_config("--cflags", "--libs")
    for link in ("-shlib", "-noshlib"):
        run("h5cc", link, "-Wall", "-Wextra", "-Werror", source, *flags, "-o", tmp_path / "slab", directory=tmp_path)
        check_example(tmp_path / "slab", path, tmp_path / "slab.raw")


@needs_hdf5_for_c
@needs_programs("h5fc", "gfortran")
def test_fortran_example(tmp_path, path):
    for link in ("-shlib", "-noshlib"):
        flags = [EXAMPLES / "read_slab.f90", *pkg_config("--libs"), "-o", tmp_path / "slab"]
        run("h5fc", link, *flags, directory=tmp_path)
        check_example(tmp_path / "slab", path, tmp_path / "slab.raw")


def test_a_caller_without_hdf5_gets_an_error():
    library = ctypes.CDLL(str(PACKAGE / "lib" / "libh5stz_read.so"))
    identifier = ctypes.c_int64(1)
    assert library.stz_h5_read(*[identifier] * 5, None) == -1
    library.stz_h5_reason_text.restype = ctypes.c_char_p
    assert [library.stz_h5_reason_text(n) for n in (-1, 12)] == [b"unknown reason"] * 2
    assert len({library.stz_h5_reason_text(n) for n in range(12)}) == 12


@needs_programs("readelf")
def test_library_is_linked_against_libc_alone():
    library = PACKAGE / "lib" / "libh5stz_read.so"
    needed = set(re.findall(r"\(NEEDED\).*\[(.+?)\]", run("readelf", "-dW", library)))
    assert not [name for name in needed if not re.match(r"(libc|libm|ld-linux.*|libc\.musl.*)\.so", name)], needed
    symbols = run("readelf", "--dyn-syms", "-W", library).splitlines()
    strong = [line for line in symbols if " UND " in line and "H5" in line and "WEAK" not in line]
    assert not strong, strong
    defined = {line.split()[7].split("@")[0] for line in symbols if re.search(r"(GLOBAL|WEAK) +DEFAULT +\d+ ", line)}
    assert {"stz_h5_read", "stz_h5_read_level", "stz_reader_open"} <= defined
    assert not [name for name in defined if not name.startswith("stz_")], defined
