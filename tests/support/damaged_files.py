"""HDF5 files that are damaged on purpose: any bytes, or addresses, sizes and cycles in the index of chunks, with checksums.

Structures are found by their signatures. Those of the newer format end with a checksum (Jenkins' lookup3), which is made to
fit, so that HDF5 goes on to what was changed.
"""

from dataclasses import dataclass

import h5py
import numpy as np

import h5stz

UNDEFINED = 2**64 - 1
WITHOUT_CHECKSUM = (b"TREE", b"SNOD", b"HEAP")
SIGNATURES = (b"TREE", b"BTHD", b"BTIN", b"BTLF", b"FAHD", b"FADB", b"EAHD", b"EAIB", b"EADB", b"EASB")
#: Which index HDF5 makes of which extents, with 16 x 16 chunks.
INDEXES = {
    "B-tree 1": ("earliest", (None, None), 4),
    "B-tree 1 with levels": ("earliest", (None, None), 24),
    "B-tree 2": ("latest", (None, None), 6),
    "fixed array": ("latest", (96, 96), 6),
    "extensible array": ("latest", (None, 96), 6),
    "single chunk": ("latest", (16, 16), 1),
}


def lookup3(data):
    """The checksum of HDF5's metadata: Jenkins' hashlittle, initial value 0."""
    mask = 0xFFFFFFFF

    def rotated(x, k):
        return (x << k | x >> 32 - k) & mask

    a = b = c = 0xDEADBEEF + len(data) & mask
    whole = max(0, (len(data) - 1) // 12 * 12)
    words = np.frombuffer(data[:whole], "<u4").tolist()
    for k in range(0, len(words), 3):
        a, b, c = a + words[k] & mask, b + words[k + 1] & mask, c + words[k + 2] & mask
        a = (a - c & mask) ^ rotated(c, 4)
        c = c + b & mask
        b = (b - a & mask) ^ rotated(a, 6)
        a = a + c & mask
        c = (c - b & mask) ^ rotated(b, 8)
        b = b + a & mask
        a = (a - c & mask) ^ rotated(c, 16)
        c = c + b & mask
        b = (b - a & mask) ^ rotated(a, 19)
        a = a + c & mask
        c = (c - b & mask) ^ rotated(b, 4)
        b = b + a & mask
    if not data:
        return c
    rest = np.frombuffer(data[whole:].ljust(12, b"\0"), "<u4").tolist()
    a, b, c = a + rest[0] & mask, b + rest[1] & mask, c + rest[2] & mask
    for one, other, k in (
        ("c", "b", 14),
        ("a", "c", 11),
        ("b", "a", 25),
        ("c", "b", 16),
        ("a", "c", 4),
        ("b", "a", 14),
        ("c", "b", 24),
    ):
        names = {"a": a, "b": b, "c": c}
        names[one] = (names[one] ^ names[other]) - rotated(names[other], k) & mask
        a, b, c = names["a"], names["b"], names["c"]
    return c


def with_bytes_changed(path, places):
    """Changes the bytes of a file at these places."""
    with open(path, "r+b") as file:
        for place in places:
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ 0x55]))


@dataclass(frozen=True)
class Structure:
    """A part of a file's index: its signature, where it begins and how long it is, its checksum left out."""

    signature: bytes
    begin: int
    size: int

    @property
    def has_checksum(self):
        """Whether four bytes with a checksum follow."""
        return self.signature not in WITHOUT_CHECKSUM


def structures(content, most=4096):
    """Those of the indexes of chunks in a file, by where they begin."""
    found = []
    for signature in SIGNATURES:
        begin = content.find(signature)
        while begin >= 0:
            if signature == b"TREE":
                if content[begin + 4] == 1:  # of chunks, and no group
                    found.append(Structure(signature, begin, 24 + 3 * 40))
            else:
                size = next(
                    (
                        n
                        for n in range(8, most)
                        if content[begin + n : begin + n + 4] == lookup3(content[begin : begin + n]).to_bytes(4, "little")
                    ),
                    None,
                )
                if size is not None:
                    found.append(Structure(signature, begin, size))
            begin = content.find(signature, begin + 4)
    return sorted(found, key=lambda one: one.begin)


def written(path, index):
    """Writes a file with a dataset x of this index, compressed by h5stz, and one, y, by gzip. Returns the array."""
    libver, maxshape, chunks = INDEXES[index]
    rows, columns = np.mgrid[: 16 * chunks, : 16 * chunks].astype("f4")
    array = np.sin(rows / 9) * np.cos(columns / 7) + columns / 50
    with h5py.File(path, "w", libver=libver) as file:
        for name, options in (("x", h5stz.STZ(absolute=1e-3)), ("y", {"compression": "gzip"})):
            file.create_dataset(
                name, data=array, chunks=(16, 16), maxshape=maxshape if chunks != 1 else None, fillvalue=-7, **options
            )
    return array


@dataclass(frozen=True)
class Damage:
    """A damaged file: its bytes, and what was changed (text)."""

    content: bytes
    text: str


def _numbers(rng, content, found, width):
    """A number that an attacker, or a bad disk, would put in the place of another one."""
    here = [one.begin for one in found]
    choices = [
        0,
        1,
        2**8 - 1,
        2**16 - 1,
        2**31,
        2**32 - 1,
        2**63,
        UNDEFINED,
        UNDEFINED - 1,
        len(content),
        len(content) - 1,
        *here,
    ]
    choices += [int(rng.integers(len(content))), int(rng.integers(2**16)), int(rng.integers(2**62))]
    return int(rng.choice(np.array(choices, dtype="u8"))) & (1 << 8 * width) - 1


def damaged(rng, content, found):
    """A Damage of one to three fields of the structures `found` in a file."""
    changed, texts = bytearray(content), []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        one = found[int(rng.integers(len(found)))]
        if rng.random() < 0.3:
            at, width = one.begin + int(rng.integers(4, one.size)), 1
            value = changed[at] ^ 1 << int(rng.integers(8))
        else:
            width = int(rng.choice([1, 2, 4, 8, 8]))
            at = one.begin + int(rng.integers(4, max(5, one.size - width + 1)))
            value = _numbers(rng, content, found, width)
        changed[at : at + width] = value.to_bytes(width, "little")
        texts.append(f"{one.signature.decode()} at {one.begin}, byte {at - one.begin}: {value:#x} in {width} bytes")
        if one.has_checksum:
            end = one.begin + one.size
            changed[end : end + 4] = lookup3(bytes(changed[one.begin : end])).to_bytes(4, "little")
    return Damage(bytes(changed), "; ".join(texts))
