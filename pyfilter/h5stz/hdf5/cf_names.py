"""Variables that CF attributes of other variables name. A bound for fields does not apply to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

#: Attributes in which CF has a variable name others.
REFERENCES = (
    "ancillary_variables",
    "bounds",
    "cell_measures",
    "climatology",
    "coordinate_interpolation",
    "coordinates",
    "formula_terms",
    "geometry",
    "grid_mapping",
    "interior_ring",
    "mesh",
    "node_coordinates",
    "node_count",
    "part_node_count",
    "quantization",
)
#: Attributes of variables whose numbers are flags.
FLAGS = {"flag_values", "flag_masks", "flag_meanings"}


def words(value: Any) -> Iterator[str]:
    """The names in an attribute that is text or an array of texts; none for other attributes.

    Bytes that are not UTF-8 become surrogate characters, as in the paths of hdf5.objects.
    """
    for each in np.ravel(np.asarray(value, object)):
        text = each.decode(errors="surrogateescape") if isinstance(each, bytes) else each
        if isinstance(text, str):
            yield from re.findall(r"[^\s:()]+", text)
