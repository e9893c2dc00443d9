"""Bit flips and truncations of a small stream of every form and feature (all of them at night): an error or the right data.

tests/native/damage_streams.cpp does the damage, and reads each damaged stream in every way: its header, all of it, with its
content check, a region, a level, with fewer precision layers. Reads that go on (stz_reader_on_error) must give all samples that
they do not report. The fast tier does a sample of it.
"""

import datetime
import re
import subprocess

import numpy as np
import pytest

import h5stz
from support import axis_maps, cases
from support.native import native_program
from support.patched_streams import random_patched
from support.paths import GOLDEN
from support.requirements import needs_programs
from support.small_streams import STREAMS

#: Nothing looks at the trailer of these: they need no content check, and what else is in it is of a later version.
UNSEEN = {"later_trailer_raw", "later_trailer_constant", "fields_later"}
GIVEN = sorted(GOLDEN.glob(f"version_{h5stz.FORMAT_VERSION}/*.stz"))
STORED = [path for path in GIVEN if path.stem not in UNSEEN]


def others():
    """{name: stream} of what small_streams.py has none of: patches, axis maps, axes that are halved late, more axes."""
    rng = np.random.default_rng(7)
    walks = np.cumsum(rng.standard_normal((5, 40, 12)), axis=1).astype(">f8")
    made = {
        "patched": random_patched(rng, (9, 10), "f4", 3)[0],
        "patched, complex": random_patched(rng, (7, 5), ">c8", 3)[0],
        "patched blocks": h5stz.rewrite(*rewritten(), absolute=20.0),
        "vectors": axis_maps.mapped(cases.make("smooth", (40, 30, 3), "f4"), (2, 3, axis_maps.BATCH), axis_maps.ABSOLUTE, 0.5),
        "merged axes": axis_maps.mapped(walks, (axis_maps.BATCH, axis_maps.MERGED, 3), axis_maps.ABSOLUTE, 0.1),
        "slices": h5stz.compress(rng.standard_normal((4, 30, 30)).astype("f4"), absolute=0.5),
        "four axes": h5stz.compress(cases.make("rough", (5, 9, 8, 10), "f4"), absolute=20.0),
        "big-endian": h5stz.compress(cases.make("rough", (40, 50), ">f8"), absolute=20.0),
        "half precision with fill value": h5stz.compress(filled_halves(), absolute=1.0, fill_value=-7.0),
    }
    assert all(made.values())
    return made


def rewritten():
    """An array that was decompressed and changed in part, and its stream."""
    stream = h5stz.compress(cases.make("smooth", (60, 70), "f4"), absolute=20.0)
    array = h5stz.decompress(stream)
    array[20:26, 30:37] += 100
    return array, stream


def filled_halves():
    array = cases.make("walk", (40, 50), "f2")
    array[10:20, 25:] = -7
    return array


def damage(folder, streams, every, first=0, preset="tests"):
    """(flips, truncations) that were done to streams, all of them harmless; `streams`: {name: bytes}, or paths."""
    paths = streams if isinstance(streams, list) else []
    if not paths:
        for number, stream in enumerate(streams.values()):
            paths.append(folder / f"{number}.stz")
            paths[-1].write_bytes(stream)
    words = [native_program("damage_streams", preset), "--every", str(every), "--from", str(first), *map(str, paths)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    print(done.stdout)
    flips, truncations, reads, went_on, undetected, wrong = map(int, re.findall(r"\d+", done.stdout.splitlines()[-1]))
    assert (undetected, wrong) == (0, 0) and reads > went_on > 0
    return flips, truncations


@pytest.fixture(scope="module")
def small():
    """{name: stream}, of every form and feature."""
    return {name: stream for name, (_, stream) in STREAMS.items()} | others()


def test_the_streams_have_every_feature(small):
    infos = {name: h5stz.info(stream) for name, stream in small.items()}
    assert {info.dtype.str[0] for info in infos.values()} >= {"<", ">"}
    assert infos["patched"].patches and infos["patched blocks"].form.startswith("patched: blocks")
    assert {info.mode for info in infos.values()} == {"lossless", "absolute", "pointwise_relative"}
    assert {len(info.layers) for info in infos.values()} >= {1, 2, 3, 4}


@needs_programs("g++")
def test_a_sample_of_all_damages(tmp_path, small):
    damage(tmp_path, small, 197)
    damage(tmp_path, STORED, 997)


@needs_programs("g++")
@pytest.mark.slow
def test_a_tenth_of_all_damages(tmp_path, small):
    """Each day another tenth, for the full set takes minutes. A failure names the stream and the damage."""
    damage(tmp_path, small, 10, datetime.date.today().toordinal() % 10)


@needs_programs("g++")
@pytest.mark.night
def test_every_damage(tmp_path, small):
    flips, truncations = damage(tmp_path, small, 1)
    assert truncations == sum(map(len, small.values())) and flips == 8 * truncations


@needs_programs("g++")
@pytest.mark.slow
def test_many_damages_of_golden_streams(tmp_path):
    """A part of them: with each version of the format others are done."""
    damage(tmp_path, STORED, 199, h5stz.FORMAT_VERSION % 199)


@needs_programs("g++")
@pytest.mark.slow
def test_damages_under_a_sanitizer(tmp_path, small):
    damage(tmp_path, small, 499, preset="sanitizers")
