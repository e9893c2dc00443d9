"""Options are given by keyword: signatures list them, and a call that does not fit names the option that was meant."""

import inspect
import typing

import numpy as np
import pytest

import h5stz

ARRAY = np.zeros((4, 4), "f4")
STREAM = h5stz.compress(ARRAY, lossless=True)
OPTIONS = {
    *(
        "absolute",
        "relative",
        "psnr",
        "ratio",
        "pointwise_relative",
        "lossless",
        "data",
        "chunks",
        "dtype",
        "fill_value",
        "block",
    ),
    *(
        "threads",
        "effort",
        "layers",
        "layer_bounds",
        "enhance",
        "append_axis",
        "content_check",
        "integers",
        "check",
        "learn",
        "keep_zeros",
        "keep_range",
        "valid_range",
        "favour",
    ),
}


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: h5stz.STZ(absolut=1e-3), "'absolut': did you mean absolute="),
        (lambda: h5stz.STZ(Relative=1e-3), "did you mean relative="),
        (lambda: h5stz.STZ(abs=1e-3), "did you mean absolute="),
        (lambda: h5stz.STZ(accuracy=1e-3), "did you mean absolute="),
        (lambda: h5stz.STZ(peak_signal_to_noise_ratio=60), "did you mean psnr="),
        (lambda: h5stz.STZ(absolute=1e-3, fillvalue=0), "did you mean fill_value="),
        (lambda: h5stz.STZ(colour=1), "'colour': the options are absolute, relative"),
        (lambda: h5stz.compress(np.ones(9), "absolute=1e-3,block=region"), r"compress\(array, absolute=1e-3, block=region\)"),
        (lambda: h5stz.STZ(1e-3), r"STZ takes keyword options only: did you mean STZ\(absolute=0.001\)"),
        (lambda: h5stz.STZ("relative", 1e-3), r"did you mean STZ\(relative=0.001\)"),
        (lambda: h5stz.STZ(ARRAY, relative=1e-3), r"did you mean STZ\(data=...\)"),
        (lambda: h5stz.STZ.from_filter_options((101, 0), "f4"), r"from_filter_options\(filter_options, dtype='f4'\)"),
        (lambda: h5stz.cd_values(1e-3), r"cd_values\(absolute=0.001\)"),
        (lambda: h5stz.cd_values(absolut=1e-3), r"cd_values\(\) has no option 'absolut': did you mean absolute="),
        (
            lambda: h5stz.compress(ARRAY, 1e-3),
            r"keyword options only after array: did you mean compress\(array, absolute=0.001\)",
        ),
        (lambda: h5stz.compress(ARRAY, treads=2, lossless=True), r"compress\(\) has no option 'treads': did you mean threads="),
        (lambda: h5stz.compress(), "missing a required argument: 'array'"),
        (lambda: h5stz.decompress(STREAM, ARRAY), r"decompress\(stream, out=...\)"),
        (lambda: h5stz.decompress(STREAM, maxbytes=9), "did you mean max_bytes="),
        (lambda: h5stz.info(STREAM, threads=1), "info"),
        (lambda: h5stz.view(None, 1 << 20), r"view\(dataset, cache_bytes=1048576\)"),
        (lambda: h5stz.view(None, cache=1), "did you mean cache_bytes="),
        (lambda: h5stz.partial_reads(1 << 20), r"partial_reads\(cache_bytes=1048576\)"),
        (lambda: h5stz.partial_reads(thread=1), "did you mean threads="),
        (lambda: h5stz.suggest_chunks((4, 4), "f4", target=1 << 20), "did you mean target_bytes="),
    ],
)
def test_a_call_that_does_not_fit_names_what_was_meant(call, meant):
    with pytest.raises(TypeError, match=meant):
        call()


@pytest.mark.parametrize("function", [h5stz.STZ, h5stz.compress, h5stz.cd_values], ids=["STZ", "compress", "cd_values"])
def test_signatures_list_the_options(function):
    parameters = inspect.signature(function).parameters.values()
    assert {one.name for one in parameters if one.kind is one.KEYWORD_ONLY} == OPTIONS
    assert not [one for one in parameters if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    assert [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY] in (["text"], [], ["array"])


def test_the_table_of_options_is_that_of_stz():
    hints = typing.get_type_hints(h5stz.STZ.__init__)
    del hints["return"], hints["text"]
    assert typing.get_type_hints(h5stz.Options) == hints
    assert set(hints) == OPTIONS


@pytest.mark.parametrize("function", [h5stz.view, h5stz.decompress, h5stz.partial_reads])
def test_docstrings_and_names_stay(function):
    assert function.__doc__ and function.__module__.startswith("h5stz.")
    assert inspect.signature(function).parameters["threads"].kind is inspect.Parameter.KEYWORD_ONLY


def test_an_error_of_the_type_of_an_argument_stays_what_it_is():
    for wrong in ({"absolute": "1e-3"}, {"lossless": 1}, {"lossless": True, "threads": "two"}):
        with pytest.raises(h5stz.StzTypeError, match=next(reversed(wrong))):
            h5stz.STZ(**wrong)


def test_arrays_may_be_given_by_name():
    assert h5stz.compress(array=ARRAY, lossless=True) == STREAM
    assert np.array_equal(h5stz.decompress(stream=STREAM), ARRAY)
