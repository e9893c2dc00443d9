"""h5py, netCDF4 and PyTables, each with its own libhdf5, in one process and with one image of the plug-in.

    three_libraries.py DIRECTORY

Every library writes a file through the filter (PyTables into a dataset that exists: it cannot ask for a foreign
filter), then every library reads every file. The order of use changes from file to file. Prints "ok" at the end.
"""

import ctypes
import os
import sys
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import tables

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.host_tools import ABSOLUTE, FILTER_ID, field, full_form, largest_error, mapped_library, short_form

directory = Path(sys.argv[1])
bound = 0.01
data = field((50, 70))
chunks = (16, 24)


def write_h5py(path):
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset(
            "d", data=data, chunks=chunks, compression=FILTER_ID, compression_opts=short_form(ABSOLUTE, bound)
        )
        assert dataset._filters[str(FILTER_ID)] == full_form(2, False, chunks, ABSOLUTE, bound)


def write_netcdf(path):
    """nc_def_var_filter, which netCDF4 does not wrap, in netCDF4's own libnetcdf."""
    define_filter = ctypes.CDLL(mapped_library("libnetcdf")).nc_def_var_filter
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("y", data.shape[0])
        file.createDimension("x", data.shape[1])
        variable = file.createVariable("d", "f4", ("y", "x"), chunksizes=chunks, fill_value=False)
        words = short_form(ABSOLUTE, bound)
        code = define_filter(
            ctypes.c_int(file._grpid),
            ctypes.c_int(variable._varid),
            ctypes.c_uint(FILTER_ID),
            ctypes.c_size_t(len(words)),
            (ctypes.c_uint * len(words))(*words),
        )
        assert code == 0, f"nc_def_var_filter returned {code}"
        variable[...] = data


def write_pytables(path):
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "d",
            shape=data.shape,
            dtype="f4",
            chunks=chunks,
            compression=FILTER_ID,
            compression_opts=short_form(ABSOLUTE, bound),
        )
    with tables.open_file(path, "a") as file:
        file.root.d[...] = data


def read_h5py(path):
    with h5py.File(path) as file:
        assert list(file["d"]._filters) == [str(FILTER_ID)]
        masks = [file["d"].id.get_chunk_info(i).filter_mask for i in range(file["d"].id.get_num_chunks())]
        assert masks == [0] * 12, masks
        return file["d"][()]


def read_netcdf(path):
    with netCDF4.Dataset(path) as file:
        return np.asarray(file["d"][...])


def read_pytables(path):
    with tables.open_file(path) as file:
        return file.root.d[...]


versions = {h5py.version.hdf5_version, netCDF4.__hdf5libversion__, tables.hdf5_version}
print("HDF5", *sorted(versions))
readers = [read_netcdf, read_h5py, read_pytables]
for write in [write_netcdf, write_h5py, write_pytables]:
    file_name = str(directory / f"{write.__name__}.h5")
    write(file_name)
    readers.append(readers.pop(0))
    for read in readers:
        error = largest_error(data, read(file_name))
        assert error <= bound, (write, read, error)

# A child process after a fork finds everything as its parent left it.
child = os.fork()
if child == 0:
    write_h5py(str(directory / "child.h5"))
    os._exit(0 if largest_error(data, read_netcdf(str(directory / "child.h5"))) <= bound else 1)
assert os.waitpid(child, 0)[1] == 0
print("ok")
