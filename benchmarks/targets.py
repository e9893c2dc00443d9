"""The thresholds that the figures must meet. `--check` of each command compares with them; nothing else holds a
threshold.

Keys are relative bounds, or chunk edges where the name says so. Ratios are h5stz over the named peer in the same run.
"""

RATIO_MEAN = {1e-2: 1.74, 1e-3: 1.54, 1e-4: 1.43}  # geometric mean over SZ3, one chunk
RATIO_MINIMUM = 1.0  # every field, every bound
CHUNK_RATIO_MEAN = {64: 1.58, 32: 1.50}  # by chunk edge, geometric mean over SZ3 at relative 1e-3
EDGE_CHUNK_OVERHEAD = 1.12  # bytes of an odd-sized field in 64^3 chunks over those of its valid boxes
MASKED_RATIO_MEAN = 1.5  # geometric mean over SZ3 on the raw array, all fields and bounds
MASKED_OVER_FILLED = {1e-2: 1.88, 1e-3: 1.45, 1e-4: 1.32}  # over SZ3 on mean-filled data with the mask through zlib
LOSSLESS_OVER_BEST = 1.03  # over the best rival of each field, geometric mean
LOSSLESS_MEAN = 1.0  # over fpzip and over Blosc2, geometric mean of the float fields; integer fields over Blosc2
RANDOM_EXPANSION = 64  # bytes that random samples may grow by
LAYERED_RATIO = 1.4  # layered models, labels, mask, sparse data over SZ3, every array and bound
LAYERED_LOSSLESS = 1.2  # labels, mask and sparse data over the best of Blosc2 (both shuffles), fpzip and pcodec
POINTWISE_RATIO = 1.0  # every field, over SZ3 with the log transform

# Speed on the generated fields; "into" is decompression into the caller's array, "fresh" into a new one.
SPEED = {"compress": (3.2, 2.4), "into": (2.4, 2.0), "fresh": (1.8, None)}  # over SZ3: geometric mean, least case
ISA_SPEED = {
    "avx2": {"compress": 2.2, "into": 1.6},
    "baseline": {"compress": 0.5, "into": 0.5},
}  # geometric mean over SZ3
TWO_THREADS = 1.8  # over one thread, both ways
REGION = {"compress": 0.70, "into": 0.70, "ratio": 0.97}  # block="region" over the default
CHUNK_SPEED = {64: 0.60, 32: 0.25}  # by chunk edge, over the volume as one chunk, both ways
KIND_SPEED = {
    "float64": 0.60,
    "1-D": 0.60,
    "2-D": 0.60,
    "4-D": 0.60,
    "masked": 0.50,
    "radio": 0.40,
}  # samples/s over float32 3-D
HDF5_OVER_MEMORY = 0.60  # through h5py over the same chunks in memory, decompressed into new arrays
HDF5_OVER_SZ3 = {"write": 2.5, "read": 1.6}  # through h5py over the SZ3 filter of hdf5plugin
PEAK_MEMORY = 1.0  # above input and output, in arrays

# Region reads of the field grf in one chunk: (time, bytes) over reading everything through h5py, by kind of blocks.
REGION_READS = {
    "box 16": {"default": (0.09, 0.10), "region": (0.06, 0.06)},
    "box 64": {"default": (0.14, 0.13), "region": (0.12, 0.10)},
    "slice": {"default": (0.30, 0.28), "region": (0.22, 0.20)},
    "level 2": {"default": (0.03, None), "region": (0.03, None)},
    "level 1": {"default": (0.18, None), "region": (0.18, None)},
}
REFINE = 1.15  # levels 3 to 0 one after the other, over level 0 at once
SLIDING = 1.5  # a slice through all planes, over one full read

REMEMBERING = 1.01  # time of readers and writers of whole chunks, over a plug-in that remembers nothing

# Programs that write piece by piece: bytes over those of the same values written at once; time of writing after much reading.
REWRITING = {
    "append_axis over whole chunks": 1.02,
    "over one chunk per frame": 1.05,
    "boxes over lossless": 1.0001,  # a record says that the bound is used
    "reading": 1.01,
}

# Arrays with short axes: bytes over those of the same samples in the order that suits the codec best; MB/s both ways.
SHAPES = {"last axes over first": 1.02, "cut axis over whole": 1.05, "cut axis speed": 300.0}
# The frame of streams and content checks: shares of bytes and of time.
FRAME = 0.001  # bytes, 64^3 at a ratio of about 20
CONTENT_CHECK = 0.03  # time of compression, for it to be written by default
VERIFY = 0.01  # time of decompression, for it to be compared by default
# Ratio over SZ3 at the bounds of ratio.py, by effort.
EFFORT_RATIO = {3: (1.60, 1.44, 1.36), 5: (1.74, 1.54, 1.43), 9: (1.79, 1.57, 1.45)}
