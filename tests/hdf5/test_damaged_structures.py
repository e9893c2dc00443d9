"""Files whose index of chunks is damaged: every reader ends, with data or an error of h5stz or of HDF5, and no process is lost.

HDF5 itself does not survive all of them. So each file is read in a process of its own; where that ends by a signal or not at
all, HDF5 alone, asked for the same without h5stz, must do so too.
"""

import contextlib
import faulthandler
import multiprocessing
import os
import signal
import subprocess
import sys
from collections import Counter

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from h5stz.files import verify_files
from support.damaged_files import INDEXES, damaged, lookup3, structures, written
from support.paths import TESTS

#: Of processor time, after which a process that reads 150 KB counts as one that never ends; h5stz reads it in more ways.
SECONDS, SECONDS_OF_H5STZ = 2, 8
SURVIVES, FAILS = 0, 3


def test_the_checksum_is_that_of_hdf5(tmp_path):
    """As Jenkins gives it, and of every structure of files that HDF5 wrote."""
    assert lookup3(b"Four score and seven years ago") == 0x17770551
    signatures = set()
    for number, index in enumerate(INDEXES):
        path = tmp_path / f"{number}.h5"
        array = written(path, index)
        with h5py.File(path) as file:
            assert np.abs(file["x"][...] - array).max() <= 1e-3
        signatures |= {one.signature for one in structures(path.read_bytes())}
    assert signatures >= {b"TREE", b"BTHD", b"BTLF", b"FAHD", b"FADB", b"EAHD", b"EAIB", b"EADB"}


def of_h5stz(path):
    """Every reader of the package, on a file with a dataset x. Errors that nobody should see are printed."""

    def partial(dataset):
        with h5stz.partial_reads():
            dataset[2:5]

    wrong = []
    with contextlib.suppress(OSError, RuntimeError, KeyError), h5py.File(path) as file:
        dataset = file["x"]
        readers = [
            lambda: dataset[...],
            lambda: h5stz.view(dataset)[...],
            lambda: h5stz.view(dataset).level(2)[...],
            lambda: h5stz.view(dataset)[3, 5:9],
            lambda: list(h5stz.view(dataset).refine(np.s_[:20, :20])),
            lambda: partial(dataset),
        ]
        for number, read in enumerate(readers):
            try:
                read()
            except (h5stz.StzError, OSError, RuntimeError, KeyError) as error:
                if isinstance(error, RecursionError):
                    wrong.append(f"reader {number}: {error!r}")
            except Exception as error:
                wrong.append(f"reader {number}: {error!r}")
    for command in (lambda: [line.text for line in verify_files.lines(str(path), 1)], lambda: cli.main(["info", str(path)])):
        try:
            command()
        except SystemExit:
            pass
        except Exception as error:
            wrong.append(repr(error))
    return wrong


def of_hdf5(path):
    """What the readers above ask of HDF5, without h5stz, of both datasets."""

    def look_into(dataset):
        identifier = dataset.id
        rows = range(dataset.shape[0] // 16)
        calls = [
            lambda: dataset[...],
            lambda: identifier.get_storage_size(),
            lambda: identifier.get_num_chunks(),
            lambda: identifier.chunk_iter(lambda info: None),
            lambda: identifier.get_chunk_info_by_coord((0, 0)),
            lambda: [identifier.read_direct_chunk((16 * row, 0)) for row in rows],
            lambda: [identifier.get_chunk_info(number) for number in range(min(600, identifier.get_num_chunks()))],
        ]
        for call in calls:
            with contextlib.suppress(Exception):
                call()

    with contextlib.suppress(Exception), h5py.File(path) as file:
        for name in ("x", "y"):
            with contextlib.suppress(Exception):
                look_into(file[name])
        with contextlib.suppress(Exception):
            file.visititems(lambda *_: None)  # asks for the size of every index
    return []


def ends(read, path, seconds=SECONDS):
    """How a process ends that reads a file: SURVIVES, FAILS, or the number of a signal, negative."""

    def run():
        faulthandler.disable()
        signal.setitimer(signal.ITIMER_PROF, seconds)  # the time of the system counts too
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        wrong = read(path)
        print(*wrong, sep="\n", file=sys.stderr)
        os._exit(FAILS if wrong else SURVIVES)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join()
    return process.exitcode


def dies_alone(path):
    """Whether HDF5 dies of the file in a new Python: of what it reads beyond the ends of its memory a fork may survive."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import hdf5.test_damaged_structures as t; t.of_hdf5(sys.argv[2])"
    command = [sys.executable, "-c", code, TESTS, path]
    return any(subprocess.run(command, capture_output=True, timeout=100).returncode < 0 for _ in range(3))


TURNS = {"slow": 25, "night": 100}
TIERS = [pytest.param(tier, marks=getattr(pytest.mark, tier)) for tier in ("slow", "night")]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("index", [index for index in INDEXES if index != "single chunk"])  # which has none
def test_every_reader(tmp_path, index, tier):
    path = tmp_path / "x.h5"
    written(path, index)
    content = path.read_bytes()
    found = structures(content)
    rng, outcomes = np.random.default_rng(len(tier)), Counter()
    for _ in range(TURNS[tier]):
        damage = damaged(rng, content, found)
        path.write_bytes(damage.content)
        outcome = ends(of_h5stz, path, SECONDS_OF_H5STZ)
        assert outcome != FAILS, damage.text
        if outcome != SURVIVES:
            assert ends(of_hdf5, path) not in (SURVIVES, FAILS), damage.text
        outcomes[outcome] += 1
    assert outcomes[SURVIVES] >= TURNS[tier] / 2
