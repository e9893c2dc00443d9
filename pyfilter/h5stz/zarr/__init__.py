"""h5stz for zarr: codecs for zarr formats 2 and 3, and coarse levels of arrays.

Everything is imported on first use. `import h5stz.zarr` therefore works without zarr and numcodecs, which the extra
`h5stz[zarr]` installs. zarr and numcodecs find the codecs through entry points when metadata name them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from h5stz.zarr.codec import StzCodec
    from h5stz.zarr.levels import level
    from h5stz.zarr.numcodecs_codec import Stz

__all__ = ["Stz", "StzCodec", "level"]

_HOMES = {"Stz": "numcodecs_codec", "StzCodec": "codec", "level": "levels"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        package = (error.name or "h5stz").partition(".")[0]
        if package == "h5stz":
            raise
        text = f"h5stz.zarr.{name} needs the package {package}: pip install 'h5stz[zarr]'"
        raise ModuleNotFoundError(text, name=error.name) from error


def __dir__() -> list[str]:
    return [*globals(), *__all__]
