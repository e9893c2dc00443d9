"""Ready-to-paste arguments for h5repack, nccopy and CDO.

h5repack cuts fractions off, so client data are written as integers only: form 102 of docs/cd_values.md (bound = m x 10^-e)
where it holds the bound exactly, else the two words of the double.
"""

from decimal import Decimal

from h5stz import _core

_INTEGER_FORM = 102
_LARGEST_WORD = 2**32 - 1
_MOST_DECIMALS = 400


def integer_words(words):
    """Client data in the form that is easiest to read among those that mean the same; `words` are of STZ.filter_options."""
    meaning = _core.parse(words)
    if meaning["fill"] is not None:
        return words
    if meaning["mode"] == _core.MODES["lossless"]:
        return words[:2] if len(words) == 4 else words
    # repr() has the fewest digits that name the double; the reader rounds them to the same double.
    _, digits, exponent = Decimal(repr(meaning["bound"])).normalize().as_tuple()
    mantissa = int("".join(map(str, digits))) * 10 ** max(exponent, 0)
    decimals = max(-exponent, 0)
    if mantissa > _LARGEST_WORD or decimals > _MOST_DECIMALS:
        return words
    return _INTEGER_FORM, words[1], mantissa, decimals, *words[4:]


def lines(words, variable=None):
    """What to type for each program, as a dict from its name to a command line.

    Args:
        words: client data, as of STZ.filter_options.
        variable: name of the one dataset to compress; None for all of them.
    """
    words = integer_words(words)
    values = ",".join(map(str, words))
    identifier = _core.FILTER_ID
    prefix = "" if variable is None else f"{variable}:"
    specification = f"{identifier},{values}"
    if variable is None:
        cdo = f"cdo -f nc4 --filter '{specification}' copy IN.nc OUT.nc"
    else:
        cdo = f"""echo '{variable}="{specification}"' > filter.txt; cdo -f nc4 setfilter,filename=filter.txt IN.nc OUT.nc"""
    return {
        "h5repack": f"h5repack -f '{prefix}UD={identifier},0,{len(words)},{values}' IN.h5 OUT.h5",
        # nccopy keeps the filter that a variable already has, and takes "none" for all that is said in one run.
        "nccopy": f"nccopy -F none IN.nc plain.nc && nccopy -F '{variable or '*'},{specification}' plain.nc OUT.nc",
        "cdo": cdo,
    }
