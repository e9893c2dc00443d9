"""h5stz.view of virtual datasets: the bits that HDF5 gives, each source read in part where it can be."""

import os
import tempfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import h5stz
from support.region_files import agrees, opened, overwrite, same, smooth, write

STEP = (70, 90)  # shape of a source
OPTIONS = {"absolute": 1e-3, "block": "region"}


def sources(directory, count, dtype="f4", chunks=(64, 64)):
    """So many files with a dataset "x" of shape STEP: their names."""
    return [write(directory / f"{i}.h5", smooth(STEP, dtype, i), chunks, OPTIONS).name for i in range(count)]


def virtual(directory, shape, parts, dtype="f4", **more):
    """A file with the virtual dataset "x": `parts` are (index in it, file name, shape of the source, index in the source)."""
    layout = h5py.VirtualLayout(shape, dtype)
    for index, name, source_shape, source_index in parts:
        layout[index] = h5py.VirtualSource(name, "x", source_shape)[source_index]
    with h5py.File(directory / "virtual.h5", "w") as file:
        file.create_virtual_dataset("x", layout, **more)
    return directory / "virtual.h5"


def stacked(directory, count, **more):
    """Sources along a new axis, of which the last but one has no file."""
    names = sources(directory, count)
    parts = [(i, name, STEP, ...) for i, name in enumerate(names)]
    if count > 2:
        (directory / names[-2]).unlink()
    return virtual(directory, (count, *STEP), parts, **more)


def test_sources_are_read_in_part(tmp_path):
    with opened(stacked(tmp_path, 2)) as dataset:
        view = h5stz.view(dataset)
        assert view.fallback_reason is None and view.chunks is None and "virtual" in repr(view)
        full = dataset[...]
        assert same(full[1, 3:9, 4], view[1, 3:9, 4])
        assert 0 < view.stats.bytes_read < view.stats.bytes_touched_chunks
        assert view.stats.fallback_chunks == 0
        assert agrees(view, full).fallback_chunks == 0
        assert same(full[:, ::4, ::4], view.level(2, axes=(1, 2))[...])
        levels = [level for level, _ in h5stz.view(dataset).refine()]
        assert len(levels) > 2 and levels == sorted(levels, reverse=True)


def test_hdf5_finds_the_sources_that_a_view_has_open(tmp_path):
    with opened(stacked(tmp_path, 4)) as dataset:
        view = h5stz.view(dataset)
        first = view[...]
        assert first[0].any() and first[3].any() and not first[2].any()
        assert same(dataset[...], first)


def test_the_whole_cache_is_one(tmp_path):
    with opened(stacked(tmp_path, 6)) as dataset:
        view = h5stz.view(dataset, cache_bytes=60_000)
        decoded = []
        for _ in range(2):
            for step in (0, 1, 2, 3, 5):
                view[step, 3:60]
                assert view._reader._readers.kept_bytes <= 60_000
            decoded.append(view.stats.blocks_decoded)
        assert decoded[1] > decoded[0], "not all of it was kept"
        kept = h5stz.view(dataset)
        kept[:4]
        decoded = kept.stats.blocks_decoded
        kept[:4]
        assert kept.stats.blocks_decoded == decoded > 0


@pytest.mark.parametrize("fillvalue", [None, 7.5, np.nan])
def test_missing_sources_and_gaps_are_the_fill_value(tmp_path, fillvalue):
    names = sources(tmp_path, 3)
    (tmp_path / names[1]).unlink()
    parts = [(np.s_[i, 5:75, :90], name, STEP, ...) for i, name in enumerate(names)]
    more = {} if fillvalue is None else {"fillvalue": fillvalue}
    with opened(virtual(tmp_path, (4, 80, 100), parts, **more)) as dataset:
        full, view = dataset[...], h5stz.view(dataset)
        assert np.array_equal(full[1], np.full((80, 100), fillvalue or 0, "f4"), equal_nan=True)
        assert agrees(view, full).fallback_chunks == 1, "only of the missing one nothing can be said without HDF5"
        out = np.empty((4, 40, 50), "f4")
        assert same(full[:, ::2, ::2], view.level(1, axes=(1, 2)).read(..., out=out))


