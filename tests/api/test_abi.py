"""What programs that were compiled earlier rely on does not change by accident: symbols, prototypes, structures, constants.

`python tests/api/test_abi.py` makes abi.txt anew after an intended change. Additions are compatible; everything else needs
another soname.
"""

import platform
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pytest

import h5stz
from support import abi
from support.host_tools import plugin_file, run
from support.native import native_build
from support.paths import TESTS
from support.requirements import needs, needs_programs

EXPECTED = TESTS / "api" / "abi.txt"
PACKAGE = Path(h5stz.__file__).parent
PACKAGED = {
    "libh5stz.so": Path(plugin_file()),
    "libh5stz_read.so": PACKAGE / "lib" / "libh5stz_read.so",
    "libh5stz_preload.so": PACKAGE / "lib" / "libh5stz_preload.so",
    "libh5stz_connector.so": PACKAGE / "connector" / "libh5stz_connector.so",
}
LIBRARIES = ["libstz.so", *PACKAGED]
is_lp64 = sys.maxsize == 2**63 - 1 and platform.machine() in ("x86_64", "aarch64")


def path_of(library):
    """The Python package holds all but the shared core."""
    return PACKAGED.get(library) or native_build(["stz"]) / library


def symbols_of(library):
    return [f"  {name}" for name in abi.exported_symbols(path_of(library))]


def sections():
    """{title: lines} of abi.txt."""
    result = {}
    for line in EXPECTED.read_text().splitlines():
        if line.startswith("# "):
            lines = result[line[2:]] = []
        elif line:
            lines.append(line)
    return result


@needs_programs("nm", "g++")
@pytest.mark.parametrize("library", LIBRARIES)
def test_exported_symbols(library):
    assert symbols_of(library) == sections()[f"exported by {library}"]


def test_prototypes():
    assert abi.prototypes() == sections()["prototypes"]


@needs_programs("nm", "g++")
def test_every_prototype_is_exported():
    declared = {line.split("(")[0].split()[-1].lstrip("*") for line in abi.prototypes()}
    of_the_plugin = {"stz_h5_last_error"}
    assert declared & set(abi.exported_symbols(path_of("libh5stz.so"))) >= of_the_plugin
    declared -= of_the_plugin
    # Nor "stz_decoded_chunks_1", by which copies of the plug-in share what they remember: only they decode and encode chunks.
    # Nor "stz_chunk_functions_1", for the libraries of unmodified programs.
    assert declared == set(abi.exported_symbols(path_of("libh5stz_read.so")))
    assert "stz_decoded_chunks_1" in abi.exported_symbols(path_of("libh5stz.so"))
    assert {name for name in declared if not name.startswith("stz_h5_")} == set(abi.exported_symbols(path_of("libstz.so")))


@needs_programs("readelf", "g++")
@pytest.mark.parametrize("target, soname", [("stz", "libstz.so.1"), ("h5stz_read", "libh5stz_read.so.1")])
def test_sonames(target, soname):
    """A soname stands for an ABI: programs that were linked with one find no library of another."""
    library = native_build([target]) / f"lib{target}.so"
    assert f"soname: [{soname}]" in run("readelf", "-dW", library)


@needs_programs("cc")
@needs("a machine with 64-bit pointers", is_lp64)
def test_structures_and_constants(tmp_path):
    assert abi.sizes_and_values(tmp_path) == sections()["structures and constants"]


@needs("a machine with 64-bit pointers", is_lp64)
def test_structures_have_no_padding():
    """A field that is added later must not fall into what an earlier caller left undefined."""
    end = size = 0
    for line in sections()["structures and constants"]:
        if line.startswith("stz_"):
            assert end == size, f"padding before {line}"
            end, size = 0, int(line.split()[1])
        elif line.startswith("  "):
            _, _, offset, length, _ = line.split()
            assert int(offset.rstrip(",")) == end, f"padding before {line}"
            end += int(length)
    assert end == size


def write():
    """Makes abi.txt anew."""
    parts = {f"exported by {library}": symbols_of(library) for library in LIBRARIES}
    parts["prototypes"] = abi.prototypes()
    with tempfile.TemporaryDirectory() as directory:
        parts["structures and constants"] = abi.sizes_and_values(Path(directory))
    EXPECTED.write_text("\n".join("\n".join([f"# {title}", *lines, ""]) for title, lines in parts.items()))


if __name__ == "__main__":
    write()
