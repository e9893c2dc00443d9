"""The library and the second decoder side by side: what they make of the same bytes has to be the same."""

import h5stz
import reference_decoder
from h5stz import _core
from support import exact

VERSION = _core.ERROR_CODES["STZ_ERROR_VERSION"]
#: Error codes of the library in the words of docs/format.md.
WORDS = {
    _core.ERROR_CODES[f"STZ_ERROR_{name}"]: word
    for name, word in {
        "VERSION": "version",
        "CORRUPT": "damaged",
        "TRUNCATED": "truncated",
        "CHECKSUM": "checksum",
        "CONTENT": "content",
    }.items()
}


def word_of(function, *arguments):
    """None, or which error a call of the library or of the second decoder gives, in the words of docs/format.md."""
    try:
        function(*arguments)
    except h5stz.StzError as error:
        return WORDS[error.code]
    except reference_decoder.NewerVersion:
        return "version"
    except reference_decoder.Damaged as error:
        word = str(error).split()[0]
        return word if word in ("truncated", "checksum", "content") else "damaged"
    return None


class Refused(Exception):
    """Both refuse the bytes; `newer`: as those of a later version."""

    def __init__(self, newer):
        super().__init__("a later version" if newer else "damaged")
        self.newer = newer


def checked_again(stream):
    """The array that the second decoder makes of a stream. Fails where the two differ about its content check."""
    wrong = word_of(h5stz.verify, stream)
    try:
        array = reference_decoder.decode(stream, verify=True)
    except reference_decoder.Damaged as error:
        assert wrong, f"the second decoder alone finds the content check wrong: {error}"
        return reference_decoder.decode(stream)
    assert not wrong, f"the library alone finds the content check wrong: {wrong}"
    return array


def decoded(stream):
    """The array that both decoders make of a stream. Fails where they differ, raises Refused where both refuse it."""
    try:
        array = h5stz.decompress(stream)
    except h5stz.StzError as error:
        newer = error.code == VERSION
    else:
        again = checked_again(stream)
        if again.dtype.kind == "u" and array.dtype.kind != "u":  # short floats that NumPy has not are words
            array = array.view(again.dtype)
        assert array.dtype == again.dtype and array.shape == again.shape
        assert exact.same_bits(array, again)
        return array
    try:
        reference_decoder.decode(stream)
    except reference_decoder.Damaged as error:
        assert isinstance(error, reference_decoder.NewerVersion) == newer, error
    else:
        raise AssertionError("the library refuses what the second decoder takes")
    raise Refused(newer)


def verdict(stream):
    """None if both take a stream, else "version" or "damaged"."""
    try:
        decoded(stream)
    except Refused as refused:
        return "version" if refused.newer else "damaged"
    return None
