"""h5stz.view(on_error=...) of damaged files: samples that are not reported have their bits, and damage costs what it must."""

import pickle
import warnings

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import h5stz
from support import cases
from support.region_files import opened, same

MARK = 12345  # in the place of integers that are lost; no sample has it


def masked(shape):
    array = cases.make("rough", shape, "f4")
    array[np.random.default_rng(5).random(shape) < 0.1] = np.inf
    array[3:9, 5:30] = -999
    return array


KINDS = {
    "1-D": (cases.make("rough", (30000,), "f4"), (10000,), {"absolute": 5.0}),
    "2-D": (cases.make("rough", (150, 170), "f8"), (80, 90), {"absolute": 5.0}),
    "3-D": (cases.make("rough", (50, 60, 70), "f4"), (32, 60, 40), {"absolute": 5.0, "block": "region"}),
    "4-D": (cases.make("rough", (6, 24, 25, 26), "f4"), (3, 24, 25, 26), {"absolute": 5.0}),
    "big-endian": (cases.make("rough", (150, 170), ">f8"), (80, 170), {"absolute": 5.0}),
    "half precision": (cases.make("walk", (150, 170), "f2"), (80, 170), {"absolute": 0.5}),
    "complex": (cases.make("rough", (100, 110), "c8"), (60, 110), {"absolute": 5.0}),
    "masked": (masked((130, 140)), (90, 140), {"absolute": 5.0, "fill_value": -999}),
    "layers": (cases.make("rough", (150, 160), "f4"), (100, 160), {"absolute": 0.5, "layers": 3}),
    "enhanced": (cases.make("rough", (150, 160), "f4"), (100, 160), {"absolute": 10.0, "enhance": "relaxed"}),
    "integers": (cases.make("rough", (150, 160), "i4"), (100, 160), {"absolute": 6.0, "integers": "lossy"}),
    "edges": (cases.make("layers", (150, 160), "f4"), (100, 160), {"absolute": 0.5}),
    "lossless": (cases.make("walk", (20000,), "f8"), (9000,), {"lossless": True}),
    "fields": (np.random.default_rng(3).standard_normal((600, 500)).astype("f4"), (500, 300), {"lossless": True}),
    "patched": (cases.make("rough", (150, 170), "f4"), (80, 170), {"absolute": 5.0}),
    "another filter behind": (cases.make("rough", (150, 170), "f4"), (80, 90), {"absolute": 5.0}),
    "none of ours": (cases.make("rough", (150, 170), "f4"), (80, 90), None),
}
WHOLE_CHUNKS = ("another filter behind", "none of ours")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """{name: (path, samples as they are read, [(offset, address, size) of chunks])}."""
    made, folder = {}, tmp_path_factory.mktemp("damage")
    for name, (array, chunks, options) in KINDS.items():
        path = folder / f"{name}.h5"
        filters = {"fletcher32": True} if name in WHOLE_CHUNKS else {}
        filters |= {} if options is None else h5stz.STZ(**options, dtype=array.dtype)
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=array, chunks=chunks, **filters)
        if name == "patched":
            for corner in (10, 40):
                with h5py.File(path, "r+") as file:
                    file["x"][corner : corner + 12, 20:60] = 77 + np.arange(40, dtype="f4")
        with h5py.File(path) as file:
            infos = [file["x"].id.get_chunk_info(k) for k in range(file["x"].id.get_num_chunks())]
            stream = file["x"].id.read_direct_chunk((0,) * array.ndim)[1]
            assert name != "enhanced" or h5stz.info(stream).enhanced
            made[name] = path, file["x"][...], [(info.chunk_offset, info.byte_offset, info.size) for info in infos]
    return made


def damaged(path, places, to):
    """A copy of a file with other bytes: {place: xor}."""
    content = bytearray(path.read_bytes())
    for place, flip in places.items():
        content[place] ^= flip
    to.write_bytes(content)
    return to


def value_of(dtype):
    return {"f": np.nan, "c": complex(np.nan, np.nan)}.get(dtype.kind, MARK)


def words(array):
    """The bits of components: one more axis."""
    width = array.dtype.itemsize // (2 if array.dtype.kind == "c" else 1)
    return np.ascontiguousarray(array).view(f"u{width}").reshape(*array.shape, -1)


