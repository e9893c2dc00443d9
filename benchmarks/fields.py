"""The fields of each benchmark and their preparation.

With a directory, the development fields (`.npy` files) of that directory; without one, small generated fields, so
that every command runs anywhere. Each function returns {name: array}.
"""

import os
from pathlib import Path

import numpy as np

import synthetic

RELATIVE_BOUNDS = (1e-2, 1e-3, 1e-4)

# Float fields without NaN or fill value: the ratio figure.
COMPARISON = (
    "cryoem_betagal",
    "dem_gabilan",
    "geo_vorticity_41x128x128",
    "isabel_wind_4d",
    "kh_density_256x1024",
    "ligo_strain_h1",
    "ocean_convection_T",
    "plasma_lwfa_Ez",
    "plasma_lwfa_Jz",
    "qchem_acrolein_density",
    "radio_l1448_13co",
    "reanalysis_u_4d",
    "turb_pressure_384",
    "turb_slice_999",
    "turb_wmag_91",
    "xray_ptycho_128",
    "xtal_density_3ek3",
)
WHOLE = ("isabel_wind_4d", "reanalysis_u_4d", "plasma_lwfa_Ez", "plasma_lwfa_Jz")
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
MASKED = ("ocean_sst_masked", "radar_reflectivity", "reservoir_porosity", "submm_gc_nan", "chlorophyll_nan")
FILL_VALUES = {"ocean_sst_masked": 1e20, "radar_reflectivity": -9999, "reservoir_porosity": -999, "filled": -9999}
INTEGER = ("ct_head_i16",)
BOX_FIELD = "turb_wmag_91"  # the odd-sized field whose edge chunks are compared with its valid boxes


def default_directory():
    """H5STZ_DATA, or None for generated fields."""
    return os.environ.get("H5STZ_DATA") or None


def _stored(directory, name):
    return np.ascontiguousarray(np.load(Path(directory) / f"{name}.npy"))


def _first_entry(name, array):
    """The first entry of axis 0 of 4-D fields and of the plasma modes: those axes are not spatial."""
    return array[0] if array.ndim > 3 or name.startswith("plasma") else array


def comparison(directory):
    """float32, at most 3-D, no masks: one chunk each."""
    if directory is None:
        rough = synthetic.gaussian_field(48, 1, 8)
        return {"volume": rough, "image": synthetic.gaussian_field(64, 2, 6)[0], "line": rough[0].ravel()}
    return {name: _first_entry(name, _stored(directory, name)).astype(np.float32) for name in COMPARISON}


def whole(directory):
    """The 4-D and multi-mode arrays with all their axes, float32."""
    if directory is None:
        return {"stack": synthetic.gaussian_field(32, 1, 8).reshape(4, 8, 32, 32)}
    return {name: _stored(directory, name).astype(np.float32) for name in WHOLE}


def volumes(directory):
    """The fully three-dimensional fields of `comparison`."""
    if directory is None:
        return {BOX_FIELD: synthetic.gaussian_field(91, 1, 12)}
    return {name: _first_entry(name, _stored(directory, name)).astype(np.float32) for name in VOLUMES}


def masked(directory):
    """float32 fields with NaN or a fill value (see `FILL_VALUES`)."""
    if directory is None:
        return synthetic.masked_fields()
    return {name: _stored(directory, name).astype(np.float32) for name in MASKED}


def integers(directory):
    """Integer fields as stored."""
    if directory is None:
        return synthetic.counts()
    return {name: _stored(directory, name) for name in INTEGER}


def floats(directory):
    """Every floating-point field as stored, masked ones included."""
    if directory is None:
        return {**comparison(None), **synthetic.masked_fields(), **synthetic.positive_fields()}
    names = sorted(set(COMPARISON) | set(MASKED))
    return {name: _stored(directory, name) for name in names}


def valid_samples(name, array):
    """Boolean array: finite and not the field's fill value."""
    valid = np.isfinite(array)
    if name in FILL_VALUES:
        valid &= array != array.dtype.type(FILL_VALUES[name])
    return valid


def crop(array, edge):
    """The first `edge` samples of each axis in a 3-D box, more on fewer axes, so that every field takes about as
    long.
    """
    if edge is None:
        return array
    shortest = max(2, round((edge**3) ** (1 / array.ndim)))
    return np.ascontiguousarray(array[tuple(slice(0, shortest) for _ in array.shape)])


def value_range(values):
    """max - min as a float64, the unit of a relative bound."""
    return float(values.max()) - float(values.min())
