"""Judges the bound over as many cases as a night has time for: python tests/exhaustive/night.py DIR [--hours 8] [--jobs 2]

Cases are drawn from (seed, kind, number) alone, so `night.py --case memory:123456` repeats one. DIR keeps what was reached: the
same command goes on from there. judged.json is what this project has judged: `--from tests/exhaustive/judged.json` begins with
the cases after it. The exit status is 0 if no promise was broken, 1 if one was.
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from exhaustive import workers
from exhaustive.judged_batches import KINDS, run_batch, run_case
from exhaustive.promises import Tally
from exhaustive.state import State, command
from support import allocators
from support.requirements import instruction_sets

GOALS = {
    "memory": 1_000_000,
    "h5py": 100_000,
    "netcdf4": 10_000,
    "modes": 20_000,
    "h5repack": 1_000,
    "rewriting": 100_000,
}
PROGRAM = "tests/exhaustive/night.py"
#: Of so many batches one is judged a second time, with another instruction set.
COMPARED = 8
#: Seconds between two saves.
SAVED_EVERY = 15


def arguments(words):
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", nargs="?", metavar="DIR", help="keeps what was reached")
    parser.add_argument("--hours", type=float, default=8.0, help="after which it stops, 8 by default")
    parser.add_argument("--jobs", type=int, default=2, help="processes, 2 by default; 0: in this process")
    parser.add_argument("--cases", nargs="+", metavar="KIND=N", help="how many of each kind in all; kinds: " + ", ".join(KINDS))
    parser.add_argument("--seed", type=int, default=0, help="other cases; of a new DIR")
    parser.add_argument(
        "--from", type=Path, dest="before", metavar="FILE", help="what a new DIR goes on from: state.json of another"
    )
    parser.add_argument("--case", metavar="KIND:NUMBER", help="repeats one case")
    parser.add_argument("--coverage", action="store_true", help="what the cases in DIR had, how often")
    parser.add_argument("--allocator", choices=allocators.LIBRARIES, help="what the processes have in malloc's place")
    given = parser.parse_args(words)
    if not given.directory and not given.case:
        parser.error("give a directory for what is reached, or --case KIND:NUMBER")
    goals = dict(each.split("=") for each in given.cases) if given.cases else GOALS
    given.goals = {kind: int(float(count)) for kind, count in goals.items()}
    if given.before and not given.before.is_file():
        parser.error(
            f"there is no file {given.before}: --from takes the state.json of another DIR, or tests/exhaustive/judged.json"
        )
    wrong = [kind for kind in (*given.goals, *([given.case.split(":")[0]] if given.case else [])) if kind not in KINDS]
    if wrong:
        parser.error(f"{wrong[0]} is none of the kinds {', '.join(KINDS)}")
    return given


def repeat(case, seed):
    """Runs one case and says what comes of it. Returns the exit status."""
    kind, number = case.split(":")
    tally = Tally()
    _, described, wrong = run_case(kind, int(number), seed, tally)
    print(f"{case}: {described}")
    print(
        f"{tally.samples} samples under a bound, {tally.by_fractions} by fractions, largest error / bound {tally.largest:.12g}"
    )
    print(f"VIOLATION: {wrong}" if wrong else "every promise is kept")
    return int(bool(wrong))


class Night:
    """A run: hands out batches, takes in what they come to."""

    def __init__(self, state, goals, hours, compares):
        """`compares`: some batches are judged with two instruction sets."""
        self.state, self.goals, self.compares = state, goals, compares
        self.end, self.saved = time.monotonic() + 3600 * hours, 0.0
        self.to_compare = {}  # (kind, first, count): (instruction set, CRCs)
        self.comparing = {}

    def next_batch(self, instruction_set):
        """The next batch for a process with an instruction set: of the kind that is furthest behind. None at the end."""
        if time.monotonic() > self.end:
            return None
        for batch, (other, _) in self.to_compare.items():
            if other != instruction_set:
                self.comparing[batch[:2]] = self.to_compare.pop(batch)[1]
                return batch
        shares = {kind: self.state.done(kind) / goal for kind, goal in self.goals.items() if goal}
        shares.update({kind: 0.0 for kind in shares if self.state.undone(kind)})
        kind = min(shares, key=shares.get, default=None)
        return None if kind is None or shares[kind] >= 1 else (kind, *self.state.take(kind))

    def take_in(self, found, instruction_set, failure=""):
        """Counts a batch, or compares it with what another instruction set gave."""
        if failure:
            found.wrong.append((found.first + found.count - 1, "", failure))
        first = self.comparing.pop((found.kind, found.first), None)
        if first is not None:
            self.state.kinds[found.kind]["batches_compared"] += 1
            different = [n for n, (one, other) in enumerate(zip(first, found.crcs, strict=False)) if one != other]
            found.wrong += [(found.first + n, "", "other bytes than with another instruction set") for n in different]
            self.state.kinds[found.kind]["violations"] += len(found.wrong)
        else:
            self.state.add(found)
            if self.compares and found.first // KINDS[found.kind][1] % COMPARED == 0 and any(found.crcs) and not failure:
                self.to_compare[found.kind, found.first, found.count] = instruction_set, found.crcs
        for number, described, wrong in found.wrong:
            repeated = command(PROGRAM, found.kind, number, self.state.seed, instruction_set)
            text = f"VIOLATION in {found.kind}:{number}: {wrong}\n  {described}\n  {repeated}"
            print(text, flush=True)
            self.state.report(text)
            self.state.count(found.kind, number, wrong)
        if time.monotonic() - self.saved > SAVED_EVERY:
            self.state.save()
            self.saved = time.monotonic()


def run(given):
    """Runs until the goals or the hours are reached. Returns the exit status."""
    if given.allocator:
        os.environ["LD_PRELOAD"] = allocators.environment(given.allocator).get("LD_PRELOAD", "")
    state = State(given.directory, given.seed, given.before)
    sets = instruction_sets()
    night = Night(state, given.goals, given.hours, given.jobs and len(sets) > 1)
    try:
        if given.jobs:
            pool = workers.Pool(given.jobs, state.seed, sets)
            try:
                for found, instruction_set, failure in pool.run(night.next_batch):
                    night.take_in(found, instruction_set, failure)
            finally:
                pool.end()
        else:
            chosen = os.environ.get("H5STZ_ISA", "")
            while batch := night.next_batch(chosen):
                night.take_in(run_batch(*batch, state.seed), chosen)
    except KeyboardInterrupt:
        print("interrupted; the same command goes on")
    state.save()
    print(state.table())
    print(state.broken(), end="")
    return int(any(kept["violations"] for kept in state.kinds.values()))


def main(words=None):
    """The program. Returns the exit status."""
    given = arguments(words)
    if given.case:
        return repeat(given.case, given.seed)
    if given.coverage:
        print(State(given.directory).coverage())
        return 0
    return run(given)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
