"""Resolved options: what the core needs to compress, with nothing left to find out from data.

A Settings is what stz.py makes of a user's arguments; it turns into a stream (encode) or into client data.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from operator import attrgetter

from h5stz import _core, elements, validity


@dataclass(frozen=True)
class Settings:
    """Options as numbers of the core. `fill` holds bits (None: no fill value); see ``stz_options`` in stz.h."""

    mode: int
    bound: float
    fill: int | None = None
    block: int = 0
    threads: int = 0
    effort: int = 0
    layers: int = 0
    append_axis: int = 0
    integers: int = 0
    content_check: int = 0
    layer_bounds: tuple[float, ...] = ()
    enhance: int = 0
    check: int = 0

    def encode(self, array: elements.Array, previous: elements.BytesLike | None = None, prior_bound: float = 0.0) -> bytes:
        """The stream (bytes) of a C-contiguous ndarray of a storage dtype.

        Args:
            array: the ndarray.
            previous: see codec.rewrite.
            prior_bound: what the samples had lost before, in the unit of the bound; infinity: nobody knows.
        """
        code, byte_order = elements.element_type(array.dtype)
        return _core.compress(
            elements.as_bytes(array), code, byte_order, array.shape, *self.fields(), previous, prior_bound=prior_bound
        )

    def estimate(self, array: elements.Array) -> tuple[float, float, float, bool]:
        """What encode() would make of an array: bytes, their variance, the mean squared error, whether these are exact."""
        code, byte_order = elements.element_type(array.dtype)
        return _core.estimate(elements.as_bytes(array), code, byte_order, array.shape, *self.fields())

    def of_chunk(self, samples: elements.Array) -> Settings:
        """The same as the filter has them for a chunk: it looks for a missing value that nobody has named."""
        found = validity.probable_fill(samples, self.mode, self.bound) if self.fill is None else None
        return self if found is None else dataclasses.replace(self, fill=found)

    def to_store(self) -> Settings:
        """The same for what will be stored: with the check that the environment variable H5STZ_CHECK may ask for."""
        return dataclasses.replace(self, check=_core.CHECKS[True]) if _core.check_of_environment() else self

    def stream_bytes(self, array: elements.Array) -> float:
        """The size of what encode() makes of an array."""
        return len(self.encode(array))

    def estimated_bytes(self, array: elements.Array) -> float:
        """About that."""
        return self.estimate(array)[0]

    def cd_values(self) -> tuple[int, ...]:
        """The filter's client data, a tuple of ints (short form of docs/cd_values.md)."""
        return _core.pack(*self.fields())

    def full_cd_values(self, dtype: elements.DType, chunk: tuple[int, ...]) -> tuple[int, ...]:
        """The client data in the full form, as set_local completes them: for chunks of this storage dtype and shape."""
        code, byte_order = elements.element_type(dtype)
        return _core.pack_full(code, byte_order, chunk, *self.fields())

    @property
    def largest_error(self) -> float:
        """What no error exceeds: the bound, or half as much again with a filter that may relax it."""
        return self.bound * (1.5 if self.may_be_relaxed else 1.0)

    @property
    def may_be_relaxed(self) -> bool:
        """Whether a filter may enhance samples, with errors above the bound."""
        return bool(self.enhance & _core.ENHANCEMENTS["relaxed"])

    def fields(self) -> tuple[int, float, int | None, int, int, int, int, int, int, int, tuple[float, ...], int, int]:
        """Everything in the order in which the binding takes it."""
        return _fields(self)


# Once: looking the names up takes longer than compressing a small chunk.
_fields = attrgetter(*(field.name for field in dataclasses.fields(Settings)))
