"""Options as text (filter/api/option_text.cpp): what is read, what is written, and the key that an error names."""

import ctypes
import locale

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz
from h5stz import _core
from support import host_tools
from support.host_tools import ABSOLUTE, LOSSLESS, POINTWISE, Options

library = ctypes.CDLL(host_tools.plugin_file())
YES, NO = ("yes", "true", "True", "on", "1"), ("no", "false", "False", "off", "0")


def parse(text, dtype=0):
    """(error, message, options, dtype)"""
    options, kind, message = Options(), ctypes.c_int32(dtype), ctypes.create_string_buffer(640)
    arguments = text.encode(), ctypes.byref(kind), ctypes.byref(options), message, ctypes.c_size_t(640)
    error = library.stz_options_parse_text(*arguments)
    return error, message.value.decode(), options, kind.value


def show(options, dtype=0, capacity=300):
    """(error, text, length)"""
    text, length = ctypes.create_string_buffer(300), ctypes.c_size_t(99)
    arguments = ctypes.byref(options), ctypes.c_int32(dtype), text, ctypes.c_size_t(capacity), ctypes.byref(length)
    error = library.stz_options_print_text(*arguments, None, ctypes.c_size_t(0))
    return error, text.value.decode(), length.value


def values(options):
    return {name: getattr(options, name) for name, _ in options._fields_ if name != "struct_size" and getattr(options, name)}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("lossless", {}),
        ("lossless=1", {}),
        ("lossless:true", {}),
        ("absolute=1e-3", {"mode": ABSOLUTE, "bound": 1e-3}),
        ("absolute=+.5", {"mode": ABSOLUTE, "bound": 0.5}),
        ("absolute:0", {"mode": ABSOLUTE}),
        (" absolute = 2 ,\tblock = region\n", {"mode": ABSOLUTE, "bound": 2, "block": 1}),
        ("block=region,pointwise_relative=1e-4", {"mode": POINTWISE, "bound": 1e-4, "block": 1}),
        ("absolute=0.1,append_axis=0", {"mode": ABSOLUTE, "bound": 0.1, "append_axis": 1}),
        ("append_axis=30,absolute=0.1", {"mode": ABSOLUTE, "bound": 0.1, "append_axis": 31}),
        ("absolute=3,integers=lossy", {"mode": ABSOLUTE, "bound": 3, "integers": 1}),
        ("absolute=3,content_check=no", {"mode": ABSOLUTE, "bound": 3, "content_check": 1}),
        ("absolute=3,content_check=yes", {"mode": ABSOLUTE, "bound": 3, "content_check": 2}),
        ("absolute=3,check=yes", {"mode": ABSOLUTE, "bound": 3, "check": 1}),
        ("absolute=3,check=no", {"mode": ABSOLUTE, "bound": 3}),
        *((f"lossless,keep_zeros={word},learn={word}", {"keep_zeros": 1}) for word in YES),
        *((f"lossless,keep_zeros={word},learn={word}", {"learn": 1}) for word in NO),
        *((f"lossless={word},content_check={word}", {"content_check": 2}) for word in YES),
        *((f"lossless,content_check={word}", {"content_check": 1}) for word in NO),
        ("lossless,threads=255,effort=9,layers=1", {"threads": 255, "effort": 9, "layers": 1}),
        ("lossless,block=default,integers=lossless", {}),
        ("absolute=1,fill_value=-1,dtype=i2", {"mode": ABSOLUTE, "bound": 1, "has_fill": 1, "fill": 0xFFFF}),
        ("dtype=>u8,lossless,fill_value=18446744073709551615", {"has_fill": 1, "fill": 2**64 - 1}),
        ("dtype=<i8,lossless,fill_value=-9223372036854775808", {"has_fill": 1, "fill": 2**63}),
        ("dtype=i4,lossless,fill_value=-1e3", {"has_fill": 1, "fill": 2**32 - 1000}),
        ("lossless,fill_value=0,dtype=f4", {"has_fill": 1}),
        ("lossless,fill_value=nan,dtype=f4", {}),
    ],
)
def test_what_text_means(text, wanted):
    error, message, options, _ = parse(text)
    assert (error, message) == (0, "")
    assert values(options) == wanted


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@given(number=st.floats(-6e4, 6e4) | st.sampled_from([-9999.0, 1e-8, 0.1, 65504, 5.96e-8, 2.98e-8]))
def test_fill_values_are_rounded_once(dtype, number):
    _, message, options, _ = parse(f"lossless,dtype={dtype},fill_value={number!r}")
    assert message == "" and options.fill == host_tools.bits(np.array(number).astype(dtype))


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", "OPTION", "'' is not an option: the options are absolute,"),
        ("absolute=1,", "OPTION", "'' is not an option"),
        ("absolut=1", "OPTION", "'absolut' is not an option: did you mean absolute?"),
        ("Absolute=1", "OPTION", "'Absolute' is not an option: did you mean absolute?"),
        ("absolute=1,favor=size", "OPTION", "'favor' is not an option: did you mean favour?"),
        ("absolute=1,keepzeros=yes", "OPTION", "'keepzeros' is not an option: did you mean keep_zeros?"),
        ("rel=1", "OPTION", "'rel' is not an option: did you mean relative?"),
        ("absolute=1,colour=red", "OPTION", "'colour' is not an option: the options are absolute,"),
        ("absolute", "BOUND", "absolute=: it must be a finite number"),
        ("absolute=1e-3x", "BOUND", "absolute=1e-3x"),
        ("absolute=0x1p3", "BOUND", "absolute=0x1p3"),
        ("absolute=1e400", "BOUND", "absolute=1e400"),
        ("absolute=nan", "BOUND", "absolute=nan"),
        ("absolute=-1", "BOUND", "absolute=-1"),
        ("absolute=1%", "BOUND", "absolute=1%: it must be a number in the units of the data, not a percentage"),
        ("pointwise_relative=1%", "BOUND", "pointwise_relative=1%: it must be a number, not a percentage: 1% is 0.01"),
        ("absolute=+-1", "BOUND", "absolute=+-1"),
        ("pointwise_relative=inf", "BOUND", "pointwise_relative=inf"),
        ("block=region", "MODE", "no bound is given"),
        ("absolute=1,lossless", "MODE", "two bounds are given"),
        ("absolute=1,absolute=1", "OPTION", "absolute=1: it is given twice"),
        ("lossless=0", "MODE", "lossless=0: write lossless alone"),
        ("relative=1e-3", "MODE", "relative=1e-3: it depends on the whole dataset"),
        ("psnr=60", "MODE", "psnr=60: it depends on the whole dataset"),
        ("lossless,block=small", "OPTION", "block=small: it must be default, region or throughput"),
        ("lossless,integers=1", "OPTION", "integers=1: it must be lossless or lossy"),
        ("ratio=10", "MODE", "ratio=10: it depends on the whole dataset"),
        ("lossless,content_check=2", "OPTION", "content_check=2: it must be no or yes"),
        ("lossless,keep_zeros", "OPTION", "keep_zeros=: it must be no or yes"),
        ("lossless,integers=yes", "OPTION", "integers=yes: it must be lossless or lossy"),
        ("lossless,threads=0", "OPTION", "threads=0: it must be an integer from 1 to 255"),
        ("lossless,threads=256", "OPTION", "threads=256"),
        ("lossless,threads=1.5", "OPTION", "threads=1.5"),
        ("lossless,effort=10", "OPTION", "effort=10"),
        ("lossless,layers=8", "OPTION", "layers=8"),
        ("lossless,append_axis=-1", "OPTION", "append_axis=-1: it must be an integer from 0 to 30"),
        ("lossless,append_axis=31", "OPTION", "append_axis=31"),
        ("lossless,append_axis=99999999999999999999", "OPTION", "append_axis=9999"),
        ("lossless,dtype=i3", "DTYPE", "dtype=i3"),
        ("lossless,dtype=", "DTYPE", "dtype="),
        ("lossless,fill_value=", "OPTION", "fill_value=: it needs a number"),
        ("lossless,fill_value=3", "OPTION", "fill_value=3: its bits depend on the type"),
        ("lossless,fill_value=3,dtype=c8", "OPTION", "mark missing samples with NaN"),
        ("lossless,fill_value=128,dtype=i1", "OPTION", "fill_value=128: it is not a number that the type can hold"),
        ("lossless,fill_value=-1,dtype=u8", "OPTION", "fill_value=-1"),
        ("lossless,fill_value=1.5,dtype=i4", "OPTION", "fill_value=1.5"),
        ("lossless,fill_value=9.3e18,dtype=i8", "OPTION", "fill_value=9.3e18"),
        ("lossless,fill_value=65520,dtype=f2", "OPTION", "fill_value=65520"),
        ("lossless,fill_value=1e39,dtype=f4", "OPTION", "fill_value=1e39"),
        ("lossless," + "x" * 3000, "OPTION", "x" * 60 + "' is not an option"),
    ],
)
def test_errors_name_the_key(text, code, said):
    error, message, _, _ = parse(text)
    assert error == _core.ERROR_CODES[f"STZ_ERROR_{code}"] and said in message, message


