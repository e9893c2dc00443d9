"""The thresholds that the figures must meet. `--check` of each command compares with them; nothing else holds a
threshold.

Keys are relative bounds, or chunk edges where the name says so. Ratios are h5stz over the named peer in the same run.
"""

RATIO_MEAN = {1e-2: 1.36, 1e-3: 1.31, 1e-4: 1.24}  # geometric mean over SZ3, one chunk
RATIO_MINIMUM = 0.97  # every field, every bound
CHUNK_RATIO_MEAN = {64: 1.25, 32: 1.15}  # by chunk edge, geometric mean over SZ3 at relative 1e-3
EDGE_CHUNK_OVERHEAD = 1.12  # bytes of an odd-sized field in 64^3 chunks over those of its valid boxes
MASKED_RATIO_MEAN = 1.5  # geometric mean over SZ3 on the raw array, all fields and bounds
LOSSLESS_MEAN = 1.0  # over fpzip and over Blosc2, geometric mean of the float fields; integer fields over Blosc2
RANDOM_EXPANSION = 64  # bytes that random samples may grow by
POINTWISE_RATIO = 1.0  # every field, over SZ3 with the log transform
SPEED_RATIO = 1.0  # compress and decompress over SZ3, geometric mean of the cases
