"""Parts of zarr arrays: the same bits as of the whole, from few bytes, through every kind of index, store and shard; levels."""

import subprocess
import sys
import threading
from functools import cache

import numpy as np
import pytest

import h5stz
from support import boxes
from support.patched_streams import with_wrong_check
from support.requirements import needs_packages

pytestmark = needs_packages("zarr", "numcodecs")
SHAPE, CHUNKS = (96, 80, 70), (64, 64, 64)


@cache
def counting_store():
    """A class of stores that count the bytes of chunks that they give."""
    from zarr.storage import WrapperStore

    class Counting(WrapperStore):
        bytes_given = 0
        longest = 0

        async def get(self, key, prototype, byte_range=None):
            content = await self._store.get(key, prototype, byte_range)
            if content is not None and not key.endswith(".json"):
                self.bytes_given += len(content)
                self.longest = max(self.longest, len(content))
            return content

    return Counting


@pytest.fixture(scope="module")
def field():
    return noisy(SHAPE)


def noisy(shape):
    """A field whose chunks are much longer than what is fetched first."""
    axes = np.meshgrid(*(np.linspace(0, 3, extent) for extent in shape), indexing="ij")
    smooth = np.sin(3 * axes[0]) * np.cos(4 * axes[1]) + axes[2] ** 2
    return (smooth + np.random.default_rng(3).normal(0, 0.02, shape)).astype("f4")


def stored(field, store, chunks=CHUNKS, shards=None, **codec):
    """(array opened again, its counting store, all samples)."""
    import zarr

    from h5stz.zarr import StzCodec

    serializer = StzCodec(**{"absolute": 1e-4, "block": "region"} | codec)
    options = {"chunks": chunks, "shards": shards, "dtype": field.dtype, "serializer": serializer, "compressors": None}
    made = zarr.create_array(store, shape=field.shape, fill_value=np.nan, **options)
    made[...] = field
    counting = counting_store()(made.store)
    array = zarr.open_array(counting, mode="r+")  # "r" would open a copy of the store, which counts for itself
    whole = array[...]
    counting.bytes_given = counting.longest = 0
    return array, counting, whole


@pytest.fixture(scope="module", params=["memory", "disk", "shards"])
def array_and_whole(request, field, tmp_path_factory):
    store = str(tmp_path_factory.mktemp("zarr") / "a.zarr") if request.param == "disk" else {}
    array, _, whole = stored(field, store, shards=(128, 128, 128) if request.param == "shards" else None)
    return array, whole


def test_boxes_and_steps_have_the_bits_of_the_whole(array_and_whole):
    array, whole = array_and_whole
    rng = np.random.default_rng(1)
    for _ in range(40):
        start, count, step = boxes.random_request(rng, SHAPE)
        key = tuple(slice(b, b + (n - 1) * k + 1, k) for b, n, k in zip(start, count, step, strict=True))
        assert np.array_equal(array[key], whole[key])
    for key in (np.s_[3], np.s_[..., 5], np.s_[7, 8, 9], np.s_[70:, 3:3], np.s_[:, 5, ::9], np.s_[-1], np.s_[::90, ::70, ::65]):
        assert np.array_equal(array[key], whole[key])


def test_every_kind_of_index_of_zarr(array_and_whole):
    array, whole = array_and_whole
    rows, columns = [3, 69, 9, 9], [1, 66]
    assert np.array_equal(array.oindex[rows, :, columns], whole[rows][:, :, columns])
    assert np.array_equal(array.oindex[5, :, columns], whole[5][:, columns])
    assert np.array_equal(array.vindex[rows, rows, rows[::-1]], whole[rows, rows, rows[::-1]])
    mask = np.random.default_rng(2).random(SHAPE) < 1e-4
    assert np.array_equal(array.vindex[mask], whole[mask])
    if array.shards is None:
        assert np.array_equal(array.blocks[1, 0], whole[64:, :64])


def test_a_part_is_read_from_few_bytes(field):
    array, counting, whole = stored(field, {})
    total = array.nbytes_stored()
    for key, share in ((np.s_[20:28, 20:28, 20:28], 0.15), (np.s_[10], 0.3), (np.s_[::4, ::4, ::4], 0.1)):
        counting.bytes_given = 0
        assert np.array_equal(array[key], whole[key])
        assert 0 < counting.bytes_given < share * total, key


def test_inside_shards_chunks_are_decoded_in_part(field, monkeypatch):
    """zarr reads a chunk in a shard as a whole, but not the shard; the codec decodes some of its blocks."""
    from h5stz.zarr import partial

    counts = []

    class Watched(partial.ChunkReader):
        def read(self, *given):
            counts.append(super().read(*given))
            return counts[-1]

    monkeypatch.setattr(partial, "ChunkReader", Watched)
    array, counting, whole = stored(field, {}, shards=(128, 128, 128))
    total = array.nbytes_stored()
    counts.clear()
    counting.bytes_given = 0
    assert np.array_equal(array[20:28, 20:28, 20:28], whole[20:28, 20:28, 20:28])
    ((_, decoded, present),) = counts
    assert decoded < 0.7 * present
    assert counting.bytes_given < total / 2


def test_many_chunks_on_disk_at_once(tmp_path):
    """Readers must not wait in the threads that zarr's store needs to read."""
    field = noisy((96, 96, 96))
    array, _, whole = stored(field, str(tmp_path / "a.zarr"), chunks=(24, 24, 24))
    assert np.array_equal(array[1:-1:2, 3:, 5:90], whole[1:-1:2, 3:, 5:90])


