"""The VOL connector: what is its own beside what test_run*.py test of both ways into a program.

Programs that know nothing of it must run as without it: h5py's own tests are the judge.
"""

import ctypes
import json
import os
import subprocess
import sys
from xml.etree import ElementTree

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.errors import StzError
from h5stz.programs import compress_rules, run
from support import region_files
from support.created_files import is_compressed
from support.paths import PROGRAMS, ROOT
from support.requirements import each_package, needs_programs

SHAPE = (128, 130, 132)  # 17 MB of float64: more than HDF5's chunk cache
CONNECTOR_FILE = os.path.join(h5stz.plugin_path(connector=True).split(os.pathsep)[1], "libh5stz_connector.so")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Compressed datasets ("x", "y"), of one chunk each, and a plain one."""
    path = tmp_path_factory.mktemp("connector") / "data.h5"
    field = region_files.smooth(SHAPE, "f8", 3)
    with h5py.File(path, "w") as target:
        for name, array in {"x": field, "y": field[::-1].copy()}.items():
            target.create_dataset(name, data=array, chunks=SHAPE, **h5stz.STZ(absolute=1e-2, block="region"))
        target.create_dataset("plain", data=field[:8])
    return path


def python(code, directory, **variables):
    """Runs `code` under the connector: (standard output, what its reads decoded). It must end well."""
    record = directory / "stats"
    record.unlink(missing_ok=True)
    variables = run.environment(os.environ, "connector") | {"H5STZ_RUN_STATS": str(record)} | variables
    done = subprocess.run([sys.executable, "-c", code], env=variables, cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = record.read_text().splitlines() if record.exists() else []
    return done.stdout, dict(pair for line in lines for pair in json.loads(line).items())


def failures(directory, variables):
    """The tests of h5py that fail."""
    report = directory / "report.xml"
    words = [
        sys.executable,
        "-m",
        "pytest",
        "--pyargs",
        "h5py",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--junitxml={report}",
        "--tb=no",
    ]
    directory.mkdir()
    subprocess.run(words, env=dict(os.environ) | variables, cwd=directory, capture_output=True)
    cases = ElementTree.parse(report).getroot().findall(".//testcase")
    assert len(cases) > 800
    wrong = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    return {f"{case.get('classname')}::{case.get('name')}" for case in wrong}


@pytest.mark.parametrize(
    "through", [pytest.param("connector", marks=pytest.mark.slow), pytest.param("preload", marks=pytest.mark.night)]
)
def test_h5py_own_tests(tmp_path, through):
    """No more of them fail than without h5stz."""
    alone = failures(tmp_path / "alone", {"HDF5_PLUGIN_PATH": h5stz.plugin_path()})
    ours = failures(tmp_path / through, run.environment(os.environ, through))
    print(f"h5py's tests that fail: alone {len(alone)}, {through} {len(ours)}")
    assert ours <= alone


@pytest.mark.night
def test_more_of_them_fail_with_the_connector_of_hdf5(tmp_path):
    """With its pass-through connector, from which ours has the callbacks that it does not replace."""
    below = failures(tmp_path / "below", {"HDF5_VOL_CONNECTOR": "pass_through under_vol=0;under_info={}"})
    assert failures(tmp_path / "ours", run.environment(os.environ, "connector")) < below


@pytest.mark.parametrize("connector", [run.CONNECTOR, ""])
def test_errors_of_files_are_those_of_hdf5(connector, tmp_path):
    """Programs go by them: mode "a" creates a file if there is none. HDF5 also asks connectors that nobody chose."""
    code = """
import h5py
with h5py.File("new.h5", "a") as file:
    file["x"] = 3
with h5py.File("new.h5", "a") as file:
    print(file["x"][()])
for name, mode in {"no/such.h5": "r", "new.h5": "x"}.items():
    try:
        h5py.File(name, mode)
    except OSError as error:
        print(type(error).__name__)
try:  # fails when the file is there already
    h5py.File("late.h5", "x", userblock_size=512, alignment_threshold=1, alignment_interval=4096)
except FileExistsError:
    print("wrong")
except Exception:
    print("late")
open("text", "w").write("no HDF5")
print(h5py.is_hdf5("text"), h5py.is_hdf5("new.h5"))
"""
    shown, _ = python(code, tmp_path, HDF5_VOL_CONNECTOR=connector)
    assert shown.split() == ["3", "FileNotFoundError", "FileExistsError", "late", "False", "True"]


def test_a_file_that_is_closed_before_its_datasets(file, tmp_path):
    """It stays open as long as they are, and no longer."""
    code = f"""
