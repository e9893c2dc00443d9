"""Processes that judge batches, each with an instruction set of its own; one that dies or hangs has broken a promise too."""

import importlib
import multiprocessing
import os
import time
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path

from exhaustive.judged_batches import KINDS, Found, run_batch

#: Seconds after which a case counts as one that never ends.
PATIENCE = 1800
#: Seconds after which a process is replaced by one with the next instruction set.
TURN = 120
NOTHING = -1


def serve(connection, current, seed):
    """The life of a process: takes (kind, first, count), gives Found, until it gets None."""

    def started(number):
        current.value = number

    while (batch := connection.recv()) is not None:
        connection.send(run_batch(*batch, seed, started))
        current.value = NOTHING
    for module, _ in KINDS.values():
        module = importlib.sys.modules.get(f"exhaustive.{module}")
        getattr(module, "end", lambda: None)()


def is_stopped(pid):
    """Whether somebody has suspended a process: then it is no fault of a case that it does not end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False


@dataclass
class Worker:
    """A process from the outside."""

    process: multiprocessing.Process
    connection: object
    current: object
    instruction_set: str
    born: float
    batch: tuple | None = None
    seen: tuple = (NOTHING, 0.0)

    def give(self, batch):
        """Has it judge a batch."""
        self.batch, self.seen = batch, (NOTHING, time.monotonic())
        self.connection.send(batch)

    def failure(self):
        """Why it will never answer; empty if it may."""
        if not self.process.is_alive():
            code = self.process.exitcode
            return f"the process died of signal {-code}" if code and code < 0 else f"the process ended with status {code}"
        number = self.current.value
        if number != self.seen[0] or is_stopped(self.process.pid):
            self.seen = number, time.monotonic()
        if time.monotonic() - self.seen[1] > PATIENCE:
            self.process.kill()
            self.process.join()
            return f"no end after {PATIENCE} s"
        return ""

    def end(self):
        """Asks it to end."""
        try:
            self.connection.send(None)
        except OSError:
            self.process.kill()
        self.process.join(30)
        if self.process.is_alive():
            self.process.kill()


def start(seed, instruction_set):
    """A new Worker."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    current = context.Value("q", NOTHING)
    before = os.environ.get("H5STZ_ISA")
    os.environ["H5STZ_ISA"] = instruction_set
    process = context.Process(target=serve, args=(theirs, current, seed), daemon=True)
    process.start()
    os.environ.pop("H5STZ_ISA")
    if before is not None:
        os.environ["H5STZ_ISA"] = before
    theirs.close()
    return Worker(process, ours, current, instruction_set, time.monotonic())


class Pool:
    """So many workers; `instruction_sets` come in turn."""

    def __init__(self, jobs, seed, instruction_sets):
        self.seed, self.sets, self.turn = seed, instruction_sets, 0
        self.workers = [self._new() for _ in range(jobs)]

    def _new(self):
        self.turn += 1
        return start(self.seed, self.sets[self.turn % len(self.sets)])

    def run(self, next_batch):
        """Yields (Found, instruction set, failure or "") for what `next_batch(instruction set)` gives, until it gives None.

        The last case of a Found with a `failure` is the one at which a process died; another one judges the rest of its batch.
        """
        rest = []
        while True:
            for place, worker in enumerate(self.workers):
                if worker.batch is None and time.monotonic() - worker.born > TURN:
                    worker.end()
                    worker = self.workers[place] = self._new()
                if worker.batch is None:
                    batch = rest.pop() if rest else next_batch(worker.instruction_set)
                    if batch:
                        worker.give(batch)
            busy = [worker for worker in self.workers if worker.batch]
            if not busy:
                return
            ready = wait([each for worker in busy for each in (worker.connection, worker.process.sentinel)], 5)
            for place, worker in enumerate(self.workers):
                if worker.batch and worker.connection in ready:
                    try:
                        found = worker.connection.recv()
                    except EOFError:
                        worker.process.join(5)
                    else:
                        worker.batch = None
                        yield found, worker.instruction_set, ""
                        continue
                if worker.batch and (failure := worker.failure()):
                    kind, first, count = worker.batch
                    number = max(worker.current.value, first)
                    if number + 1 < first + count:
                        rest.append((kind, number + 1, first + count - number - 1))
                    yield Found(kind, first, number + 1 - first), worker.instruction_set, failure
                    self.workers[place] = self._new()

    def end(self):
        """Ends all processes."""
        for worker in self.workers:
            worker.end() if worker.batch is None else worker.process.kill()
