"""Resolved options: what the core needs to compress, with nothing left to find out from data.

A Settings is what stz.py makes of a user's arguments; it turns into a stream (encode) or into client data.
"""

from __future__ import annotations

from typing import final

from h5stz import _core, elements, validity


@final
class Settings(_core.Options):
    """Options as numbers of the core, resolved. `fill` holds bits (None: no fill value); see ``stz_options`` in stz.h."""

    def encode(self, array: elements.Array, previous: elements.BytesLike | None = None, prior_bound: float = 0.0) -> bytes:
        """The stream (bytes) of a C-contiguous ndarray of a storage dtype.

        Args:
            array: the ndarray.
            previous: see codec.rewrite.
            prior_bound: what the samples had lost before, in the unit of the bound; infinity: nobody knows.
        """
        code, byte_order = elements.element_type(array.dtype)
        return _core.compress(elements.as_bytes(array), code, byte_order, array.shape, self, previous, prior_bound=prior_bound)

    def estimate(self, array: elements.Array) -> tuple[float, float, float, bool]:
        """What encode() would make of an array: bytes, their variance, the mean squared error, whether these are exact."""
        code, byte_order = elements.element_type(array.dtype)
        return _core.estimate(elements.as_bytes(array), code, byte_order, array.shape, self)

    def of_chunk(self, samples: elements.Array) -> Settings:
        """The same as the filter has them for a chunk: it looks for a missing value that nobody has named."""
        found = validity.probable_fill(samples, self.mode, self.bound) if self.fill is None else None
        return self if found is None else self.replace(fill=found)

    def to_store(self) -> Settings:
        """The same for what will be stored: with the check that the environment variable H5STZ_CHECK may ask for."""
        return self.replace(check=_core.CHOICES["check"][True]) if _core.check_of_environment() else self

    def stream_bytes(self, array: elements.Array) -> float:
        """The size of what encode() makes of an array."""
        return len(self.encode(array))

    def estimated_bytes(self, array: elements.Array) -> float:
        """About that."""
        return self.estimate(array)[0]

    def full_cd_values(self, dtype: elements.DType, chunk: tuple[int, ...]) -> tuple[int, ...]:
        """The client data in the full form, as set_local completes them: for chunks of this storage dtype and shape."""
        code, byte_order = elements.element_type(dtype)
        return self.pack_full(code, byte_order, chunk)

    @property
    def largest_error(self) -> float:
        """What no error exceeds: the bound, or half as much again with a filter that may relax it."""
        return self.bound * (1.5 if self.may_be_relaxed else 1.0)

    @property
    def may_be_relaxed(self) -> bool:
        """Whether a filter may enhance samples, with errors above the bound."""
        return bool(self.enhance & _core.CHOICES["enhance"]["relaxed"])
