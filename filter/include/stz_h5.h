/* h5stz: reading parts of HDF5 datasets by decoding only the blocks that they need. For C, C++ and Fortran (through ISO_C_BINDING).
 *
 * HDF5 hands a filter whole chunks, so H5Dread decodes every chunk that a selection touches. These functions fetch the stored
 * bytes of the chunks that the selection touches and decode of them the blocks that hold selected samples. The result has the same
 * bits as that of H5Dread. What cannot be read so goes through H5Dread: any dataset, selection and type may be given.
 *
 * The library, libh5stz_read.so, is not linked against HDF5. It calls the HDF5 of the program or shared object that calls it, shared
 * or static, 1.10 or later: ids of one copy of HDF5 mean nothing to another. Because it has to know who calls, its functions must
 * be called from the object that uses HDF5, not through a foreign-function interface or a wrapper library without HDF5. Where
 * it finds no HDF5, the functions return -1 and do nothing else.
 *
 * All functions return 0 or a positive number, or -1 and then leave a message on HDF5's error stack (print it with H5Eprint2). They
 * print nothing themselves; H5Dread, where it takes over, prints what the error stack's settings say. There is no state between
 * calls: nothing is cached, and every call fetches its chunks anew. Of a large chunk in a plain file (driver sec2, no user block) that
 * is open for reading only, not by SWMR, only the ranges needed are fetched. Else H5Dread_chunk fetches the whole; it drops the chunk
 * from the chunk cache of the dataset, and writes it to the file first if it was changed. For small chunks that are read again and again
 * H5Dread with its cache can be the faster one.
 *
 * Threads: as HDF5 itself: one at a time unless the library was built thread-safe. H5STZ_THREADS (environment) decode a chunk. */
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

/* Why H5Dread read a whole selection; values are stable. */
typedef enum stz_h5_reason {
  STZ_H5_DIRECT = 0,    /* it did not */
  STZ_H5_WHOLE = 1,     /* the whole dataset is selected: H5S_ALL */
  STZ_H5_LIBRARY = 2,   /* this HDF5 lacks functions that are needed: those before 1.10.3 do */
  STZ_H5_DRIVER = 3,    /* the file is open through MPI, where reads can be collective, or may be (docs/parallel_hdf5.md) */
  STZ_H5_LAYOUT = 4,    /* not chunked: contiguous, compact, external or virtual */
  STZ_H5_FILTERS = 5,   /* the filter pipeline is something else than h5stz alone */
  STZ_H5_SELECTION = 6, /* no regular hyperslab, or nothing is selected */
  STZ_H5_TYPE = 7,      /* a type of the dataset that h5stz does not have, or a conversion not between numbers */
  STZ_H5_TRANSFER = 8,  /* the transfer properties have a data transform */
  STZ_H5_NO_FILL = 9,   /* a chunk is missing and the dataset has no fill value: its samples in `buf` stay as they are */
  STZ_H5_MEMORY = 10,   /* no memory for a copy of the selection */
  STZ_H5_REFUSED = 11   /* HDF5 refused an argument, or could not read a chunk: H5Dread reports it */
} stz_h5_reason;

/* English text of a reason; never NULL. */
STZ_API const char* stz_h5_reason_text(int reason);

/* What reads have done. The reads add to it: set it to zero before the first. */
typedef struct stz_h5_stats {
  uint64_t reads;               /* calls */
  uint64_t reads_through_hdf5;  /* of these, calls that H5Dread did as a whole */
  uint64_t chunks_direct;       /* chunks whose stored bytes were fetched and decoded in part or as a whole */
  uint64_t chunks_by_ranges;    /* of these, chunks of which only the ranges needed were fetched, from the file itself */
  uint64_t chunks_missing;      /* chunks that are not in the file: fill values */
  uint64_t chunks_through_hdf5; /* chunks that H5Dread read: not filtered (filter mask, edge chunks), or of another layout */
  uint64_t bytes_read;          /* stored bytes of the direct chunks that were fetched */
  uint64_t bytes_used;          /* of these, bytes that the decoder has looked at */
  uint64_t blocks_decoded;      /* blocks of direct chunks */
  uint64_t blocks_present;      /* blocks that the direct chunks have, on all levels */
  int32_t reason;               /* stz_h5_reason of the latest call */
} stz_h5_stats;

/* As H5Dread, with its arguments and its result.
 *
 * dset: dataset. mem_type: type of the samples in `buf`; types other than the dataset's are converted as H5Dread does, numbers after
 * a part was decoded. mem_space: where in `buf`, any selection; H5S_ALL: as in the file. file_space: which samples. Read directly:
 * regular hyperslabs (start, stride, count, block), also with an offset (H5Soffset_simple). dxpl: transfer properties.
 * buf: what mem_space spans; on failure the selected samples are unspecified. */
STZ_API herr_t stz_h5_read(hid_t dset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, void* buf);

/* A box of resolution level `level`. The grid of a level is every 2^level-th sample of the dataset along every axis, from index 0
 * of the dataset (not of each chunk): x[::2^level, ::2^level, ...], ceil(n / 2^level) samples along an axis of n. Level 0 is the
 * dataset. In samples of that grid, the box begins at `start` and has `count` samples along each axis (rank numbers each, slowest
 * axis first); the sample at index i of the box is the dataset's at (start + i) * 2^level.
 *
 * mem_type: type of the samples in `buf`. buf: the product of `count` samples in C order; nothing if a count is 0.
 * It costs least where chunk shapes are multiples of 2^level: then it is the first part of each chunk's stream.
 * Errors: a level below 0 or above 62, a box that sticks out of the grid. */
STZ_API herr_t stz_h5_read_level(hid_t dset, int level, const hsize_t* start, const hsize_t* count, hid_t mem_type, void* buf);

/* The same two, adding what they did to *stats (ignored if null). */
STZ_API herr_t stz_h5_read_stats(hid_t dset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl, void* buf, stz_h5_stats* stats);
STZ_API herr_t stz_h5_read_level_stats(hid_t dset, int level, const hsize_t* start, const hsize_t* count, hid_t mem_type, void* buf,
                                       stz_h5_stats* stats);

#ifdef __cplusplus
}
#endif
#endif
