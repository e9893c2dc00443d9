"""h5stz.open of objects behind the API of S3, as moto serves it over HTTP, through s3fs: requests and errors."""

import pickle

import numpy as np
import pytest

import h5stz
from support.range_servers import s3_server
from support.region_files import same

s3fs = pytest.importorskip("s3fs", reason="needs Python package s3fs")
pytest.importorskip("moto", reason="needs Python package moto with its server")

CUBE = np.s_[40:56, 40:56, 40:56]
NEAR = np.s_[62:66, 62:66, 62:66]  # in all chunks of "chunks"
URL = "s3://fields/run/x.h5"


@pytest.fixture(scope="module")
def service():
    with s3_server() as (counted, options):
        s3fs.S3FileSystem(**options).mkdir("fields")
        yield counted, options


@pytest.fixture
def bucket(service, content):
    """What counts requests, and the storage_options; the object is as it should be."""
    counted, options = service
    s3fs.S3FileSystem(**options).pipe_file(URL, content)
    counted.reset()
    return counted, options


def test_a_region_and_a_level(bucket, content, full):
    counted, options = bucket
    with h5stz.open(URL, storage_options=options, block_bytes=1 << 13) as file:
        assert list(file) == ["chunks", "one"]
        assert same(full["chunks"][NEAR], file["chunks"][NEAR])
        assert same(full["one"][CUBE], file["one"][CUBE])
        assert same(full["one"][::4, ::4, ::4], file["one"].level(2)[...])
        assert file.stats.requests == len(counted.requests)
        assert file.stats.bytes_fetched == counted.bytes_sent < len(content) / 4
        assert all(span for method, _, span in counted.requests if method == "GET"), "no request takes the whole object"


def test_pickles_dask_and_xarray(bucket, full, tmp_path):
    pytest.importorskip("dask.array", reason="needs Python package dask")
    xarray = pytest.importorskip("xarray", reason="needs Python package xarray")
    _, options = bucket
    with h5stz.open(URL, storage_options=options) as file:
        lazy = h5stz.dask_array(pickle.loads(pickle.dumps(file["chunks"])), level=1)
    assert same(full["chunks"][::2, ::2, ::2], lazy.compute(scheduler="threads"))
    h5stz.to_netcdf(xarray.Dataset({"t": (("y", "x"), full["one"][0])}), tmp_path / "t.nc", absolute=1e-2)
    s3fs.S3FileSystem(**options).put_file(str(tmp_path / "t.nc"), "s3://fields/t.nc")
    with xarray.open_dataset("s3://fields/t.nc", engine="h5stz", storage_options=options) as remote:
        with xarray.open_dataset(tmp_path / "t.nc", engine="h5stz") as local:
            assert same(local.t[:9].values, remote.t[:9].values)


def test_an_object_that_is_replaced_is_an_error(bucket, content):
    """Also by one of the same size, and although s3fs has a listing of the bucket from before."""
    _, options = bucket
    other = bytearray(content)
    other[-1] ^= 1
    system = s3fs.S3FileSystem(**options)
    assert system.ls("s3://fields/run")
    with h5stz.open(URL, storage_options=options) as file:
        view = file["chunks"]
        view[:9, :9, :9]
        place = pickle.dumps(view)
        fresh = s3fs.S3FileSystem(**options, skip_instance_cache=True)  # another program
        fresh.pipe_file(URL, bytes(other))
        with pytest.raises(h5stz.StzReadError, match="changed while it was open for reading"):
            view[100:, 100:, 100:]
    h5stz.close_files()  # what another test may have opened for the same view
    with pytest.raises(h5stz.StzReadError, match="has changed since it was first opened"):
        pickle.loads(place)[:9, :9, :9]
    with h5stz.open(URL, storage_options=options) as file:
        file["chunks"][NEAR]


def test_what_is_not_there(bucket):
    _, options = bucket
    for url in ("s3://fields/no.h5", "s3://nowhere/x.h5"):
        with pytest.raises(h5stz.StzReadError, match=url):
            h5stz.open(url, storage_options=options)
    with pytest.raises(h5stz.StzReadError, match="it is a directory"):
        h5stz.open("s3://fields/run", storage_options=options)