def test_the_type_of_the_dataset():
    f4, f8 = _core.DTYPES["f4"], _core.DTYPES["f8"]
    assert parse("lossless,fill_value=1", f4)[2].fill == 0x3F800000
    assert parse("lossless,dtype=f4")[3] == f4 == parse("lossless,dtype=f4", f4)[3] == parse("lossless", f4)[3]
    error, message, _, kind = parse("lossless,dtype=f4", f8)
    assert (error, kind) == (_core.ERROR_CODES["STZ_ERROR_DTYPE"], f8) and "the dataset has another type" in message


def option_sets():
    counts = {"threads": st.integers(0, 255), "effort": st.integers(0, 9), "layers": st.integers(0, 7)}
    return st.builds(
        Options,
        mode=st.sampled_from([LOSSLESS, ABSOLUTE, POINTWISE]),
        bound=st.floats(0, allow_infinity=False, allow_nan=False),
        block=st.integers(0, 1),
        append_axis=st.integers(0, 31),
        integers=st.integers(0, 1),
        content_check=st.integers(0, 2),
        check=st.integers(0, 1),
        keep_range=st.integers(0, 1),
        keep_zeros=st.integers(0, 1),
        favour=st.integers(0, 2),
        valid_high=st.sampled_from([0, 1e-3, np.inf]),
        **counts,
    )


