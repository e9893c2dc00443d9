"""What docs/compatibility.md promises until 2.0: names and arguments of Python, commands with their options, as 1.0 had them.

So do options of STZ, in text and in client data. Keys of --json: test_json_keys.py.

api_1.0.json is what 1.0.0 had, without what 1.1 has withdrawn (CHANGELOG.md), as 1.0.0 was never published. Nothing else goes
from it. More names, arguments with defaults, commands and options may come.

    python tests/python/test_compatibility.py    # prints what this version has, for the file of another release
"""

import dataclasses
import importlib.util
import inspect
import json
from pathlib import Path

import click
import pytest

import h5stz
from h5stz import cli
from support.requirements import needs_packages

RECORDED = json.loads(Path(__file__).with_name("api_1.0.json").read_text())
NEEDED = ", needed"
#: Public names of h5stz.zarr.
ZARR = ("Stz", "StzCodec", "level")


def arguments(function):
    """{name: kind and default, in words} of a function or class."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return {
        one.name: one.kind.description + (NEEDED if one.default is one.empty else f", {one.default!r}")
        for one in parameters
        if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    }


def described(name, item):
    """What others rely on of a public name: {path: arguments}, of classes also methods and fields; data have none."""
    if not callable(item):
        return {name: None}
    if not inspect.isclass(item):
        return {name: arguments(item)}
    found = {name: arguments(item)}
    if issubclass(item, BaseException):
        found[name] = {base.__name__: "a base" for base in item.__mro__}
    elif dataclasses.is_dataclass(item):  # nobody else makes them
        found[name] = None
        found |= {f"{name}.{field.name}": None for field in dataclasses.fields(item)}
    for method, member in inspect.getmembers(item):
        ours = any(method in vars(base) for base in item.__mro__ if base.__module__.startswith("h5stz"))
        if ours and not method.startswith("_"):
            found[f"{name}.{method}"] = arguments(member) if callable(member) else None
    return found


def python_names():
    """All public names of Python."""
    found = {}
    for name in [*h5stz.__all__, "open"]:
        found |= described(f"h5stz.{name}", getattr(h5stz, name))
    return found


def zarr_names():
    """Those of h5stz.zarr: the codecs and functions, without what they inherit of zarr."""
    import h5stz.zarr

    return {f"h5stz.zarr.{name}": arguments(getattr(h5stz.zarr, name)) for name in ZARR}


def commands():
    """{command: {option or argument: in words whether it is needed}}"""
    context = click.Context(cli.commands)
    found = {}
    for name in [*cli.commands.list_commands(context), "repack"]:
        command = cli.commands.get_command(context, name)
        found[name] = {
            word: ("positional" if isinstance(parameter, click.Argument) else "option") + NEEDED * parameter.required
            for parameter in command.params
            for word in [*parameter.opts, *parameter.secondary_opts]
        }
    return found


def client_data():
    """{options as text: their client data}, of the recorded texts: every option, its values or the ends of their range."""
    return {text: list(h5stz.STZ(text).filter_options) for text in RECORDED["client data"]}


def positions(arguments):
    """The names of those that may be given by their place, in order."""
    return [name for name, described in (arguments or {}).items() if described.startswith("positional")]


def missing(recorded, found, where):
    """What is not as it was, in words; `found` may have more, if calls of before still work."""
    for name, arguments_then in recorded.items():
        if name not in found:
            yield f"{where}{name} is gone"
            continue
        now = found[name]
        if not isinstance(arguments_then, dict):
            continue
        for argument, then in arguments_then.items():
            if now is None or argument not in now:
                yield f"{where}{name}: {argument} is gone"
            elif now[argument] != then:
                yield f"{where}{name}: {argument} was {then} and is {now[argument]}"
        if positions(now)[: len(positions(arguments_then))] != positions(arguments_then):
            yield f"{where}{name}: the order of arguments was {positions(arguments_then)} and is {positions(now)}"
        for argument in set(now or ()) - set(arguments_then):
            if now[argument].endswith(NEEDED):
                yield f"{where}{name}: {argument} is new and has no default"


def test_names_and_arguments_of_python_stay():
    assert not list(missing(RECORDED["python"], python_names(), ""))


@needs_packages("zarr", "numcodecs")
def test_names_and_arguments_for_zarr_stay():
    assert not list(missing(RECORDED["zarr"], zarr_names(), ""))


def test_commands_and_options_stay():
    assert not list(missing(RECORDED["commands"], commands(), "h5stz "))


@pytest.mark.parametrize("text", RECORDED["client data"])
def test_names_and_values_of_options_stay(text):
    """Text and client data of 1.0 mean what they meant."""
    dtype = "f4" if "dtype=" in text else None
    assert str(h5stz.STZ(text)) == text
    assert str(h5stz.STZ.from_filter_options(RECORDED["client data"][text], dtype=dtype)) == text


@pytest.mark.parametrize("default", ["block=default", "integers=lossless", "enhance=none", "check=no"])
def test_values_that_options_have_by_default_stay(default):
    assert h5stz.STZ(f"absolute=0.001,{default}").filter_options == h5stz.STZ("absolute=0.001").filter_options


def test_all_that_1_0_has_is_recorded():
    assert {"h5stz.open", "h5stz.view", "h5stz.STZ", "h5stz.View.read"} <= set(RECORDED["python"])
    if h5stz.__version__.startswith("1.0."):  # what is made of it may have more, and later ones have a file of their own
        assert set(RECORDED["python"]) <= set(python_names())
        assert set(RECORDED["commands"]) <= set(commands())


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        ({"f": {"a": "keyword-only, 1"}}, {}, "f is gone"),
        ({"f": {"a": "keyword-only, 1"}}, {"f": {}}, "f: a is gone"),
        ({"f": {"a": "keyword-only, 1"}}, {"f": {"a": "keyword-only, 2"}}, "f: a was"),
        ({"f": {}}, {"f": {"b": "keyword-only, needed"}}, "f: b is new and has no default"),
        ({"f": {"a": "positional", "b": "positional"}}, {"f": {"b": "positional", "a": "positional"}}, "f: the order of"),
    ],
)
def test_what_breaks_a_program_is_told(then, now, said):
    assert [line for line in missing(then, now, "") if line.startswith(said)]


def test_more_breaks_nothing():
    then = {"f": {"a": "keyword-only, 1"}}
    now = {"f": {"a": "keyword-only, 1", "b": "keyword-only, None"}, "g": {}}
    assert not list(missing(then, now, ""))


if __name__ == "__main__":
    zarr = zarr_names() if importlib.util.find_spec("zarr") else {}
    parts = {"python": python_names(), "zarr": zarr, "commands": commands(), "client data": client_data()}
    texts = [
        f' "{part}": {{\n' + ",\n".join(f"  {json.dumps(name)}: {json.dumps(item)}" for name, item in names.items()) + "\n }"
        for part, names in parts.items()
    ]
    print("{\n" + ",\n".join(texts) + "\n}")
