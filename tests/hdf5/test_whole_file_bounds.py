"""One bound for a whole file, as anndata writes it: numbers with a fraction are within the bound, all others are untouched."""

import h5py
import numpy as np
import pytest

import h5stz
from support import exact
from support.requirements import needs_packages

BOUND = 1e-3
CELLS, GENES = 300, 80


def sparse(rng, dtype):
    """A CSR matrix as its three arrays: data, indices, indptr."""
    dense = np.where(rng.random((CELLS, GENES)) < 0.1, rng.gamma(2, 3, (CELLS, GENES)), 0)
    rows, columns = np.nonzero(dense)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=CELLS))])
    return (1 + dense[rows, columns]).astype(dtype), columns.astype("i4"), indptr.astype("i4")


def contents():
    """Arrays by the names that anndata gives them in a file."""
    rng = np.random.default_rng(1)
    found = {
        "layers/dense": rng.normal(size=(CELLS, GENES)).astype("f4"),
        "obs/depth": rng.gamma(2, 3, CELLS),
        "obs/is_control": rng.random(CELLS) < 0.2,
        "obs/batch": rng.integers(0, 7, CELLS).astype("i8"),
        "obs/kind/codes": rng.integers(0, 2, CELLS).astype("i1"),
        "obsm/coordinates": rng.normal(size=(CELLS, 3)),
        "uns/seeds": rng.integers(0, 2**63, 50).astype("u8"),
    }
    for name, dtype in {"X": "f4", "layers/counts": "i4"}.items():
        found |= {
            f"{name}/{part}": array for part, array in zip(("data", "indices", "indptr"), sparse(rng, dtype), strict=True)
        }
    return found


def judge(path, expected):
    """Asserts that every array has the filter, and is as it was or within the bound."""
    with h5py.File(path) as file:
        for name, array in expected.items():
            dataset = file[name]
            assert h5stz.STZ.from_dataset(dataset) is not None, name
            assert dataset.dtype == array.dtype, name
            if array.dtype.kind == "f":
                assert 0 < exact.error_over_bound(array, dataset[...], BOUND) <= 1, name
            else:
                assert exact.same_bits(array, dataset[...]), name


def with_layout_of_anndata(path, arrays):
    """Written by h5py in the groups and with the chunks that h5py gives anndata."""
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, **h5stz.STZ(absolute=BOUND))


def by_anndata(path, arrays):
    """Written by AnnData.write_h5ad with the filter for everything."""
    import anndata
    import pandas
    from scipy.sparse import csr_matrix

    def matrix(name):
        return csr_matrix(tuple(arrays[f"{name}/{part}"] for part in ("data", "indices", "indptr")), shape=(CELLS, GENES))

    observations = {name: arrays[f"obs/{name}"] for name in ("depth", "is_control", "batch")}
    observations["kind"] = pandas.Categorical.from_codes(arrays["obs/kind/codes"], categories=["one", "another"])
    data = anndata.AnnData(
        matrix("X"),
        obs=pandas.DataFrame(observations, index=[f"cell {number}" for number in range(CELLS)]),
        layers={"dense": arrays["layers/dense"], "counts": matrix("layers/counts")},
        obsm={"coordinates": arrays["obsm/coordinates"]},
        uns={"seeds": arrays["uns/seeds"]},
    )
    data.write_h5ad(path, **h5stz.STZ(absolute=BOUND))
    # What anndata itself reads: text and categories too.
    found = anndata.read_h5ad(path)
    assert found.obs_names.equals(data.obs_names) and found.obs["kind"].equals(data.obs["kind"])
    assert (found.layers["counts"] != data.layers["counts"]).nnz == 0


WRITERS = [with_layout_of_anndata, pytest.param(by_anndata, marks=needs_packages("anndata"))]


@pytest.mark.parametrize("write", WRITERS)
def test_indices_and_flags_are_untouched(write, tmp_path):
    arrays = contents()
    write(tmp_path / "cells.h5ad", arrays)
    judge(tmp_path / "cells.h5ad", arrays)


def test_integers_are_under_the_bound_where_it_is_asked_for_by_name(tmp_path):
    """The other side of the test above: the bound would have changed them."""
    numbers = np.cumsum(np.random.default_rng(1).integers(-30, 30, 4000)).astype("i4")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("n", data=numbers, chunks=(4000,), **h5stz.STZ(absolute=5, integers="lossy"))
    with h5py.File(tmp_path / "f.h5") as file:
        assert 0 < np.abs(file["n"][...] - numbers).max() <= 5
