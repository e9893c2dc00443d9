"""Imports packages in an order and reads one file with each of them that reads HDF5.

    import_orders.py FILE PACKAGE ...

Packages: h5stz and those of READERS. FILE has the dataset "x" of two axes, compressed with h5stz, with dimension scales.
Prints a line for each reader: its name and the bytes that it found, as hexadecimal digits of their CRC, or the first line of
its error.
"""

import importlib
import sys
import zlib


def with_h5py(module, path):
    """h5py and h5netcdf's own interface."""
    with module.File(path, "r") as file:
        return file["x" if module.__name__ == "h5py" else "/x"][...]


def with_netcdf4(module, path):
    """netCDF4."""
    with module.Dataset(path) as file:
        file.set_auto_mask(False)
        return file["x"][...]


def with_tables(module, path):
    """PyTables."""
    with module.open_file(path) as file:
        return file.root.x[...]


def with_xarray(module, path, engine):
    """Through one of xarray's engines."""
    with module.open_dataset(path, engine=engine) as dataset:
        return dataset["x"].values


READERS = {
    "h5py": with_h5py,
    "h5netcdf": with_h5py,
    "netCDF4": with_netcdf4,
    "tables": with_tables,
    "xarray:netcdf4": lambda module, path: with_xarray(module, path, "netcdf4"),
    "xarray:h5netcdf": lambda module, path: with_xarray(module, path, "h5netcdf"),
}


def main(path, *names):
    """Imports all of them first."""
    modules = {name: importlib.import_module(name.partition(":")[0]) for name in names}
    for name, module in modules.items():
        if name not in READERS:
            continue
        try:
            print(name, f"{zlib.crc32(READERS[name](module, path).tobytes()):08x}")
        except Exception as error:  # what each package raises differs
            print(name, str(error).partition("\n")[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
