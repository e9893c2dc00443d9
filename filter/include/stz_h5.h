/* h5stz: reading parts of HDF5 datasets, for C, C++ and Fortran (through ISO_C_BINDING).
 *
 * HDF5 passes whole chunks to a filter, so H5Dread decodes every chunk that a selection touches. The functions of this header fetch
 * the stored bytes of these chunks and decode only the blocks that hold selected samples. The samples have the same bits as those
 * that H5Dread gives. Anything that cannot be read directly falls back to H5Dread: every dataset, selection and type is allowed.
 *
 * HDF5: the library, libh5stz_read.so, is not linked against HDF5. It calls the HDF5 that its caller uses, shared or static, because the
 * ids of one copy of HDF5 mean nothing to another. Direct reads need 1.10.3 or later; with older versions H5Dread does all. Call the
 * functions from the program or shared library that uses HDF5, not through a foreign-function interface or a wrapper without HDF5: if
 * they find no HDF5, they return -1 and do nothing else.
 *
 * - Returns: 0 or a positive number, or -1 with a message on HDF5's error stack (print it with H5Eprint2).
 * - Failure: the selected samples in `buf` are unspecified.
 * - Ownership: the caller owns all ids and buffers; none is kept after the call.
 * - Threads: as for HDF5 itself: one at a time, unless the library is thread-safe. The environment variable H5STZ_THREADS is the
 *   maximum number of threads that decode a chunk.
 * - Trust: chunks may be damaged or hostile; they give an error, never a wrong access.
 * - Host: nothing is printed, except by H5Dread when it takes over, as HDF5's error settings say.
 * - Cost: nothing is cached between calls. The functions fetch only the needed ranges of a large chunk if the file is plain (driver
 *   sec2, no user block) and open for reading only, not by SWMR. Otherwise H5Dread_chunk fetches the whole chunk; it drops the chunk
 *   from the dataset's chunk cache, after writing it to the file if it was changed. H5Dread with its cache can be faster for small
 *   chunks that are read again and again.
 *
 * Structures with a field struct_size may grow; stz.h has the rules. */
#ifndef STZ_H5_H
#define STZ_H5_H

#ifdef STZ_H5_OWN_TYPES /* the build of the library, which needs no HDF5 */
#include <stdint.h>
typedef int64_t hid_t;
typedef int herr_t;
typedef unsigned long long hsize_t;
#else
#include <hdf5.h>
#endif

#include "stz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The reasons why HDF5 reads a whole selection, each with its value and English text; the Python package (View.fallback_reason) has them
 * too. Values are stable; later versions may add some. docs/region_reads_c.md explains each.
 * Use: #define STZ_H5_REASON(name, value, text) ... then STZ_H5_REASONS(STZ_H5_REASON). */
#define STZ_H5_REASONS(X)                                                                                                              \
  X(STZ_H5_DIRECT, 0, "read directly")                                                                                                 \
  X(STZ_H5_WHOLE, 1, "the whole dataset is selected")                                                                                  \
  X(STZ_H5_LIBRARY, 2, "this HDF5 library lacks needed functions: use HDF5 1.10.3 or newer")                                           \
  X(STZ_H5_DRIVER, 3, "the file is open through MPI, where ranks may have to read together")                                           \
  X(STZ_H5_LAYOUT, 4, "the dataset is not chunked")                                                                                    \
  X(STZ_H5_FILTERS, 5, "h5stz is not the only filter of the dataset")                                                                  \
  X(STZ_H5_SELECTION, 6, "the selection is not a regular hyperslab, or it is empty")                                                   \
  X(STZ_H5_TYPE, 7, "h5stz does not support the type, or the conversion is not between numbers")                                       \
  X(STZ_H5_TRANSFER, 8, "the transfer properties have a data transform")                                                               \
  X(STZ_H5_NO_FILL, 9, "a chunk is missing and the dataset has no fill value")                                                         \
  X(STZ_H5_MEMORY, 10, "out of memory for a copy of the selection")                                                                    \
  X(STZ_H5_REFUSED, 11, "HDF5 refused an argument or could not read a chunk")                                                          \
  /* The functions below read such datasets directly, or give STZ_H5_LAYOUT for virtual ones; the Python package has these reasons. */ \
  X(STZ_H5_WRITABLE, 12, "the file is writable and HDF5 may hold chunks that are not stored yet")                                      \
  X(STZ_H5_CHUNK_INDEX, 13, "the dataset grows along another axis than the first, and HDF5 cannot tell where its chunks are")          \
  X(STZ_H5_VIRTUAL_BOXES, 14, "a mapping of the virtual dataset is not a box, or it has no end")                                       \
  X(STZ_H5_VIRTUAL_BEYOND, 15, "a mapping reaches beyond the virtual dataset")                                                         \
  X(STZ_H5_VIRTUAL_OVERLAP, 16, "mappings of the virtual dataset overlap")                                                             \
  X(STZ_H5_VIRTUAL_NO_FILL, 17, "the virtual dataset has no fill value")                                                               \
  X(STZ_H5_VIRTUAL_WRITABLE, 18, "the file of the virtual dataset may change while it is open")                                        \
  X(STZ_H5_VIRTUAL_DRIVER, 19, "HDF5 opens the sources of the virtual dataset through another driver than that for files on disk")     \
  X(STZ_H5_VIRTUAL_PREFIX, 20, "HDF5 looks for the sources of the virtual dataset under a prefix")                                     \
  X(STZ_H5_VIRTUAL_MOVED, 21, "the file of the virtual dataset cannot be found under its name")

