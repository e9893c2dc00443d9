"""Errors of h5stz.open and of xarray's engine about remote files and file objects: what is wrong, and what to do."""

import io
import pickle
import socket

import h5py
import numpy as np
import pytest

import h5stz
from support.odd_files import FILES
from support.range_servers import Server, s3_server
from support.region_files import same
from support.requirements import needs_packages

pytest.importorskip("fsspec", reason="needs Python package fsspec")
aiohttp = pytest.importorskip("aiohttp", reason="needs Python package aiohttp")


@pytest.fixture(scope="module")
def small():
    """The bytes of a file that fits into one block, and what its dataset holds."""
    field = np.random.default_rng(5).normal(size=(40, 50)).astype("f4")
    made = io.BytesIO()
    with h5py.File(made, "w") as file:
        file.create_dataset("rho", data=field, chunks=(20, 25), **h5stz.STZ(lossless=True))
    return made.getvalue(), field


@pytest.fixture
def server(small):
    with Server({"x.h5": small[0]}) as server:
        yield server


def xarray_dataset(given, **options):
    xarray = pytest.importorskip("xarray", reason="needs Python package xarray")
    pytest.importorskip("h5netcdf", reason="needs Python package h5netcdf")
    return xarray.open_dataset(given, engine="h5stz", **options)


@pytest.mark.slow
@pytest.mark.parametrize("open_it", [h5stz.open, xarray_dataset])
@pytest.mark.parametrize("kind", FILES)
def test_what_is_no_hdf5_file(server, small, kind, open_it, tmp_path):
    """The same is found at an address, in a file object and at a path."""
    make, what, cure, remote_cure = FILES[kind]
    content = make(small[0])
    server.files["odd"] = content
    (tmp_path / "odd").write_bytes(content)
    for given, name, to_do in (
        (f"{server.url}/odd", f"{server.url}/odd: it ", remote_cure),
        (io.BytesIO(content), "the BytesIO object: it ", ""),
        (tmp_path / "odd", f"{tmp_path / 'odd'}: it ", cure),
    ):
        with pytest.raises(h5stz.StzReadError) as raised:
            open_it(given)
        said = str(raised.value)
        assert said.startswith(name) and what in said and to_do in said and "synchronously" not in said, said
        assert said.count("\n") == 0 and said.count(name) == 1


STATUS = {
    404: r"there is no such file \(404\): check the address",
    410: r"the file is gone \(410\)",
    401: r"requires authentication \(401\): give credentials, such as storage_options=\{\"headers\"",
    403: r"refuses access \(403\): give credentials.*A signed address may have expired",
    418: r"refuses that \(418.*\): check the address",
    429: r"too many requests \(429\): try again later.* \(2 requests failed\)",
    500: r"the server failed \(500.*\): try again later \(2 requests failed\)",
    503: r"the server failed \(503.*\): try again later \(2 requests failed\)",
}


@pytest.mark.parametrize("status", STATUS)
def test_what_the_server_answers(server, status):
    server.fault = lambda handler, *_: (status, b'{"message": "no"}', {})
    with pytest.raises(h5stz.StzReadError, match=STATUS[status]) as raised:
        h5stz.open(f"{server.url}/x.h5", retries=1, retry_wait=0)
    assert str(raised.value).startswith(f"{server.url}/x.h5: the")
    assert isinstance(raised.value, FileNotFoundError) == (status in (404, 410))
    raised.value.__cause__ = raised.value.__context__ = None  # aiohttp's, which cannot be
    assert pickle.loads(pickle.dumps(raised.value)).args == raised.value.args


def unused_port():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


def test_where_no_server_is(server):
    for url, said in (
        (f"http://127.0.0.1:{unused_port()}/x.h5", "no server listens there .*: check the address"),
        ("http://no-such-host.invalid/x.h5", "there is no host of this name, or no name service is reached: check"),
        (server.url.replace("http:", "https:") + "/x.h5", "speaks no TLS there: check the address, is it http://"),
        ("nowhere://x.h5", "Protocol not known: nowhere: addresses begin with https://, s3://"),
        (f"zip://x.h5::{server.url}/x.h5", "the file is not the kind of archive that the address states"),
    ):
        with pytest.raises(h5stz.StzReadError, match=said) as raised:
            h5stz.open(url, retries=0)
        assert str(raised.value).startswith(f"{url}: ")


def test_no_answer_in_time():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/x.h5"
        options = {"client_kwargs": {"timeout": aiohttp.ClientTimeout(0.01)}, "skip_instance_cache": True}
        with pytest.raises(h5stz.StzReadError, match="no answer came in time: try again later"):
            h5stz.open(url, retries=0, storage_options=options)


def test_options_that_a_file_system_does_not_take(server):
    with pytest.raises(h5stz.StzReadError, match=r"does not accept these storage_options .*nothing.*: check their names"):
        h5stz.open(f"{server.url}/x.h5", retries=0, storage_options={"nothing": 1})


