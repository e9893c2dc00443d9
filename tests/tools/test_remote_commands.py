"""`h5stz info`, `verify`, `estimate` and `compare` of addresses: over HTTP, with the API of S3, and of file systems of fsspec.

What they print of a remote file is what they print of the same file on this machine.
"""

import contextlib
import io
import json
import pathlib
import re
import shlex
import subprocess

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from support import cases
from support.range_servers import Server, s3_server
from support.requirements import needs_programs

fsspec = pytest.importorskip("fsspec", reason="needs Python package fsspec")
pytest.importorskip("aiohttp", reason="needs Python package aiohttp")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A file with datasets that are compressed with and without content checks, and not at all."""
    path = tmp_path_factory.mktemp("remote") / "x.h5"
    rough = np.random.default_rng(3).normal(0, 1, (64, 80, 90)).astype("f4")
    with h5py.File(path, "w") as file:
        options = h5stz.STZ(absolute=1e-3, block="region", content_check=True)
        file.create_dataset("run/rho", data=rough, chunks=(32, 80, 90), **options)
        file.create_dataset("run/sst", data=rough[0], chunks=(64, 90), **h5stz.STZ(relative=1e-3, data=rough[0]))
        file["run/plain [K]"] = cases.make("smooth", (64, 80, 90), "f4")
    return path


@pytest.fixture
def server(path):
    with Server({"x.h5": path.read_bytes()}) as server:
        yield server


def call(*words):
    """Exit status, output and errors of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main(list(map(str, words)))
    return status, out.getvalue(), err.getvalue()


def both(path, url, command, *words, suffix=""):
    """What a command says of a path and of an address, with the same name in place of either."""
    said = []
    for name in (path, url):
        status, out, err = call(command, f"{name}{suffix}", *words)
        said.append((status, out.replace(str(name), "X"), err.replace(str(name), "X")))
    return said


