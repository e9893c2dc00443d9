"""A program that writes records with netCDF4, whose filter is chosen through netCDF's C interface.

    python netcdf_records.py FILE VALUES.npy DEPTH fill|nofill steps|reopen CACHE FILTER WORD...

Chunks have DEPTH records. `nofill`: the file gets no fill values. `reopen`: the file is closed after each record. CACHE: bytes
of the chunk cache, -1 for netCDF's own.
"""

import ctypes
import sys
from pathlib import Path

import netCDF4
import numpy as np


def library():
    """The libnetcdf that this netCDF4 uses."""
    with open("/proc/self/maps") as maps:
        names = {line.split()[-1] for line in maps if "/" in line}
    return ctypes.CDLL(next(name for name in names if Path(name).name.startswith("libnetcdf")))


def main():
    path, values, depth, fill, order, cache, filter_id, *words = sys.argv[1:]
    records = np.load(values)
    if int(cache) >= 0:
        netCDF4.set_chunk_cache(int(cache), 1, 0.75)
    file = netCDF4.Dataset(path, "w")
    if fill == "nofill":
        file.set_fill_off()
    file.createDimension("time", None)
    for name, extent in zip(("row", "column"), records.shape[1:], strict=True):
        file.createDimension(name, extent)
    variable = file.createVariable(
        "x",
        records.dtype,
        ("time", "row", "column"),
        chunksizes=(int(depth), *records.shape[1:]),
        fill_value=False if fill == "nofill" else None,
    )
    numbers = (ctypes.c_uint * len(words))(*map(int, words))
    status = library().nc_def_var_filter(
        ctypes.c_int(file._grpid),
        ctypes.c_int(variable._varid),
        ctypes.c_uint(int(filter_id)),
        ctypes.c_size_t(len(words)),
        numbers,
    )
    assert status == 0, status
    for index, record in enumerate(records):
        variable[index] = record
        if order == "reopen":
            file.close()
            file = netCDF4.Dataset(path, "a")
            variable = file["x"]
    file.close()


if __name__ == "__main__":
    main()
