"""The thresholds that the figures must meet. `--check` of each command compares with them; nothing else holds a
threshold.

Keys are relative bounds, or chunk edges where the name says so. Ratios are h5stz over the named peer in the same run.
"""

RATIO_MEAN = {1e-2: 1.74, 1e-3: 1.54, 1e-4: 1.43}  # geometric mean over SZ3, one chunk
RATIO_MINIMUM = 1.0  # every field, every bound
CHUNK_RATIO_MEAN = {64: 1.58, 32: 1.485}  # by chunk edge, geometric mean over SZ3 at relative 1e-3; 32: learning may cost 1 %
EDGE_CHUNK_OVERHEAD = 1.12  # bytes of an odd-sized field in 64^3 chunks over those of its valid boxes
MASKED_RATIO_MEAN = 1.5  # geometric mean over SZ3 on the raw array, all fields and bounds
MASKED_OVER_FILLED = {1e-2: 1.88, 1e-3: 1.45, 1e-4: 1.32}  # over SZ3 on mean-filled data with the mask through zlib
LOSSLESS_OVER_BEST = 1.30  # over the best of Blosc2 (both shuffles), fpzip, pcodec and ZipNN on each field, geometric mean
LOSSLESS_OVER_ALL = 1.20  # the same with OpenZL's generic graph among the rivals
LOSSLESS_MINIMUM = 0.99  # over the best rival without OpenZL, every field
LOSSLESS_MEAN = 1.0  # over each rival, geometric mean of the float fields; integer fields over the best
NOISE_BYTES = {"float32": 0.830, "float64": 0.869, "float16": 0.846, "bfloat16": 0.657}  # over raw, normal distributions
NOISE_SPEED = {"write": 3, "read": 1.3}  # float32 noise in chunks of 1 MiB through h5py, over Blosc2 (zstd 5, byte shuffle)
WEIGHTS_BYTES = 1.0  # weights of networks, over the fewest of ZipNN and pcodec
RANDOM_EXPANSION = 64  # bytes that random samples may grow by
LAYERED_RATIO = 1.4  # layered models, labels, mask, sparse data over SZ3, every array and bound
LAYERED_LOSSLESS = 1.2  # labels, mask and sparse data over the best of Blosc2 (both shuffles), fpzip and pcodec

# Through h5py, by peer and chunk shape: write and read over the filter of hdf5plugin.
HDF5_THROUGHPUT = {
    "SZ3": {(64, 64, 64): (3.6, 2.8), (32, 32, 32): (9, 1.8)},
    "ZFP": {(64, 64, 64): (1.9, 2.6), (32, 32, 32): (1.0, 1.35), (16, 32, 32): (0.8, 0.95)},
}

# Speeds on the generated fields of speed.py: part, case, the case that it is divided by, and for each operation (and the ratio)
# the geometric mean over all fields and bounds and the least case. "into" is decompression into the caller's array.


def _both(compress, into):
    return {"compress": (compress, None), "into": (into, None)}


_CHUNKS = {
    5: {64: (0.45, 0.80), 32: (0.18, 0.45), 16: (0.07, 0.20)},
    3: {64: (0.55, 0.85), 32: (0.25, 0.50), 16: (0.10, 0.25)},
}
_KINDS = {
    "int16, bound": (0.75, 0.70),
    "int16, lossless": (0.40, 0.40),
    "int32, lossless": (0.30, 0.30),
    "float32, lossless": (0.30, 0.35),
    "30 % NaN": (0.45, 0.45),
    "box of NaN": (0.45, 0.45),
    "land of NaN": (0.45, 0.45),
    "float64": (0.45, 0.45),
    "1-D": (0.70, 0.70),
    "2-D": (0.70, 0.70),
}
SPEED = [
    ("fields", "h5stz", "SZ3 3.4", {"compress": (3.2, 2.4), "into": (2.4, 2.0)}),
    ("fields", "h5stz, 2 threads", "h5stz", _both(1.8, 1.8)),
    ("settings", "effort 3", "SZ3 3.4", _both(3.6, 2.7)),
    ("settings", "throughput, effort 3", "SZ3 3.4", {"compress": (4.3, 3.2), "into": (3.1, 2.5)}),
    ("settings", "throughput, effort 1", "SZ3 3.4", _both(5.5, 3.3)),
    ("settings", "throughput, effort 1", "throughput, effort 3", {"ratio": (1 / 1.08, None)}),
    ("kernels for avx2 alone", "h5stz", "SZ3 3.4", _both(2.5, 1.8)),
    ("kernels for baseline alone", "h5stz", "SZ3 3.4", _both(1.6, 1.1)),
    ("blocks", "region", "default", _both(0.70, 0.70) | {"ratio": (0.97, None)}),
    *(
        ("chunks", f"chunks of {edge}, effort {effort}", f"whole, effort {effort}", _both(*least))
        for effort, edges in _CHUNKS.items()
        for edge, least in edges.items()
    ),
    *(("kinds", kind, "float32 3-D", _both(*least)) for kind, least in _KINDS.items()),
    *(
        (f"h5py, chunks of {chunks}", f"h5stz in HDF5{threads}", f"h5stz in memory{threads}", _both(0.60, 0.60))
        for chunks in ("128, effort 5", "64, effort 5", "32, effort 3")
        for threads in ("", ", 2 threads")
    ),
    ("h5py, chunks of 64, effort 5", "h5stz in HDF5", "SZ3 of hdf5plugin", _both(3.0, 2.3)),
    ("h5py, chunks of 64, effort 5", "h5stz in HDF5", "ZFP of hdf5plugin", _both(1.0, 1.0)),
    ("h5py, chunks of 32, effort 3", "h5stz in HDF5", "ZFP of hdf5plugin", {"compress": (0.7, None)}),
]
PEAK_MEMORY = 1.0  # above input and output, in arrays

