"""Threads that work for one call end with it, also after Ctrl-C at any place; what waits for them holds no lock."""

import threading

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.thread_team import Team, in_order
from h5stz.waiting import cached_property


def test_results_come_in_the_order_of_the_jobs():
    with in_order(lambda number: number * number, range(100), 3) as results:
        assert list(results) == [number * number for number in range(100)]


def test_threads_of_a_lost_team_end():
    team = Team(lambda job: job, 3)
    threads = list(team._threads)
    team.give(1)
    assert team.take() == (0, 1)
    del team
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def test_an_interrupt_while_threads_end_leaves_none(monkeypatch):
    began, goes_on = threading.Event(), threading.Event()

    def work(_):
        began.set()
        goes_on.wait(20)

    team = Team(work, 3)
    threads = list(team._threads)
    team.give(1)
    began.wait(20)
    join, calls = threading.Thread.join, []

    def interrupted(thread, timeout=None):
        calls.append(thread)
        if len(calls) == 1:
            goes_on.set()
            raise KeyboardInterrupt
        join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    with pytest.raises(KeyboardInterrupt):
        team.end()
    assert len(calls) > 1 and not any(thread.is_alive() for thread in threads)


def test_objects_compute_what_they_keep_side_by_side():
    """functools.cached_property had one lock for all objects before Python 3.12: its holder could wait for h5py's lock."""
    both = threading.Barrier(2, timeout=20)

    class Keeper:
        @cached_property
        def number(self):
            """A number."""
            both.wait()
            return id(self)

    keepers, found = [Keeper(), Keeper()], []
    threads = [threading.Thread(target=lambda keeper=keeper: found.append(keeper.number)) for keeper in keepers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(map(id, keepers)) and keepers[0].number in found
    assert Keeper.number.__doc__ == "A number."


def test_reads_of_threads_of_which_one_holds_the_lock_of_h5py(tmp_path):
    data = np.random.default_rng(0).normal(size=(32, 64, 64)).cumsum(0)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        h5stz.write(file, "x", data, absolute=1e-3, chunks=(16, 32, 32))
    failed = []
    with h5py.File(tmp_path / "x.h5") as file:

        def read(lock):
            try:
                for _ in range(60):
                    with lock:
                        h5stz.read(file["x"], np.s_[:16], threads=2)
            except BaseException as error:
                failed.append(error)

        locks = h5py._hl.base.phil, threading.Lock()
        threads = [threading.Thread(target=read, args=(lock,), daemon=True) for lock in locks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    assert not failed
