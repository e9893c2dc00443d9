"""What a run has reached, kept in a directory so that it can go on after an interruption.

state.json      the seed, and for each kind of cases what was judged so far
violations.txt  every broken promise, with the command that repeats it
"""

import json
import os
import shlex
from collections import Counter
from pathlib import Path

from exhaustive.judged_batches import KINDS

NUMBERS = ("cases", "samples", "by_fractions", "exact", "violations", "batches_compared")


class State:
    """Counts of a run in a directory; only whole batches count."""

    def __init__(self, directory, seed=0, before=None):
        """`before`: the state.json of another run, which a new directory goes on from."""
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.path = self.directory / "state.json"
        self.seed, self.kinds, self.seconds = seed, {}, 0.0
        self._handed_out = set()
        if self.path.exists() or before:
            kept = json.loads((self.path if self.path.exists() else Path(before)).read_text())
            self.seed, self.kinds, self.seconds = kept["seed"], kept["kinds"], kept["seconds"]
        for kind in KINDS:
            empty = {name: 0 for name in NUMBERS} | {"largest": 0.0, "next": 0, "left": [], "seen": {}}
            self.kinds.setdefault(kind, empty)

    def save(self):
        """Writes the state; never half of it."""
        temporary = self.path.with_suffix(".new")
        text = json.dumps({"seed": self.seed, "seconds": self.seconds, "kinds": self.kinds}, indent=1)
        temporary.write_text(text)
        os.replace(temporary, self.path)

    def undone(self, kind):
        """Batches that an interrupted run has begun, and nobody works on."""
        return [first for first in self.kinds[kind]["left"] if (kind, first) not in self._handed_out]

    def take(self, kind):
        """(first case, count) of a batch that was not judged yet. It counts as left undone until it is added."""
        kept, size = self.kinds[kind], KINDS[kind][1]
        first = next(iter(self.undone(kind)), kept["next"])
        if first == kept["next"]:
            kept["next"] += size
            kept["left"].append(first)
        self._handed_out.add((kind, first))
        return first, size

    def done(self, kind):
        """Cases that are judged or being judged."""
        return self.kinds[kind]["next"]

    def add(self, found):
        """Takes in what a batch came to."""
        kept, tally = self.kinds[found.kind], found.tally
        if found.first in kept["left"]:
            kept["left"].remove(found.first)
        self._handed_out.discard((found.kind, found.first))
        kept["cases"] += found.count
        kept["violations"] += len(found.wrong)
        self.seconds += found.seconds
        for name in ("samples", "by_fractions", "exact"):
            kept[name] += int(tally.get(name, 0))
        kept["largest"] = max(kept["largest"], float(tally.get("largest", 0)))
        kept["seen"] = dict(Counter(kept["seen"]) + Counter(tally.get("seen", {})))

    def report(self, text):
        """Adds a violation to the list."""
        with open(self.directory / "violations.txt", "a") as file:
            file.write(text + "\n")

    def count(self, kind, number, wrong):
        """Keeps the number of a case by the promise that it broke: what its message says before the first colon."""
        promise = wrong.partition(":")[0] if "\n" not in wrong.partition(":")[0] else "failures"
        self.kinds[kind].setdefault("broken", {}).setdefault(promise, []).append(number)

    def broken(self):
        """The cases that broke each promise, as lines of text; of rewriting of how many programs."""
        lines = []
        for kind, kept in self.kinds.items():
            for promise, numbers in sorted(kept.get("broken", {}).items()):
                some = " ".join(map(str, numbers[:30])) + (" ..." if len(numbers) > 30 else "")
                of = kept["seen"].get(promise.partition(",")[0], kept["cases"])
                lines.append(f"{kind}: {promise}: {len(numbers):,} of {of:,}: {some}\n")
        return "".join(lines)

    def table(self):
        """What was reached, as lines of text."""
        rows = [("kind", "cases", "samples under a bound", "by fractions", "exact ones", "largest error / bound", "violations")]
        for kind, kept in self.kinds.items():
            numbers = [f"{kept[name]:,}" for name in ("cases", "samples", "by_fractions", "exact")]
            rows.append((kind, *numbers, f"{kept['largest']:.12g}", f"{kept['violations']:,}"))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)

    def coverage(self):
        """How often the cases had what, as lines of text."""
        lines = []
        for kind, kept in self.kinds.items():
            lines += [f"{kind}: {count:,} {what}" for what, count in sorted(kept["seen"].items())]
        return "\n".join(lines)


def command(program, kind, number, seed, instruction_set=""):
    """The command line that repeats a case."""
    words = f"{program} --case {kind}:{number}" + (f" --seed {seed}" if seed else "")
    return (f"H5STZ_ISA={shlex.quote(instruction_set)} " if instruction_set else "") + f"python {words}"
