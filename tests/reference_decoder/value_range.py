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


def read_range(payload, component):
    """The payload of the record."""
    kinds = payload.integer(1)
    require_version(kinds >> 4 == 0 and kinds & 3 <= STATED and kinds >> 2 & 3 <= STATED, "range of values: ends")
    require(kinds != 0, "range of values: no end")
    ends = []
    for kind in (kinds & 3, kinds >> 2 & 3):
        bits = payload.integer(component.itemsize) if kind == STATED else 0
        end = np.array(bits, f"u{component.itemsize}").view(component)[()]
        require(bool(np.isfinite(end)), "range of values: no number")
        ends.append(None if kind == OPEN else end)
    low, high = ends
    require(low is None or high is None or low <= high, "range of values: order")
    return Range(low, high)


def within(values, components):
    """The components in the range. Those that are equal to an end stay, as do zeros of the other sign."""
    for end, beyond in ((values.low, np.less), (values.high, np.greater)):
        if end is not None:
            components = np.where(beyond(components, end), end, components)
    return components
