"""STZ from the client data of a dataset, and configurations as dicts, as in hdf5plugin."""

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import _core
from support.requirements import needs_packages

DATA = np.linspace(0, 1, 24 * 30, dtype="f4").reshape(24, 30)

CONFIGURATIONS = [
    {"absolute": 1e-3},
    {"absolute": 0},
    {"absolute": 5e-324},
    {"pointwise_relative": 0.25},
    {"lossless": True},
    {"lossless": True, "threads": 4},
    {"absolute": 1e-3, "block": "region", "threads": 3, "effort": 9},
    {"absolute": 1e-3, "fill_value": -9999.0, "dtype": "<f4"},
    {"pointwise_relative": 1e-3, "fill_value": 1e20, "dtype": ">f8"},
    {"absolute": 2, "fill_value": -(2**63), "dtype": "<i8", "integers": "lossy"},
    {"absolute": 1e-3, "append_axis": 0},
    {"pointwise_relative": 0.5, "block": "region", "append_axis": 1, "integers": "lossy"},
]


def stored(options, dtype, **more):
    """The client data that HDF5 stores with a dataset, as (filter_id, filter_options)."""
    with h5py.File("x.h5", "w", driver="core", backing_store=False) as file:
        dataset = file.create_dataset("x", (24, 30), dtype, chunks=(24, 30), compression=options, **more)
        identifier, _, words, _ = dataset.id.get_create_plist().get_filter(0)
        return identifier, words


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=str)
def test_what_a_dataset_was_made_with(config):
    options = h5stz.STZ(**config)
    dtype = config.get("dtype", "f4")
    identifier, words = stored(options, dtype)
    assert identifier == h5stz.FILTER_ID == options.filter_id
    again = h5stz.STZ.from_filter_options(words)
    assert again == options and again.filter_options == options.filter_options
    assert (again.bound, again.fill_value) == (options.bound, options.fill_value)
    assert again.get_config() == options.get_config()
    assert h5stz.STZ.from_filter_options(options.filter_options, dtype=dtype) == options
    assert h5stz.STZ._from_filter_options(words) == options, "the name that hdf5plugin's classes have"


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=str)
def test_a_configuration_makes_an_equal_object(config):
    options = h5stz.STZ(**config)
    assert options.get_config() == config
    assert h5stz.STZ(**options.get_config()) == options


def test_a_configuration_holds_the_bound_that_was_resolved():
    for asked, more in (({"relative": 1e-3}, {}), ({"psnr": 60}, {"learn": False})):
        options = h5stz.STZ(**asked, data=DATA)
        assert options.get_config() == {"absolute": options.bound, **more}
        assert h5stz.STZ(**options.get_config()) == options
    marked = np.where(DATA > 0.9, np.float32(-9999), DATA)
    options = h5stz.STZ(relative=1e-3, data=marked)
    assert options.get_config() == {"absolute": options.bound, "fill_value": -9999.0, "dtype": marked.dtype.str}
    assert h5stz.STZ(**options.get_config()) == options


def test_the_fill_value_of_the_dataset_is_one_of_the_options():
    _, words = stored(h5stz.STZ(absolute=1e-3), "f4", fillvalue=-1)
    assert h5stz.STZ.from_filter_options(words).fill_value == -1


@pytest.mark.parametrize("fill", [np.nan, np.inf])
def test_a_fill_value_of_the_dataset_that_is_no_number_is_not_written(fill):
    """xarray gives every variable NaN; it comes back as it is without being named."""
    _, words = stored(h5stz.STZ(absolute=1e-3), "f4", fillvalue=fill)
    found = h5stz.STZ.from_filter_options(words)
    assert found.fill_value == pytest.approx(fill, nan_ok=True)
    assert repr(found) == "h5stz.STZ('absolute=0.001')"
    assert h5stz.STZ(**found.get_config()) == h5stz.STZ(str(found), dtype="f4")


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=str)
def test_a_dataset_like_another(config):
    """h5py has no name for our filter; create_dataset_like takes the options of the other dataset from us."""
    options = h5stz.STZ(**config)
    with h5py.File("x.h5", "w", driver="core", backing_store=False) as file:
        first = file.create_dataset("x", (24, 30), config.get("dtype", "f4"), chunks=(24, 15), **options)
        assert h5stz.STZ.from_dataset(first) == options
        second = file.create_dataset_like("y", first, **h5stz.STZ.from_dataset(first))
        words, others = (one.id.get_create_plist().get_filter(0)[2] for one in (first, second))
        # h5py makes the default fill value of the other dataset one that is defined by the user.
        assert (words[:5], words[8:]) == (others[:5], others[8:]) and second.chunks == first.chunks
        with pytest.raises(h5stz.StzError, match="/plain is not compressed with h5stz"):
            h5stz.STZ.from_dataset(file.create_dataset("plain", (3,), "f4", chunks=(3,), compression="gzip"))


def test_every_form_of_client_data():
    for words in ((101, 1, 0, 0x3FE00000), (102, 1, 5, 1), [102, 1, 5, 1, 0]):
        assert h5stz.STZ.from_filter_options(words) == h5stz.STZ(absolute=0.5)
    assert h5stz.STZ.from_filter_options(()) == h5stz.STZ(lossless=True)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((7, 1, 0, 0), "word 0"),
        ((101, 9, 0, 0), "word 1"),
        ((101, 1, 0), "3 words"),
        ((101, 1, -1, 0), "0 to 4294967295"),
        ((101, 1, 2**32, 0), "0 to 4294967295"),
        (("101", 0), "integers"),
        ((103, *range(256)), "at most"),
        (h5stz.cd_values(absolute=1, fill_value=0, dtype="f4"), "dtype="),
    ],
)
def test_wrong_client_data_are_value_errors(words, text):
    with pytest.raises(ValueError, match=text) as raised:
        h5stz.STZ.from_filter_options(words)
    assert isinstance(raised.value, h5stz.StzError)


def test_what_is_installed():
    config = h5stz.get_config()
    assert (config.version, config.format_version, config.filter_id) == (h5stz.__version__, 2, h5stz.FILTER_ID)
    assert config.hdf5_version == h5py.version.hdf5_version
    assert config.registered_filters["h5stz"].startswith(h5stz.plugin_path())


def test_the_binding_knows_the_forms():
    assert _core.parse((_core.CD_FORM_INTEGER, 1, 1, _core.CD_MAX_DECIMALS))["bound"] == 0.0
    with pytest.raises(h5stz.StzError):
        _core.parse((_core.CD_FORM_INTEGER, 1, 1, _core.CD_MAX_DECIMALS + 1))


@needs_packages("hdf5plugin")
def test_the_same_lines_as_with_hdf5plugin():
    """As its manual reads configurations: names of methods, arguments and kinds of results are the same."""
    import hdf5plugin

    for options, module in ((hdf5plugin.Zstd(clevel=5), hdf5plugin), (h5stz.STZ(absolute=0.5), h5stz)):
        _, words = stored(options, "f4")
        again = type(options)._from_filter_options(words)
        assert again == options and again.get_config() == options.get_config()
        assert type(options)(**again.get_config()) == options
        assert isinstance(options.get_config(), dict)
        path = module.get_config().registered_filters[options.filter_name]
        # netCDF4, if it was imported before, has brought the same filter.
        assert path.endswith(".so") or (module is hdf5plugin and path == "unknown")
