"""Every option of the table of the core is known to all that take options; a new row is found everywhere, or a test fails."""

import dataclasses
import inspect
import pickle

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import _core
from h5stz.options.option_checks import ONE_IS_THE_DEFAULT
from h5stz.options.stz import Options
from h5stz.xarray import writing
from h5stz.zarr.codec_options import CodecOptions

#: Of zarr's codecs: chunks do not grow there, and learn nothing.
NOT_IN_ZARR = {"append_axis", "learn"}


def given(name):
    """All values that users can give for an option, but for the default."""
    if name in _core.CHOICES:
        return [value for value, number in _core.CHOICES[name].items() if number]
    least, most, _ = _core.COUNTS[name]
    return [value for value in {least, most} if value != 1 or name not in ONE_IS_THE_DEFAULT]


CASES = [(name, value) for name in _core.OPTIONS for value in given(name)]


@pytest.mark.parametrize(("name", "value"), CASES)
def test_an_option_survives_every_way_to_write_it(name, value):
    options = h5stz.STZ(absolute=0.5, **{name: value})
    assert options.get_config() == {"absolute": 0.5, name: value}
    assert h5stz.STZ(**options.get_config()) == options
    assert h5stz.STZ.from_string(str(options)) == options
    assert h5stz.STZ.from_filter_options(options.filter_options) == options
    settings = options.resolved.settings
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert settings != settings.replace(**{name: 0})
    assert settings.replace(**{name: 0}) == h5stz.STZ(absolute=0.5).resolved.settings


@pytest.mark.parametrize(("name", "value"), CASES)
def test_a_dataset_keeps_an_option(name, value, tmp_path):
    array = np.arange(24, dtype="f4").reshape((2,) * 3 + (3,) + (1,) * 27)  # 31 axes: the last one has the number 30
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = file.create_dataset("x", data=array, chunks=array.shape, **h5stz.STZ(absolute=0.5, **{name: value}))
        assert h5stz.STZ.from_dataset(dataset) == h5stz.STZ(absolute=0.5, **{name: value})


@pytest.mark.parametrize("name", _core.OPTIONS)
def test_an_option_is_known_wherever_options_are_given(name):
    assert name in inspect.signature(h5stz.STZ).parameters
    assert name in Options.__annotations__
    assert name in writing._OTHERS
    assert (name in {field.name for field in dataclasses.fields(CodecOptions)}) == (name not in NOT_IN_ZARR)


@pytest.mark.parametrize("name", _core.OPTIONS)
def test_a_value_beyond_the_table_is_refused_by_python_and_by_the_core(name):
    beyond = max(_core.CHOICES[name].values()) + 1 if name in _core.CHOICES else sum(_core.COUNTS[name][1:]) + 1
    with pytest.raises(ValueError, match=name):
        h5stz.STZ(absolute=0.5, **{name: f"{beyond}" if name in _core.CHOICES else beyond})
    with pytest.raises(h5stz.StzError, match=f"{name}={beyond}"):
        h5stz.STZ(f"absolute=0.5,{name}={beyond}")
    with pytest.raises(h5stz.StzError, match=name):
        _core.Options(_core.MODES["absolute"], 0.5, **{name: beyond}).pack()


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="nothing"):
        _core.Options(_core.MODES["absolute"], 0.5, nothing=1)
    with pytest.raises(AttributeError, match="nothing"):
        getattr(_core.Options(_core.MODES["absolute"], 0.5), "nothing")  # noqa: B009 (the name is none that a checker knows)
