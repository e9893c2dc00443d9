"""The same bytes and the same bits with every instruction set, in every floating-point environment, for any number of threads.

The codec runs in processes of their own (this file as a program), because an instruction set is chosen once per process.
"""

import ctypes
import hashlib
import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import h5stz
from h5stz import _core
from support import cases
from support.paths import TESTS
from support.requirements import HAS_CONTROL_REGISTER, each_instruction_set, needs

SHAPES = [(5000,), (63, 70), (23, 18, 27), (7, 9, 11, 10)]


def arrays():
    """(name, array, options) of every dtype, pattern and mode; large enough that every kernel has full rows and rests."""
    for number, dtype in enumerate(cases.KINDS):
        for place, pattern in enumerate(cases.PATTERNS):
            array = cases.make(pattern, SHAPES[(number + place) % 4], dtype, seed=place)
            yield f"{dtype} {pattern} absolute", array, {"absolute": cases.width(array) * 10.0 ** -(1 + place % 7)}
            if array.dtype.kind in "fc" and array.dtype.itemsize > 2:
                bound = cases.width(array) * 10.0 ** -(1 + place % 4)
                kind = ("strict", "both", "relaxed")[place % 3]
                yield f"{dtype} {pattern} {kind}", array, {"absolute": bound, "enhance": kind}
            if place % 3 == 0:
                yield f"{dtype} {pattern} lossless", array, {"lossless": True}
            if array.dtype.kind in "fc" and place % 2:
                yield f"{dtype} {pattern} point-wise", array, {"pointwise_relative": 10.0 ** -(1 + place % 4)}
            if array.dtype.kind == "f" and place % 4 == 1:
                masked = array.copy()
                masked.reshape(-1)[:: 3 + number] = np.nan
                yield f"{dtype} {pattern} masked", masked, {"absolute": cases.width(array) * 1e-3}
    for block in ("default", "region"):
        yield f"several blocks, {block}", cases.make("rough", (37, 41, 66), "f4"), {"absolute": 1.0, "block": block}
        # rows of whole vectors, streams of many lanes, levels that are learned in part
        large = cases.make("rough", (33, 130, 256) if block == "default" else (32, 24, 30, 60), "f4")
        yield f"large, {block}", large, {"absolute": cases.width(large) * 1e-3, "block": block}
        large = np.where(cases.make("walk", large.shape, "f4") < 0, np.float32("nan"), large)
        yield f"large and masked, {block}", large, {"absolute": cases.width(large) * 1e-2}
        yield f"several wide blocks, {block}", cases.make("walk", (38, 35, 34), "f8"), {"absolute": 0.3, "block": block}


def digests(every=1):
    """{name: [sha256 of the stream, sha256 of the decoded bits]} of the arrays, or of some of them."""
    found = {}
    for name, array, options in itertools.islice(arrays(), None, None, every):
        stream = h5stz.compress(array, fill_value=False, integers="lossy", **options)
        decoded = h5stz.decompress(stream)
        found[name] = [hashlib.sha256(data).hexdigest() for data in (stream, decoded.tobytes())]
    return found


# ---------------------------------------------------------------- the floating-point environment

FLUSH_TO_ZERO, DENORMALS_ARE_ZERO = 0x8000, 0x0040
ROUNDING = {"nearest": 0, "down": 0x2000, "up": 0x4000, "to zero": 0x6000}
TRAPS = 0x0680  # invalid, divide by zero, overflow: a cleared bit traps
CONTROL = 0xFFC0
PLACE = 28  # of MXCSR in glibc's fenv_t on x86-64


class ControlRegister:
    """Sets MXCSR through fesetenv and reads it through fegetenv."""

    def __init__(self):
        self.library = ctypes.CDLL("libm.so.6")
        self.environment = ctypes.create_string_buffer(64)

    def read(self):
        """MXCSR of this thread."""
        self.library.fegetenv(self.environment)
        return int.from_bytes(self.environment[PLACE : PLACE + 4], "little")

    def write(self, value):
        """Gives it another value; everything else of the environment stays."""
        self.library.fegetenv(self.environment)
        self.environment[PLACE : PLACE + 4] = value.to_bytes(4, "little")
        self.library.fesetenv(self.environment)


