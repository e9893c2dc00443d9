"""References of kerchunk to the chunks of HDF5 files: samples are those of HDF5, or there are no references."""

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.waiting import no_garbage_collection
from support.host_tools import store_edge_chunks_unfiltered
from support.requirements import needs_packages

pytestmark = needs_packages("zarr", "numcodecs", "fsspec", "xarray", "kerchunk")

SHAPE, CHUNKS = (40, 60), (4, 6)


def field(shape=SHAPE):
    return np.random.default_rng(0).standard_normal(shape).astype("f4").cumsum(1)


def with_scales(file):
    for axis, extent in enumerate(file["x"].shape):
        scale = file.create_dataset(f"d{axis}", data=np.arange(extent))
        scale.make_scale(f"d{axis}")
        file["x"].dims[axis].attach_scale(scale)


def through_references(path):
    """The samples of x, read as docs/zarr.md says."""
    import xarray
    from kerchunk.hdf import SingleHdf5ToZarr

    from h5stz.zarr import Stz

    class WithStz(SingleHdf5ToZarr):
        def _decode_filters(self, h5obj):
            return [Stz.of_dataset(h5obj)] if list(h5obj._filters) == ["34765"] else super()._decode_filters(h5obj)

    # kerchunk waits for a thread of zarr where h5py holds its lock: garbage with objects of h5py must not be collected there.
    with no_garbage_collection():
        references = WithStz(str(path), inline_threshold=0, error="raise").translate()
    options = {"fo": references}
    with xarray.open_zarr("reference://", storage_options=options, consolidated=False, mask_and_scale=False) as read:
        return read["x"].values


def test_a_chunk_without_the_filter(tmp_path):
    data = field()
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("x", data=data, chunks=CHUNKS, **h5stz.STZ(absolute=1e-3))
        with_scales(file)
        file.flush()
        dataset.id.write_direct_chunk((0, 6), np.ascontiguousarray(data[:4, 6:12]).tobytes(), 1)
    with h5py.File(tmp_path / "x.h5") as file:
        stored = file["x"][...]
    assert np.array_equal(stored[:4, 6:12], data[:4, 6:12])
    assert np.array_equal(through_references(tmp_path / "x.h5"), stored)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_a_dataset_that_grew_along_another_axis(tmp_path, libver):
    """With an extensible array as its index (libver "latest") HDF5 gives the addresses of other chunks."""
    data = field()
    with h5py.File(tmp_path / "x.h5", "w", libver=libver) as file:
        options = h5stz.STZ(absolute=1e-3)
        dataset = file.create_dataset("x", (40, 6), "f4", chunks=CHUNKS, maxshape=(40, None), **options)
        for column in range(0, 60, 6):
            dataset.resize((40, column + 6))
            dataset[:, column : column + 6] = data[:, column : column + 6]
        with_scales(file)
    if libver == "latest":
        with pytest.raises(h5stz.StzError, match=r"^/x grows along an axis other than the first.*copy it"):
            through_references(tmp_path / "x.h5")
    else:
        with h5py.File(tmp_path / "x.h5") as file:
            assert np.array_equal(through_references(tmp_path / "x.h5"), file["x"][...])


def test_what_has_no_references(tmp_path):
    from h5stz.zarr import Stz

    with h5py.File(tmp_path / "x.h5", "w", libver="latest") as file:
        plain = file.create_dataset("plain", data=field(), chunks=CHUNKS, compression="gzip")
        with pytest.raises(
            h5stz.StzError, match=r"^/plain has the HDF5 filters \[1\]: references need h5stz as the only filter"
        ):
            Stz.of_dataset(plain)
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((16, 16))
        store_edge_chunks_unfiltered(properties)
        properties.set_filter(h5stz.FILTER_ID, 0, h5stz.cd_values(absolute=1e-3))
        space = h5py.h5s.create_simple(SHAPE)
        raw = h5py.Dataset(h5py.h5d.create(file.id, b"raw", h5py.h5t.IEEE_F32LE, space, properties))
        with pytest.raises(h5stz.StzError, match=r"^/raw has chunks at its edge that are stored raw: copy it with h5repack"):
            Stz.of_dataset(raw)
