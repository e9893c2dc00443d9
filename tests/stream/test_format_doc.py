"""docs/format.md: its example streams are what today's encoder writes, byte by byte, and they decode to what it says.

Floating-point fields are written by hand there, as the encoder writes no such short ones.

Run as a program, this file prints the dumps afresh; with --write it puts them into the document. The table of all codes of
the example `blocks` is checked here but written by hand.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import h5stz

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import field_streams

PLACES = np.arange(257)
PARABOLAS = np.array([k % 20 * (20 - k % 20) / 16 for k in range(64)], "<f4")

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "format.md"

# name: (array, options, fields). A field is (number of bytes, what they say); None is what the others leave over.
EXAMPLES = {
    "raw": (
        np.array([1, -2], "<i2"),
        {"lossless": True},
        [
            (4, '"STZ", format version 2'),
            (1, "form 0 (raw), mode 0 (lossless), no fill value, default blocks"),
            (1, "dtype 6 (int16), byte order 0 (little)"),
            (1, "rank 1"),
            (1, "extent 2"),
            (None, "the array: 1, -2"),
            (4, "CRC-32C of all bytes before"),
        ],
    ),
    "constant": (
        np.full((200, 3), 1.5, ">f4"),
        {"absolute": 0.25},
        [
            (4, '"STZ", format version 2'),
            (1, "form 1 (constant), mode 1 (absolute), no fill value, default blocks"),
            (1, "dtype 2 (float32), byte order 1 (big)"),
            (1, "rank 2"),
            (2, "extent 200, a varint of two bytes: 0x48 + 128"),
            (1, "extent 3"),
            (8, "bound 0.25"),
            (None, "the element, 1.5, in the byte order of the array"),
            (4, "CRC-32C of all bytes before"),
        ],
    ),
    "blocks": (
        (np.arange(17) ** 2).astype("<f4"),
        {"absolute": 0.5, "content_check": True},
        [
            (4, '"STZ", format version 2'),
            (1, "form 2 (blocks), mode 1 (absolute), no fill value, default blocks, extended"),
            (1, "dtype 2 (float32), byte order 0 (little)"),
            (1, "rank 1"),
            (1, "extent 17"),
            (8, "bound 0.5"),
            (1, "bytes of the extension records"),
            (3, "record 2, of one byte: the size of the trailer"),
            (3, "record 7, of one byte: no number is below 0"),
            (1, "samples 0 (f32), quantizer 0 (uniform), transform 0 (none)"),
            (1, "flags: none"),
            (1, "bytes of the base section"),
            (4, "CRC-32C of all bytes before"),
            (None, "base section: output of the binary coder"),
            (2, "base section: its check"),
            (2, "trailer: record 4, of four bytes"),
            (4, "CRC-32C of the 17 numbers as float32, little-endian"),
            (4, "CRC-32C of the record"),
        ],
    ),
    "palette": (
        np.array([-0.1, 0.3, 7.7], "<f4")[np.arange(24) // 5 % 3],
        {"lossless": True},
        [
            (4, '"STZ", format version 2'),
            (1, "form 2 (blocks), mode 0 (lossless), no fill value, default blocks"),
            (1, "dtype 2 (float32), byte order 0 (little)"),
            (1, "rank 1"),
            (1, "extent 24"),
            (1, "samples 0 (f32), quantizer 1 (integer), transform 4 (palette)"),
            (1, "flags: none"),
            (1, "step"),
            (1, "number of values"),
            (1, "size of the palette"),
            (1, "bytes of the base section"),
            (4, "CRC-32C of all bytes before"),
            (18, "palette: output of the binary coder"),
            (2, "palette: its check"),
            (None, "base section: output of the binary coder"),
            (2, "base section: its check"),
        ],
    ),
    "layers": (
        (PLACES**2 % 13 * (PLACES % 64 < 6)).astype("i1"),
        {"lossless": True, "layers": 2},
        [
            (4, '"STZ", format version 2'),
            (1, "form 2 (blocks), mode 0 (lossless), no fill value, default blocks, extended"),
            (1, "dtype 4 (int8), byte order 0 (little)"),
            (1, "rank 1"),
            (2, "extent 257"),
            (1, "bytes of the extension records"),
            (2, "record 1, of four bytes:"),
            (2, "one refinement; one level"),
            (1, "level 0: bits that the refinement adds"),
            (1, "level 0: bits that are missing"),
            (3, "record 7, of one byte: no number is below 0"),
            (2, "record 10, of 32 bytes:"),
            (8, "one layer: largest error, 2"),
            (8, "one layer: root mean square, 0.336"),
            (8, "two layers: largest error, 0"),
            (8, "two layers: root mean square, 0"),
            (1, "samples 0 (f32), quantizer 1 (integer), transform 0 (none)"),
            (1, "flags: none"),
            (1, "step"),
            (1, "bytes of the base section"),
            (1, "bytes of the section of level 0"),
            (1, "bytes of the refinement's section of level 0"),
            (4, "CRC-32C of all bytes before"),
            (39, "base section: output of the binary coder"),
            (2, "base section: its check"),
            (1, "level 0: bytes of parameters and index"),
            (4, "level 0: parameters and index"),
            (2, "level 0: the section's check"),
            (10, "level 0: stream of the only class of the only block"),
            (1, "refinement: bytes of parameters and index"),
            (3, "refinement: parameters and index"),
            (2, "refinement: the section's check"),
            (None, "refinement: stream of the only class of the only block"),
        ],
    ),
    "fields": (
        np.array([1.5, 0, -1.25, 0, 1, 3, -1.75, 0], "<f2"),
        {"lossless": True},
        [
            (4, '"STZ", format version 2'),
            (1, "form 0 (raw), mode 0 (lossless), no fill value, default blocks, extended"),
            (1, "dtype 1 (float16), byte order 0 (little)"),
            (1, "rank 1"),
            (1, "extent 8"),
            (1, "bytes of the extension records"),
            (2, "record 11, of four bytes:"),
            (2, "blocks of 2^6 numbers; no mantissa bits in tops"),
            (1, "bytes of the directory"),
            (1, "bytes of the blocks"),
            (4, "CRC-32C of all bytes before"),
            (1, "directory: bytes of the only block"),
            (2, "directory: its check"),
            (1, "block: bytes of the parameters"),
            (None, "block: parameters, output of the binary coder"),
            (4, "block: state of the only lane"),
            (2, "block: full planes, four numbers of three bits"),
            (2, "block: its check"),
        ],
    ),
    "patched": (
        PARABOLAS,
        {"absolute": 0.5},
        [
            (4, '"STZ", format version 2'),
            (1, "form 3 (patched), mode 1 (absolute), no fill value, default blocks, extended"),
            (1, "dtype 2 (float32), byte order 0 (little)"),
            (1, "rank 1"),
            (1, "extent 64"),
            (8, "bound 0.5"),
            (1, "bytes of the extension records"),
            (4, "record 12 of two bytes: the same elements without loss take 164 bytes"),
            (1, "number of patches"),
            (1, "bytes of the base's stream"),
            (1, "the patch: origin 3"),
            (1, "the patch: extent 3"),
            (1, "the patch: transparent"),
            (4, "the patch: pattern 7fc00001, a NaN"),
            (1, "the patch: bytes of its stream"),
            (4, "CRC-32C of all bytes before"),
            (4, 'stream of the patch: "STZ", format version 2'),
            (1, "form 0 (raw), mode 1 (absolute), no fill value, default blocks"),
            (3, "dtype 2, rank 1, extent 3, as above"),
            (8, "bound 0.5"),
            (4, "element 3 of the array: 7"),
            (4, "element 4: the pattern, so that the base shows"),
            (4, "element 5: -1"),
            (4, "CRC-32C of the stream of the patch so far"),
            (None, "stream of the base, 64 elements: form 2 (blocks)"),
        ],
    ),
}


def written_again(array):
    """An array that came out of a stream and got two other elements."""
    array[3], array[5] = 7, -1
    return array


def encode(name):
    array, options, _ = EXAMPLES[name]
    if name == "fields":
        return field_streams.stream_of(array)
    options = {"fill_value": False, "integers": "lossy", **options}
    stream = h5stz.compress(array, **options)
    return h5stz.rewrite(written_again(h5stz.decompress(stream)), stream, **options) if name == "patched" else stream


def dump(name):
    """The stream of an example as hexadecimal lines of up to twelve bytes, each field with its meaning."""
    stream, fields = encode(name), EXAMPLES[name][2]
    rest = len(stream) - sum(count or 0 for count, _ in fields)
    lines, at = [], 0
    for count, text in fields:
        field = stream[at : at + (rest if count is None else count)]
        at += len(field)
        pieces = [field[k : k + 12].hex(" ") for k in range(0, len(field), 12)]
        lines += [f"{piece:<37}{text if k == 0 else ''}".rstrip() for k, piece in enumerate(pieces)]
    return "\n".join(lines)


def block_of(name):
    """Pattern of an example's dump in the document."""
    return re.compile(rf"(<!-- example {name} -->\n```text\n)(.*?)(\n```)", re.DOTALL)