typedef enum stz_h5_reason {
#define STZ_H5_REASON_ENUM(name, value, text) name = value,
  STZ_H5_REASONS(STZ_H5_REASON_ENUM)
#undef STZ_H5_REASON_ENUM
} stz_h5_reason;

/* Returns the English text of a reason: static text, never NULL. */
STZ_API const char* stz_h5_reason_text(int reason);

/* Read statistics. Initialise them with STZ_H5_STATS_INIT before the first call. Each call adds to the numbers and sets `reason`. Fields
 * that the library does not know stay as they are. */
typedef struct stz_h5_stats {
  size_t struct_size;           /* sizeof(stz_h5_stats) */
  uint64_t reads;               /* calls */
  uint64_t reads_through_hdf5;  /* of these, calls in which H5Dread read the whole selection */
  uint64_t chunks_direct;       /* chunks whose stored bytes were fetched and decoded, in part or completely */
  uint64_t chunks_by_ranges;    /* of these, chunks whose needed ranges alone were fetched, from the file itself */
  uint64_t chunks_missing;      /* chunks that are not in the file: their samples are the fill value */
  uint64_t chunks_through_hdf5; /* chunks that H5Dread read: not filtered (filter mask, edge chunks), or of another layout */
  uint64_t bytes_read;          /* stored bytes of the direct chunks that were fetched */
  uint64_t bytes_used;          /* of these, bytes that were decoded */
  uint64_t blocks_decoded;      /* blocks of the direct chunks that were decoded */
  uint64_t blocks_present;      /* all blocks of the direct chunks, on all levels */
  int32_t reason;               /* stz_h5_reason of the latest call */
  int32_t reserved;             /* 0 */
} stz_h5_stats;
#define STZ_H5_STATS_INIT {sizeof(stz_h5_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/* Reads a selection, with the arguments and the result of H5Dread.
 * mem_type: type of the samples in `buf`. If it differs from the dataset's type, samples are converted as by H5Dread.
 * mem_space: the selection in `buf`, of any kind; H5S_ALL: the same as in the file.
 * file_space: the selection in the dataset. Regular hyperslabs (start, stride, count, block) are read directly, also with an offset
 *   (H5Soffset_simple).
 * dxpl: transfer properties. */
STZ_API herr_t stz_h5_read(hid_t dset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, void* buf);

/* Reads a box of resolution level `level`, 0 to 62.
 * The grid of a level holds every 2^level-th sample of the dataset along every axis, from index 0 of the dataset (not of each
 * chunk): x[::2^level, ::2^level, ...], ceil(n / 2^level) samples along an axis of n. Level 0 is the dataset.
 * start, count: first sample and extents of the box in samples of that grid, one number per axis, slowest axis first. A box outside
 *   the grid is an error.
 * buf: gets the samples of the box in C order, of type mem_type.
 * Cost: lowest if chunk extents are multiples of 2^level; then the first part of each chunk's stream suffices. */
STZ_API herr_t stz_h5_read_level(hid_t dset, int level, const hsize_t* start, const hsize_t* count, hid_t mem_type, void* buf);

/* Do the same as the two functions above, and add their counts to *stats, which may be NULL. An invalid struct_size is an error. */
STZ_API herr_t stz_h5_read_stats(hid_t dset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, void* buf, stz_h5_stats* stats);
STZ_API herr_t stz_h5_read_level_stats(hid_t dset, int level, const hsize_t* start, const hsize_t* count, hid_t mem_type, void* buf,
                                       stz_h5_stats* stats);

#ifdef __cplusplus
}
#endif
#endif
