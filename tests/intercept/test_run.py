"""`h5stz run`: unmodified programs decode only the blocks that they need, with the output that they have without it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from h5stz.programs import run, run_report
from support import region_files
from support.requirements import each_package, needs_packages, needs_programs

SHAPE = (104, 108, 112)  # 10 MB of float64: HDF5 2.0 has a chunk cache of 8 MiB
LARGE_SHAPE = (200, 208, 212)  # 70 MB: netCDF has one of up to 64 MiB


def write_file(path, shape):
    """A file with a chunk that no chunk cache holds ("x"), one that does ("small"), and a plain dataset."""
    field = region_files.smooth(shape, "f8", 3)
    with h5py.File(path, "w") as target:
        target.create_dataset("x", data=field, chunks=shape, **h5stz.STZ(absolute=1e-2, block="region"))
        target.create_dataset("small", data=field[:40, :40, :40], chunks=(20, 20, 20), **h5stz.STZ(absolute=1e-2))
        target.create_dataset("plain", data=field[:8])
        for axis, name in enumerate("zyx"):  # for netCDF
            target[f"dim_{name}"] = np.arange(shape[axis], dtype="f8")
            target[f"dim_{name}"].make_scale(name)
            target["x"].dims[axis].attach_scale(target[f"dim_{name}"])
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Such a file for programs with the chunk cache that HDF5 gives."""
    return write_file(tmp_path_factory.mktemp("run") / "data.h5", SHAPE)


@pytest.fixture(scope="module")
def large_file(tmp_path_factory):
    """The same for netCDF."""
    return write_file(tmp_path_factory.mktemp("run") / "data.h5", LARGE_SHAPE)


def outputs(words, tmp_path, environment=None, through="preload"):
    """(standard output without `h5stz run`, with it, what the reads decoded); the exit status must be 0 both times."""
    variables = dict(os.environ) | {"HDF5_PLUGIN_PATH": h5stz.plugin_path()} | (environment or {})
    plain = subprocess.run(words, env=variables, check=True, capture_output=True, text=True).stdout
    record = tmp_path / "stats"
    variables = run.environment(variables, through) | {"H5STZ_RUN_STATS": str(record)}
    fast = subprocess.run(words, env=variables, check=True, capture_output=True, text=True).stdout
    sums = {}
    for line in record.read_text().splitlines() if record.exists() else []:
        for name, value in json.loads(line).items():
            sums[name] = sums.get(name, 0) + value
    return plain, fast, sums


def check(words, tmp_path, most=0.2, through="preload"):
    """The output is the same, and at most this share of the blocks was decoded, which the numbers of every read add up to."""
    plain, fast, sums = outputs([str(word) for word in words], tmp_path, through=through)
    assert fast == plain and plain
    assert sums["chunks_direct"] > 0
    assert 0 < sums["blocks_decoded"] < most * sums["blocks_present"]
    return sums


@needs_programs("h5dump")
def test_h5dump(file, tmp_path):
    check(["h5dump", "-d", "x", "-s", "70,50,60", "-c", "4,3,5", file], tmp_path)


@needs_programs("h5dump")
def test_h5dump_with_a_stride(file, tmp_path):
    check(["h5dump", "-d", "x", "-s", "0,4,8", "-S", "8,4,16", "-c", "4,5,6", file], tmp_path, 0.3)


@needs_programs("h5dump")
def test_blocks_are_decoded_once_for_a_program_that_reads_row_by_row(file, tmp_path):
    target = tmp_path / "box"
    words = ["h5dump", "-d", "x", "-s", "70,50,60", "-c", "4,5,16", "-b", "LE", "-o", str(target), str(file)]
    _, _, sums = outputs(words, tmp_path)
    with h5py.File(file) as source:
        view = h5stz.view(source["x"], cache_bytes=0)
        assert target.read_bytes() == view[70:74, 50:55, 60:76].tobytes()
    assert sums["chunks_direct"] == 4 * 5
    assert sums["blocks_decoded"] < 7 * view.stats.blocks_decoded


@needs_programs("h5dump")
def test_chunks_that_fit_the_chunk_cache_are_left_to_hdf5(file, tmp_path):
    words = ["h5dump", "-d", "small", "-s", "3,4,5", "-c", "4,3,5", str(file)]
    plain, fast, sums = outputs(words, tmp_path)
    assert fast == plain
    assert sums["reads"] == sums["reads_through_hdf5"] > 0


@needs_programs("h5dump")
def test_other_datasets_are_left_to_hdf5(file, tmp_path):
    plain, fast, sums = outputs(["h5dump", "-d", "plain", "-s", "1,4,5", "-c", "2,3,5", str(file)], tmp_path)
    assert fast == plain
    assert sums["chunks_direct"] == 0


