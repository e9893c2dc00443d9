"""Range of values: what decoded components are brought into."""

from dataclasses import dataclass

import numpy as np

from reference_decoder.conventions import require, require_version

OPEN, ZERO, STATED = range(3)


@dataclass
class Range:
    """The ends as components; None: there is none."""

    low: np.generic | None
    high: np.generic | None


def numbers_of(floats, components):
    """Components that can be compared."""
    return floats.numbers(components.view(f"u{components.itemsize}")) if floats and floats.is_short else components


def read_range(payload, component, floats):
    """The payload of the record."""
    kinds = payload.integer(1)
    require_version(kinds >> 4 == 0 and kinds & 3 <= STATED and kinds >> 2 & 3 <= STATED, "range of values: ends")
    require(kinds != 0, "range of values: no end")
    ends = []
    for kind in (kinds & 3, kinds >> 2 & 3):
        bits = payload.integer(component.itemsize) if kind == STATED else 0
        end = np.array(bits, f"u{component.itemsize}").view(component)[()]
        require(not floats or bits & floats.sign - 1 < floats.first_special, "range of values: no number")
        ends.append(None if kind == OPEN else end)
    low, high = ends
    ordered = low is None or high is None or numbers_of(floats, low) <= numbers_of(floats, high)
    require(ordered, "range of values: order")
    return Range(low, high)


def within(values, components, floats):
    """The components in the range. Those that are equal to an end stay, as do zeros of the other sign."""
    for end, beyond in ((values.low, np.less), (values.high, np.greater)):
        if end is not None:
            components = np.where(beyond(numbers_of(floats, components), numbers_of(floats, end)), end, components)
    return components
