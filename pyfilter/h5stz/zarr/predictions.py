"""Trained predictions as text for the JSON of codecs: base64 of their client data, as little-endian words."""

from __future__ import annotations

import base64
import binascii

import numpy as np

from h5stz import _core
from h5stz.errors import StzError

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_WORD = np.dtype("<u4")
_LONGEST = 4 * (-(-_core.CD_MAX_WORDS * _WORD.itemsize // 3))  # characters of base64


def text_of(learned: _core.Learned) -> str:
    """The text of predictions."""
    return base64.b64encode(np.array(learned.words(), _WORD).tobytes()).decode()


def learned_of(text: object) -> _core.Learned:
    """The predictions of a text.

    Raises:
        StzError: (a ValueError) the text is not one of text_of().
    """
    learned = _core.Learned.of_words(_words(text)) if isinstance(text, str) and len(text) <= _LONGEST else None
    if learned is None or text_of(learned) != text:
        raise StzError(
            "the predictions of the codec are damaged, or of a later version of h5stz: remove `predictions` from the metadata; "
            "reading does not need them, and codec.trained(data, chunks) makes new ones for writing",
            _ARGUMENT,
        )
    return learned


def _words(text: str) -> list[int]:
    """The words of a text; none if it is no base64."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return []
    whole = len(content) // _WORD.itemsize * _WORD.itemsize
    return [int(word) for word in np.frombuffer(content[:whole], _WORD)]
