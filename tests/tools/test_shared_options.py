"""Every command that takes a bound has the same options beside it, and each of them has an effect or is refused."""

import json

import click
import h5py
import numpy as np
import pytest

import h5stz
from h5stz import _core, cli
from h5stz.cli import parameters
from support.commands import run
from support.fields import random_field

WITH_BOUNDS = ("args", "compress", "estimate", "repack")
#: Options of STZ that are no options of these commands; `h5stz args` has some, and all as text.
NOT_SHARED = {
    "threads": "whole files have --jobs",
    "append_axis": "of one dataset",
    "integers": "whole files keep indices, flags and times",
    "content_check": "the default suits files",
    "learn": "whole files have trained predictions",
    "layer_bounds": "in the units of one dataset",
}
#: The words of each option, and what they become in STZ.
WORDS = {
    "block": (["region"], "region"),
    "effort": (["3"], 3),
    "favour": (["size"], "size"),
    "layers": (["2"], 2),
    "enhance": (["strict"], "strict"),
    "keep_zeros": ([], True),
    "keep_range": ([], True),
    "valid_range": (["0,"], (0.0, np.inf)),
    "check": ([], True),
}
RAIN = np.maximum(random_field((40, 48), 4, 1), 0).astype("f4")


def options_of(name):
    """{parameter: option} of a command."""
    command = cli.commands.get_command(click.Context(cli.commands), name)
    return {each.name: each for each in command.params if isinstance(each, click.Option)}


@pytest.fixture
def path(tmp_path):
    with h5py.File(tmp_path / "rain.h5", "w") as file:
        file["rain"] = RAIN
    return tmp_path / "rain.h5"


def test_every_option_is_shared_or_named_here():
    table = {*_core.OPTIONS, "layer_bounds", "valid_range"}
    assert set(parameters.CODING) == table - set(NOT_SHARED) == set(WORDS)
    assert set(NOT_SHARED) <= table


def test_the_commands_with_bounds():
    having = {name for name in [*cli.commands.list_commands(None), "repack"] if "absolute" in options_of(name)}
    assert having == set(WITH_BOUNDS)


@pytest.mark.parametrize("name", WITH_BOUNDS)
def test_they_have_the_same_options(name):
    found = options_of(name)
    assert {*parameters.BOUNDS, *parameters.CODING} <= set(found)
    assert all(found[each].help == options_of("compress")[each].help for each in parameters.CODING)


@pytest.mark.parametrize("name", WORDS)
def test_each_reaches_the_codec(path, tmp_path, name):
    words, value = WORDS[name]
    option = [parameters.flag(name), *words]
    wanted = h5stz.STZ(absolute=0.01, **{name: value})
    assert json.loads(run("args", "--absolute", 0.01, *option, "--json").out)["options"] == str(wanted)
    (estimated,) = json.loads(run("estimate", path, "--absolute", 0.01, *option, "--json").out)["datasets"]
    assert estimated["options"] == str(wanted)
    assert run("compress", path, tmp_path / "small.h5", "--absolute", 0.01, *option).status == 0
    with h5py.File(tmp_path / "small.h5") as file:
        assert h5stz.STZ.from_dataset(file["rain"]).get_config()[name] == value
    beside = run("args", "absolute=1", *option)
    assert beside.status == 1 and f"{parameters.flag(name)} beside the text 'absolute=1'" in beside.err


def test_estimates_name_the_option_for_zeros(path):
    said = run("estimate", path, "--absolute", 0.01).out
    assert "that are 0 may become other numbers (absolute=0.01); --keep-zeros prevents it\n" in said
    assert "that are 0" not in run("estimate", path, "--absolute", 0.01, "--keep-zeros").out


@pytest.mark.parametrize("option", ["--absolute", "--psnr", "--ratio"])
def test_a_percentage_of_nothing_names_the_option_for_shares(option):
    done = run("compress", "a.h5", "b.h5", option, "1%")
    assert done.status == 2 and "'1%' is not a number: give one, or a share of the range as --relative 1%" in done.err
    rule = run("compress", "a.h5", "b.h5", "--dataset", f"x={option[2:]}:1%")
    assert rule.status == 1 and ":1e-3, or a share of the range, relative:1%" in rule.err
    error = run("compress", "a.h5", "b.h5", "--max-error", "1%")
    assert error.status == 2 and "'1%' is not an error in the units of the data: give a number, such as 0.01" in error.err


@pytest.fixture
def layered(tmp_path):
    """A file with a dataset that has precision layers, and another one."""
    with h5py.File(tmp_path / "layered.h5", "w") as file:
        file.create_dataset("x", data=RAIN, chunks=RAIN.shape, **h5stz.STZ(absolute=1e-4, layers=2, keep_range=True))
        file["y"] = RAIN
    return tmp_path / "layered.h5"


@pytest.mark.parametrize("name", WORDS)
def test_a_copy_without_layers_refuses_options_that_it_cannot_follow(layered, tmp_path, name):
    words, value = WORDS[name]
    option, small = [parameters.flag(name), *words], tmp_path / "small.h5"
    done = run("compress", layered, small, "--max-error", 1, *option)
    assert done.status == 1 and not small.exists()
    assert f"{option[0]} has no effect without a bound (--max-error removes precision layers, and encodes nothing)" in done.err
    with pytest.raises(h5stz.StzError, match=f"{name}= has no effect without a bound"):
        h5stz.repack(layered, small, max_error=1, **{name: value})
    if name in ("layers", "keep_range"):  # which x has
        assert run("compress", layered, small, "--max-error", 1, "--absolute", 0.1, *option).status == 0
        return
    for dry in ([], ["--dry-run"]):
        done = run("compress", layered, small, "--max-error", 1, "--absolute", 0.1, *option, *dry)
        assert done.status == 1 and not small.exists()
        assert f"/x: --max-error removes its precision layers, and encodes nothing, so {option[0]} has no effect" in done.err
    done = run("compress", layered, small, "--max-error", 1, "--absolute", 0.1, *option, "--dataset", "/x=none")
    assert done.status == 0, done.err
    with h5py.File(small) as file:
        assert h5stz.STZ.from_dataset(file["x"]).bound == 1
        assert h5stz.STZ.from_dataset(file["y"]).get_config()[name] == value


@pytest.mark.parametrize("option", [["--again"], ["--chunks", "8,8"], ["--keep-zeros", "--dataset", "y=none"]], ids=str)
def test_options_that_nothing_needs_are_refused(layered, tmp_path, option):
    done = run("compress", layered, tmp_path / "small.h5", "--max-error", 1, *option)
    assert done.status == 1 and f"{option[0]} has no effect without a bound" in done.err
    assert run("compress", layered, tmp_path / "small.h5", "--max-error", 1, "--chunks", "keep").status == 0