@given(data=st.data())
def test_any_boxes_in_any_places(data):
    """Boxes of sources on a grid of places, some left out, some turned into lines and planes; any index into that."""
    shape = (3, 40, 50)
    with tempfile.TemporaryDirectory() as directory:
        parts = []
        for i in range(3):
            for j in range(2):
                if not data.draw(st.booleans(), label="mapped"):
                    continue
                size = [data.draw(st.integers(1, 20)), data.draw(st.integers(1, 50))]
                at = [j * 20 + data.draw(st.integers(0, 20 - size[0])), data.draw(st.integers(0, 50 - size[1]))]
                of = [data.draw(st.integers(0, extent - n)) for extent, n in zip(STEP, size, strict=True)]
                name = f"{i}.h5"
                if not Path(directory, name).exists():
                    write(Path(directory, name), smooth(STEP, "f4", i), (64, 32), OPTIONS)
                place, taken = (tuple(slice(a, a + n) for a, n in zip(x, size, strict=True)) for x in (at, of))
                parts.append(((slice(i, i + 1) if data.draw(st.booleans()) else i, *place), name, STEP, taken))
        with opened(virtual(Path(directory), shape, parts, fillvalue=-1)) as dataset:
            full, view = dataset[...], h5stz.view(dataset)
            for _ in range(4):
                index = data.draw(npst.basic_indices(shape, allow_newaxis=False))
                wanted = full[index]
                assert same(wanted if wanted.ndim else wanted[()], view[index]), index
            if dataset.is_virtual:  # h5py up to 3.12 makes another one of no mappings
                assert view.fallback_reason is None and view.stats.fallback_chunks == 0


def everything_through_h5py(path, reason):
    with opened(path) as dataset:
        view = h5stz.view(dataset)
        assert reason in view.fallback_reason
        assert agrees(view, dataset[...]).fallback_chunks == 1


def test_mappings_with_steps(tmp_path):
    names = sources(tmp_path, 2)
    everything_through_h5py(
        virtual(tmp_path, (140, 90), [(np.s_[i::2], n, STEP, ...) for i, n in enumerate(names)]), "not a box"
    )
    # Steps in the source alone are left to HDF5 where they are.
    parts = [(np.s_[:35], names[0], STEP, np.s_[::2]), (np.s_[35:105], names[1], STEP, ...)]
    with opened(virtual(tmp_path, (105, 90), parts)) as dataset:
        full, view = dataset[...], h5stz.view(dataset)
        assert same(full[40:50], view[40:50]) and view.stats.fallback_chunks == 0
        assert same(full[30:50, ::3], view[30:50, ::3]) and view.stats.fallback_chunks == 1
        assert agrees(view, full).fallback_chunks == 1


def test_mappings_without_an_end_and_names_by_number(tmp_path):
    sources(tmp_path, 3)
    shape, unlimited = (3, *STEP), h5py.h5s.UNLIMITED
    with h5py.File(tmp_path / "pattern.h5", "w", libver="latest") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        space = h5py.h5s.create_simple(shape, (unlimited, *STEP))
        space.select_hyperslab((0, 0, 0), (unlimited, 1, 1), (1, 1, 1), (1, *STEP))
        properties.set_virtual(space, b"%b.h5", b"x", h5py.h5s.create_simple(STEP))
        whole = h5py.h5s.create_simple(shape, (unlimited, *STEP))
        h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F32LE, whole, properties)
    everything_through_h5py(tmp_path / "pattern.h5", "no end")


def test_another_type_is_converted_by_hdf5(tmp_path):
    names = [sources(tmp_path, 1)[0], write(tmp_path / "wide.h5", smooth(STEP, ">f8"), (64, 64), OPTIONS).name]
    parts = [(i, name, STEP, ...) for i, name in enumerate(names)]
    with opened(virtual(tmp_path, (2, *STEP), parts)) as dataset:
        full, view = dataset[...], h5stz.view(dataset)
        assert full[1].any() and agrees(view, full).fallback_chunks == 1
        assert same(full[0], h5stz.view(dataset)[0])


def test_a_source_that_is_larger_than_the_mapping_says(tmp_path):
    name = sources(tmp_path, 1)[0]
    with opened(virtual(tmp_path, (50, 80), [(..., name, (60, 80), np.s_[5:55])])) as dataset:
        assert agrees(h5stz.view(dataset), dataset[...]).fallback_chunks == 0


def test_all_of_a_source_that_is_smaller_than_the_mapping_says(tmp_path):
    """HDF5 has its own answer to that, an error or the fill value."""
    name = sources(tmp_path, 1)[0]
    with opened(virtual(tmp_path, (100, 90), [(..., name, (100, 90), ...)], fillvalue=3)) as dataset:
        try:
            full = dataset[...]
        except OSError:
            with pytest.raises(OSError):
                h5stz.view(dataset)[...]
        else:
            assert same(full, h5stz.view(dataset)[...])


