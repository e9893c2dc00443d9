"""A short night: every promise is kept, and what breaks one by a hair is told with the command that repeats it."""

import re
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from exhaustive import memory, night, promises, workers
from exhaustive.source import Violation
from support import allocators, exact
from support.requirements import needs_packages, needs_programs

KINDS = [
    "memory",
    "h5py",
    "modes",
    pytest.param("netcdf4", marks=needs_packages("netCDF4", "h5netcdf")),
    pytest.param("h5repack", marks=needs_programs("h5repack")),
]
BRIEF = {"memory": 400, "h5py": 40, "netcdf4": 10, "modes": 40, "h5repack": 2}
LONGER = {"memory": 4000, "h5py": 600, "netcdf4": 100, "modes": 200, "h5repack": 10}
#: Programs that rewrite, of each tier: recognition does not ask the allocator, so that some tell whether one disturbs it.
REWRITING = {
    "fast": dict.fromkeys(allocators.LIBRARIES, 50),
    "slow": {name: 500 if name == "glibc" else 100 for name in allocators.LIBRARIES},
    "night": {name: 4000 if name == "glibc" else 500 for name in allocators.LIBRARIES},
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_promise_is_broken(kind, tmp_path, capsys):
    assert night.main([str(tmp_path), "--jobs", "0", "--cases", f"{kind}={BRIEF[kind]}"]) == 0
    kept = night.State(tmp_path).kinds[kind]
    assert (kept["cases"], kept["violations"], kept["left"]) == (BRIEF[kind], 0, [])
    assert kept["samples"] > 1000 and 0.9 < kept["largest"] <= 1
    assert "VIOLATION" not in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_promise_is_broken_on_any_instruction_set(kind, tmp_path):
    assert night.main([str(tmp_path), "--cases", f"{kind}={LONGER[kind]}", "--seed", "1"]) == 0
    kept = night.State(tmp_path).kinds[kind]
    assert kept["cases"] >= LONGER[kind]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["h5py", pytest.param("netcdf4", marks=needs_packages("netCDF4"))])
