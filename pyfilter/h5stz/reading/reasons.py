"""Reasons why HDF5 reads data that could be read directly. C and Python share the table in stz_h5.h."""

from __future__ import annotations

from h5stz import _core


class Reason(str):
    """The text of a reason.

    Attributes:
        name: name of its enumerator in C, such as "STZ_H5_LAYOUT".
        value: value of the enumerator.
    """

    name: str
    value: int

    def __new__(cls, name: str) -> Reason:
        """The reason with this name."""
        value, text = _core.H5_REASONS[name]
        self = super().__new__(cls, text)
        self.name, self.value = name, value
        return self

    def __getnewargs__(self) -> tuple[str]:
        return (self.name,)
