"""`h5stz run --compress`: what unmodified programs create is compressed within the bound; everything else has the bytes it had.

The reference is always the file that the same program writes alone.
"""

import h5py
import numpy as np
import pytest

from h5stz import _core
from h5stz.programs import compress_rules, run
from support import host_tools
from support.created_files import BOUND, FIELD, SIMPLE, check, client_data, is_compressed, pair, python, within
from support.paths import PROGRAMS
from support.requirements import each_package, needs_packages, needs_programs, require


@pytest.fixture(scope="module")
def c_program(tmp_path_factory):
    require(needs_programs("h5cc"))
    target = tmp_path_factory.mktemp("c") / "create"
    host_tools.run("h5cc", "-shlib", "-o", target, PROGRAMS / "create.c", "-lm", directory=target.parent)
    target.with_suffix(".sh").write_text(f'#!/bin/sh\nfor file; do :; done\nexec {target} "$file" $WORDS\n')
    target.with_suffix(".sh").chmod(0o755)
    return target.with_suffix(".sh")


ALL = ["whole", "old", "run/tiles", "steps", "growing", "growing_inside"]


def test_c_program(c_program, tmp_path):
    plain, made, outcomes = pair([c_program], tmp_path, [f"/*=absolute:{BOUND}"])
    check(plain, made, ALL)
    assert outcomes["/steps"] == outcomes["/run/tiles"] == ["compressed"]
    assert outcomes["/whole"] == outcomes["/old"] == ["compressed", "refused"]  # it is created twice
    assert outcomes["/growing"] == outcomes["/growing_inside"] == ["compressed"]
    with h5py.File(made) as file:
        assert file["run/tiles"][-1, -1, -1] == -999
        append_axes = {
            name: _core.parse(client_data(file[name]))["append_axis"] for name in ("steps", "growing", "growing_inside")
        }
    assert append_axes == {"steps": 0, "growing": 0, "growing_inside": 1}, "where a chunk holds several steps of a series"


APPENDING = """
import h5py
data = field((20, 40, 60))
limits = {"first": (None, 40, 60), "fixed": (20, 40, 60), "second": (20, None, 60), "both": (None, None, 60)}
with h5py.File(path, "w") as file:
    for name, maxshape in limits.items():
        shape = (0 if maxshape[0] is None else 20, 40, 60)
        file.create_dataset(name, shape, "f4", maxshape=maxshape, chunks=(8, 40, 60))
for step in range(20):
    with h5py.File(path, "r+") as file:
        file["first"].resize(step + 1, 0)
        file["first"][step] = data[step]
with h5py.File(path, "r+") as file:
    file["both"].resize(20, 0)
    for name in ("fixed", "second", "both"):
        file[name][...] = data
"""


@pytest.mark.parametrize("through", run.ROUTES)
def test_a_series_that_grows_within_its_chunks(through, tmp_path):
    """The file is closed after every step: what is not complete yet is stored without loss, and each bound is used once."""
    plain, made, _ = pair(python(FIELD + APPENDING), tmp_path, [f"/*=absolute:{BOUND}"], through=through)
    names = ["first", "fixed", "second", "both"]
    check(plain, made, names)
    with h5py.File(made) as file:
        assert [_core.parse(client_data(file[name]))["append_axis"] for name in names] == [1, 0, 2, 0]


def test_a_rule_that_names_the_append_axis(tmp_path):
    code = (
        FIELD
        + """
import h5py
with h5py.File(path, "w") as file:
    for name, shape in {"volume": (20, 40, 60), "plane": (200, 200)}.items():
        file.create_dataset(name, data=field(shape), maxshape=(None, *shape[1:]), chunks=True)
"""
    )
    plain, made, _ = pair(python(code), tmp_path, [f"/*=absolute={BOUND},append_axis=2"])
    check(plain, made, ["volume", "plane"])
    with h5py.File(made) as file:
        assert [_core.parse(client_data(file[name]))["append_axis"] for name in ("volume", "plane")] == [3, 0]


def test_the_first_rule_that_matches_counts(c_program, tmp_path):
    rules = [
        "/run/*=lossless,fill_value=-999",
        f"/[sr]*s=absolute:{BOUND},block=region",
        "/steps=absolute:0.5",
        "/nothing=lossless",
    ]
    plain, made, _ = pair([c_program], tmp_path, rules)
    check(plain, made, ["run/tiles", "steps"])
    with h5py.File(plain) as a, h5py.File(made) as b:
        assert a["run/tiles"][...].tobytes() == b["run/tiles"][...].tobytes()
        assert _core.parse(client_data(b["steps"]))["block"] == _core.CHOICES["block"]["region"]


