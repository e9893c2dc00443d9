"""What a program writes alone and under `h5stz run --compress`, and whether the difference is what was asked for."""

import subprocess
import sys
from fractions import Fraction

import h5py
import numpy as np

from h5stz import _core
from h5stz.programs import compress_rules, run

BOUND = 1e-3


def pair(words, directory, rules, cache=None, through="preload"):
    """Runs a command that ends in the name of its file alone and with `rules`: (file, file, what became of the datasets)."""
    plain, made = directory / "plain.h5", directory / "made.h5"
    rules = [compress_rules.parse(rule) for rule in rules]
    for path in (plain, made):
        path.unlink(missing_ok=True)
    subprocess.run([*map(str, words), str(plain)], check=True)
    status, sums = run.run([*map(str, words), str(made)], compress=rules, cache=cache, through=through)
    assert status == 0
    outcomes = {}
    for path, _, outcome in sums["datasets"] if rules else ():
        outcomes.setdefault(path, []).append(outcome)
    return plain, made, outcomes


def python(code):
    """A command that runs `code`, in which `path` is the file."""
    return [sys.executable, "-c", f"import sys; path = sys.argv[1]\n{code}"]


def is_compressed(dataset):
    properties = dataset.id.get_create_plist()
    return [properties.get_filter(index)[0] for index in range(properties.get_nfilters())] == [_core.FILTER_ID]


def client_data(dataset):
    """The words of the only filter."""
    return dataset.id.get_create_plist().get_filter(0)[2]


def check(plain, made, names, bound=BOUND):
    """These datasets, and no others, are compressed; each sample is within the bound, all others are the same."""
    found = []
    with h5py.File(plain) as a, h5py.File(made) as b:
        everything = []
        a.visititems(lambda name, item: everything.append(name) if isinstance(item, h5py.Dataset) else None)
        for name in everything:
            assert a[name].dtype == b[name].dtype and a[name].shape == b[name].shape and a[name].maxshape == b[name].maxshape
            assert np.array_equal(a[name].fillvalue, b[name].fillvalue, equal_nan=a[name].dtype.kind == "f")
            if is_compressed(b[name]):
                found.append(name)
                assert within(a[name][...], b[name][...], bound), name
                assert b[name].id.get_storage_size() < a[name].nbytes
            else:
                assert a[name][...].tobytes() == b[name][...].tobytes(), name
    assert sorted(found) == sorted(names)


def within(original, decoded, bound):
    """Whether |x - x'| <= bound in exact arithmetic; other numbers than finite ones must be the same."""
    finite = np.isfinite(original)
    if not np.array_equal(original[~finite], decoded[~finite], equal_nan=True):
        return False
    distance = np.abs(original[finite].astype("f8") - decoded[finite].astype("f8"))
    if distance.size > 100:  # float64 rounds: the greatest are looked at exactly
        near = np.argpartition(distance, -100)[-100:]
    else:
        near = slice(None)
    pairs = zip(original[finite][near], decoded[finite][near], strict=True)
    return all(abs(Fraction(float(x)) - Fraction(float(y))) <= Fraction(bound) for x, y in pairs)


#: How a program in Python begins: a smooth array with a little noise.
FIELD = """
import numpy as np
def field(shape, dtype="f4"):
    axes = np.meshgrid(*[np.arange(n) for n in shape], indexing="ij", sparse=True)
    noise = np.random.default_rng(5).normal(0, 1e-4, shape)
    return (sum(np.sin(axis / (7 + k)) for k, axis in enumerate(axes)) * 20 + noise).astype(dtype)
"""

#: The rest of one, with a dataset that can be compressed.
SIMPLE = """
import h5py
with h5py.File(path, "w") as file:
    file.create_dataset("x", data=field((200, 200)))
"""
