"""compare_cores.py LIBRARY LIBRARY: whether two builds of the core make the same arrays and streams.

Each golden stream is decoded by both, and the array compressed again by both, as the stream's header says. Prints their number.
"""

import ctypes
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.host_tools import Options, stream_info  # noqa: E402

size = ctypes.c_size_t


def decompress(core, stream, array_bytes):
    """The array of a stream as bytes."""
    array = ctypes.create_string_buffer(max(1, array_bytes))
    assert core.stz_decompress(stream, size(len(stream)), array, size(array_bytes)) == 0
    return array.raw[:array_bytes]


def compress(core, array, info):
    """The stream of an array, with layout and options of a stz_stream_info."""
    chosen = {name: getattr(info, name) for name in ("mode", "bound", "has_fill", "fill", "block")} | {"integers": 1}
    core.stz_max_compressed_size.restype = size
    stream, written = ctypes.create_string_buffer(core.stz_max_compressed_size(ctypes.byref(info.layout))), size()
    arguments = (
        ctypes.byref(info.layout),
        array,
        ctypes.byref(Options(**chosen)),
        stream,
        size(len(stream)),
        ctypes.byref(written),
    )
    assert core.stz_compress(*arguments) == 0
    return stream.raw[: written.value]


cores = [ctypes.CDLL(path) for path in sys.argv[1:3]]
paths = sorted((ROOT / "tests/golden").glob("version_*/*.stz"))
for path in paths:
    golden = path.read_bytes()
    header = stream_info(golden)
    one, other = (decompress(core, golden, header.array_bytes) for core in cores)
    assert one == other, f"{path.name}: the arrays differ"
    one, other = (compress(core, one, header) for core in cores)
    assert one == other, f"{path.name}: the streams differ"
print(len(paths), "streams")