def test_parallel_files_are_left_alone(c_program, tmp_path, monkeypatch):
    monkeypatch.setenv("WORDS", "mpi")
    plain, made, outcomes = pair([c_program], tmp_path, [f"/*=absolute:{BOUND}"])
    check(plain, made, [])
    assert {outcome for each in outcomes.values() for outcome in each} == {"parallel"}


@needs_programs("h5fc", "gfortran")
def test_fortran_program(tmp_path):
    host_tools.run("h5fc", "-shlib", "-o", tmp_path / "program", PROGRAMS / "create.f90", directory=tmp_path)
    plain, made, outcomes = pair([tmp_path / "program"], tmp_path, [f"/*=absolute:{BOUND}"])
    check(plain, made, ["field"])
    assert outcomes == {"/field": ["compressed"], "/counts": ["type"]}


MEEP = """
(set! geometry-lattice (make lattice (size 16 16 no-size)))
(set! sources (list (make source (src (make continuous-src (frequency 0.15))) (component Ez) (center -7 0))))
(set! pml-layers (list (make pml (thickness 1.0))))
(set! resolution 10)
(run-until 4 (at-end output-efield-z) (to-appended "ez" (at-every 1 output-efield-z)))
"""


@needs_programs("meep")
def test_meep(tmp_path):
    """A simulation code as Debian ships it: a snapshot, and a series that grows by a step at a time."""
    (tmp_path / "wave.ctl").write_text(MEEP)
    rules = [compress_rules.parse(f"/e*=absolute:{BOUND}")]
    for name in ("plain", "made"):
        directory = tmp_path / name
        directory.mkdir()
        words = ["sh", "-c", f"cd {directory} && meep ../wave.ctl > log"]
        status, sums = run.run(words, compress=rules if name == "made" else ())
        assert status == 0
    assert sums["datasets_compressed"] == 2
    for file in (tmp_path / "plain").glob("*.h5"):
        check(file, tmp_path / "made" / file.name, ["ez"])


H5PY = """
import h5py
with h5py.File(path, "w", libver=libver) as file:
    for dtype in ("<f2", ">f2", "<f4", ">f4", "<f8", ">f8"):
        file.create_dataset(f"types/{dtype[1:]}{dtype[0]}", data=field((60, 40, 50), dtype))
    file.create_dataset("special", data=np.where(field((200, 200)) > 30, np.nan, field((200, 200))))
    file["nameless"] = field((200, 200))  # h5py creates it without a name
    file.create_dataset("chunked", data=field((200, 200)), chunks=(64, 64))
    columns = file.create_dataset("columns", (256, 300), "f8")
    data = field((256, 300), "f8")
    for column in range(300):
        columns[:, column] = data[:, column]
    for _ in range(3):  # in the file as long as it is open a sample may be written again
        columns[40:50, 30:40] = data[40:50, 30:40]
    grid = file.create_group("deep/er", track_order=True)
    grid.require_dataset("x", (129, 130), "f4")[...] = field((129, 130))
"""
H5PY_NAMES = [f"types/{kind}{order}" for kind in ("f2", "f4", "f8") for order in "<>"]
H5PY_NAMES += ["special", "chunked", "columns", "deep/er/x"]


@pytest.mark.parametrize("through", run.ROUTES)
@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_h5py(libver, through, tmp_path):
    code = f"libver = {libver!r}\n{FIELD}{H5PY}"
    plain, made, _ = pair(python(code), tmp_path, [f"/types/f2*=absolute:{0.5}", f"/*=absolute:{BOUND}"], through=through)
    with h5py.File(made) as file:
        assert client_data(file["types/f2<"])[2:4] == host_tools.double_words(0.5)
        assert file["chunked"].chunks == (64, 64) and file["columns"].chunks == (256, 300)
    with h5py.File(plain, "a") as a, h5py.File(made, "a") as b:
        for order in "<>":  # these have another bound
            assert within(a[f"types/f2{order}"][...], b[f"types/f2{order}"][...], 0.5)
            del a[f"types/f2{order}"], b[f"types/f2{order}"]
    check(plain, made, [name for name in H5PY_NAMES if "f2" not in name])


def test_a_point_wise_bound_and_a_fill_value(tmp_path):
    code = """
import h5py
data = field((200, 200))
data[::7] = 1e30
with h5py.File(path, "w") as file:
    file.create_dataset("x", data=data)
"""
    plain, made, _ = pair(python(FIELD + code), tmp_path, ["/x=pointwise_relative:1e-3,fill_value=1e30"])
    with h5py.File(plain) as a, h5py.File(made) as b:
        assert is_compressed(b["x"])
        original, decoded = a["x"][...].astype("f8"), b["x"][...].astype("f8")
        assert (decoded[::7] == original[::7]).all()
        assert (np.abs(original - decoded) <= 1e-3 * np.abs(original) * (1 + 1e-12)).all()


