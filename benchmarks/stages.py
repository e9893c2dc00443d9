"""Time per stage of compression and decompression, beside a copy of the array, in a build with a clock per stage.

The clocks cost about 2 %. The time of a stage excludes the stages that it calls, except for fits, which include them.
"""

import ctypes
import statistics

import numpy as np

from shared import builds, clock, fields, report, synthetic

STAGES = {
    "scan": "largest magnitude, values that are not finite, fill value",
    "coarsen": "samples of the coarser levels",
    "fit": "weights and models from samples",
    "load": "de-interleave the block, fetch the coarser level around it",
    "predict": "stencil and quantize, or the reverse",
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
    target = np.zeros_like(array)
    return clock.interleaved({"copy": lambda: np.copyto(target, array)}, max(5, repeats))["copy"]


def measure(codec, name, array, repeats):
    """The records of all bounds; prints milliseconds of each stage."""
    copy, records = copy_seconds(array, repeats), []
    rows = {stage: {"stage": f"{stage}: {what}"} for stage, what in STAGES.items()}
    rows |= {name: {"stage": name} for name in ("all", "all / copy")}
    for relative in fields.RELATIVE_BOUNDS:
        *ways, size = codec.run(array, relative * fields.value_range(array), repeats)
        found = dict(zip(("compress", "decompress"), ways, strict=True))
        record = {"part": "stages", "field": name, "relative": relative, "ratio": array.nbytes / size, "copy": copy}
        records.append(record | found)
        for way, seconds in found.items():
            total = sum(seconds.values())
            rows["all"][f"{way} {relative:g}"], rows["all / copy"][f"{way} {relative:g}"] = 1e3 * total, total / copy
            for stage in STAGES:
                rows[stage][f"{way} {relative:g}"] = 1e3 * seconds[stage]
    keys = [key for key in rows["all"] if key != "stage"]
    title = f"{name}, {' x '.join(map(str, array.shape))} float32: ms per stage; a copy of the array takes {1e3 * copy:.1f} ms"
    report.table(rows.values(), {"stage": "{stage}"} | {key: report.item(key, ".1f") for key in keys}, title)
    return records


def main():
    arguments = report.parser(__doc__, directory=False, edge=synthetic.EDGE, repeats=5, fields=["grf"]).parse_args()
    codec, records = Codec(builds.build("stages", ["stz"], "stages")["stz"]), []
    for name, array in fields.chosen(synthetic.volumes(arguments.edge), arguments.fields).items():
        records += measure(codec, name, np.ascontiguousarray(array, "f4"), arguments.repeats)
    report.finish(arguments, records, report.Checks(have_targets=False))


if __name__ == "__main__":
    main()
