"""Identifies files that HDF5 cannot open by their first bytes, for error messages about paths, addresses and file objects."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from h5stz.counts import counted

#: What the bytes were read from; the cure differs.
Where: TypeAlias = Literal["path", "address", "object"]

LOOKED_AT = 4096  # bytes of a file that tell its format
NETCDF3 = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
_LEAST = 512  # bytes of an HDF5 file without which nothing is found in it
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_SUPERBLOCK = 48  # bytes that the first structure of an HDF5 file has at least

#: How files of other formats begin, at which byte, what they are, and what to do.
_FORMATS = (
    (0, b"\x1f\x8b", "a gzip file", "unpack it first, such as gzip -dc {name} > OUT"),
    (0, b"BZh", "a bzip2 file", "unpack it first, such as bzip2 -dc {name} > OUT"),
    (0, b"\xfd7zXZ\0", "an xz file", "unpack it first, such as xz -dc {name} > OUT"),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard file", "unpack it first, such as zstd -dc {name} > OUT"),
    (0, b"\x04\x22\x4d\x18", "an LZ4 file", "unpack it first, such as lz4 -dc {name} > OUT"),
    (0, b"\x1f\x9d", "a file of compress (.Z)", "unpack it first, such as gzip -dc {name} > OUT"),
    (0, b"PK\x03\x04", "a ZIP file, as .npz files and some Zarr stores are", "unpack it first, and name an HDF5 file"),
    (0, b"PK\x05\x06", "an empty ZIP file", "name an HDF5 file"),
    (257, b"ustar", "a tar file", "unpack it first, such as tar -xf {name}"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z file", "unpack it first"),
    (0, b"\x0e\x03\x13\x01", "an HDF4 file", "convert it first, such as with h4toh5"),
    (0, b"GRIB", "a GRIB file", "convert it first, such as with cdo -f nc4 copy {name} OUT.nc"),
    (0, b"BUFR", "a BUFR file", "convert it first"),
    (0, b"\x93NUMPY", "an array of NumPy (.npy)", "store it in an HDF5 file first, with h5py"),
    (0, b"SIMPLE  =", "a FITS file", "store its arrays in an HDF5 file first"),
    (0, b"II*\0", "a TIFF file", "store its arrays in an HDF5 file first"),
    (0, b"MM\0*", "a TIFF file", "store its arrays in an HDF5 file first"),
    (0, b"PAR1", "a Parquet file", "store its columns in an HDF5 file first"),
    (0, b"ARROW1", "an Arrow file", "store its columns in an HDF5 file first"),
    (0, b"MATLAB 5.0 MAT-file", "a MATLAB file of version 7 or older", "save it with -v7.3, which is HDF5"),
    (0, b"%PDF", "a PDF file", "name an HDF5 file"),
    (0, b"version https://git-lfs", "the pointer of a file that Git LFS keeps", "fetch the file with git lfs pull"),
)
_PAGES = (b"<!doctype html", b"<html", b"<?xml", b"<error>")
#: Where pages and JSON say what is wrong.
_TITLE = re.compile(rb"<(title|message)>\s*([^<]{1,200})", re.IGNORECASE)
_SAID = re.compile(rb'"(?:message|error_description|error|detail|msg|title)"\s*:\s*"([^"\\]{1,200})"', re.IGNORECASE)

#: What HDF5 says of a file that cannot be opened, and what that means.
_REFUSALS = (
    ("unable to lock file", "another program has it open for writing: wait until it is closed"),
    (
        "already open for",
        "a program has it open for writing, or ended without closing it: wait until it is closed; if no program has it, type "
        "h5clear -s {name}",
    ),
    (
        "driver should be used",
        "it is one of several files that make up one (HDF5's drivers multi, split, family): make one file of them, with a "
        "program that knows the driver",
    ),
    ("bad superblock version", "it is an HDF5 file of a version that the HDF5 of h5py does not know: install a newer h5py"),
)
#: What to do about a file that is not whole.
_AGAIN = {"path": "copy or download it again", "address": "have it uploaded again", "object": "get it again"}


def why_not(content: bytes, said: str, name: str, where: Where) -> str:
    """The format of a file that HDF5 cannot open, or the reason why HDF5 cannot open it, with the remedy.

    Args:
        content: the first LOOKED_AT bytes of the file.
        said: the message of HDF5, in one line.
        name: the file's name in the suggested commands.
        where: the kind of place that the file was read from.
    """
    if (other := other_format(content, name, where)) is not None:
        return other
    file = name if where == "path" else "FILE"  # once it was stored
    salvage = {"path": "", "address": "download it: ", "object": "store it as FILE: "}[where] + f"h5stz salvage {file} OUT"
    again = {"path": "copy it again"}.get(where, _AGAIN[where])
    if found := re.search(r"truncated file: eof = (\d+), sblock->base_addr = (\d+), stored_eof = (\d+)", said):
        present, whole = int(found[1]), int(found[2]) + int(found[3])
        sizes = f", {present} of {whole} bytes are there" if whole < 1 << 60 else ""
        if present < _LEAST:
            return f"it is an HDF5 file that was cut short{sizes}: {_AGAIN[where]}"
        return f"it is an HDF5 file that was cut short{sizes}: {again}, or {salvage} copies the readable parts"
    for text, meaning in _REFUSALS:
        if text in said:
            return meaning.format(name=name)
    if content.startswith(_SIGNATURE) and len(content) < 2 * _SUPERBLOCK:  # the old form of that structure
        return f"it is an HDF5 file that was cut short, after {counted(len(content), 'byte')}: {_AGAIN[where]}"
    if "signature not found" in said:
        text = "it is text, " if _is_text(content) else "it is "
        return f"{text}neither an HDF5 nor a netCDF file: name one"
    return f"it is an HDF5 file that is damaged: {again}, or try {salvage} (HDF5 says: {said})"


def other_format(content: bytes, name: str, where: Where) -> str | None:
    """The format of a file that certainly is not a complete HDF5 file, by its first bytes, with the remedy; None for other
    files.
    """
    if not content:
        return "it is empty (0 bytes): whatever made it did not finish, make it again"
    first = {"path": "", "address": "download it, and ", "object": ""}[where]
    if content.startswith(NETCDF3):
        first = {"path": "", "address": "download it: ", "object": "store it in a file: "}[where]
        made = "h5stz compress makes a compressed netCDF-4 file of it, nccopy -k nc4 an ordinary one"
        return f"it is a netCDF-3 file: {first}{made}"
    for at, begin, what, cure in _FORMATS:
        if content[at:].startswith(begin):
            if where == "object":
                cure = cure.partition(", such as")[0]
            return f"it is {what}: {'' if cure.startswith('name') else first}{cure.format(name=name)}"
    if (of_server := _of_server(content, where)) is not None:
        return of_server
    if not any(content):
        return f"it begins with zeros, as a file that was copied or downloaded in part: {_AGAIN[where]}"
    if len(content) < _SUPERBLOCK and content.startswith(_SIGNATURE[: len(content)]):
        return f"it is an HDF5 file that was cut short, after {counted(len(content), 'byte')}: {_AGAIN[where]}"
    return None


def _of_server(content: bytes, where: Where) -> str | None:
    """Identifies responses that servers send instead of files: web pages, XML, JSON."""
    begin = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    is_page = begin[:20].lower().startswith(_PAGES)
    is_json = begin[:1] in (b"{", b"[") and _is_text(content) and re.match(rb'[{\[]\s*["{\[}\]\d]', begin)
    if not is_page and not is_json:
        return None
    found = _TITLE.search(content) if is_page else _SAID.search(content)
    title = " ".join(found[found.lastindex or 0].decode(errors="replace").split()) if found else ""
    what = ("a page of the web or XML" if is_page else "JSON") + (f' ("{title}")' if title else "")
    cure = {
        "path": "download the file again",
        "address": "open the address in a browser to see what it wants, such as a login, and give that of the file itself",
        "object": "get the file again",
    }[where]
    return f"it is {what}, such as a server sends in place of a file: {cure}"


def _is_text(content: bytes) -> bool:
    """True if bytes are text, which may be truncated."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        if error.start < len(content) - 3:
            return False
        text = content[: error.start].decode()
    return all(each.isprintable() or each in "\t\r\n\f" for each in text)