def test_chunks_that_were_changed_are_read_in_part(field):
    array, counting, _ = stored(field, {})
    for size in (2, 40):  # what was written again lies before the rest: its end is in the first bytes, or not
        array[1 : 1 + size, :size, :size] = field[:size, :size, :size]
        whole = array[...]
        counting.bytes_given = 0
        for key in (np.s_[0:6, 0:6, 0:6], np.s_[30:36, 50:60, 2], np.s_[::8, ::8, ::8]):
            assert np.array_equal(array[key], whole[key])
        assert h5stz.info(counting._store._store_dict["c/0/0/0"].to_bytes()).patches or size == 40


@pytest.mark.parametrize("index", [..., np.s_[40:, 40:, 40:]], ids=["whole", "part"])
def test_verification_finds_a_wrong_content_check(index, monkeypatch):
    """Also in the last block of a chunk of which a part is read: H5STZ_VERIFY is asked at each read."""
    from zarr.core.buffer.cpu import Buffer

    shape = (96, 90, 100)
    array, counting, _ = stored(noisy(shape), {}, chunks=shape)
    stream, whole = boxes.volume(shape, "region")
    counting._store._store_dict["c/0/0/0"] = Buffer.from_bytes(with_wrong_check(stream))
    assert np.array_equal(array[index], whole[index])
    monkeypatch.setenv("H5STZ_VERIFY", "1")
    with pytest.raises(h5stz.StzError, match="not those that the writer saw"):
        array[index]


@pytest.mark.parametrize("level", range(5))
def test_levels(field, level):
    import h5stz.zarr

    array, counting, whole = stored(field, {}, block="default")
    spacing = 2**level
    assert np.array_equal(h5stz.zarr.level(array, level), whole[::spacing, ::spacing, ::spacing])
    if level in (1, 2):
        assert counting.bytes_given < array.nbytes_stored() / 2.5**level
    box, plane = np.s_[5:60, 17:, 3:4], np.s_[37, :, 8:]
    assert np.array_equal(
        h5stz.zarr.level(array, level, box), whole[::spacing, ::spacing, ::spacing][tuple(part(one, spacing) for one in box)]
    )
    expected = whole[37 // spacing * spacing, ::spacing, -(-8 // spacing) * spacing :: spacing]
    assert np.array_equal(h5stz.zarr.level(array, level, plane), expected)


def part(axis, spacing):
    """A slice of samples as one of those that a level has."""
    begin, end, _ = axis.indices(10**6)
    return slice(-(-begin // spacing), -(-end // spacing))


def test_levels_of_other_arrays_and_wrong_levels(field):
    import zarr

    import h5stz.zarr

    plain = zarr.array(field, chunks=CHUNKS)
    assert np.array_equal(h5stz.zarr.level(plain, 2), field[::4, ::4, ::4])
    assert h5stz.zarr.level(plain, 2, np.s_[1:3]).shape == (0, 20, 18)
    assert h5stz.zarr.level(plain, 1, (5, 5, 5)) == field[4, 4, 4]
    for wrong in (-1, 64, 1.5):
        with pytest.raises(h5stz.StzError, match="level"):
            h5stz.zarr.level(plain, wrong)
    with pytest.raises(h5stz.StzError, match="steps"):
        h5stz.zarr.level(plain, 1, np.s_[::2])


def printed(program):
    """What a new Python prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("name", "package"), [("Stz", "numcodecs"), ("StzCodec", "zarr")])
def test_a_missing_package_is_named_with_the_extra(name, package):
    program = f"import sys\nsys.modules[{package!r}] = None\nimport h5stz.zarr\nassert {name!r} in dir(h5stz.zarr)\n"
    program += f"try:\n    h5stz.zarr.{name}\nexcept ModuleNotFoundError as error:\n    print(error)"
    assert printed(program) == f"h5stz.zarr.{name} needs the package {package}: pip install 'h5stz[zarr]'\n"


def test_nothing_is_imported_before_it_is_used():
    program = "import sys, h5stz, h5stz.zarr; print([name for name in ('zarr', 'numcodecs') if name in sys.modules])"
    assert printed(program) == "[]\n"


@pytest.mark.parametrize("verify", ["0", "1"])
def test_nothing_is_decoded_on_the_event_loop_of_zarr(field, monkeypatch, verify):
    """One loop serves all reads of a process: what opens, plans and decodes chunks runs beside it."""
    from h5stz.reading.readers import ChunkReader
    from h5stz.sources.file_objects import ChunkBytes

    working, serving = set(), set()

    def noted(function):
        def call(self, *arguments, **options):
            working.add(threading.get_ident())
            return function(self, *arguments, **options)

        return call

    for owner, names in ((ChunkReader, ("read", "ranges", "directory_ranges", "verify")), (ChunkBytes, ("__call__",))):
        for name in names:
            monkeypatch.setattr(owner, name, noted(getattr(owner, name)))
    array, store, whole = stored(field, {})
    get = type(store).get

    async def served(self, *arguments, **options):
        serving.add(threading.get_ident())
        return await get(self, *arguments, **options)

    monkeypatch.setattr(type(store), "get", served)
    monkeypatch.setenv("H5STZ_VERIFY", verify)
    assert np.array_equal(array[60:70, 3:9, 60:66], whole[60:70, 3:9, 60:66])
    assert working and serving and not working & serving
