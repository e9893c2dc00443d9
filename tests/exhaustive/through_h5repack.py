"""Cases through h5repack: a file of several plain datasets, compressed by one call with what `h5stz args` prints."""

import contextlib
import io
import json
import shlex

import h5py

from exhaustive import arrays, choices
from exhaustive.memory import Expected, describe
from exhaustive.model import Model, draw_chunks
from exhaustive.source import Violation
from exhaustive.through_h5py import directory, end, stored_options
from h5stz import cli
from support import cases
from support.host_tools import FILTER_ID
from support.host_tools import run as run_program

__all__ = ["end", "run"]

#: What h5repack takes for one filter; many layer_bounds need more.
MOST_WORDS = 20


def filter_words(name, stz):
    """The words of h5repack's command line for a dataset."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = cli.main(["args", str(stz), "--variable", name, "--json"])
    if status:
        raise Violation(f"h5stz args {stz}: {printed.getvalue()}")
    words = shlex.split(json.loads(printed.getvalue())["h5repack"])
    return words[words.index("-f") : words.index("-f") + 2]


def draw_dataset(source, name, file):
    """A plain dataset in a file: (its model, the words of its filter)."""
    while True:
        dtype = source.pick(cases.DTYPES)
        shape = arrays.draw_shape(source, source.between(1, 5), source.pick([30, 300, 3000]), 0.0)
        drawn = arrays.draw_array(source, dtype, shape, reordered=False)
        options = choices.draw_options(source, drawn, stored=True)
        try:
            stz = stored_options(options, dtype)
            if len(stz.filter_options) > MOST_WORDS:
                continue
            words = filter_words(name, stz)
        except Expected:
            continue
        except Exception:
            run.described = describe(drawn, options)
            raise
        fill = drawn.fill if source.chance(0.5) else None
        file.create_dataset(name, data=drawn.array, chunks=draw_chunks(source, shape), fillvalue=fill)
        model = Model(shape, dtype, options, fill)
        model.wrote(..., drawn.array)
        return model, words, describe(drawn, options)


def run(source, tally):
    """One case: a call of h5repack, and one more that copies what it wrote, with the filter or without."""
    plain, packed, copied = (directory() / f"{name}.h5" for name in ("plain", "packed", "copied"))
    with h5py.File(plain, "w") as file:
        drawn = {name: draw_dataset(source, name, file) for name in (f"d{k}" for k in range(source.between(1, 12)))}
    run.described = "; ".join(f"{name}: {described}" for name, (_, _, described) in drawn.items())
    words = [word for _, words, _ in drawn.values() for word in words]
    output = run_program("h5repack", *words, plain, packed)
    found = {}
    with h5py.File(packed) as file:
        for name, (model, _, described) in drawn.items():
            if name not in file:
                raise Violation(f"{name} is not in the new file: {output}")
            properties = file[name].id.get_create_plist()
            if FILTER_ID not in [properties.get_filter(index)[0] for index in range(properties.get_nfilters())]:
                raise Violation(f"{name} has no filter: {output}")
            found[name] = file[name][...]
            model.judge(tally, found[name], f"{name} ({described})")
            tally.seen["datasets"] += 1
            tally.seen[f"dtype {model.dtype.str}"] += 1
    run_program("h5repack", *source.pick([(), ("-f", "NONE")]), packed, copied)
    with h5py.File(copied) as file:
        for name, array in found.items():
            tally.same_bits(array, file[name][...], f"{name} in a copy")
    return 0
