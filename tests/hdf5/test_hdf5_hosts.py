"""The plug-in in the command line tools of HDF5 and netCDF."""

import re
from decimal import Decimal

import h5py
import numpy as np
import pytest

from support import host_tools
from support.host_tools import ABSOLUTE, FILTER_ID, LOSSLESS, double_words, field, full_form, largest_error, run, short_form
from support.requirements import needs_programs

needs_hdf5_tools = needs_programs("h5dump", "h5ls", "h5repack", "h5diff")
needs_netcdf_tools = needs_programs("nccopy", "ncdump", "ncgen")

h5py.h5pl.prepend(host_tools.plugin_directory().encode())

BOUND = 0.01


def decimal_words(words):
    return ",".join(str(word) for word in words)


def filters(path, name):
    with h5py.File(path) as file:
        return file[name]._filters


def values(path, name):
    with h5py.File(path) as file:
        return file[name][()]


@pytest.fixture
def plain(tmp_path):
    """A file without filters: floats of both orders, integers, booleans, text."""
    path = tmp_path / "plain.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("a", data=field((50, 70)), chunks=(16, 24))
        file.create_dataset("group/b", data=field((500,), ">f8"), chunks=(100,))
        file.create_dataset("i", data=field((300,), "i2"), chunks=(64,))
        file.create_dataset("flags", data=np.arange(300) % 7 == 0, chunks=(64,))
        file.create_dataset("text", data=np.array([b"one", b"three"]), chunks=(2,))
        file.create_dataset("lines", data=["one", "three"], dtype=h5py.string_dtype(), chunks=(2,))
    return path


def check_values(plain, other, bound=BOUND):
    for name in ["a", "group/b"]:
        assert 0 < largest_error(values(plain, name), values(other, name)) <= bound, name
    for name in ["i", "flags", "text", "lines"]:
        assert np.array_equal(values(plain, name), values(other, name)), name


@needs_hdf5_tools
@pytest.mark.parametrize("words", [short_form(ABSOLUTE, BOUND), (102, ABSOLUTE, 1, 2)], ids=["short", "integer"])
def test_h5repack_compresses_and_restores(tmp_path, plain, words):
    packed, restored = tmp_path / "packed.h5", tmp_path / "restored.h5"
    run("h5repack", "-f", f"UD={FILTER_ID},0,{len(words)},{decimal_words(words)}", plain, packed)
    assert filters(packed, "a")[str(FILTER_ID)] == full_form(2, False, (16, 24), ABSOLUTE, BOUND)
    assert filters(packed, "group/b")[str(FILTER_ID)] == full_form(3, True, (100,), ABSOLUTE, BOUND)
    assert filters(packed, "flags")[str(FILTER_ID)] == full_form(4, False, (64,), LOSSLESS)
    assert filters(packed, "text") == {} and filters(packed, "lines") == {}
    check_values(plain, packed)

    run("h5repack", "-f", "NONE", packed, restored)
    assert filters(restored, "a") == {} and filters(restored, "group/b") == {}
    check_values(plain, restored)
    run("h5diff", f"--delta={BOUND}", plain, restored)


@needs_hdf5_tools
def test_h5repack_of_one_dataset_with_new_chunks(tmp_path, plain):
    first, second = tmp_path / "first.h5", tmp_path / "second.h5"
    run("h5repack", "-f", f"/a:UD={FILTER_ID},0,4,102,1,1,2", plain, first)
    assert filters(first, "group/b") == {}
    run("h5repack", "-l", "/a:CHUNK=20x70", first, second)
    assert filters(second, "a")[str(FILTER_ID)] == full_form(2, False, (20, 70), ABSOLUTE, BOUND)
    # The second pass codes decoded values: its bound adds to that of the first.
    assert largest_error(values(first, "a"), values(second, "a")) <= BOUND


