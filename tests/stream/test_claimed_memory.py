"""Memory is bounded by what was paid for: by the bytes of the stream until their check was verified, then by output and limits.

Counted by tests/native/claimed_memory.cpp, which has every allocation of the codec go through itself.
"""

import subprocess

import numpy as np
import pytest

from h5stz import _core
from support.hostile_streams import HOSTILE, LIMIT, checks, with_broken
from support.mutations import mutated
from support.native import native_program
from support.requirements import needs_programs
from support.small_streams import STREAMS

# What docs/guarantees.md promises.
BEFORE = 64 << 10  # bytes, whatever a stream claims, until a check has been verified
PER_BYTE = 4  # of the stream, besides
PER_SECTION = 5 << 10  # that a reader has read before
ANY = 16 << 20  # bytes, of a few blocks, a palette or a table of patches, once checks have been verified
PER_ARRAY_BYTE = 16  # of the array, besides
PER_ENTRY = 80  # of an index, where all of an array is planned
RAW, EXTENDED = 0, 64  # form, and a flag that floating-point fields have among those here
LARGEST_ARRAY = 1 << 27  # that tests decode
CHECKSUM = _core.ERROR_CODES["STZ_ERROR_CHECKSUM"]

pytestmark = needs_programs("g++")


def measured(streams):
    """For each stream {operation: (error code, most bytes allocated at one time)}, and the bytes that its array claims."""
    given = b"".join(len(stream).to_bytes(8, "little") + stream for stream in streams)
    command = [native_program("claimed_memory"), str(LARGEST_ARRAY)]
    lines = subprocess.run(command, input=given, capture_output=True, check=True).stdout.decode().splitlines()
    found = [({}, 0) for _ in streams]
    for line in lines:
        number, operation, code, peak, claimed = line.split()
        of_stream, _ = found[int(number)]
        of_stream[operation] = int(code), int(peak)
        found[int(number)] = of_stream, int(claimed)
    return found


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_is_allocated_by_what_was_not_verified(name):
    hostile = HOSTILE[name]
    places = checks(hostile.stream)
    broken = [with_broken(hostile.stream, check) for check in places]
    for number, (operations, claimed) in enumerate(measured(broken)):
        for operation, (code, peak) in operations.items():
            # a reader goes on from section to section, and does without one that it does not need; info reads the header
            in_order = operation in ("plan", "read", "everything")
            array_unknown = operation == "decode" and not claimed  # of a header that cannot be believed: its array has no room
            # the check of a raw stream is that of its samples
            not_asked = hostile.stream[4] & (3 | EXTENDED) == RAW and operation != "decode"
            later = array_unknown or not_asked or (number and (operation == "info" or in_order))
            assert code == CHECKSUM or later, (number, operation)
            allowed = BEFORE + PER_BYTE * len(hostile.stream) + (PER_SECTION * number if in_order else 0)
            if not in_order or number <= hostile.claims:
                assert peak <= allowed, (number, operation, peak)


def test_after_validation_the_limits_hold():
    names = list(HOSTILE)
    for name, (operations, claimed) in zip(names, measured([HOSTILE[name].stream for name in names]), strict=True):
        for operation, (code, peak) in operations.items():
            allowed = ANY + PER_BYTE * len(HOSTILE[name].stream)
            if operation == "decode":
                allowed += PER_ARRAY_BYTE * claimed
            elif name.startswith("index") and operation != "info":
                allowed += PER_ENTRY * LIMIT
            assert peak <= allowed, (name, operation, peak)
            assert code == 0 or name == "palette", (name, operation)
        assert claimed > LARGEST_ARRAY or "decode" in operations


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_streams_that_were_changed_behind_their_checks(seed):
    rng = np.random.default_rng(seed)
    turns = 3 if seed == 1 else 30
    streams = [mutated(rng, stream) for _, stream in STREAMS.values() for _ in range(turns)]
    refused = 0
    for stream, (operations, claimed) in zip(streams, measured(streams), strict=True):
        for operation, (code, peak) in operations.items():
            assert peak <= ANY + PER_BYTE * len(stream) + PER_ARRAY_BYTE * claimed, (operation, code, peak, stream.hex())
            refused += code != 0
    assert refused > len(streams)
