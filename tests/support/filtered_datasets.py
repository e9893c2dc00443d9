"""Datasets with the filter that are created through h5py's HDF5, of any type and with any client data.

compression=<int> of h5py registers the filter as optional, which is the hard case: HDF5 then ignores can_apply, and an
unsuitable dataset must still be refused.
"""

import h5py

from support.host_tools import ABSOLUTE, CODES, FILTER_ID, short_form

MANDATORY, OPTIONAL = 0, 1
HALF = short_form(ABSOLUTE, 0.5)

DTYPES = [order + name for name in CODES for order in "<>" if not (order == ">" and name in ("i1", "u1"))]


def create(file, data=None, words=HALF, name="d", **more):
    """A dataset under the client data `words`; `more` of create_dataset."""
    if data is not None:
        more["data"] = data
    more.setdefault("chunks", True)
    return file.create_dataset(name, compression=FILTER_ID, compression_opts=words, **more)


def create_typed(file, type_id, words=(101, 0), flags=OPTIONAL, name="d", chunk=(4,)):
    """A dataset of any HDF5 type, also of those that numpy has no word for."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk(chunk)
    properties.set_filter(FILTER_ID, flags, words)
    space = h5py.h5s.create_simple(tuple(2 * n for n in chunk))
    return h5py.Dataset(h5py.h5d.create(file.id, name.encode(), type_id, space, properties))


def stored_words(dataset):
    """The client data in the file."""
    return dataset._filters[str(FILTER_ID)]