# Region reads of the field grf in one chunk: (time, bytes) over reading everything through h5py, by kind of blocks.
# Slices are means of even and odd index.
REGION_READS = {
    "box 16": {"default": (0.05, 0.07), "region": (0.02, 0.02)},
    "box 64": {"default": (0.09, 0.13), "region": (0.04, 0.05)},
    "slices across axis 0": {"default": (0.15, 0.24), "region": (0.12, 0.17)},
    "slices across axis 1": {"default": (0.15, 0.24), "region": (0.12, 0.17)},
    "slices across axis 2": {"default": (0.26, 0.43), "region": (0.12, 0.17)},
    "level 2": {"default": (0.04, None), "region": (0.04, None)},
}
REFINE = 1.15  # levels 3 to 0 one after the other, over level 0 at once
SLIDING = 1.3  # a slice through all planes, over one full read

# h5stz.write and h5stz.read: one thread over h5py with chunks of 64 MiB (smaller ones: 1); two threads over one; microseconds
# for a chunk of 64^3 float32 samples that only one thread can spend.
PARALLEL_OVER_H5PY = {"write": 1.3, "read": 1.6}
PARALLEL_TWO = 1.8
PARALLEL_SERIAL = 50

# `h5stz compress` of 512^3 samples: time over h5stz.write with as many threads; peak memory in GB.
COMMANDS = {"compress": 1.8, "peak": 0.7}

REMEMBERING = 1.01  # time of readers and writers of whole chunks, over a plug-in that remembers nothing

# Programs that write piece by piece: bytes over those of the same values written at once; time of writing after much reading.
REWRITING = {
    "append_axis over whole chunks": 1.02,
    "over one chunk per frame": 1.05,
    "boxes over lossless": 1.0001,  # a record says that the bound is used
    "reading": 1.01,
}

# Content checks: shares of time.
CONTENT_CHECK = 0.03  # of compression, for it to be written by default
VERIFY = 0.01  # of decompression, for it to be compared by default
# Ratio over SZ3 at the bounds of ratio.py, by effort.
EFFORT_RATIO = {3: (1.60, 1.44, 1.36), 5: (1.74, 1.54, 1.43), 9: (1.79, 1.57, 1.45)}

ESTIMATE_ERROR = {"median": 0.05, "worst": 0.12}  # of the size, where it is not exact
ESTIMATE_TIME = 0.10  # over that of compressing, volumes of the speed figure

# Precision layers at 1e-5, every three-dimensional field: bytes over those without layers, by number of layers; the first
# layer's share of two; its bytes over those of a single stream with the same PSNR; speed of reading everything over that
# without layers.
LAYER_BYTES = {2: 1.02, 3: 1.03}
FIRST_LAYER = 0.7
LAYER_PSNR = 1.25
LAYER_SPEED = 0.75
ENHANCED_BYTES = {1e-2: 0.93}  # at the PSNR of a bound, geometric mean over all floating-point fields
ENHANCED_SPEED = 0.6  # of decoding, over plain streams
