"""Batches of cases, judged in a process of their own; what goes wrong is told with the number of the case."""

import importlib
import time
import traceback
from dataclasses import dataclass, field

from exhaustive.promises import Tally
from exhaustive.source import Source, Violation

#: kind -> (module of this package with run(source, tally), cases of a batch)
KINDS = {
    "memory": ("memory", 200),
    "h5py": ("through_h5py", 20),
    "netcdf4": ("through_netcdf4", 10),
    "modes": ("modes", 20),
    "h5repack": ("through_h5repack", 2),
    "rewriting": ("rewriting", 50),
}
CORRECT = ""


@dataclass
class Found:
    """What a batch came to.

    Attributes:
        kind, first, count: its cases.
        tally: as a dict.
        crcs: of each case, to compare with another instruction set.
        wrong: (number, description, message) of each case that broke a promise.
    """

    kind: str
    first: int
    count: int
    tally: dict = field(default_factory=dict)
    crcs: list = field(default_factory=list)
    wrong: list = field(default_factory=list)
    seconds: float = 0.0


def run_case(kind, number, seed, tally):
    """(CRC, description, what is wrong or "") of one case."""
    module = importlib.import_module(f"exhaustive.{KINDS[kind][0]}")
    module.run.described = "while it was drawn"
    try:
        crc = module.run(Source(seed, kind, number), tally)
    except Violation as violation:
        return 0, module.run.described, str(violation)
    except Exception:  # whatever it is: nothing may fail
        return 0, module.run.described, traceback.format_exc(limit=-4)
    return crc, module.run.described, CORRECT


def run_batch(kind, first, count, seed, started=lambda number: None):
    """Judges cases first ... first + count - 1; `started` hears of each before it begins."""
    found, tally, begin = Found(kind, first, count), Tally(), time.perf_counter()
    for number in range(first, first + count):
        started(number)
        crc, described, wrong = run_case(kind, number, seed, tally)
        found.crcs.append(crc)
        if wrong:
            found.wrong.append((number, described, wrong))
    found.tally = {**vars(tally), "seen": dict(tally.seen)}
    found.seconds = time.perf_counter() - begin
    return found