import h5py, numpy as np
from h5py import h5d, h5f, h5p, h5s
access = h5p.create(h5p.FILE_ACCESS)
access.set_fclose_degree(h5f.CLOSE_WEAK)
opened = h5f.open({str(file)!r}.encode(), h5f.ACC_RDONLY, access)
dataset = h5d.open(opened, b"x")
opened.close()
space, memory, out = dataset.get_space(), h5s.create_simple((4, 5, 6)), np.empty((4, 5, 6))
space.select_hyperslab((60, 70, 80), (4, 5, 6))
for _ in range(2):
    dataset.read(memory, space, out)
print(out.sum() == {h5py.File(file)["x"][60:64, 70:75, 80:86].sum()!r})
dataset.close()
h5f.open({str(file)!r}.encode(), h5f.ACC_RDWR, access).close()  # fails if it is still open
"""
    shown, sums = python(code, tmp_path)
    assert shown == "True\n"
    assert sums["chunks_direct"] == 2


def test_datasets_at_the_address_of_a_plain_one(file, tmp_path):
    """That nothing is to be gained of a dataset is forgotten when it is closed."""
    code = f"""
import h5py
with h5py.File({str(file)!r}) as file:
    for _ in range(20):
        for name in ("plain", "x"):
            dataset = file[name]
            dataset[1:3, 4, 5], dataset[2:4, 4, 5]
            del dataset
"""
    _, sums = python(code, tmp_path)
    assert sums["reads"] == 80 and sums["chunks_direct"] == sums["reads_through_hdf5"] == 40


BY_FILE = """
import ctypes, glob, importlib, sys
importlib.import_module(package)
name = [line.split()[-1] for line in open("/proc/self/maps") if "/libhdf5-" in line][0]
hdf5 = ctypes.CDLL(name)
Id, Size = ctypes.c_int64, ctypes.c_uint64
for function in ("H5VLregister_connector_by_name", "H5Pcreate", "H5Fopen", "H5Dopen2", "H5Dget_space", "H5Screate_simple"):
    getattr(hdf5, function).restype = Id
hdf5.H5Pcreate.argtypes = hdf5.H5Dget_space.argtypes = [Id]
hdf5.H5VLregister_connector_by_name.argtypes = [ctypes.c_char_p, Id]
hdf5.H5Dread.argtypes = [Id, Id, Id, Id, Id, ctypes.c_void_p]
hdf5.H5Dread_async.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint, Id, Id, Id, Id, Id, ctypes.c_void_p, Id]
hdf5.H5Dread_multi.argtypes = [ctypes.c_size_t, *[ctypes.c_void_p] * 4, Id, ctypes.c_void_p]
hdf5.H5Sselect_hyperslab.argtypes = [Id, ctypes.c_int, *[ctypes.c_void_p] * 4]
hdf5.H5Pset_vol.argtypes = [Id, Id, ctypes.c_void_p]
hdf5.H5Fopen.argtypes = [ctypes.c_char_p, ctypes.c_uint, Id]
hdf5.H5Dopen2.argtypes = [Id, ctypes.c_char_p, Id]
hdf5.H5Screate_simple.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
def id_of(name):
    return Id.in_dll(hdf5, name).value
def read(access):
    file = hdf5.H5Fopen(path.encode(), 0, access)
    x, y, plain = [hdf5.H5Dopen2(file, each, 0) for each in (b"x", b"y", b"plain")]
    start, count = (Size * 3)(4, 70, 80), (Size * 3)(2, 3, 4)
    double = id_of("H5T_NATIVE_DOUBLE_g")
    memory = hdf5.H5Screate_simple(3, count, None)
    spaces = [hdf5.H5Dget_space(each) for each in (x, y, plain)]
    for space in spaces:
        assert hdf5.H5Sselect_hyperslab(space, 0, start, None, count, None) >= 0
    out = (ctypes.c_double * 24 * 5)()
    assert hdf5.H5Dread(x, double, memory, spaces[0], 0, out[0]) >= 0
    assert hdf5.H5Dread_async(b"", b"", 0, x, double, memory, spaces[0], 0, out[1], 0) >= 0
    three = Id * 3
    buffers = (ctypes.c_void_p * 3)(*[ctypes.addressof(each) for each in out[2:]])
    assert hdf5.H5Dread_multi(3, three(plain, x, y), three(*[double] * 3), three(*[memory] * 3),
                              three(spaces[2], spaces[0], spaces[1]), 0, buffers) >= 0
    return [list(each) for each in out]
hdf5.H5open()
connector = hdf5.H5VLregister_connector_by_name(b"h5stz", 0)
assert connector >= 0
access = hdf5.H5Pcreate(id_of("H5P_CLS_FILE_ACCESS_ID_g"))
expected = read(0)
assert hdf5.H5Pset_vol(access, connector, None) >= 0
for _ in range(2):
    assert read(access) == expected