COMMANDS = {
    "info": ("info",),
    "info --all": ("info", "--all"),
    "info DATASET": ("info", "run/rho"),
    "info --json": ("info", "--json"),
    "verify": ("verify",),
    "verify --json": ("verify", "--json"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_the_same_is_said_over_http(path, server, words):
    here, there = both(path, f"{server.url}/x.h5", *words)
    assert here[0] == 0 and there == here


def test_info_does_not_take_the_samples(path, server):
    assert call("info", "--all", f"{server.url}/x.h5")[0] == 0
    assert server.bytes_sent < 2.5 * path.stat().st_size  # of small datasets the chunks that have checks are read whole


def test_estimates_over_http(path, server):
    for suffix, words in (("", ()), ("::/run/plain [K]", ("--psnr", "70"))):
        here, there = both(path, f"{server.url}/x.h5", "estimate", *words, "--json", suffix=suffix)
        assert here[0] == there[0] == 0, there[2]
        without_time = [
            [{name: value for name, value in line.items() if name != "seconds"} for line in json.loads(text)["datasets"]]
            for text in (here[1], there[1])
        ]
        assert without_time[0] == without_time[1]


def test_compare_of_an_address(path, server):
    url = f"{server.url}/x.h5"
    for suffix in ("", "::/run/rho"):
        status, out, err = call("compare", f"{path}{suffix}", f"{url}{suffix}", "--within", "0")
        assert status == 0 and "/run/rho" in out, err


def test_other_file_systems_and_chains_of_them(path):
    fsspec.filesystem("memory").pipe("/remote/x.h5", path.read_bytes())
    for url in ("memory://remote/x.h5", "simplecache::memory://remote/x.h5", f"file://{path}", f"filecache::file://{path}"):
        here, there = both(path, url, "verify")
        assert there == here and there[0] == 0
        here, there = both(path, url, "info")
        assert there == here and there[0] == 0
        assert call("estimate", f"{url}::/run/plain [K]", "--absolute", "1e-2")[0] == 0


def test_s3(path, monkeypatch):
    pytest.importorskip("s3fs", reason="needs Python package s3fs")
    pytest.importorskip("moto", reason="needs Python package moto with its server")
    with s3_server() as (_, options):
        monkeypatch.setitem(fsspec.config.conf, "s3", options)  # which FSSPEC_S3 in the environment sets
        system = fsspec.filesystem("s3")
        system.mkdir("commands")
        system.pipe_file("s3://commands/x.h5", path.read_bytes())
        for words in (("info",), ("verify",)):
            here, there = both(path, "s3://commands/x.h5", *words)
            assert there == here and there[0] == 0
        assert call("estimate", "s3://commands/x.h5::/run/plain [K]", "--absolute", "1e-2")[0] == 0


def test_what_is_damaged_is_found(path, server):
    content = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        place = file["run/rho"].id.get_chunk_info(1)
    content[place.byte_offset + place.size // 2] ^= 1
    server.files["x.h5"] = bytes(content)
    status, out, err = call("verify", f"{server.url}/x.h5")
    assert status == 1 and "damaged: the chunk at (32, 0, 0)" in out
    cure = "get the file again, or h5stz salvage of a copy on this machine copies the readable parts"
    assert err == f"h5stz: {server.url}/x.h5: 1 damaged chunk in 1 dataset: {cure}\n"
    assert "1 chunks decoded, 1 compared" in out or "1 chunk decoded, 1 compared" in out


def test_a_server_that_stops_answering_is_no_damage(path, server):
    """Of what was not read nothing is said."""
    with h5py.File(path) as file:
        place = file["run/rho"].id.get_chunk_info(1)

    def refuse(handler, status, content, about):
        first = (about.get("Content-Range") or "bytes -1").split()[1].split("-")[0] or -1
        return (403, b"", {}) if int(first) >= place.byte_offset else (status, content, about)

    url = f"{server.url}/x.h5"
    assert call("verify", url)[0] == 0
    server.fault = lambda handler, status, content, about: (status, content, about)
    with Server({"x.h5": path.read_bytes()}) as other:
        other.fault = refuse
        status, out, err = call("verify", f"{other.url}/x.h5")
        shown = call("info", f"{other.url}/x.h5")
    assert status == 1 and "damaged" not in out + err
    assert "403" in err and other.url in err
    assert shown[0] == 1 and "damaged" not in shown[1] + shown[2] and "403" in shown[2]


def test_secrets_of_an_address_are_not_printed(path, server):
    url = server.url.replace("http://", "http://user:secret@") + "/no.h5?key=hidden"
    for command in ("info", "verify", "estimate"):
        _, out, err = call(command, url)
        assert "no.h5" in err and "secret" not in out + err and "hidden" not in out + err


WRITERS = {
    "compress": ["compress", "IN", "OUT", "--absolute", "1e-3"],
    "decompress": ["decompress", "IN", "OUT"],
    "salvage": ["salvage", "IN", "OUT"],
    "extract": ["extract", "IN::/run/rho", "-o", "OUT"],
}


@pytest.mark.parametrize("command", WRITERS)
def test_addresses_to_write_to(path, command, tmp_path, monkeypatch):
    """They are refused before anything is read: IN is not even there."""
    monkeypatch.chdir(tmp_path)
    for name in ("missing.h5", str(path)):
        for out, said in (
            ("s3://bucket/b.h5", "name a file here, and copy it there then, such as with aws s3 cp b.h5 s3://bucket/b.h5"),
            ("https://me:secret@host/b.h5?key=secret", "such as with curl -T b.h5 'https://...@host/b.h5?...'"),
            ("https://host/b.h5", "such as with curl -T b.h5 https://host/b.h5"),
            ("weird+store://x/b.h5", "new files are written on this machine: name a file here, and copy it there then"),
            ("file:///tmp/b.h5", "name the new file by its path, /tmp/b.h5"),
        ):
            status, printed, err = call(*(word.replace("IN", name).replace("OUT", out) for word in WRITERS[command]))
            assert status == 1 and not printed and err.count("\n") == 1, err
            assert said in err and "secret" not in err and "missing" not in err, err
    assert not list(tmp_path.iterdir())


def test_addresses_to_write_to_in_python(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with h5py.File(path) as file:
        for write in (
            lambda out: h5stz.repack(path, out, absolute=1e-3),
            lambda out: h5stz.unpack(path, out),
            lambda out: h5stz.salvage(path, out),
            lambda out: h5stz.extract(file["run/rho"], out),
        ):
            for out in ("s3://bucket/b.h5", pathlib.Path("s3://bucket/b.h5")):
                with pytest.raises(h5stz.StzError, match=r"^s3://bucket/b\.h5: new files are written on this machine"):
                    write(out)
        (tmp_path / "s3:/bucket").mkdir(parents=True)
        h5stz.repack(path, pathlib.Path("s3:/bucket/b.h5"), absolute=1e-3)
    assert (tmp_path / "s3:/bucket/b.h5").exists()


READS = {
    "compress": ["compress", "IN", "out.h5", "--absolute", "1e-3"],
    "decompress": ["decompress", "IN", "out.h5"],
    "salvage": ["salvage", "IN", "out.h5"],
}


@pytest.mark.parametrize("command", READS)
def test_addresses_that_must_be_downloaded_first(command, tmp_path, monkeypatch):
    """The error has the command that does it, with both slashes and without secrets."""
    monkeypatch.chdir(tmp_path)
    for name, said in (
        ("https://host/a/b.h5", "https://host/a/b.h5: this needs a local file: download the file first, such as with curl"),
        ("https://me:secret@host/b.h5?key=secret", "with curl -fL -o b.h5 'https://...@host/b.h5?...', and name the copy"),
        ("https://host/b.h5?key=secret", "with curl -fL -o b.h5 'https://host/b.h5?...', and name the copy"),
        ("s3://bucket/b.h5", "such as with aws s3 cp s3://bucket/b.h5 b.h5, and name the copy"),
        ("simplecache::gs://bucket/b.h5", "such as with gcloud storage cp gs://bucket/b.h5 b.h5, and name the copy"),
        (f"file://{tmp_path}/b.h5", f"file://{tmp_path}/b.h5: name the file by its path, {tmp_path}/b.h5"),
    ):
        status, printed, err = call(*(word.replace("IN", name) for word in READS[command]))
        assert status == 1 and not printed and err.count("\n") == 1 and said in err and "secret" not in err, err
    assert not list(tmp_path.iterdir())


@needs_programs("curl")
def test_the_command_that_downloads_works(path, server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, _, err = call("compress", f"{server.url}/x.h5", "out.h5", "--absolute", "1e-3")
    line = re.search(r"such as with (.*), and name the copy", err)[1]
    assert subprocess.run(shlex.split(line), capture_output=True, timeout=60).returncode == 0
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_the_command_that_downloads_by_fsspec_works(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fsspec.filesystem("memory").pipe("/there/b.h5", path.read_bytes())
    _, _, err = call("compress", "memory://there/b.h5", "out.h5", "--absolute", "1e-3")
    python, option, code = shlex.split(re.search(r"such as with (.*), and name the copy", err)[1])
    assert (python, option) == ("python", "-c")
    exec(code, {})  # here, as this process has the memory
    assert (tmp_path / "b.h5").read_bytes() == path.read_bytes()


def test_addresses_in_paths(tmp_path, monkeypatch):
    """pathlib has taken a slash: what reads addresses says so, what does not names the address as it was."""
    monkeypatch.chdir(tmp_path)
    given = pathlib.Path("https://host/b.h5")
    for read in (h5stz.open, lambda given: h5stz.plan_repack(given, lossless=True)):
        with pytest.raises(FileNotFoundError, match=r"^https://host/b\.h5: give the address as text"):
            read(given)
    for write in (
        lambda given: h5stz.repack(given, "out.h5", lossless=True),
        lambda given: h5stz.unpack(given, "out.h5"),
        lambda given: h5stz.salvage(given, "out.h5"),
    ):
        for each in (given, str(given).replace(":/", "://"), str(given)):
            with pytest.raises(FileNotFoundError, match=r"^https://host/b\.h5: this needs a local file: download"):
                write(each)
