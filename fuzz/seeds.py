"""Writes the seeds of every fuzz target: python fuzz/seeds.py DIRECTORY

DIRECTORY/TARGET/ gets a file for each input. Streams are those of tests/golden; targets whose input describes what to do get
that in bytes of a generator with a fixed seed; fuzz/seeds/TARGET those that found something once. Needs Python alone.
"""

import random
import sys
from pathlib import Path

FUZZ = Path(__file__).resolve().parent
GOLDEN = FUZZ.parent / "tests/golden"
#: Targets whose input is a program, with the number of seeds and the lengths of them.
PROGRAMS = {"roundtrip": (150, 200), "stages": (130, 300), "cd_values": (150, 140), "filter": (60, 260), "hdf5": (60, 160)}


def streams():
    """{name: stream}: the golden ones, and those of fuzz/seeds/streams, such as patched ones, which tests/golden has not."""
    paths = [*sorted(GOLDEN.glob("version_*/*.stz")), *sorted((FUZZ / "seeds/streams").glob("*.stz"))]
    return {f"{path.parent.name}_{path.stem}": path.read_bytes() for path in paths}


def seeds():
    """{target: {name: input}}"""
    golden = streams()
    rng = random.Random(1)
    found = {"decode": golden, "info": golden, "reader": {}}
    for name, stream in golden.items():
        for kind in range(5):  # from memory, a file, a function, a function that fails, and with all that can be verified
            reads = rng.randbytes(30) if kind < 4 else bytes([11, 5, 0, 0, 0, 0, 0, 60, 60, 60, 60, 60, 60]) + rng.randbytes(60)
            program = bytes([kind + 64, rng.randrange(256), *reads])
            found["reader"][f"{name}_{kind}"] = bytes([len(program)]) + program + stream
        for kind in range(2):  # beyond damage: what is missing from the end, bits that differ
            program = bytes([64, rng.randrange(256), 25, *rng.randbytes(40)])
            at = rng.randrange(len(stream) // 4, len(stream))
            damaged = stream[:at] + (bytes([stream[at] ^ 1 << rng.randrange(8)]) + stream[at + 1 :] if kind else b"")
            found["reader"][f"{name}_damaged_{kind}"] = bytes([len(program)]) + program + damaged
    for target, (count, most) in PROGRAMS.items():
        found[target] = {f"program_{n}": bytes([n]) + rng.randbytes(rng.randrange(20, most)) for n in range(count)}
    bodies = list(golden.values())
    for n in range(130):  # stages, with bytes of real sections
        stream = rng.choice(bodies)
        found["stages"][f"section_{n}"] = bytes([n]) + rng.randbytes(rng.randrange(4, 60)) + stream[len(stream) // 3 :][:600]
    for path in sorted((FUZZ / "seeds").glob("*/*")):
        if path.parent.name == "streams":
            continue
        found.setdefault(path.parent.name, {})[f"found_{path.name}"] = path.read_bytes()
    return found


def write(directory):
    """Writes them all; returns {target: how many}."""
    counts = {}
    for target, inputs in seeds().items():
        folder = Path(directory) / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in inputs.items():
            (folder / name).write_bytes(data)
        counts[target] = len(inputs)
    return counts


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(", ".join(f"{count} of {target}" for target, count in write(sys.argv[1]).items()))