@given(options=option_sets(), dtype=st.sampled_from([*_core.DTYPES][:11]), fill=st.none() | st.integers(0, 2**64 - 1))
def test_what_is_written_is_read_as_the_same_options(options, dtype, fill):
    code, width = _core.DTYPES[dtype], int(dtype[1:])
    if options.mode == LOSSLESS:
        options.bound = 0.0
    if fill is not None:
        fill &= 2 ** (8 * width) - 1
        if dtype[0] == "f" and not np.isfinite(np.array(fill, f"u{width}").view(dtype)):
            return
        options.has_fill, options.fill = 1, fill
    error, text, length = show(options, code)
    assert (error, len(text)) == (0, length)
    error, message, again, _ = parse(text)
    assert (error, values(again)) == (0, values(options)), message
    assert _core.parse_text(text, 0)[0]["bound"] == options.bound


def test_what_cannot_be_written():
    for options, dtype in [
        (Options(has_fill=1, fill=1), 0),
        (Options(has_fill=1, fill=1), _core.DTYPES["c8"]),
        (Options(has_fill=1, fill=0x7FC00000), _core.DTYPES["f4"]),
        (Options(bound_used=1), 0),
        (Options(mode=ABSOLUTE, bound=1.0, prior_bound=1.0), 0),
        (Options(mode=ABSOLUTE, bound=-1.0), 0),
        (Options(block=3), 0),
        (Options(threads=-1), 0),
    ]:
        error, text, _ = show(options, dtype)
        assert error < 0 and text == ""


def test_the_capacity_of_the_output():
    options = Options(mode=ABSOLUTE, bound=0.25)
    assert show(options, capacity=14) == (0, "absolute=0.25", 13)
    assert show(options, capacity=13) == (_core.ERROR_CODES["STZ_ERROR_CAPACITY"], "", 13)