def test_no_promise_is_broken_while_chunks_learn(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("H5STZ_LEARN", "1")
    assert night.main([str(tmp_path), "--cases", f"{kind}={LONGER[kind]}", "--seed", "2"]) == 0
    assert night.State(tmp_path).kinds[kind]["cases"] >= LONGER[kind]


def rewriting_under(allocator, count, directory, *words):
    """What a night of so many programs that rewrite reached, with an allocator in malloc's place; and what it said."""
    words = [sys.executable, night.__file__, directory, "--allocator", allocator, "--cases", f"rewriting={count}", *words]
    done = subprocess.run([str(word) for word in words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    kept = night.State(directory).kinds["rewriting"]
    assert kept["cases"] == count and kept["left"] == [], done.stdout
    return kept, done.stdout


@pytest.mark.parametrize("allocator", allocators.each(fast=["glibc"]))
def test_rewriting_keeps_bound_and_bits_under_every_allocator(allocator, tmp_path):
    count = REWRITING["fast"][allocator]
    kept, said = rewriting_under(allocator, count, tmp_path, "--jobs", "1")
    assert kept["violations"] == 0, said
    assert min(kept["seen"][f"{kind} program"] for kind in ("ordinary", "adversarial")) > count // 3


@pytest.mark.slow
@pytest.mark.parametrize("allocator", allocators.each())
def test_rewriting_while_chunks_learn(allocator, tmp_path, monkeypatch):
    monkeypatch.setenv("H5STZ_LEARN", "1")
    kept, said = rewriting_under(allocator, REWRITING["fast"][allocator], tmp_path, "--jobs", "1")
    assert kept["violations"] == 0, said


@pytest.mark.parametrize("tier", [pytest.param(tier, marks=getattr(pytest.mark, tier)) for tier in ("slow", "night")])
@pytest.mark.parametrize("allocator", allocators.each())
def test_what_recognition_misses_is_rare(allocator, tier, tmp_path):
    """Of adversarial programs one in a thousand, in the cases that docs/rewriting.md names; of ordinary ones none."""
    kept, said = rewriting_under(allocator, REWRITING[tier][allocator], tmp_path, "--seed", "1")
    broken = kept.get("broken", {})
    assert all(promise.startswith("adversarial program") for promise in broken), said
    missed = set().union(*broken.values())
    assert len(missed) <= 1 + kept["seen"]["adversarial program"] // 1000, said


def off_by(factor, monkeypatch):
    """Has the memory cases read streams of float64 with the first sample so many bounds away from the original."""
    originals, compress, decompress = {}, memory.h5stz.compress, memory.h5stz.decompress

    def compressing(array, **options):
        stream = compress(array, **options)
        if array.dtype == "f8" and array.size and "absolute" in options:
            originals[stream] = np.array(array).flat[0], options["absolute"]
        return stream

    def decompressing(stream, **options):
        decoded = decompress(stream, **options)
        sample, bound = originals.get(bytes(stream), (np.nan, 0))
        moved = sample + factor * bound
        if decoded.size and np.isfinite(moved) and memory.h5stz.info(stream).bound_used and bound < abs(sample) < 1e6 * bound:
            decoded.flat[0] = moved
        return decoded

    monkeypatch.setattr(memory.h5stz, "compress", compressing)
    monkeypatch.setattr(memory.h5stz, "decompress", decompressing)


@pytest.mark.slow
def test_a_sample_that_misses_its_bound_by_a_hair_is_reported_with_its_command(tmp_path, monkeypatch, capsys):
    with monkeypatch.context() as sabotage:
        off_by(1 + 1e-7, sabotage)
        assert night.main([str(tmp_path), "--jobs", "0", "--cases", "memory=800"]) == 1
        told = capsys.readouterr().out
        case = re.search(r"VIOLATION in (memory:\d+): decompressed: sample 0: .*\n.*\n.*python (\S+) --case (\S+)", told)
        assert case and case[1] == case[3] and case[2] == night.PROGRAM
        assert night.main(["--case", case[1]]) == 1
        assert "VIOLATION: decompressed: sample 0" in capsys.readouterr().out
    assert case[1] in (tmp_path / "violations.txt").read_text()
    assert night.main(["--case", case[1]]) == 0, "without the sabotage"


@pytest.mark.slow
def test_a_new_directory_goes_on_from_another_one(tmp_path, capsys):
    assert night.main([str(tmp_path / "one"), "--jobs", "0", "--cases", "memory=200"]) == 0
    state = str(tmp_path / "one/state.json")
    assert night.main([str(tmp_path / "two"), "--jobs", "0", "--cases", "memory=400", "--from", state]) == 0
    kept = night.State(tmp_path / "two").kinds["memory"]
    assert (kept["cases"], kept["next"]) == (400, 400)
    with pytest.raises(SystemExit):
        night.main([str(tmp_path / "three"), "--from", str(tmp_path / "none")])
    assert "there is no file" in capsys.readouterr().err


@pytest.mark.slow
def test_an_interrupted_night_goes_on(tmp_path, monkeypatch):
    calls = []

    def interrupted(*batch):
        calls.append(batch)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return night_batch(*batch)

    night_batch = night.run_batch
    monkeypatch.setattr(night, "run_batch", interrupted)
    words = [str(tmp_path), "--jobs", "0", "--cases", "memory=400"]
    night.main(words)
    assert night.State(tmp_path).kinds["memory"]["cases"] == 200
    night.main(words)
    assert [first for _, first, _, _ in calls] == [0, 200, 200]
    assert night.State(tmp_path).kinds["memory"]["cases"] == 400


@pytest.mark.slow
def test_a_process_that_ends_is_reported_with_the_case(monkeypatch):
    batches = iter([("no such kind", 5, 2)])
    pool = workers.Pool(1, 0, ["baseline"])
    told = [(found.first + found.count - 1, failure) for found, _, failure in pool.run(lambda _: next(batches, None))]
    pool.end()
    assert told == [(5, "the process ended with status 1"), (6, "the process ended with status 1")]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i8", "u8"])
def test_the_judge_tells_one_unit_in_the_last_place(dtype):
    x = np.array([0, 3, 100], dtype)
    y = np.array([1, 2, 101], dtype)
    for bound, right in ((1.0, True), (float(np.nextafter(1, 0)), False), (Fraction(10**30 - 1, 10**30), False)):
        judged = exact.judge(x, y, bound)
        assert (not judged.wrong, judged.samples, judged.by_fractions) == (right, 3, 3)
    assert not exact.judge(x[1:], y[1:], 0.34, pointwise=True).wrong
    assert exact.judge(x[1:], y[1:], float(np.nextafter(1 / 3, 0)), pointwise=True).wrong


def test_the_judge_tells_a_sign_that_no_sample_had():
    written, decoded = np.array([0.1, 5.0]), np.array([-0.1, 5.0])
    tally = promises.Tally()
    for given in (None, [written], [written, decoded[1:]]):
        with pytest.raises(Violation, match="a sign that no sample had"):
            tally.within(written, decoded, 0.5, "decoded", given=given)
    tally.within(written, decoded, 0.5, "rewritten", given=[written, np.array([-3.0])])


@pytest.mark.parametrize("bound", [Fraction(3, 2) * Fraction(5e-324), Fraction(3, 2) * Fraction(1.7e308)])
def test_the_judge_takes_fractions_beyond_the_range_of_float64(bound):
    unit = float(bound / Fraction(3, 2))
    assert not exact.judge(np.array([0.0]), np.array([unit]), bound).wrong
    assert exact.judge(np.array([-unit]), np.array([unit]), bound).wrong
