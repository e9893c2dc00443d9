"""Files that are no HDF5 files, or not whole ones: how each is made of the bytes of an HDF5 file, and what errors say of it."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile


def tar_of(content):
    """A tar file with one member."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("x"), io.BytesIO(content))
    return made.getvalue()


def zip_of(content):
    """A ZIP file with one member."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("x", content)
    return made.getvalue()


#: What is made of the bytes of a file, what the error calls it, and what it proposes: for a path, for an address.
FILES = {
    "empty": (lambda content: b"", "empty (0 bytes)", "make it again", "make it again"),
    "gzip": (gzip.compress, "a gzip file", "gzip -dc", "download it, and unpack it first"),
    "bzip2": (bz2.compress, "a bzip2 file", "bzip2 -dc", "download it, and unpack it first"),
    "xz": (lzma.compress, "an xz file", "xz -dc", "download it, and unpack it first"),
    "zstd": (lambda content: b"\x28\xb5\x2f\xfd" + content, "a Zstandard file", "zstd -dc", "download it, and unpack it first"),
    "tar": (tar_of, "a tar file", "tar -xf", "download it, and unpack it first"),
    "zip": (zip_of, "a ZIP file", "unpack it", "download it, and unpack it first"),
    "npy": (lambda content: b"\x93NUMPY\1\0" + content, "an array of NumPy", "with h5py", "with h5py"),
    "hdf4": (lambda content: b"\x0e\x03\x13\x01" + content, "an HDF4 file", "h4toh5", "download it, and convert it first"),
    "grib": (lambda content: b"GRIB" + content, "a GRIB file", "cdo", "download it, and convert it first"),
    "fits": (lambda content: b"SIMPLE  =" + content, "a FITS file", "HDF5 file first", "HDF5 file first"),
    "page": (
        lambda content: b"\n<!DOCTYPE HTML><html><title> Sign\n in</title>404",
        'a page of the web or XML ("Sign in")',
        "download",
        "open the address in a browser",
    ),
    "error": (
        lambda content: b'<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>',
        'XML ("Request has expired")',
        "download",
        "open the address in a browser",
    ),
    "json": (
        lambda content: b'{"code": 17, "error": "token expired"}',
        'JSON ("token expired")',
        "download",
        "open the address in a browser",
    ),
    "pointer": (lambda content: b"version https://git-lfs.github.com/spec/v1\n", "Git LFS", "git lfs pull", "git lfs pull"),
    "zeros": (lambda content: bytes(len(content)), "begins with zeros", "copy or download", "have it uploaded again"),
    "text": (lambda content: b"no HDF5", "it is text, neither an HDF5 nor a netCDF file", "name one", "name one"),
    "noise": (lambda content: b"\xff\1\2" + content, "it is neither an HDF5 nor a netCDF file", "name one", "name one"),
    "first bytes": (lambda content: content[:5], "cut short, after 5 bytes", "download", "have it uploaded again"),
    "cut": (lambda content: content[:-7], "cut short", "h5stz salvage", "download it: h5stz salvage"),
    "netCDF-3": (lambda content: b"CDF\x01" + bytes(99), "a netCDF-3 file", "", "download it: h5stz compress"),
}