OTHERS = {
    "netCDF4": """
import netCDF4
with netCDF4.Dataset(path, "w") as file:
    for axis, size in {"t": None, "y": 25, "x": 20000}.items():
        file.createDimension(axis, size)
    file.createVariable("x", "f8", ("x",))[...] = np.arange(20000)
    file.createVariable("fixed", "f4", ("y", "x"), fill_value=-1)[...] = field((25, 20000))
    file.createVariable("zipped", "f4", ("y", "x"), zlib=True)[...] = field((25, 20000))
    growing = file.createVariable("growing", "f8", ("t", "y", "x"))
    for step in range(3):
        growing[step] = field((25, 20000), "f8") + step
""",
    "tables": """
import tables
with tables.open_file(path, "w") as file:
    file.create_array("/", "fixed", field((100, 200)))
    file.create_carray("/group", "growing", obj=field((100, 200), "f8"), chunkshape=(50, 100), createparents=True)
    file.create_array("/", "integers", field((100, 200)).astype("i4"))
""",
}
COMPRESSED = {"netCDF4": ["fixed", "growing"], "tables": ["fixed", "group/growing"]}


@pytest.mark.parametrize("through", run.ROUTES)
@pytest.mark.parametrize("package", each_package(OTHERS))
def test_python_packages_with_an_hdf5_of_their_own(package, through, tmp_path):
    plain, made, outcomes = pair(python(FIELD + OTHERS[package]), tmp_path, [f"/*=absolute:{BOUND}"], through=through)
    check(plain, made, COMPRESSED[package])
    if package == "netCDF4":
        assert outcomes["/x"] == ["one axis"] and outcomes["/zipped"] == ["filters"]


@needs_packages(*OTHERS)
@pytest.mark.parametrize("through", run.ROUTES)
def test_several_copies_of_hdf5_in_one_process(through, tmp_path):
    """Each dataset is created, written and watched by the copy of the package that asks for it."""
    code = FIELD + SIMPLE.replace("(path", '(path + ".h5py"')
    code += "".join(text.replace("(path", f'(path + ".{package}"') for package, text in OTHERS.items())
    plain, made, _ = pair(python(code + "open(path, 'w').close()"), tmp_path, [f"/*=absolute:{BOUND}"], through=through)
    for package, names in {"h5py": ["x"], **COMPRESSED}.items():
        check(f"{plain}.{package}", f"{made}.{package}", names)


@needs_programs("nccopy")
def test_nccopy(tmp_path):
    source = tmp_path / "source.h5"
    with h5py.File(source, "w") as file:
        file["x"] = host_tools.field((100, 200))
        file.create_dataset("chunked", data=host_tools.field((100, 200)), chunks=(50, 100))
    plain, made, _ = pair(["nccopy", "-k", "nc4", source], tmp_path, [f"/*=absolute:{BOUND}"])
    check(plain, made, ["x", "chunked"])


NEVER = """
import h5py, os
from h5py import h5d, h5p, h5s, h5t
data = field((200, 200))
os.chdir(os.path.dirname(path))
with h5py.File(path, "w") as file:
    for dtype in ("i2", "u8", "c8", "?", "S4"):
        file.create_dataset("type_" + dtype, data=data.astype(dtype))
    file.create_dataset("type_enum", data=(data > 0).astype(h5py.enum_dtype({"no": 0, "yes": 1}, basetype="u1")))
    file.create_dataset("type_fields", data=np.zeros((200, 200), "f4,f8"))
    odd = h5t.IEEE_F32LE.copy()
    odd.set_fields(31, 20, 11, 0, 20)
    plain = h5p.create(h5p.DATASET_CREATE)
    plain.set_obj_track_times(False)
    h5d.create(file.id, b"type_other_float", odd, h5s.create_simple((200, 200)), plain)
    file.create_dataset("rank_scalar", data=3.5)
    file.create_dataset("rank_null", data=h5py.Empty("f4"))
    file.create_dataset("one", data=np.arange(50000.0))
    file.create_dataset("small", data=data[:127, :129])
    for name, options in {"gzip": {"compression": "gzip"}, "shuffle": {"shuffle": True}, "sum": {"fletcher32": True}}.items():
        file.create_dataset("filters_" + name, data=data, **options)
    for name, layout in {"compact": h5d.COMPACT, "external": h5d.CONTIGUOUS}.items():
        properties = h5p.create(h5p.DATASET_CREATE)
        properties.set_obj_track_times(False)
        properties.set_layout(layout)
        shape = (100, 100)
        if name == "external":
            properties.set_external(b"values.raw", 0, h5py.h5f.UNLIMITED)
            shape = (200, 200)
        made = h5d.create(file.id, b"layout_" + name.encode(), h5t.IEEE_F32LE, h5s.create_simple(shape), properties)
        made.write(h5s.ALL, h5s.ALL, data[:shape[0], :shape[1]].copy())
    plane = h5s.create_simple((200, 200))
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_obj_track_times(False)
    properties.set_virtual(plane, b".", b"filters_gzip", plane)
    h5d.create(file.id, b"layout_virtual", h5t.IEEE_F32LE, plane, properties)
    for name, layout in {"early": h5d.CONTIGUOUS, "early_chunked": h5d.CHUNKED}.items():
        properties = h5p.create(h5p.DATASET_CREATE)
        properties.set_obj_track_times(False)
        if layout == h5d.CHUNKED:
            properties.set_chunk((100, 100))
        properties.set_alloc_time(h5d.ALLOC_TIME_EARLY)
        made = h5d.create(file.id, b"allocation_" + name.encode(), h5t.IEEE_F32LE, h5s.create_simple((200, 200)), properties)
        made.write(h5s.ALL, h5s.ALL, data)
    file.create_dataset("small_chunks", data=data, chunks=(30, 30))
    file.create_dataset(None, data=data)
    assert file["filters_gzip"][3, 4] == data[3, 4]
"""
# By name, or by what a name begins with, where they differ.
REASON = {"one": "one axis", "small_chunks": "small chunks", "layout_compact": "small"}


