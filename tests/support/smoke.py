"""The smoke tier: the tests of `./run check` and `pytest --smoke`. They take less than a minute of two processors.

A pull request and a commit hook wait for them. A test belongs here if a mistake in daily work would break it, and if it needs
neither a compiler nor a program of the host.
"""

from support.paths import TESTS

#: Subject -> tests: files of tests/, or functions of one with all their parameters. Tests marked slow stay out.
SMOKE = {
    "formatting and lint": ["tools/test_style.py"],
    "types": ["python/test_typing.py::test_the_package_is_clean[mypy]"],
    "structure": ["tools/test_folders.py", "tools/test_packages.py", "tools/test_links.py"],
    "golden streams": ["stream/test_golden.py", "hdf5/test_golden_files.py::test_h5py_reads_the_same_bits"],
    "the bound": [
        "codec/test_codec_bound.py::test_any_absolute_bound",
        "codec/test_codec_bound.py::test_any_pointwise_relative_bound",
        "codec/test_codec_bound.py::test_lossless_bits_of_every_kind",
        "codec/test_codec_integers.py::test_every_bound_leaves_integers_alone",
        "codec/test_codec_masks.py::test_any_mask",
    ],
    "h5py": [
        "python/test_h5py.py::test_the_bound_holds_for_any_chunks",
        "python/test_h5py.py::test_modes",
        "python/test_h5py.py::test_both_ways_to_give_the_options",
        "python/test_h5py.py::test_a_stored_chunk_is_a_stream",
        "python/test_h5py.py::test_enumerations_and_bool",
        "python/test_h5py.py::test_a_masked_array_and_the_fill_value_of_the_dataset",
        "python/test_h5py.py::test_what_the_filter_cannot_do_fails_when_the_dataset_is_created",
    ],
    "views": [
        "region/test_view.py::test_any_index_gives_the_bits_of_the_whole_array",
        "region/test_view.py::test_a_region_on_a_level_is_what_the_level_has_of_it",
        "region/test_view.py::test_dtypes_are_those_of_h5py",
        "region/test_view.py::test_a_part_costs_less_than_the_whole",
        "region/test_view.py::test_reading_into_an_array",
    ],
    "rewriting": ["hdf5/test_rewriting.py::test_series", "hdf5/test_rewriting.py::test_parts_of_chunks"],
}


def arguments():
    """The tests of the tier as pytest takes them on its command line."""
    return [str(TESTS / test) for tests in SMOKE.values() for test in tests]