def documented(name):
    return block_of(name).search(DOCUMENT.read_text())[2]


def documented_bytes(name):
    """The bytes of a dump: hexadecimal pairs up to the first gap of each line."""
    return bytes.fromhex("".join(line.split("  ")[0] for line in documented(name).splitlines()))


@pytest.mark.parametrize("name", EXAMPLES)
def test_encoder_writes_the_documented_bytes(name):
    assert documented_bytes(name) == encode(name), f"run `python {Path(__file__).name} --write`, then mend the text around"
    assert documented(name) == dump(name)


@pytest.mark.parametrize("name", EXAMPLES)
def test_documented_bytes_decode(name):
    array, options, _ = EXAMPLES[name]
    array = written_again(array.copy()) if name == "patched" else array
    decoded = h5stz.decompress(documented_bytes(name))
    assert decoded.dtype == array.dtype and decoded.shape == array.shape
    assert np.abs(decoded - array).max() <= options.get("absolute", 0)


def test_what_was_not_written_again_keeps_its_bits():
    """The base of the example `patched` is the stream that the array had before."""
    before = h5stz.compress(PARABOLAS, fill_value=False, **EXAMPLES["patched"][1])
    assert documented_bytes("patched").endswith(before)
    after = written_again(h5stz.decompress(before))
    assert h5stz.decompress(documented_bytes("patched")).tobytes() == after.tobytes()


def test_table_of_codes():
    """Each row: index, level, prediction, code, step, reconstruction."""
    rows = re.findall(r"^\| (\d+) \| (\d) \| (\S+) \| (-?\d+) \| (\S+) \| (\S+) \|$", DOCUMENT.read_text(), re.MULTILINE)
    decoded = h5stz.decompress(documented_bytes("blocks"))
    assert sorted(int(row[0]) for row in rows) == list(range(decoded.size))
    for index, level, prediction, code, step, reconstruction in rows:
        prediction, step, reconstruction = np.float32(prediction), np.float32(step), np.float32(reconstruction)
        assert step == np.float32(max(0.8 ** int(level), 0.5))
        assert prediction + np.float32(code) * step == reconstruction == decoded[int(index)]


if __name__ == "__main__":
    for example in EXAMPLES:
        fresh = dump(example)
        print(f"{example}\n{fresh}\n")
        if "--write" in sys.argv:
            DOCUMENT.write_text(block_of(example).sub(rf"\g<1>{fresh}\g<3>", DOCUMENT.read_text()))
