"""Cases through netCDF4: variables with the filter, written in parts by netCDF4 or h5netcdf, read by netCDF4 and by h5py.

netCDF4 has no function for other filters than its own: they are set through nc_def_var_filter of its own library.
"""

import ctypes

import h5netcdf
import h5py
import netCDF4
import numpy as np

from exhaustive import arrays, choices
from exhaustive.memory import Expected, describe
from exhaustive.model import Model, draw_chunks, draw_part
from exhaustive.source import Violation
from exhaustive.through_h5py import directory, end, stored_options
from support.host_tools import FILTER_ID, mapped_library

__all__ = ["end", "run"]

DTYPES = [
    np.dtype(order + kind)
    for kind in "f4 f8 i1 u1 i2 u2 i4 u4 i8 u8".split()
    for order in "<>"
    if kind[1] != "1" or order == "<"
]
NAME = "x"


def define_filter(file, variable, words):
    """nc_def_var_filter."""
    library = ctypes.CDLL(mapped_library("libnetcdf", "netcdf4"))
    array = (ctypes.c_uint * len(words))(*words)
    status = library.nc_def_var_filter(
        ctypes.c_int(file._grpid), ctypes.c_int(variable._varid), ctypes.c_uint(FILTER_ID), ctypes.c_size_t(len(words)), array
    )
    if status:
        raise Violation(f"nc_def_var_filter returned {status}")


def dimensions(shape):
    """Their names."""
    return tuple(f"d{axis}" for axis in range(len(shape)))


def plain(variable):
    """A variable whose numbers netCDF4 leaves as they are."""
    variable.set_auto_maskandscale(False)
    return variable


class Program:
    """One variable in one file, and the model of what is in it."""

    def __init__(self, source, tally):
        self.source, self.tally = source, tally
        self.path = directory() / "case.nc"
        self.dtype = source.pick(DTYPES)
        self.shape = arrays.draw_shape(source, source.between(1, 4), source.pick([30, 300, 3000]), 0.0)
        self.first = arrays.draw_array(source, self.dtype, self.shape, reordered=False)
        self.options = choices.draw_options(source, self.first, stored=True)
        run.described = describe(self.first, self.options)
        self.chunks = draw_chunks(source, self.shape)
        self.grows = source.chance(0.4)
        self.fill = source.pick([None, False, self.first.fill if self.first.fill is not None else 7])

    def create(self):
        """Writes the first values."""
        stz = stored_options(self.options, self.dtype)
        by_h5netcdf = self.source.chance(0.3)
        run.described += f", chunks {self.chunks}, fill_value {self.fill}, {'h5netcdf' if by_h5netcdf else 'netCDF4'}"
        (self._create_with_h5netcdf if by_h5netcdf else self._create_with_netcdf4)(stz)
        self.tally.seen[f"created by {'h5netcdf' if by_h5netcdf else 'netCDF4'}"] += 1
        self.model.wrote(..., self.first.array)

    def _create_with_h5netcdf(self, stz):
        fill = None if self.fill in (None, False) else np.array(self.fill, self.dtype)[()]
        with h5netcdf.File(self.path, "w") as file:
            for axis, (name, extent) in enumerate(zip(dimensions(self.shape), self.shape, strict=True)):
                file.dimensions[name] = None if self.grows and axis == 0 else extent
            if self.grows:
                file.resize_dimension("d0", self.shape[0])
            variable = file.create_variable(NAME, dimensions(self.shape), self.dtype, fillvalue=fill, chunks=self.chunks, **stz)
            variable[...] = self.first.array
        self.model = Model(self.shape, self.dtype, self.options, fill)

    def _create_with_netcdf4(self, stz):
        with netCDF4.Dataset(self.path, "w") as file:
            for axis, (name, extent) in enumerate(zip(dimensions(self.shape), self.shape, strict=True)):
                file.createDimension(name, None if self.grows and axis == 0 else extent)
            endian = "big" if self.dtype.str[0] == ">" else "little"
            fill = self.fill if self.fill in (None, False) else np.array(self.fill, self.dtype.newbyteorder("="))[()]
            variable = plain(
                file.createVariable(
                    NAME, self.dtype, dimensions(self.shape), chunksizes=self.chunks, fill_value=fill, endian=endian
                )
            )
            define_filter(file, variable, stz.filter_options)
            variable[...] = self.first.array
        if fill is None:
            fill = netCDF4.default_fillvals[self.dtype.str[1:]]
        known = fill is not False
        self.model = Model(
            self.shape, self.dtype, self.options, np.array(fill, self.dtype.newbyteorder("=")).item() if known else None, known
        )

    def step(self, kind):
        """Opens the file again and writes."""
        source, model = self.source, self.model
        with netCDF4.Dataset(self.path, "a") as file:
            variable = plain(file[NAME])
            if kind == "records":
                shape = (model.values.shape[0] + source.between(1, 4), *model.values.shape[1:])
                added = (slice(model.values.shape[0], None),)
                model.resize(shape)
                values = arrays.draw_array(source, self.dtype, model.values[added].shape, reordered=False).array
                variable[added[0].start : shape[0]] = values
                return model.wrote(added, values)
            for _ in range(source.between(1, 3)):
                part = draw_part(source, model.values.shape)
                values = arrays.draw_array(source, self.dtype, model.values[part].shape, reordered=False).array
                variable[part] = values
                model.wrote(part, values)
                if source.chance(0.3):
                    file.sync()
        return None

    def finish(self):
        """What netCDF4 and h5py find."""
        with netCDF4.Dataset(self.path) as file:
            found = np.asarray(plain(file[NAME])[...])
        found = found.astype(self.dtype)
        self.model.judge(self.tally, found, "read by netCDF4")
        with h5py.File(self.path) as file:
            filters = file[NAME].id.get_create_plist()
            if FILTER_ID not in [filters.get_filter(index)[0] for index in range(filters.get_nfilters())]:
                raise Violation("the variable has no filter")
            self.tally.same_bits(found, file[NAME][...].astype(self.dtype), "read by h5py")


def run(source, tally):
    """One case."""
    program = Program(source, tally)
    try:
        program.create()
    except Expected:
        tally.seen["refused as documented"] += 1
        return 0
    for _ in range(source.between(0, 3)):
        kind = "records" if program.grows and source.chance(0.5) else "parts"
        run.described += f", {kind}"
        program.step(kind)
        tally.seen[f"step {kind}"] += 1
    program.finish()
    tally.seen[f"dtype {program.dtype.str}"] += 1
    return 0