@needs_packages("s3fs", "moto")
def test_s3_without_credentials(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    with s3_server() as (_, options):
        endpoint = {"endpoint_url": options["endpoint_url"], "skip_instance_cache": True}
        with pytest.raises(h5stz.StzReadError) as raised:
            h5stz.open("s3://fields/x.h5", storage_options=endpoint)
        said = str(raised.value)
        assert said.startswith("s3://fields/x.h5: no credentials are found: of public data, give storage_options={"), said
        assert '{"anon": True}' in said and "FSSPEC_S3='{\"anon\": true}' in the environment" in said
        with pytest.raises(FileNotFoundError, match=r"s3://fields/x\.h5: there is no such file"):
            h5stz.open("s3://fields/x.h5", storage_options=options | {"skip_instance_cache": True})


def forbidden(handler, *_):
    return 403, b"<Error><Code>AccessDenied</Code></Error>", {"Content-Type": "application/xml"}


@needs_packages("s3fs")
def test_s3_that_refuses(server):
    server.fault = forbidden
    options = {"anon": True, "endpoint_url": server.url, "skip_instance_cache": True}
    with pytest.raises(h5stz.StzReadError, match=r"refuses access \(403\): check bucket, name and credentials; of public data"):
        h5stz.open("s3://fields/x.h5", storage_options=options)


WITHOUT_RANGES = {
    "ranges are ignored": lambda handler, *_: (200, handler.server.files["x.h5"], {"ETag": '"x"'}),
    "ranges are refused": lambda handler, *_: (200, handler.server.files["x.h5"], {"Accept-Ranges": "none"}),
}


@pytest.mark.parametrize("how", WITHOUT_RANGES)
def test_a_small_file_of_a_server_without_ranges(server, small, how):
    """It comes as a whole, with each request; parts of it are read all the same."""
    server.fault = WITHOUT_RANGES[how]
    content, field = small
    with h5stz.open(f"{server.url}/x.h5", block_bytes=len(content), retries=0) as file:
        assert same(field[19:21, 24:26], file["rho"][19:21, 24:26]) and same(field[::2, ::2], file["rho"].level(1)[...])
        assert not file["rho"].stats.fallback_chunks
    with xarray_dataset(f"{server.url}/x.h5") as dataset:
        assert same(field, dataset["rho"].values)
    with pytest.raises(h5stz.StzReadError, match="does not support range requests for"):
        h5stz.open(f"{server.url}/x.h5", block_bytes=len(content) - 1, retries=0)


def without_length(handler, status, content, about):
    handler.send_response(status)
    handler.send_header("Connection", "close")
    handler.end_headers()
    if handler.command == "GET":
        handler.wfile.write(content)
    raise ConnectionAbortedError


def test_a_page_of_a_server_without_ranges(server, small):
    """A page to log in is what is wrong, rather than what its server does not send."""
    page = b"<html><title>Log in</title>" + bytes(1 << 18)
    server.files |= {"page": page, "large": small[0] + bytes(1 << 18)}
    for how in (without_length, lambda handler, *_: (200, handler.server.files[handler.path[1:]], {"Accept-Ranges": "none"})):
        server.fault = how
        with pytest.raises(h5stz.StzReadError, match=r'page: it is a page of the web or XML \("Log in"\)'):
            h5stz.open(f"{server.url}/page", retries=0)
        with pytest.raises(h5stz.StzReadError, match=r"the server does not .* download it, or let fsspec keep a copy"):
            h5stz.open(f"{server.url}/large", retries=0)


def test_directories(small):
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe("/errors/plain/x.h5", small[0])
    memory.pipe("/errors/z.zarr/zarr.json", b"{}")
    for name, said in (("plain", "it is a directory: give the address of an HDF5 file"), ("z.zarr", "it is a Zarr store")):
        with pytest.raises(h5stz.StzReadError, match=f"memory://errors/{name}: {said}"):
            h5stz.open(f"memory://errors/{name}")


def test_objects_that_cannot_be_read(tmp_path):
    with open(tmp_path / "new.h5", "wb") as file, pytest.raises(h5stz.StzError, match=r"new\.h5 is open for writing only"):
        h5stz.open(file)


def test_a_group_that_is_not_there(server, small, tmp_path):
    (tmp_path / "x.h5").write_bytes(small[0])
    with h5py.File(tmp_path / "x.h5", "r+") as file:
        file.create_group("a/b")
    server.files["x.h5"] = (tmp_path / "x.h5").read_bytes()
    for given in (tmp_path / "x.h5", f"{server.url}/x.h5", io.BytesIO(server.files["x.h5"])):
        with pytest.raises(h5stz.StzReadError, match=r": there is no group c, its groups are /a, /a/b"):
            xarray_dataset(given, group="c")


def test_a_view_whose_file_became_another(small, tmp_path):
    path = tmp_path / "x.h5"
    path.write_bytes(small[0])
    with h5py.File(path) as file:
        place = pickle.dumps(h5stz.view(file["rho"]))
    path.write_bytes(b"<html>")
    with pytest.raises(h5stz.StzReadError, match=r"cannot be opened \(it is a page of the web.*a view that was pickled"):
        pickle.loads(place)[0, 0]