@pytest.mark.parametrize("through", run.ROUTES)
def test_what_is_never_touched_has_the_same_bytes(through, tmp_path):
    """The whole file, so that creation properties, and all else that HDF5 stores, are those that the program asked for."""
    plain, made, outcomes = pair(python(FIELD + NEVER), tmp_path, ["/*=absolute:1"], through=through)
    assert plain.read_bytes() == made.read_bytes()
    for path, found in outcomes.items():
        name = path[1:]
        assert found == [REASON.get(name, name.split("_")[0])], path
    assert set(outcomes) > {"/layout_external", "/rank_null", "/type_other_float"}


@pytest.mark.parametrize("through", run.ROUTES)
def test_without_rules_nothing_changes(through, tmp_path):
    code = FIELD + SIMPLE
    plain, made, outcomes = pair(python(code), tmp_path, [], through=through)
    assert plain.read_bytes() == made.read_bytes() and not outcomes


def test_a_dimension_scale_that_is_named(tmp_path):
    code = "import h5py, numpy as np\nwith h5py.File(path, 'w') as file: file.create_dataset('/a//b', data=np.arange(50000.0))"
    plain, made, _ = pair(python(code), tmp_path, ["/a*=lossless", "/a/b=absolute:0.5"])
    check(plain, made, ["a/b"], bound=0.5)


SHAPES = {
    (64, 65, 66): (64, 65, 66),
    (2100, 1000, 2): (704, 1000, 2),
    (300, 512, 1024): (32, 64, 1024),
    (300, 1024, 1024): (16, 128, 1024),
    (40, 300, 512, 512): (1, 32, 128, 512),
    (9, 33, 1024, 1030): (1, 8, 224, 1030),
    (40, 2000, 2000, 2000): (1, 1, 1024, 2000),
    (70000, 70): (23360, 70),
    (3, 5_000_000): (3, 625_024),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_chunks_of_contiguous_datasets(shape, tmp_path):
    target = tmp_path / "x.h5"
    code = f"import h5py\nwith h5py.File(path, 'w') as file: file.create_dataset('x', {shape}, 'f8')"
    rules = [compress_rules.parse("/x=lossless")]
    assert run.run([*python(code), str(target)], compress=rules)[0] == 0
    with h5py.File(target) as file:
        chunks = file["x"].chunks
        assert np.prod(chunks) * 8 <= 16 << 20
        assert all(length <= extent for length, extent in zip(chunks, shape, strict=True))
        assert chunks == SHAPES[shape]


@pytest.mark.slow
def test_tiles_of_many_chunks_stay_within_the_bound(tmp_path):
    """Every tile touches many chunks, every chunk is touched many times: they have to be in memory until the end."""
    code = """
import h5py
data = field((80, 300, 400), "f8")
with h5py.File(path, "w") as file:
    target = file.create_dataset("x", data.shape, "f8")
    for row in range(0, 300, 75):
        for column in range(0, 400, 100):
            target[:, row:row + 75, column:column + 100] = data[:, row:row + 75, column:column + 100]
"""
    plain, made, _ = pair(python(FIELD + code), tmp_path, [f"/x=absolute:{BOUND}"])
    check(plain, made, ["x"])
    with h5py.File(made) as file:
        assert file["x"].id.get_num_chunks() > 4
    check(*pair(python(FIELD + code), tmp_path, [f"/x=absolute:{BOUND}"], cache=16)[:2], ["x"])
