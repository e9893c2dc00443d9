"""Parts of streams written by hand, as docs/format.md has them."""

from reference_decoder import check, crc


def varint(number):
    """LEB128."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def with_crc(data):
    """Bytes followed by their CRC-32C, as headers end, and streams of the forms raw and constant."""
    return bytes(data) + crc(data).to_bytes(4, "little")


def with_check(content):
    """The content of a section followed by its check of two or four bytes."""
    return bytes(content) + check(content)


def header_size(stream, least=0):
    """The size of a header of the form blocks, without its check; `least`: what it has at least."""
    return next(size for size in range(least, len(stream)) if with_crc(stream[:size]) == stream[: size + 4])
