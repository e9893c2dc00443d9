"""Resolved options: everything that the core needs to compress, independent of data.

stz.py makes a Settings from the user's arguments. It encodes arrays to streams, or becomes client data.
"""

from __future__ import annotations

from typing import final

from h5stz import _core, elements, validity


@final
class Settings(_core.Options):
    """Resolved options as numbers of the core. `fill` has bits (None: no fill value); see ``stz_options`` in stz.h."""

    def encode(self, array: elements.Array, previous: elements.BytesLike | None = None, prior_bound: float = 0.0) -> bytes:
        """Compresses a C-contiguous ndarray of a storage dtype to a stream (bytes).

        Args:
            array: the ndarray.
            previous: see codec.rewrite.
            prior_bound: bound on the error that the samples already have, in the unit of the bound; infinity: unknown.
        """
        code, byte_order = elements.element_type(array.dtype)
        return _core.compress(elements.as_bytes(array), code, byte_order, array.shape, self, previous, prior_bound=prior_bound)

    def estimate(self, array: elements.Array) -> tuple[float, float, float, bool]:
        """Estimates encode() for an array: (bytes, their variance, mean squared error, True if these are exact)."""
        code, byte_order = elements.element_type(array.dtype)
        return _core.estimate(elements.as_bytes(array), code, byte_order, array.shape, self)

    def of_chunk(self, samples: elements.Array) -> Settings:
        """The Settings that the filter uses for a chunk: it detects a missing value if none is given."""
        found = validity.probable_fill(samples, self.mode, self.bound) if self.fill is None else None
        return self if found is None else self.replace(fill=found)

    def to_store(self) -> Settings:
        """The Settings for data that will be stored: with the check if the environment variable H5STZ_CHECK asks for it."""
        return self.replace(check=_core.CHOICES["check"][True]) if _core.check_of_environment() else self

    def stream_bytes(self, array: elements.Array) -> float:
        """Size of the stream that encode() makes of an array."""
        return len(self.encode(array))

    def estimated_bytes(self, array: elements.Array) -> float:
        """Estimate of stream_bytes()."""
        return self.estimate(array)[0]

    def full_cd_values(self, dtype: elements.DType, chunk: tuple[int, ...]) -> tuple[int, ...]:
        """The client data in the full form, as set_local completes them, for chunks of this storage dtype and shape."""
        code, byte_order = elements.element_type(dtype)
        return self.pack_full(code, byte_order, chunk)

    @property
    def largest_error(self) -> float:
        """Upper limit of the errors: the bound, or 1.5 times the bound with an enhancement filter."""
        return self.bound * (1.5 if self.may_be_relaxed else 1.0)

    @property
    def may_be_relaxed(self) -> bool:
        """True if a filter may enhance samples, with errors above the bound."""
        return bool(self.enhance & _core.CHOICES["enhance"]["relaxed"])
