"""Functions with keyword options: a wrong call raises an error that names the option that was probably meant.

Signatures stay the same for help(), completion and type checkers.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import numbers
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

# What other compressors call an option.
_ELSEWHERE = {
    "accuracy": "absolute",
    "error_bound": "absolute",
    "tolerance": "absolute",
    "peak_signal_to_noise_ratio": "psnr",
    "rtol": "relative",
    "nthreads": "threads",
}


def checked(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Decorator: a call that does not fit the signature raises a TypeError that names the nearest option."""
    return _checked(function, inspect.signature(function))


def with_options_of(
    source: Callable[..., Any],
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """checked() for a function that passes its `**options` to `source`. inspect.signature() lists them by name."""
    listed = [one for one in inspect.signature(source).parameters.values() if one.kind is one.KEYWORD_ONLY]

    def decorate(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
        signature = inspect.signature(function)
        others = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        more = [one for one in listed if one.name not in signature.parameters]
        return _checked(function, signature.replace(parameters=[*others, *more]))

    return decorate


def _checked(function: Callable[_Parameters, _Result], signature: inspect.Signature) -> Callable[_Parameters, _Result]:
    @functools.wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        except TypeError:
            advice = _advice(function.__qualname__, signature, args, kwargs)
            if advice is None:  # the call fits: the error is about what was given
                raise
            raise TypeError(advice) from None

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _advice(name: str, signature: inspect.Signature, args: tuple[Any, ...], options: Mapping[str, Any]) -> str | None:
    """The error in a call and the probable remedy; None if the call fits the signature."""
    parameters = list(signature.parameters.values())
    # Such as the options of STZ in one string.
    texts = [one.name for one in parameters if one.kind is one.POSITIONAL_ONLY and one.name != "self"]
    plain = ""
    try:
        given = signature.bind(*args, **options).arguments
    except TypeError as error:
        plain = str(error)
    else:
        if all(isinstance(given.get(text, ""), str) for text in texts):
            return None
    if parameters and parameters[0].name in ("self", "cls"):
        name, parameters, args = name.removesuffix(".__init__"), parameters[1:], args[1:]
    positional = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    keywords = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    unknown = [option for option in options if option not in positional + keywords]
    if unknown:
        meant = _nearest(unknown[0], keywords + positional)
        instead = f"did you mean {meant}=?" if meant else f"the options are {', '.join(keywords)}"
        return f"{name}() has no option {unknown[0]!r}: {instead}"
    if len(args) > len(positional) and keywords:
        after = f" after {' and '.join(positional)}" if positional else ""
        call = ", ".join([*positional, _as_keyword(args[len(positional) :], keywords)])
        return f"{name} takes keyword options only{after}: did you mean {name}({call})?"
    return f"{name}(): {plain}"


def _nearest(option: str, names: list[str]) -> str | None:
    """The option that a misspelt name probably means, or None."""
    option = option.lower()
    if _ELSEWHERE.get(option) in names:
        return _ELSEWHERE[option]
    near = difflib.get_close_matches(option, names, 1)
    begun = [name for name in names if len(option) > 1 and name.startswith(option)]
    return next(iter(near + begun), None)


def _as_keyword(surplus: tuple[Any, ...], keywords: list[str]) -> str:
    """The first positional argument, written as the option that it probably is."""
    value, *others = surplus
    if isinstance(value, str) and others and (meant := _nearest(value, keywords)):
        return f"{meant}={_shown(others[0])}"
    if isinstance(value, str) and value.partition("=")[0] in keywords:
        return value.replace(",", ", ")  # options as text, as STZ takes them
    if "data" in keywords and hasattr(value, "shape") and not isinstance(value, numbers.Real):
        return "data=..."
    return f"{keywords[0]}={_shown(value)}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 and "\n" not in text else "..."