print(expected[0][:3])
"""


@pytest.mark.parametrize("package", each_package(["h5py", "netCDF4", "tables"]))
def test_a_connector_for_one_file(package, file, tmp_path):
    """What a C program says with H5Pset_vol, said to each copy of HDF5; also calls that the preload library does not see."""
    code = f"package, path = {package!r}, {str(file)!r}\n{BY_FILE}"
    shown, sums = python(code, tmp_path, HDF5_VOL_CONNECTOR="native")
    with h5py.File(file) as source:
        assert shown == f"{source['x'][4, 70, 80:83].tolist()}\n"
    assert sums["reads"] == 10 and sums["reads_through_hdf5"] == 2 and sums["chunks_direct"] == 8


@pytest.mark.parametrize(
    "text", ["nonsense", "under_vol=0;under_info={x", "under_vol=77;under_info={}", "under_vol=0;under_info={}"]
)
def test_what_is_below_and_makes_no_sense(text, file, tmp_path):
    """HDF5 2.0 ends the process where a connector refuses its text, so that it counts as not said."""
    code = f"import h5py; print(h5py.File({str(file)!r})['x'][4, 70, 80])"
    shown, sums = python(code, tmp_path, HDF5_VOL_CONNECTOR=f"h5stz {text}")
    assert float(shown) == h5py.File(file)["x"][4, 70, 80]
    assert sums["chunks_direct"] == 1


def test_below_another_connector(file, tmp_path):
    """Ids that are borrowed go through both."""
    code = f"""
import h5py, numpy as np
with h5py.File({str(file)!r}) as source, h5py.File("new.h5", "w") as target:
    print(source["x"][4, 70, 80])
    group = target.create_group("group")
    for place in (target, group):
        place.create_dataset("rho", data=source["plain"][...])
"""
    rules = {"H5STZ_COMPRESS": compress_rules.parse("/*rho=lossless").line()}
    shown, _ = python(code, tmp_path, HDF5_VOL_CONNECTOR="pass_through under_vol=485;under_info={}", **rules)
    with h5py.File(file) as source, h5py.File(tmp_path / "new.h5") as target:
        assert float(shown) == source["x"][4, 70, 80]
        for name in ("rho", "group/rho"):
            assert is_compressed(target[name])
            assert (target[name][...] == source["plain"][...]).all()


def test_another_connector_is_in_force():
    found = run.environment({"HDF5_VOL_CONNECTOR": "h5stz"}, "connector")
    assert found["HDF5_VOL_CONNECTOR"] == "h5stz" and "LD_PRELOAD" not in found
    with pytest.raises(StzError, match="HDF5_VOL_CONNECTOR is set, to 'async under_vol=0;'"):
        run.environment({"HDF5_VOL_CONNECTOR": "async under_vol=0;"}, "connector")


def other_hdf5(directory, *flags):
    """What loading the connector gives a library that is compiled with these flags: an address, or None."""
    library = directory / "libother.so"
    words = [
        "g++",
        "-std=c++20",
        "-shared",
        "-fPIC",
        "-O1",
        f"-I{ROOT / 'filter'}",
        f"-I{ROOT / 'filter/include'}",
        *flags,
        PROGRAMS / "other_hdf5.cpp",
        "-o",
        library,
    ]
    subprocess.run(list(map(str, words)), check=True)
    other, connector = ctypes.CDLL(str(library)), ctypes.CDLL(CONNECTOR_FILE)
    other.load.restype = ctypes.c_void_p
    other.load.argtypes = [ctypes.c_void_p]
    ask = ctypes.cast(connector.H5PLget_plugin_info, ctypes.c_void_p)
    first = other.load(ask)
    assert other.load(ask) == first
    return first


@needs_programs("g++")
@pytest.mark.parametrize(("version", "size"), [(99, 4000), (99, 40), (3, 1000)])
def test_a_library_with_another_record_gets_its_own_under_our_name(version, size, tmp_path):
    record = other_hdf5(tmp_path, f"-DRECORD_VERSION={version}", f"-DRECORD_SIZE={size}")
    found = ctypes.string_at(record, size)
    assert np.frombuffer(found[:8], "i4").tolist() == [version, 485]
    assert ctypes.string_at(int.from_bytes(found[8:16], sys.byteorder)) == b"h5stz"
    assert found[16:] == bytes(range(1, 9)) + bytes(size - 24)


@needs_programs("g++")
def test_a_library_without_a_record_gets_nothing(tmp_path):
    assert other_hdf5(tmp_path, "-DRECORD=0") is None
