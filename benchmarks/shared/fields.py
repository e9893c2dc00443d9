"""The fields of each benchmark.

With a directory, the development fields (`.npy` files) of that directory; without one, small generated fields, so that every
program runs anywhere. Each function returns {name: array}.
"""

import os
from pathlib import Path

import numpy as np

from shared import synthetic

RELATIVE_BOUNDS = (1e-2, 1e-3, 1e-4)
RELATIVE = 1e-3  # of figures at one bound

MULTIPLE = ("isabel_wind_4d", "reanalysis_u_4d", "plasma_lwfa_Ez", "plasma_lwfa_Jz")  # 4-D, or several modes
VOLUMES = (
    "cryoem_betagal",
    "geo_vorticity_41x128x128",
    "isabel_wind_4d",
    "ocean_convection_T",
    "qchem_acrolein_density",
    "radio_l1448_13co",
    "turb_wmag_91",
    "xray_ptycho_128",
    "xtal_density_3ek3",
)
#: Float fields without NaN or fill value: the ratio figure.
COMPARISON = sorted(
    {*MULTIPLE, *VOLUMES, "dem_gabilan", "kh_density_256x1024", "ligo_strain_h1", "turb_pressure_384", "turb_slice_999"}
)
MASKED = ("ocean_sst_masked", "radar_reflectivity", "reservoir_porosity", "submm_gc_nan", "chlorophyll_nan")
FILL_VALUES = {"ocean_sst_masked": 1e20, "radar_reflectivity": -9999, "reservoir_porosity": -999, "filled": -9999}
BOX_FIELD = "turb_wmag_91"  # the odd-sized field whose edge chunks are compared with its valid boxes


def default_directory():
    """H5STZ_DATA, or None for generated fields."""
    return os.environ.get("H5STZ_DATA") or None


def _stored(directory, names, dtype=None, first=False):
    """The named fields; `first`: the first entry of axis 0 of those where that axis is not spatial."""
    found = {}
    for name in names:
        array = np.load(Path(directory) / f"{name}.npy")
        array = array[0] if first and name in MULTIPLE else array
        found[name] = np.ascontiguousarray(array, dtype)
    return found


def comparison(directory):
    """float32, at most 3-D, no masks: one chunk each."""
    if directory is None:
        rough = synthetic.gaussian_field(48, 1, 8)
        return {"volume": rough, "image": synthetic.gaussian_field(64, 2, 6)[0], "line": rough[0].ravel()}
    return _stored(directory, COMPARISON, np.float32, first=True)


def whole(directory):
    """The 4-D and multi-mode arrays with all their axes, float32."""
    if directory is None:
        return {"stack": synthetic.gaussian_field(32, 1, 8).reshape(4, 8, 32, 32)}
    return _stored(directory, MULTIPLE, np.float32)


def volumes(directory):
    """The fully three-dimensional fields of `comparison`."""
    if directory is None:
        return {BOX_FIELD: synthetic.gaussian_field(91, 1, 12)}
    return _stored(directory, VOLUMES, np.float32, first=True)


def masked(directory):
    """float32 fields with NaN or a fill value (see `FILL_VALUES`)."""
    return synthetic.masked_fields() if directory is None else _stored(directory, MASKED, np.float32)


def integers(directory):
    """Integer fields as stored."""
    return synthetic.counts() if directory is None else _stored(directory, ["ct_head_i16"])


def floats(directory):
    """Every floating-point field as stored, masked ones included."""
    if directory is None:
        return {**comparison(None), **synthetic.masked_fields(), **synthetic.positive_fields()}
    return _stored(directory, sorted({*COMPARISON, *MASKED}))


def chosen(arrays, names):
    """Those of the arrays that are named; all without names."""
    unknown = set(names or ()) - set(arrays)
    if unknown:
        raise SystemExit(f"no such field: {', '.join(sorted(unknown))}; there are {', '.join(arrays)}")
    return {name: arrays[name] for name in names or arrays}


def valid_samples(name, array):
    """Boolean array: finite and not the field's fill value."""
    valid = np.isfinite(array)
    if name in FILL_VALUES:
        valid &= array != array.dtype.type(FILL_VALUES[name])
    return valid


def crop(array, edge):
    """The first samples of each axis, as many as a box of `edge`^3 has: every field takes about as long. None: all."""
    if edge is None:
        return array
    shortest = max(2, round((edge**3) ** (1 / array.ndim)))
    return np.ascontiguousarray(array[tuple(slice(0, shortest) for _ in array.shape)])


def pieces(array, edge):
    """Copies of the chunks of `edge` samples per axis, cut to the array where it ends."""
    corners = np.ndindex(*(-(-extent // edge) for extent in array.shape))
    return [np.ascontiguousarray(array[tuple(slice(edge * at, edge * (at + 1)) for at in corner)]) for corner in corners]


def value_range(values):
    """max - min as a float64, the unit of a relative bound."""
    return float(values.max()) - float(values.min())