def test_sources_in_the_same_file_and_by_absolute_name(tmp_path):
    names = sources(tmp_path, 1)
    with h5py.File(tmp_path / "both.h5", "w") as file:
        own = file.create_dataset("own", data=smooth(STEP, "f4", 8), chunks=(64, 64), **h5stz.STZ(**OPTIONS))
        layout = h5py.VirtualLayout((2, *STEP), "f4")
        layout[0], layout[1] = h5py.VirtualSource(own), h5py.VirtualSource(tmp_path / names[0], "x", STEP)
        file.create_virtual_dataset("x", layout)
    with opened(tmp_path / "both.h5") as dataset:
        assert agrees(h5stz.view(dataset), dataset[...]).fallback_chunks == 0


def test_a_virtual_dataset_of_virtual_datasets(tmp_path):
    inner = stacked(tmp_path, 2).rename(tmp_path / "inner.h5")
    with opened(virtual(tmp_path, (2, *STEP), [(..., inner.name, (2, *STEP), ...)])) as dataset:
        assert agrees(h5stz.view(dataset), dataset[...]).fallback_chunks == 1


def test_where_hdf5_looks_elsewhere(tmp_path, monkeypatch):
    """Sources in the working directory, which HDF5 tries after that of the virtual dataset, and under a prefix."""
    path = stacked(tmp_path, 2)
    (tmp_path / "deep").mkdir()
    moved = path.rename(tmp_path / "deep" / path.name)
    monkeypatch.chdir(tmp_path)
    with opened(moved) as dataset:
        full, view = dataset[...], h5stz.view(dataset)
        assert full[1].any() and agrees(view, full).fallback_chunks == 2
    monkeypatch.chdir("/")
    monkeypatch.setenv("HDF5_VDS_PREFIX", os.fspath(tmp_path))
    everything_through_h5py(moved, "prefix")


def test_more_sources_than_are_kept_open(tmp_path):
    small = (8, 8)
    for i in range(40):
        write(tmp_path / f"{i}.h5", np.full(small, i, "f4"), small)
    parts = [(np.s_[8 * i : 8 * i + 8], f"{i}.h5", small, ...) for i in range(40)]
    with opened(virtual(tmp_path, (320, 8), parts)) as dataset:
        full, view = dataset[...], h5stz.view(dataset)
        for _ in range(2):
            assert same(full, view[...])
        assert len(view._reader._sources) == 32 and view.stats.fallback_chunks == 0


def test_sources_without_the_filter_and_damaged_ones(tmp_path):
    names = sources(tmp_path, 2)
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["x"] = smooth(STEP, "f4", 5)
    parts = [(i, name, STEP, ...) for i, name in enumerate([names[0], "plain.h5", names[1]])]
    path = virtual(tmp_path, (3, *STEP), parts)
    with opened(path) as dataset:
        assert agrees(h5stz.view(dataset), dataset[...]).fallback_chunks == 1
    with opened(tmp_path / names[1]) as dataset:
        info = dataset.id.get_chunk_info(0)
    overwrite(tmp_path / names[1], info.byte_offset + info.size // 2, b"\xff" * 40)
    with opened(path) as dataset:
        view = h5stz.view(dataset)
        assert view[:2].any()
        with pytest.raises(h5stz.StzError, match=r"chunk at \(0, 0\) of /x in .*1\.h5"):
            view[2]


def test_a_virtual_dataset_in_a_file_that_is_written(tmp_path):
    with opened(stacked(tmp_path, 2), "r+") as dataset:
        view = h5stz.view(dataset)
        assert "may change" in view.fallback_reason
        dataset[0, 3] = 5
        assert same(dataset[:, :9], view[:, :9])


def test_sources_are_closed_with_the_view(tmp_path):
    path = stacked(tmp_path, 2)
    with opened(path) as dataset:
        view = h5stz.view(dataset)
        view[:, 3]
        del view
    with h5py.File(tmp_path / "0.h5", "r+") as file:
        file["x"][3, 4] = 9


def test_a_virtual_dataset_without_mappings(tmp_path):
    with opened(virtual(tmp_path, (30, 20), [], fillvalue=2)) as dataset:
        agrees(h5stz.view(dataset), np.full((30, 20), 2, "f4"))