@pytest.mark.parametrize("through", run.ROUTES)
def test_a_damaged_chunk_is_an_error(through, file, tmp_path):
    damaged = tmp_path / "damaged.h5"
    content = bytearray(file.read_bytes())
    with h5py.File(file) as source:
        info = source["x"].id.get_chunk_info(0)
    for place in range(info.byte_offset + info.size // 2, info.byte_offset + info.size, 97):
        content[place] ^= 0x40
    damaged.write_bytes(content)
    code = f"import h5py; h5py.File({str(damaged)!r})['x'][75:, 75:, 75:]"
    done = subprocess.run(
        [sys.executable, "-c", code], env=run.environment(os.environ, through), capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "OSError" in done.stderr and "a checksum does not match" in done.stderr


@needs_programs("h5repack", "h5dump")
def test_programs_that_write(file, tmp_path):
    copies = [tmp_path / "plain.h5", tmp_path / "fast.h5"]
    base = run.environment(os.environ)
    for copy, variables in zip(copies, [base | {"LD_PRELOAD": ""}, base], strict=True):
        subprocess.run(["h5repack", "-f", "NONE", str(file), str(copy)], env=variables, check=True)
    with h5py.File(copies[0]) as a, h5py.File(copies[1]) as b:
        for name in ("x", "small", "plain"):
            assert region_files.same(a[name][...], b[name][...])


READ = {
    "h5py": "import h5py; print(h5py.File(path)['x'][70:73, 50, 60:64].tolist())",
    "netCDF4": "import netCDF4; print(netCDF4.Dataset(path)['x'][70:73, 50, 60:64].tolist())",
    "tables": "import tables; print(tables.open_file(path).root.x[70:73, 50, 60:64].tolist())",
}


@pytest.mark.slow
@pytest.mark.parametrize("through", run.ROUTES)
@pytest.mark.parametrize("package", each_package(READ))
def test_python_packages_with_an_hdf5_of_their_own(package, through, large_file, tmp_path):
    check([sys.executable, "-c", f"path = {str(large_file)!r}\n{READ[package]}"], tmp_path, through=through)


@needs_packages(*READ)
@pytest.mark.parametrize("through", run.ROUTES)
def test_several_copies_of_hdf5_in_one_process(through, large_file, tmp_path):
    code = f"path = {str(large_file)!r}\n" + "\n".join(READ.values())
    sums = check([sys.executable, "-c", code], tmp_path, through=through)
    assert sums["reads"] >= len(READ)


OTHERS = """
import fcntl, os, subprocess, sys
import h5py
def show(name):
    with h5py.File(name) as file:
        print(file["x"][70:73, 50, 60:64].tolist())
show(path)
before = set(os.listdir("/proc/self/fd"))
show(path)
print("descriptors:", len(set(os.listdir("/proc/self/fd")) - before))
os.closerange(3, 64)  # as daemons do
log = os.open(path + ".log", os.O_WRONLY | os.O_CREAT)
show(path)
print("log:", os.write(log, b"still open"))
file = open(path, "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
for k in range(40):
    show(others[k % len(others)])
ask = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
print("locked:", subprocess.run([sys.executable, "-c", ask, path], capture_output=True).returncode)
"""


@pytest.mark.slow
@pytest.mark.parametrize("through", run.ROUTES)
def test_descriptors_and_locks_of_the_program_stay(through, file, tmp_path):
    path, others = tmp_path / "own.h5", [tmp_path / f"{k}.h5" for k in range(2)]
    for target in (path, *others):
        target.write_bytes(file.read_bytes())
    code = f"path, others = {str(path)!r}, {[str(other) for other in others]!r}\n{OTHERS}"
    plain, fast, sums = outputs([sys.executable, "-c", code], tmp_path, {"HDF5_USE_FILE_LOCKING": "FALSE"}, through)
    assert fast == plain
    assert "descriptors: 0" in fast and "log: 10" in fast and "locked: 1" in fast
    assert sums["chunks_direct"] == 43


CHANGED = """
import h5py, os, shutil
def show():
    with h5py.File(path) as file:
        print(file["x"][70:73, 50, 60:64].tolist())
show()
shutil.copyfile(other, path)  # the same file with other contents
show()
shutil.copyfile(path, path + ".new")
os.replace(path + ".new", path)  # another file of the same name
show()
with h5py.File(path, "r+") as file:
    file["x"][71, 50, 61] = 1000
show()
"""


@pytest.mark.parametrize("through", run.ROUTES)
def test_files_that_change_between_reads(through, file, tmp_path):
    with h5py.File(file) as source:
        array = source["x"][...]
    other = region_files.write(tmp_path / "other.h5", array[::-1].copy(), SHAPE, {"absolute": 1e-2, "block": "region"})
    path = tmp_path / "data.h5"
    shown = []
    for variables in (dict(os.environ) | {"HDF5_PLUGIN_PATH": h5stz.plugin_path()}, run.environment(os.environ, through)):
        path.write_bytes(file.read_bytes())
        words = [sys.executable, "-c", f"path, other = {str(path)!r}, {str(other)!r}\n{CHANGED}"]
        shown.append(subprocess.run(words, env=variables, check=True, capture_output=True, text=True).stdout.splitlines())
    assert shown[0] == shown[1]
    assert len(set(shown[0])) == 3  # a copy has the contents of what it was made of


def test_the_command_line(file, tmp_path, capfd):
    words = [sys.executable, "-c", f"path = {str(file)!r}\n{READ['h5py']}"]
    assert cli.main(["run", "--stats", "--", *words]) == 0
    shown = capfd.readouterr()
    assert shown.out.startswith("[[")
    assert "1 read, 0 of them by HDF5 alone; blocks decoded / present:" in shown.err
    assert cli.main(["run", sys.executable, "-c", "raise SystemExit(5)"]) == 5
    assert cli.main(["run", "--", sys.executable, "-c", "import os; os.kill(os.getpid(), 15)"]) == 128 + 15
    capfd.readouterr()
    assert cli.main(["run", "--stats", "--", sys.executable, "-c", ""]) == 0
    assert "the program did not read any dataset" in capfd.readouterr().err
    assert cli.main(["run", "--", "no-such-program"]) == 1
    assert "no-such-program: no such program" in capfd.readouterr().err
    assert cli.main(["run"]) == 1
    assert "give a command after --" in capfd.readouterr().err


def test_a_file_that_was_changed_a_moment_ago_is_not_known_by_its_time(file, tmp_path):
    """Its next change may have the same time: the clock of a file goes by ticks of the kernel, or by seconds."""
    code = f"import h5py, sys; x = h5py.File({str(file)!r})['x']; [x[70, 50] for _ in range(int(sys.argv[1]))]"
    times = {}
    for age in (3600, -3600):  # seconds; of the latter the clock says that it is being changed
        now = time.time()
        os.utime(file, (now, now - age))
        decoded = []
        for count in "13":
            decoded.append(outputs([sys.executable, "-c", code, count], tmp_path)[2]["blocks_decoded"])
            (tmp_path / "stats").unlink()
        times[age] = decoded[1] / decoded[0]
    assert times == {3600: 1, -3600: 3}


@pytest.mark.parametrize("through", run.ROUTES)
@pytest.mark.parametrize(
    "maxshape",
    [
        (None, 80, None),
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in [(None, 80, 96), (64, None, 96), (64, 80, None), (64, 160, 192)]
        ),
    ],
    ids=str,
)
def test_datasets_that_can_grow(maxshape, through, tmp_path):
    """HDF5 takes chunks for others where one axis grows that is not the first."""
    field = region_files.smooth((64, 80, 96), "f8", 5)
    path = region_files.write(tmp_path / "x.h5", field, (32, 40, 24), {"lossless": True}, maxshape=maxshape, libver="latest")
    code = f"""
import h5py, zlib
with h5py.File({str(path)!r}, rdcc_nbytes=0) as file:
    for z in range(0, 64, 9):
        print(zlib.crc32(file["x"][z:z + 3, 35:45, z:z + 30].tobytes()))
"""
    plain, fast, sums = outputs([sys.executable, "-c", code], tmp_path, through=through)
    assert fast == plain
    assert sums["chunks_direct"] > 0


@pytest.fixture
def installed_with_a_space(tmp_path, monkeypatch):
    """The preload library in a directory that LD_PRELOAD cannot name."""
    folder = tmp_path / "my programs:new"
    folder.mkdir()
    shutil.copy(run.PRELOAD, folder)
    monkeypatch.setattr(run, "PRELOAD", folder / run.PRELOAD.name)


def test_a_path_that_ld_preload_cannot_hold(file, installed_with_a_space, capfd):
    words = [sys.executable, "-c", f"path = {str(file)!r}\n{READ['h5py']}"]
    assert cli.main(["run", "--stats", "--", *words]) == 0
    shown = capfd.readouterr()
    assert shown.out.startswith("[[") and "1 read, 0 of them by HDF5 alone" in shown.err


def test_a_path_that_cannot_be_helped_is_an_error(file, installed_with_a_space, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "my programs:new"))
    assert cli.main(["run", "--", sys.executable, "-c", ""]) == 1
    errors = capfd.readouterr().err
    assert "LD_PRELOAD is split at spaces and colons" in errors and "set TMPDIR" in errors and errors.count("\n") == 1
    with pytest.raises(h5stz.StzError, match="LD_PRELOAD is split"):
        run.environment({})
    assert "LD_PRELOAD" not in run.environment({}, "connector")


def test_the_environment_keeps_what_it_has():
    found = run.environment({"HDF5_PLUGIN_PATH": "/a:/b", "LD_PRELOAD": "/x.so:/y.so", "HOME": "/h"})
    assert found["HDF5_PLUGIN_PATH"].split(":") == [h5stz.plugin_path(), "/a", "/b"]
    assert found["LD_PRELOAD"].split() == [str(run.PRELOAD), "/x.so", "/y.so"]
    assert found["HOME"] == "/h"


def test_the_report_says_why_hdf5_read_alone():
    sums = {"reads": 1, "reads_through_hdf5": 1, "blocks_decoded": 0, "blocks_present": 0, "bytes_used": 0}
    first, reason = run_report.lines(sums, True, [])
    assert first.startswith("1 read, 1 of them by HDF5 alone") and reason.startswith("HDF5 alone reads whole datasets with ")
    assert len(run_report.lines(sums | {"reads": 2, "reads_through_hdf5": 0}, True, [])) == 1