def test_null_pointers_and_sizes():
    options, size = Options(), ctypes.c_size_t(0)
    argument = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
    assert library.stz_options_parse_text(None, None, ctypes.byref(options), None, size) == argument
    assert library.stz_options_parse_text(b"lossless", None, None, None, size) == argument
    assert library.stz_options_parse_text(b"lossless", None, ctypes.byref(options), None, size) == 0
    assert library.stz_options_print_text(ctypes.byref(options), 0, None, size, None, None, size) == argument
    options.struct_size = 8
    assert library.stz_options_parse_text(b"lossless", None, ctypes.byref(options), None, size) == argument


def test_a_locale_with_a_decimal_comma_changes_nothing():
    before = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
        except locale.Error:
            continue
        try:
            assert parse("absolute=0.25,block=region")[2].bound == 0.25
            assert show(Options(mode=ABSOLUTE, bound=0.25))[1] == "absolute=0.25"
        finally:
            locale.setlocale(locale.LC_NUMERIC, before)


@given(text=st.text(alphabet="absolute=1e-3,:fill_value dtype ioks\x00é", max_size=60))
def test_any_text_is_understood_or_refused(text):
    if "\0" in text:
        return
    error, message, options, _ = parse(text)
    assert (error == 0) == (message == "")
    if error == 0:
        assert show(options, _core.DTYPES["f4"])[0] == 0


# ---------------------------------------------------------------- the same text in Python


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("absolute=0.001,block=region", {"absolute": 1e-3, "block": "region"}),
        ("absolute=0.001,append_axis=0", {"absolute": 1e-3, "append_axis": 0}),
        ("pointwise_relative=0.5,threads=3,effort=2", {"pointwise_relative": 0.5, "threads": 3, "effort": 2}),
        ("absolute=2,integers=lossy", {"absolute": 2, "integers": "lossy"}),
        ("absolute=2,content_check=no", {"absolute": 2, "content_check": False}),
        ("lossless,content_check=yes", {"lossless": True, "content_check": True}),
        ("absolute=2,check=yes", {"absolute": 2, "check": True}),
        ("absolute=2,fill_value=-9999,dtype=f4", {"absolute": 2, "fill_value": -9999, "dtype": "f4"}),
        ("lossless", {"lossless": True}),
    ],
)
def test_text_is_the_repr_of_the_options(text, options):
    made = h5stz.STZ(**options)
    assert str(made) == text and repr(made) == f"h5stz.STZ({text!r})"
    for again in (h5stz.STZ(text), h5stz.STZ.from_string(text), h5stz.STZ(text.replace("=", ":"))):
        assert again == made and again.bound == made.bound and again.get_config() == made.get_config()


def test_a_bound_that_data_gave_is_written_as_what_it_became():
    data = np.linspace(0, 1, 500, dtype="f4")
    options = h5stz.STZ(relative=1e-3, data=data)
    assert repr(options) == f"h5stz.STZ('absolute={options.bound!r}')" and h5stz.STZ(str(options)) == options


def test_integers_are_exact_in_text_too():
    assert h5stz.STZ("absolute=2,dtype=i4") == h5stz.STZ(lossless=True)
    assert h5stz.STZ.from_string("absolute=2", dtype="i4").bound == 0
    assert h5stz.STZ("absolute=2,dtype=i4,integers=lossy").bound == 2


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: h5stz.STZ("absolute=x"), h5stz.StzError, "absolute=x"),
        (lambda: h5stz.STZ("absolute=1\0"), h5stz.StzError, "character 0"),
        (lambda: h5stz.STZ("pointwise_relative=2"), h5stz.StzError, "below 1"),
        (lambda: h5stz.STZ("pointwise_relative=0.1,dtype=i4,integers=lossy"), h5stz.StzError, "use absolute="),
        (lambda: h5stz.STZ("absolute=1", block="region"), h5stz.StzError, "block= beside a text"),
        (lambda: h5stz.STZ("absolute=1", absolute=1), h5stz.StzError, "absolute= beside a text"),
        (lambda: h5stz.STZ("absolute=1", data=np.zeros(3)), h5stz.StzError, "data= beside a text .* as keywords"),
        (lambda: h5stz.STZ.from_string(1e-3), TypeError, "float"),
        (lambda: h5stz.STZ("pointwise_relative=1e-3,enhance=both"), h5stz.StzError, "enhance= needs an absolute bound"),
    ],
)
def test_what_is_wrong_in_python(call, error, said):
    with pytest.raises(error, match=said):
        call()
