"""The plug-in in several copies of libhdf5: those of the Python wheels, all in one process."""

import h5py

from support import host_tools
from support.host_tools import run_python
from support.requirements import needs_packages

h5py.h5pl.prepend(host_tools.plugin_directory().encode())


@needs_packages("h5py", "netCDF4", "tables")
def test_three_copies_of_hdf5_in_one_process(tmp_path):
    printed = run_python("three_libraries.py", tmp_path).splitlines()
    assert len(set(printed[0].split()[1:])) >= 2, "the wheels should bring different versions"
    assert printed[-1] == "ok"
