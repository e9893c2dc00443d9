"""Ready-to-paste arguments for h5repack, nccopy and CDO.

h5repack cuts fractions off, so client data are written as integers only: form 102 of docs/cd_values.md (bound = m x 10^-e)
where it holds the bound exactly, else the two words of the double.
"""

import shlex
from collections.abc import Sequence
from decimal import Decimal

from h5stz import _core

_LARGEST_WORD = 2**32 - 1
_MOST_OF_H5REPACK = 20  # numbers


def integer_words(words: tuple[int, ...]) -> tuple[int, ...]:
    """Client data in the form that is easiest to read among those that mean the same; `words` are of STZ.filter_options."""
    meaning = _core.parse(words)
    if meaning["fill"] is not None:
        return words
    if meaning["mode"] == _core.MODES["lossless"]:
        return words[:2] if len(words) == 4 else words
    # repr() has the fewest digits that name the double; the reader rounds them to the same double.
    _, digits, exponent = Decimal(repr(meaning["bound"])).normalize().as_tuple()
    mantissa = int("".join(map(str, digits))) * 10 ** max(int(exponent), 0)
    decimals = max(-int(exponent), 0)
    if mantissa > _LARGEST_WORD or decimals > _core.CD_MAX_DECIMALS:
        return words
    _, mode, _, _, *packed = words
    return _core.CD_FORM_INTEGER, mode, mantissa, decimals, *packed


def lines(words: tuple[int, ...], variables: Sequence[str] = ()) -> dict[str, str]:
    """What to type for each program, as a dict from its name to a command line.

    h5repack takes no more than 20 numbers: its line has no predictions.

    Args:
        words: client data, as of STZ.filter_options, or in the full form.
        variables: names of the datasets to compress; none: all of them.
    """
    if len(words) < _core.CD_FIXED_WORDS:
        words = integer_words(words)
    values = ",".join(map(str, words))
    identifier = _core.FILTER_ID
    prefix = ",".join(variables) + ":" if variables else ""
    specification = f"{identifier},{values}"
    if variables:
        settings = " ".join(_quoted(f'{variable}="{specification}"') for variable in variables)
        cdo = f"printf '%s\\n' {settings} > filter.txt; cdo -f nc4 setfilter,filename=filter.txt IN.nc OUT.nc"
    else:
        cdo = f"cdo -f nc4 --filter {_quoted(specification)} copy IN.nc OUT.nc"
    few = words if len(words) <= _MOST_OF_H5REPACK else _core.without_learned(words)
    repack = f"{prefix}UD={identifier},0,{len(few)},{','.join(map(str, few))}"
    pack = " ".join(f"-F {_quoted(f'{variable},{specification}')}" for variable in variables or ["*"])
    return {
        "h5repack": f"h5repack -f {_quoted(repack)} IN.h5 OUT.h5",
        # nccopy keeps the filter that a variable already has, and takes "none" for all that is said in one run.
        "nccopy": f"nccopy -F none IN.nc plain.nc && nccopy {pack} plain.nc OUT.nc",
        "cdo": cdo,
    }


def run_line(text: str) -> str:
    """A command line that compresses with `h5stz run --compress`, which skips 1-D coordinates and integers. `text`: as
    str(STZ).
    """
    # The type of the fill value is that of each dataset.
    options = ",".join(part for part in text.split(",") if not part.startswith("dtype="))
    return f"h5stz run --compress {_quoted(f'/*={options}')} -- nccopy -k nc4 -F none IN.nc OUT.nc"


def _quoted(text: str) -> str:
    """A word of a shell line, always in quotes, because lists with commas are easier to read that way."""
    quoted = shlex.quote(text)
    return f"'{text}'" if quoted == text else quoted
