"""The plug-in in several copies of libhdf5: those of the Python wheels, alone and all in one process."""

import h5py
import pytest

from support import host_tools
from support.host_tools import FILTER_ID, field, run_python
from support.requirements import each_package, needs_packages

h5py.h5pl.prepend(host_tools.plugin_directory().encode())


@needs_packages("h5py", "netCDF4", "tables")
def test_three_copies_of_hdf5_in_one_process(tmp_path):
    printed = run_python("three_libraries.py", tmp_path).splitlines()
    assert len(set(printed[0].split()[1:])) >= 2, "the wheels should bring different versions"
    assert printed[-1] == "ok"


@pytest.mark.parametrize("package", each_package(["h5py", "netCDF4", "tables"]))
def test_error_text_of_a_damaged_chunk_is_on_the_error_stack(tmp_path, package):
    with h5py.File(tmp_path / "f.h5", "w") as file:
        dataset = file.create_dataset(
            "d", data=field((16, 24)), chunks=(16, 24), compression=FILTER_ID, compression_opts=(101, 0)
        )
        file.flush()
        dataset.id.write_direct_chunk((0, 0), b"no stream")
    printed = run_python("error_stack.py", package, tmp_path / "f.h5").splitlines()
    assert printed[0].startswith("h5stz: a chunk of 9 bytes cannot be read"), printed
    assert "filter returned failure during read" in printed
