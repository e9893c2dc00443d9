"""Golden HDF5 files: written once by h5py 3.9 to today's, netCDF, h5repack and a C program, and read by every later release.

tests/golden/files.py says how they were written. Values have the bits that they had then, whoever reads; client data are still
understood.
"""

import json

import h5py
import numpy as np
import pytest

import h5stz
from golden import files
from support.host_tools import run
from support.requirements import needs_programs

INDEX = json.loads(files.INDEX.read_text())
DATASETS = [(name, dataset) for name, file in INDEX.items() for dataset in file["datasets"]]


def test_every_file_is_listed():
    assert {path.name for path in files.FILES.iterdir()} == {*INDEX, files.INDEX.name}
    with_h5py = {file["written by"].split("h5py ")[-1].split(",")[0] for name, file in INDEX.items() if name.startswith("h5py")}
    assert len(with_h5py) >= 3


@pytest.mark.parametrize("name", INDEX)
def test_h5py_reads_the_same_bits(name):
    with h5py.File(files.FILES / name) as file:
        assert {key: files.described(dataset) for key, dataset in files.compressed(file).items()} == INDEX[name]["datasets"]


@pytest.mark.parametrize(("name", "dataset"), DATASETS)
def test_views_read_the_same_bits(name, dataset):
    with h5py.File(files.FILES / name) as file:
        expected, view = file[dataset][...], h5stz.view(file[dataset])
        part = tuple(slice(extent // 3, extent) for extent in expected.shape)
        assert view[part].tobytes() == np.ascontiguousarray(expected[part]).tobytes()
        assert view[...].tobytes() == expected.tobytes()


@pytest.mark.parametrize(("name", "dataset"), DATASETS)
def test_the_options_are_understood(name, dataset):
    """New datasets can be made with the options of an old one: mode, bound and what follows them."""
    with h5py.File(files.FILES / name) as file:
        options = h5stz.STZ.from_dataset(file[dataset])
        stored = file[dataset]._filters[str(h5stz.FILTER_ID)]
        with h5py.File("again", "w", driver="core", backing_store=False) as other:
            again = other.create_dataset_like("x", file[dataset], **options)
            assert again._filters[str(h5stz.FILTER_ID)][1:5] == stored[1:5]


NEWER = {"h5py_3.12_latest.h5"}  # HDF5 1.10 does not know all that is in it


@needs_programs("h5dump")
@pytest.mark.parametrize("name", sorted(set(INDEX) - NEWER))
def test_h5dump_reads_the_same_bytes(name, tmp_path):
    """The program of the system, HDF5 1.10 or newer."""
    with h5py.File(files.FILES / name) as file:
        for dataset, expected in INDEX[name]["datasets"].items():
            if expected["dtype"][1] in "cb" or expected["dtype"][1:] == "f2":
                continue  # h5dump 1.10 writes no compounds, enumerations and float16 as bytes
            out = tmp_path / "values"
            order = "BE" if expected["dtype"][0] == ">" else "LE"
            run("h5dump", "-d", f"/{dataset}", "-b", order, "-o", out, files.FILES / name)
            assert out.read_bytes() == file[dataset][...].tobytes(), dataset
