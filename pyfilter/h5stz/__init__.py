"""h5stz: error-bounded lossy and lossless compression of scientific arrays, for HDF5 and in memory.

Importing the package registers the filter with h5py. It also adds the directory of the plug-in to the environment variable
HDF5_PLUGIN_PATH, for child processes and for copies of HDF5 that are loaded later. On Linux it registers the plug-in with the
copies that are already loaded (H5PLappend). With H5STZ_EVERYWHERE=0 in the environment, only h5py gets the filter.

The names for whole files, region reads, dask and xarray are loaded on first use.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from h5stz import loading
from h5stz._core import FILTER_ID, FORMAT_VERSION
from h5stz._core import VERSION as __version__

# What a fork must not catch half loaded does not wait for its first use.
from h5stz.codec import compress, decompress, drop_layers, rewrite, verify
from h5stz.damage import Damage, DamageWarning
from h5stz.errors import StzError, StzMemoryError, StzReadError, StzTypeError
from h5stz.hdf5.registration import Config, get_config, last_error, plugin_path, register
from h5stz.options.chunks import suggest_chunks
from h5stz.options.stz import STZ, Options
from h5stz.signatures import with_options_of
from h5stz.stream_info import Layer, StreamInfo, info

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from h5stz.analysis.comparing import Comparison, compare
    from h5stz.analysis.extracting import Extracted, extract
    from h5stz.dask.arrays import dask_array
    from h5stz.dask.writing import to_hdf5
    from h5stz.estimating import Estimate, estimate
    from h5stz.files.repack_plan import Rule
    from h5stz.files.repack_preview import Planned, plan_repack
    from h5stz.files.repacking import Outcome, Report, repack
    from h5stz.files.salvaging import Salvaged, salvage
    from h5stz.files.unpacking import unpack
    from h5stz.reading.make_view import view
    from h5stz.reading.opening import File, Group
    from h5stz.reading.opening import open as open  # not in __all__: `from h5stz import *` must not hide the builtin
    from h5stz.reading.partial_reads import partial_reads
    from h5stz.reading.read import read
    from h5stz.reading.view import View
    from h5stz.reading.view_sources import close_files
    from h5stz.tuning.choosing import choose_bounds
    from h5stz.tuning.chosen import ChosenBound, ChosenBounds, Judgement, StzBudgetError
    from h5stz.tuning.effect import Effect, Effects, effect
    from h5stz.writing.write import write
    from h5stz.xarray.writing import to_netcdf, xarray_attributes, xarray_encoding
elif sys.version_info >= (3, 11):
    from typing import Unpack

#: Module -> its names that load when they are used; type checkers read the imports above.
_LAZY = {
    "analysis.comparing": ("Comparison", "compare"),
    "analysis.extracting": ("Extracted", "extract"),
    "dask.arrays": ("dask_array",),
    "dask.writing": ("to_hdf5",),
    "estimating": ("Estimate", "estimate"),
    "files.repack_plan": ("Rule",),
    "files.repack_preview": ("Planned", "plan_repack"),
    "files.repacking": ("Outcome", "Report", "repack"),
    "files.salvaging": ("Salvaged", "salvage"),
    "files.unpacking": ("unpack",),
    "reading.make_view": ("view",),
    "reading.opening": ("File", "Group", "open"),
    "reading.partial_reads": ("partial_reads",),
    "reading.read": ("read",),
    "reading.view": ("View",),
    "reading.view_sources": ("close_files",),
    "tuning.choosing": ("choose_bounds",),
    "tuning.chosen": ("ChosenBound", "ChosenBounds", "Judgement", "StzBudgetError"),
    "tuning.effect": ("Effect", "Effects", "effect"),
    "writing.write": ("write",),
    "xarray.writing": ("to_netcdf", "xarray_attributes", "xarray_encoding"),
}
if not TYPE_CHECKING:  # which would take any name for one of the package
    __getattr__, __dir__ = loading.lazy(globals(), _LAZY)

__all__ = [
    "FILTER_ID",
    "FORMAT_VERSION",
    "STZ",
    "ChosenBound",
    "ChosenBounds",
    "Comparison",
    "Config",
    "Damage",
    "DamageWarning",
    "Effect",
    "Effects",
    "Estimate",
    "Extracted",
    "File",
    "Group",
    "Judgement",
    "Layer",
    "Options",
    "Outcome",
    "Planned",
    "Report",
    "Rule",
    "Salvaged",
    "StreamInfo",
    "StzBudgetError",
    "StzError",
    "StzMemoryError",
    "StzReadError",
    "StzTypeError",
    "View",
    "__version__",
    "cd_values",
    "choose_bounds",
    "close_files",
    "compare",
    "compress",
    "dask_array",
    "decompress",
    "drop_layers",
    "effect",
    "estimate",
    "extract",
    "get_config",
    "info",
    "last_error",
    "partial_reads",
    "plan_repack",
    "plugin_path",
    "read",
    "register",
    "repack",
    "rewrite",
    "salvage",
    "suggest_chunks",
    "to_hdf5",
    "to_netcdf",
    "unpack",
    "verify",
    "view",
    "write",
    "xarray_attributes",
    "xarray_encoding",
]


@with_options_of(STZ)
def cd_values(**options: Unpack[Options]) -> tuple[int, ...]:
    """The filter's parameters (client data) for options of `STZ`: a tuple of ints from 0 to 2^32 - 1 (docs/cd_values.md).

    For programs that set the filter themselves: H5Pset_filter, nccopy, h5repack.

    Raises:
        StzError: (a ValueError) as for STZ.
        TypeError: an unknown or positional option.
    """
    return STZ(**options).filter_options


register()
loading.let_forks_wait()
