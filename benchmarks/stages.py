"""Time per stage of compression and decompression, beside a copy of the array.

Builds the codec with a clock per stage (STZ_STAGES, see filter/base/stages.h) in build/stages of the checkout; the
clocks cost about 2 %. One thread, generated float32 fields, medians of the repeats; decompression into memory that has
been touched. The time of a stage excludes the stages that it calls, except for fits, which include them.
"""

import ctypes
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import fields
import report
import synthetic

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "filter/tools"))
import build_filter  # noqa: E402

STAGES = {
    "scan": "largest magnitude, values that are not finite, fill value",
    "coarsen": "samples of the coarser levels",
    "fit": "weights and models from samples",
    "load": "de-interleave the block, fetch the coarser level around it",
    "predict": "stencil and quantise, or the reverse",
    "halo": "what lies outside of the block",
    "activity": "activities: sizes of codes, for contexts",
    "context": "contexts from the activity of the neighbourhood",
    "partition": "codes sorted by context, or back",
    "symbols": "codes to symbols and raw bits, or back",
    "rans": "entropy coding",
    "mask": "masks and what stands in for masked samples",
    "store": "interleave the block into its level",
    "assemble": "streams joined, checks",
    "other": "everything else",
}


class Layout(ctypes.Structure):
    """stz_layout of filter/include/stz.h."""

    _fields_ = [(name, ctypes.c_int32) for name in ("dtype", "byte_order", "rank", "reserved")]
    _fields_ += [("shape", ctypes.c_uint64 * 32)]


class Options(ctypes.Structure):
    """stz_options."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("mode", ctypes.c_int32), ("has_fill", ctypes.c_int32)]
    _fields_ += [("bound", ctypes.c_double), ("fill", ctypes.c_uint64)]
    _fields_ += [(name, ctypes.c_int32) for name in ("block", "threads", "effort", "layers")]


def build():
    """The path of the library, built if a source is newer."""
    directory = ROOT / "build/stages"
    build_filter.build(directory, ["stz"], preset="stages")
    return directory / "libstz.so"


class Codec:
    """The library with clocks."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.stz_stage_names.restype = ctypes.c_char_p
        self.library.stz_max_compressed_size.restype = ctypes.c_size_t
        self.names = self.library.stz_stage_names().decode().split(",")
        self.seconds = (ctypes.c_double * len(self.names))()

    def stages(self, action):
        """{stage: seconds} of a call that returns an error code."""
        self.library.stz_take_stage_seconds(self.seconds)
        error = action()
        self.library.stz_take_stage_seconds(self.seconds)
        if error:
            raise RuntimeError(f"the codec failed with error {error}")
        return dict(zip(self.names, self.seconds, strict=True))

    def run(self, array, bound, repeats):
        """Medians of compressing and of decompressing, {stage: seconds} each, and the compressed size."""
        layout = Layout(2, 0, array.ndim, 0, (ctypes.c_uint64 * 32)(*array.shape))
        options = Options(struct_size=ctypes.sizeof(Options), mode=1, bound=bound, threads=1)
        stream = np.empty(self.library.stz_max_compressed_size(ctypes.byref(layout)), "u1")
        decoded, size = np.zeros_like(array), ctypes.c_size_t()
        pointer = lambda a: ctypes.c_void_p(a.ctypes.data)  # noqa: E731

        def compress():
            arguments = ctypes.byref(layout), pointer(array), ctypes.byref(options)
            return self.library.stz_compress(*arguments, pointer(stream), ctypes.c_size_t(stream.size), ctypes.byref(size))

        def decompress():
            target = pointer(decoded), ctypes.c_size_t(decoded.nbytes)
            return self.library.stz_decompress(pointer(stream), size, *target)

        records = []
        for action in (compress, decompress):
            action()
            each = [self.stages(action) for _ in range(repeats)]
            records.append({name: statistics.median(one[name] for one in each) for name in self.names})
        if not np.all(np.abs(decoded.astype("f8") - array) <= bound):
            raise RuntimeError("the bound is broken")
        return *records, size.value


def copy_seconds(array, repeats):
    """The median time of a copy into memory that has been touched: one read and one write of the array."""
    target, times = np.zeros_like(array), []
    for _ in range(max(5, repeats)):
        start = time.perf_counter()
        np.copyto(target, array)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main():
    parser = report.parser(__doc__, directory=False)
    parser.add_argument("--edge", type=int, default=synthetic.EDGE, help="samples per axis; default %(default)s")
    parser.add_argument("--repeats", type=int, default=5, help="counted repeats; default %(default)s")
    parser.add_argument("--field", choices=synthetic.VOLUMES, nargs="+", default=["grf"], help="default grf")
    arguments = parser.parse_args()
    codec = Codec(build())
    volumes, records = synthetic.volumes(arguments.edge), []
    for name in arguments.field:
        array = np.ascontiguousarray(volumes[name], "f4")
        copy = copy_seconds(array, arguments.repeats)
        columns = []
        for relative in fields.RELATIVE_BOUNDS:
            bound = relative * float(np.ptp(array.astype("f8")))
            packed, unpacked, size = codec.run(array, bound, arguments.repeats)
            columns += [packed, unpacked]
            entry = {"part": "stages", "field": name, "relative": relative, "ratio": array.nbytes / size, "copy": copy}
            records.append(entry | {"compress": packed, "decompress": unpacked})
        print(f"\n{name}, {arguments.edge}^3 float32: ms per stage; a copy of the array takes {1e3 * copy:.1f} ms\n")
        header = ["stage", *(f"{way} {bound:g}" for bound in fields.RELATIVE_BOUNDS for way in ("compress", "decompress"))]
        cell = lambda seconds: f"{1e3 * seconds:.1f}" if seconds >= 5e-5 else "-"  # noqa: E731
        rows = [[f"{stage}: {what}", *(cell(c[stage]) for c in columns)] for stage, what in STAGES.items()]
        rows.append(["all", *(cell(sum(c.values())) for c in columns)])
        rows.append(["all / copy", *(f"{sum(c.values()) / copy:.1f}" for c in columns)])
        print(report.markdown(header, rows))
    report.finish(arguments, records, report.Checks(have_targets=False))


if __name__ == "__main__":
    main()