def environments():
    """Values of MXCSR: as -ffast-math, other roundings, exceptions that trap."""
    masked = 0x1F80
    values = [masked | FLUSH_TO_ZERO, masked | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO]
    values += [masked | rounding for rounding in ROUNDING.values()]
    return [*values, masked & ~TRAPS, masked & ~TRAPS | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO | ROUNDING["up"]]


#: Parts of the names of the arrays that are coded in every environment.
IN_ENVIRONMENTS = ("tiny", "smooth", "spike", "several blocks, region")


def digests_in_environments():
    """{name: [[digests, environment kept] per environment]}; the codec is called directly: nothing else runs in between."""
    register = ControlRegister()
    normal = register.read()
    found = {}
    for name, array, options in arrays():
        if not any(part in name for part in IN_ENVIRONMENTS):
            continue
        kind, number = next((key, value) for key, value in options.items() if key != "block")
        layout = (array.tobytes(), _core.DTYPES[array.dtype.str[1:]], _core.LITTLE, array.shape)
        bound, block = 0.0 if kind == "lossless" else number, _core.CHOICES["block"][options.get("block", "default")]
        enhance = _core.CHOICES["enhance"][options.get("enhance", "none")]
        lossy = _core.CHOICES["integers"]["lossy"]
        chosen = _core.Options(_core.MODES[kind], bound, block=block, enhance=enhance, integers=lossy)
        out = bytearray(array.nbytes)
        results = []
        for value in [normal, *environments()]:
            threads = 1 + len(results) % 3
            register.write(value)
            stream = _core.compress(*layout, chosen.replace(threads=threads))
            between = register.read()
            _core.decompress(stream, out, threads)
            after = register.read()
            register.write(normal)
            kept = (between ^ value) & CONTROL == 0 and (after ^ value) & CONTROL == 0
            results.append([hashlib.sha256(stream).hexdigest(), hashlib.sha256(out).hexdigest(), kept])
        found[name] = results
    return found


def run(what, isa=None):
    """What this file prints as a program."""
    environment = {name: value for name, value in os.environ.items() if name != "H5STZ_ISA"}
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS), *filter(None, [environment.get("PYTHONPATH")])])
    if isa:
        environment["H5STZ_ISA"] = isa
    done = subprocess.run([sys.executable, __file__, what], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def reference():
    return run("digests", "baseline")


@pytest.mark.parametrize("isa", each_instruction_set()[1:], ids=str)
def test_bytes_and_bits_do_not_depend_on_the_instruction_set(isa, reference):
    found = run("digests", isa)
    assert found.keys() == reference.keys() and len(found) > 200
    different = [name for name in found if found[name] != reference[name]]
    assert not different, "stream and decoded array agree with those of baseline"


@pytest.mark.parametrize("isa", [None, "no such thing"])
def test_the_best_instruction_set_is_that_of_who_names_none(isa, reference):
    found = run("some digests", isa)
    assert len(found) > 20 and found.items() <= reference.items()


SLOW = [pytest.param(*isa.values, marks=[*isa.marks, pytest.mark.slow]) for isa in each_instruction_set()]


@needs("x86-64 with glibc", HAS_CONTROL_REGISTER)
@pytest.mark.parametrize("isa", [None, *SLOW], ids=str)
def test_bytes_and_bits_do_not_depend_on_the_floating_point_environment(isa, reference):
    digests_of = run("environments", isa)
    assert all(any(part in name for name in digests_of) for part in IN_ENVIRONMENTS) and len(digests_of) > 60
    for name, results in digests_of.items():
        assert len(results) == 1 + len(environments())
        for number, (stream, decoded, kept) in enumerate(results):
            assert [stream, decoded] == reference[name], f"{name}, environment {number}"
            assert kept, f"{name}, environment {number}: the caller's environment was not restored"


if __name__ == "__main__":
    what = {"digests": digests, "some digests": lambda: digests(12), "environments": digests_in_environments}
    print(json.dumps(what[sys.argv[1]]()))
