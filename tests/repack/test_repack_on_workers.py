"""h5stz.repack with workers of dask.distributed: the new file is, byte for byte, that of one process."""

import os
import signal

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli

distributed = pytest.importorskip("distributed", reason="needs Python package distributed")


@pytest.fixture
def source(tmp_path):
    rng = np.random.default_rng(1)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for name in ("a", "g/b"):
            file.create_dataset(name, data=rng.normal(size=(90, 100, 100)).astype("f4"), chunks=(32, 50, 50), fillvalue=-1)
        file.create_dataset("flags", data=rng.integers(0, 9, (300, 300)), chunks=(100, 100))
        file["few"] = np.arange(9.0)
    return tmp_path / "x.h5"


def datasets(path):
    """All chunks of all datasets as they are stored, by their places."""
    found = {}
    with h5py.File(path) as file:

        def note(name, item):
            if isinstance(item, h5py.Dataset) and item.chunks:
                for number in range(item.id.get_num_chunks()):
                    info = item.id.get_chunk_info(number)
                    found[name, info.chunk_offset, info.byte_offset] = item.id.read_direct_chunk(info.chunk_offset)

        file.visititems(note)
    return found


def test_the_same_file(source, tmp_path):
    h5stz.repack(source, tmp_path / "one.h5", relative=1e-3, jobs=2)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            report = h5stz.repack(source, tmp_path / "two.h5", relative=1e-3, scheduler=client)
        words = ["compress", source, tmp_path / "three.h5", "--relative", "1e-3", "--scheduler"]
        assert cli.main([*map(str, words), cluster.scheduler_address]) == 0
    assert len(datasets(tmp_path / "one.h5")) > 20
    assert datasets(tmp_path / "one.h5") == datasets(tmp_path / "two.h5") == datasets(tmp_path / "three.h5")
    assert report.ratio > 2


@pytest.mark.slow
def test_a_worker_that_is_killed(source, tmp_path):
    h5stz.repack(source, tmp_path / "one.h5", relative=1e-3)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as one,
    ):
        workers = one.run(os.getpid)
        killed = []

        def kill(path, done, everything):
            if not killed and done > 32 * 50 * 50 * 4:
                killed.append(workers.popitem()[1])
                os.kill(killed[0], signal.SIGKILL)

        h5stz.repack(source, tmp_path / "two.h5", relative=1e-3, scheduler=one, progress=kill)
    assert killed and datasets(tmp_path / "one.h5") == datasets(tmp_path / "two.h5")


def test_nobody_there(source, tmp_path):
    with pytest.raises(h5stz.StzError, match="there is no dask scheduler at"):
        h5stz.repack(source, tmp_path / "one.h5", relative=1e-3, scheduler="nonsense://")
    assert not (tmp_path / "one.h5").exists()