@needs_hdf5_tools
def test_h5dump_and_h5ls_name_filter_and_values(tmp_path, plain):
    packed = tmp_path / "packed.h5"
    run("h5repack", "-f", f"UD={FILTER_ID},0,4,102,1,1,2", plain, packed)
    header = run("h5dump", "-pH", "-d", "/a", packed)
    assert f"FILTER_ID {FILTER_ID}" in header and "COMMENT h5stz" in header
    dumped = run("h5dump", "-y", "-w", "1", "-m", "%.9g", "-d", "/a", packed)
    numbers = [float(text) for text in re.findall(r"^ {6}(-?[0-9.e+-]+),?$", dumped, re.M)]
    assert np.array_equal(np.float32(numbers), values(packed, "a").ravel())
    listing = run("h5ls", "-v", f"{packed}/a")
    assert re.search(rf"Filter-0: +h5stz-{FILTER_ID} ", listing)


@needs_hdf5_tools
def test_h5repack_with_malformed_words_leaves_the_data_as_they_are(tmp_path, plain):
    packed = tmp_path / "packed.h5"
    printed = run("h5repack", "-v", "--enable-error-stack", "-f", f"UD={FILTER_ID},0,4,102,9,1,2", plain, packed)
    assert "could not create dataset" in printed
    assert filters(packed, "a") == {} and np.array_equal(values(packed, "a"), values(plain, "a"))


@pytest.fixture
def netcdf(tmp_path):
    numbers = field((40, 50), "f8")
    text = ", ".join("_" if row % 11 == 3 else f"{number:.6f}" for row, number in enumerate(numbers.ravel()))
    source = tmp_path / "source.cdl"
    source.write_text(
        "netcdf source { dimensions: y = 40 ; x = 50 ; variables: double v(y, x) ; v:_FillValue = 1e20 ;"
        f" int n(x) ; data: v = {text} ; n = {', '.join(str(3 * k) for k in range(50))} ; }}"
    )
    run("ncgen", "-4", "-o", tmp_path / "source.nc", source)
    return tmp_path / "source.nc"


def ncdump_values(path, name="v"):
    printed = run("ncdump", "-p", "9,17", "-v", name, path)
    text = re.search(rf"\n {name} =(.*?);", printed, re.S)[1]
    return [None if number.strip() == "_" else Decimal(number.strip()) for number in text.split(",")]


def check_ncdump(one, other, bound=BOUND):
    pairs = list(zip(ncdump_values(one), ncdump_values(other), strict=True))
    assert all((a is None) == (b is None) for a, b in pairs), "missing samples stay missing"
    assert 0 < max(abs(a - b) for a, b in pairs if a is not None) <= bound
    assert ncdump_values(one, "n") == ncdump_values(other, "n")


@needs_netcdf_tools
@pytest.mark.parametrize("words", ["101,1,0.01d", "102,1,1,2", decimal_words(short_form(ABSOLUTE, BOUND))])
def test_nccopy_compresses_and_restores(tmp_path, netcdf, words):
    packed, restored = tmp_path / "packed.nc", tmp_path / "restored.nc"
    run("nccopy", "-c", "v:16,25", "-F", f"v,{FILTER_ID},{words}", netcdf, packed)
    expected = decimal_words((FILTER_ID, 103, ABSOLUTE, *double_words(BOUND)))
    assert f'v:_Filter = "{expected},' in run("ncdump", "-hs", packed)
    check_ncdump(netcdf, packed)
    run("nccopy", "-F", "none", packed, restored)
    assert "_Filter" not in run("ncdump", "-hs", restored)
    check_ncdump(netcdf, restored)


@needs_netcdf_tools
def test_nccopy_copies_a_compressed_file_within_the_bound(tmp_path, netcdf):
    packed, copied = tmp_path / "packed.nc", tmp_path / "copied.nc"
    run("nccopy", "-F", f"*,{FILTER_ID},102,1,1,2", netcdf, packed)
    run("nccopy", packed, copied)
    header = run("ncdump", "-hs", copied)
    assert f'v:_Filter = "{FILTER_ID},103,1,' in header
    assert f'n:_Filter = "{FILTER_ID},103,0,' in header, "an integer variable is lossless"
    check_ncdump(packed, netcdf)
    check_ncdump(netcdf, copied, 2 * BOUND)