def read(view, *index, **options):
    """What a view gives, and what its warning lists ([] without one)."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        array = view.read(*index, **options) if options else view[index]
    told = [each.message for each in told if isinstance(each.message, h5stz.DamageWarning)]
    assert len(told) <= 1, "one warning for each read"
    return array, told[0].damage if told else []


def lost(array, whole, found):
    """Which components are not those of the undamaged file, after all that holds for any damage is checked."""
    mark = words(np.full((), value_of(array.dtype), array.dtype))
    is_marked = (words(array) == mark) & (words(whole) != mark)
    assert np.array_equal(words(array)[~is_marked], words(whole)[~is_marked]), "a sample is wrong that nobody reported"
    inside = np.zeros(array.shape, bool)
    for damage in found:
        inside[damage.region] = True
        if damage.lost:
            box = is_marked.any(axis=-1)[damage.region]
            for axis in range(box.ndim):
                others = tuple(other for other in range(box.ndim) if other != axis)
                assert box.any(axis=others)[[0, -1]].all(), "the box is tight"
    assert inside[is_marked.any(axis=-1)].all(), "what is lost is in a box"
    assert is_marked.sum() == sum(damage.lost for damage in found)
    return is_marked


@pytest.mark.parametrize("name", KINDS)
def test_nothing_is_reported_of_whole_files(files, name):
    path, whole, _ = files[name]
    with opened(path) as dataset, warnings.catch_warnings():
        warnings.simplefilter("error")
        view = h5stz.view(dataset, on_error=value_of(whole.dtype), verify=True)
        assert same(whole, view[...])
        assert same(whole[::2, ...], view[::2])
        assert view.damage == []


@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_chunk_leaves_the_others_alone(files, tmp_path, name):
    path, whole, chunks = files[name]
    rng = np.random.default_rng(len(name))
    for count in range(6):
        offset, address, size = chunks[int(rng.integers(len(chunks)))]
        place = address + (int(rng.integers(size)) if count else 1)  # in the middle of the magic first
        broken = damaged(path, {place: 1 << int(rng.integers(8))}, tmp_path / "broken.h5")
        with opened(broken) as dataset:
            view = h5stz.view(dataset, on_error=value_of(whole.dtype))
            array, found = read(view, ...)
            is_lost = lost(array, whole, found)
            assert all(damage.chunk == offset and damage.file == str(broken) and damage.dataset == "/x" for damage in found)
            outside = np.ones(whole.shape, bool)
            outside[tuple(slice(at, at + n) for at, n in zip(offset, dataset.chunks, strict=True))] = False
            assert not is_lost[outside].any()
            assert view.damage == found
            if count == 0 or name in WHOLE_CHUNKS:
                assert is_lost[~outside].all(), "of a chunk without a header nothing is known"
            if found:
                with pytest.raises((h5stz.StzError, OSError)):
                    h5stz.view(dataset)[...]


@pytest.mark.parametrize("name", [name for name in KINDS if name not in WHOLE_CHUNKS])
@settings(max_examples=settings().max_examples // 3)
@given(seed=st.integers(0, 2**32))
def test_random_damage(files, tmp_path_factory, name, seed):
    """Many bytes anywhere in the chunks, and reads of boxes, levels and with steps, which share what they keep. A level loses
    what the whole loses of it; a part, which may need fewer bytes, no more."""
    path, whole, chunks = files[name]
    rng = np.random.default_rng(seed)
    places = {}
    for _ in range(int(rng.integers(1, 12))):
        _, address, size = chunks[int(rng.integers(len(chunks)))]
        first = address + int(rng.integers(size))
        for place in range(first, min(first + int(rng.choice([1, 1, 40])), address + size)):
            places[place] = int(rng.integers(1, 256))
    broken = damaged(path, places, tmp_path_factory.mktemp("random") / "broken.h5")
    with opened(broken) as dataset:
        view = h5stz.view(dataset, on_error=value_of(whole.dtype), cache_bytes=int(rng.choice([0, 20000, 1 << 26])), threads=2)
        parts = []
        for _ in range(3):
            index = random_box(rng, whole.shape)
            array, found = read(view, *index)
            compare(array, whole, found, index)
            parts.append((index, array))
        level = int(rng.integers(1, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            coarse = view.level(level)[...]
        steps = tuple(slice(None, None, 1 << level) for _ in whole.shape)
        compare(coarse, whole, None, steps)
        array, found = read(view, ...)
        lost(array, whole, found)
        if all(at % 2**level == 0 for offset, *_ in chunks for at in offset):
            assert same(array[steps], coarse), "a level loses what the whole loses of it"
        for index, part in [*parts, (steps, coarse)]:
            kept = words(array[index]) != words(np.full((), value_of(array.dtype), array.dtype))
            assert np.array_equal(words(part)[kept], words(array[index])[kept]), "a part loses no more than the whole"


def random_box(rng, shape):
    box = []
    for extent in shape:
        start = int(rng.integers(extent))
        box.append(slice(start, int(rng.integers(start + 1, extent + 1)), int(rng.choice([1, 1, 2, 3]))))
    return tuple(box)


def compare(array, whole, found, index):
    """Of a part: what is not marked has its bits, and what is marked lies in a box of the dataset."""
    mark = words(np.full((), value_of(array.dtype), array.dtype))
    expected = whole[index]
    is_marked = (words(array) == mark) & (words(expected) != mark)
    assert np.array_equal(words(array)[~is_marked], words(expected)[~is_marked])
    if found is not None:
        inside = np.zeros(whole.shape, bool)
        for damage in found:
            inside[damage.region] = True
        assert inside[index][is_marked.any(axis=-1)].all()
        assert is_marked.sum() == sum(damage.lost for damage in found)


def last_block(stream):
    """The place of a byte of the last block of level 0, in a stream without a trailer."""
    assert not h5stz.info(stream).content_check
    return len(stream) - 9


@pytest.fixture(scope="module")
def volume(tmp_path_factory):
    """(path, samples, address, stream) of a dataset of one chunk with blocks of 32 samples along each axis."""
    path = tmp_path_factory.mktemp("volume") / "x.h5"
    array = cases.make("rough", (96, 100, 104), "f4")
    with h5py.File(path, "w") as file:
        options = h5stz.STZ(absolute=5.0, block="region", content_check=False)
        file.create_dataset("x", data=array, chunks=array.shape, **options)
    with h5py.File(path) as file:
        info = file["x"].id.get_chunk_info(0)
        return path, file["x"][...], info.byte_offset, file["x"].id.read_direct_chunk((0, 0, 0))[1]


def test_a_block_of_the_finest_level_costs_its_own_samples_alone(volume, tmp_path):
    path, whole, address, stream = volume
    with opened(damaged(path, {address + last_block(stream): 4}, tmp_path / "x.h5")) as dataset:
        view = h5stz.view(dataset, on_error="nan")
        array, (found,) = read(view, ...)
        assert (found.level, found.region) == (0, np.s_[64:96, 96:100, 96:104])
        block = np.zeros(whole.shape, bool)
        block[found.region] = True
        block[::2, ::2, ::2] = False  # of level 1, which is whole
        assert np.array_equal(np.isnan(array), block)
        assert found.lost == block.sum()
        assert read(view.level(1), ...)[1] == [], "other levels are whole"
        assert read(view, slice(0, 64))[1] == []
        assert view.damage == [found]


def test_a_block_of_a_coarser_level_costs_what_is_predicted_from_it(volume, tmp_path):
    path, whole, address, stream = volume
    end = h5stz.info(stream).level_bytes[1]
    with opened(damaged(path, {address + end - 9: 4}, tmp_path / "x.h5")) as dataset:
        view = h5stz.view(dataset, on_error="nan")
        array, (found,) = read(view, ...)
        is_lost = lost(array, whole, [found])[..., 0]
        (low, high), *_ = [(cut.start, cut.stop) for cut in found.region]
        assert found.level == 1 and high == 96 and 64 - 16 < low <= 64, "the block, and a few samples around it"
        assert not is_lost[::4, ::4, ::4].any(), "level 2 is whole"
        assert is_lost[70:, 97:, 97:][1::2, 1::2, 1::2].all()
        coarse, entries = read(view.level(1), ...)
        assert [each.level for each in entries] == [1]
        assert np.isnan(coarse).sum() == entries[0].lost < found.lost


def test_what_all_blocks_need(volume, tmp_path):
    """The directory of level 0 costs level 0, the base section everything, and the header the chunk."""
    path, whole, address, stream = volume
    ends = h5stz.info(stream).level_bytes
    for place, level in ((ends[1] + 3, 0), (ends[-1] - 3, "base"), (5, None)):
        with opened(damaged(path, {address + place: 4}, tmp_path / "x.h5")) as dataset:
            array, (found,) = read(h5stz.view(dataset, on_error="nan"), ...)
            is_lost = lost(array, whole, [found])[..., 0]
            assert found.block is None
            if level == 0:
                assert found.level == 0 and is_lost.sum() == whole.size - whole[::2, ::2, ::2].size
            else:
                assert (found.level is None) == (level is None) and is_lost.all()


def test_what_stands_for_lost_samples(files, volume, tmp_path):
    path, _, address, stream = volume
    with opened(damaged(path, {address + last_block(stream): 4}, tmp_path / "x.h5")) as dataset:
        assert read(h5stz.view(dataset, on_error=-1.5), ...)[0][95, 99, 103] == -1.5
        with pytest.raises(h5stz.StzError, match="no fill value: give a number"):
            h5stz.view(dataset, on_error="fill")
        with pytest.raises(h5stz.StzTypeError, match="must be 'raise', 'nan', 'fill' or a number"):
            h5stz.view(dataset, on_error="ignore")
        view = pickle.loads(pickle.dumps(h5stz.view(dataset, on_error="nan")))
        assert np.isnan(read(view, 95, 99, 103)[0])
    with opened(files["integers"][0]) as dataset:
        for wrong in ("nan", 1.5, 2**40):
            with pytest.raises(h5stz.StzError, match="on_error"):
                h5stz.view(dataset, on_error=wrong)
    with h5py.File(tmp_path / "fill.h5", "w") as file:
        dataset = file.create_dataset("x", data=np.arange(5000), chunks=(1000,), fillvalue=-3, **h5stz.STZ(lossless=True))
        dataset.id.write_direct_chunk((2000,), b"no stream")
    with opened(tmp_path / "fill.h5") as dataset:
        array, (found,) = read(h5stz.view(dataset, on_error="fill"), ...)
        assert (array[2000:3000] == -3).all() and found.region == np.s_[2000:3000,]
        assert np.array_equal(np.delete(array, found.region[0]), np.delete(np.arange(5000), found.region[0]))


def test_a_warning_and_the_list(volume, tmp_path):
    path, _, address, stream = volume
    with opened(damaged(path, {address + last_block(stream): 4}, tmp_path / "x.h5")) as dataset:
        view = h5stz.view(dataset, on_error="nan")
        with pytest.warns(h5stz.DamageWarning, match=r"1 damaged part of /x in .*x\.h5: \d+ of 998400 samples") as told:
            view[...]
        assert told[0].filename == __file__
        with pytest.warns(h5stz.DamageWarning):
            view[90:]
        assert len(view.damage) == len(view.stats.damage) == 1 and "level 0, block" in str(view.damage[0])
        view.stats.reset()
        assert view.damage == []


def test_streams_in_memory(volume):
    _, whole, _, stream = volume
    broken = bytearray(stream)
    broken[last_block(stream)] ^= 1
    with pytest.raises(h5stz.StzError, match="checksum"):
        h5stz.decompress(broken)
    with pytest.warns(h5stz.DamageWarning) as told:
        array = h5stz.decompress(broken, on_error="nan")
    lost(array, whole, told[0].message.damage)
    with pytest.warns(h5stz.DamageWarning) as told:
        half = h5stz.decompress(stream[: len(stream) // 2], on_error="nan")
    lost(half, whole, told[0].message.damage)
    with pytest.raises(h5stz.StzError):
        h5stz.decompress(b"STZ" + bytes(100), on_error="nan")


def test_a_raw_stream_is_whole_or_lost():
    stream = bytearray(h5stz.compress(np.arange(7.0), lossless=True))
    assert h5stz.info(bytes(stream)).form == "raw"
    stream[-9] ^= 4
    with pytest.warns(h5stz.DamageWarning, match="7 of 7 samples that were read are lost"):
        assert np.isnan(h5stz.decompress(bytes(stream), on_error="nan")).all()
