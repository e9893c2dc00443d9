/* h5stz: reading parts of a stream. Any box with any step is decoded from the blocks that it needs and no others.
 *
 * A reader belongs to one stream, which it takes from memory, from an open file or from a function of the caller. It keeps decoded
 * blocks up to a limit, so that refining a region or moving a slice fetches and decodes only what is new. The samples have the same
 * bits as those of the whole decoded array.
 *
 * A step of 2^l along every axis reads resolution level l, which needs a prefix of the stream (stz_stream_info.level_bytes). Every
 * other step works too; what is decoded follows from the samples that are asked for, axis by axis.
 * A prefix of a stream of form "blocks", such as the part of a file that has arrived so far, gives what it holds; what it does not hold is
 * STZ_ERROR_TRUNCATED.
 *
 * Of a patched stream, boxes of which were written again, a patch is read only where it holds samples that are asked for, and what lies
 * beneath it only where it can be seen.
 *
 * What stz.h says of every function holds here too. In addition:
 * - Threads: a reader must not be used by two threads at once. Different readers are independent, also of one stream.
 * - Failure: after an error the reader can be used further, and the same call may be tried again. */
#ifndef STZ_READER_H
#define STZ_READER_H

#include "stz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A function of the caller from which a stream is read.
 *
 * `read` copies bytes [offset, offset + size) of the stream to `out` and returns 0, or another number if it cannot; the function that
 * needed the bytes then returns STZ_ERROR_READ. It is never asked for bytes beyond the end of the stream.
 * - Threads: it is called by the thread that called the reader's function, before that function returns.
 * - Floating-point environment: that of the library, not the caller's: round to nearest, no traps, subnormal numbers are kept.
 *   A function that needs another one has to set it, and to restore this one before it returns. Exception flags that it raises
 *   are lost.
 * - It must not throw, leave by longjmp, or use the reader for which it is called. */
typedef struct stz_source {
  size_t struct_size; /* sizeof(stz_source) */
  int (*read)(void* handle, uint64_t offset, size_t size, void* out);
  void* handle;  /* passed to `read`; may be NULL */
  uint64_t size; /* bytes of the stream */
} stz_source;
#define STZ_SOURCE_INIT {sizeof(stz_source), NULL, NULL, 0}

/* An open stream. */
typedef struct stz_reader stz_reader;

/* Opens the stream of a source, reads its header and checks it as stz_info does. The caller closes *reader with stz_reader_close.
 * cache_bytes: the limit of the samples, in bytes, that the reader keeps between calls. 0 keeps the coarsest level and the
 *   directories of the others only. Base and patches of a patched stream share it by their numbers of samples; of a patch whose share
 *   is small, nothing is kept but compressed bytes.
 * Ownership: *source is copied; what `handle` points to must live until the reader is closed.
 * Failure: *reader is NULL, and nothing has to be closed. */
STZ_API int stz_reader_open(const stz_source* source, uint64_t cache_bytes, stz_reader** reader);

/* Opens a stream in memory. It is not copied: it must stay, unchanged, until the reader is closed. Otherwise as stz_reader_open. */
STZ_API int stz_reader_open_memory(const void* stream, size_t size, uint64_t cache_bytes, stz_reader** reader);

/* Opens the stream in bytes [offset, offset + size) of a file. It is read with pread: the file position is neither used nor changed.
 * `fd` stays the caller's; it must stay open until the reader is closed. Otherwise as stz_reader_open. */
STZ_API int stz_reader_open_file(int fd, uint64_t offset, uint64_t size, uint64_t cache_bytes, stz_reader** reader);

/* Closes a reader and frees what it holds. NULL is allowed. */
STZ_API void stz_reader_close(stz_reader* reader);

/* Gives what the stream's header says, as stz_info does. Fetches nothing; content_check is -1 where it would have to. */
STZ_API int stz_reader_info(const stz_reader* reader, stz_stream_info* info);

/* Reads the elements start[a] + i * step[a], 0 <= i < count[a], of every axis a into `out`: an array of shape `count` in C order, in the
 * byte order of the stream.
 * start, count, step: `rank` numbers each. A NULL `step` means 1 everywhere; for a scalar all three may be NULL.
 * out_size: the product of `count` times the element size, else STZ_ERROR_CAPACITY. If a count is 0, nothing is read.
 * threads: as for stz_decompress_threads.
 * STZ_ERROR_ARGUMENT: a step is 0, or the last element lies outside the array. */
STZ_API int stz_reader_read(stz_reader* reader, const uint64_t* start, const uint64_t* count, const uint64_t* step, void* out,
                            size_t out_size, int threads);

/* verify: 1: from now on, blocks of the finest level that a read decodes wholly are compared with the stream's content check, if it has one
 *   (stz_decompress_verified); a read then fails with STZ_ERROR_CONTENT if they differ, and with STZ_ERROR_TRUNCATED if the stream is
 *   a prefix without it. Blocks of coarser levels, and those of which a read needs a part only, cannot be compared;
 *   those that the reader holds already are not compared again. 0: none are. */
STZ_API int stz_reader_verify(stz_reader* reader, int verify);

/* max_error: from now on, as few precision layers are read as keep every sample within this distance of what was compressed, in the unit of
 *   the data, as the writer measured it (stz_stream_info.layer_error). 0, the default: all layers. If all of them do not suffice, or the
 *   stream has no layers, reads give all there is: compare with the last of layer_error, or with the bound. If layer_error is not known and
 *   the bound r is point-wise, errors are at most r / (1 - r) times the largest magnitude that was read.
 *   Losses from before count too, if accumulated_bound tells them in the unit of the data.
 * What the reader keeps of other precisions is dropped when the next read takes another number of layers.
 * STZ_ERROR_BOUND: the number is negative or NaN. */
STZ_API int stz_reader_max_error(stz_reader* reader, double max_error);

/* enhance: 0: from now on, samples are read as they were before the enhancement of the stream (stz_stream_info.enhanced), within the bound
 * itself. 1, the default: as stz_decompress gives them. Without an enhancement both are the same. */
STZ_API int stz_reader_enhance(stz_reader* reader, int enhance);

/* element: NULL, the default: a read of damaged bytes fails. Else, from now on, reads go on where they can: they give what is whole with
 * its bits, put the components of `element` (the bytes of one element, in the byte order of the stream) in the place of those that are
 * lost, and return STZ_OK. stz_reader_damage() then tells what was damaged: callers have to look at it.
 *
 * A damaged block costs its own samples and those of finer levels that are predicted from them; what all blocks of a level need costs this
 * level and the finer ones; the base section, or the only section of a raw or constant stream, costs everything. Samples of coarser levels
 * stay, also where the blocks around them on a finer level are lost. With an enhancement, samples that it would change are lost where they
 * are within its reach. Bytes that are missing from the end of the stream count as damaged, and so do blocks that differ from the content
 * check (stz_reader_verify). A damaged header is an error all the same, as is a source that cannot be read. */
STZ_API int stz_reader_on_error(stz_reader* reader, const void* element);

/* Something that a read found damaged. */
typedef struct stz_damage {
  size_t struct_size;            /* sizeof(stz_damage) */
  int32_t error;                 /* what is wrong with it: an stz_error */
  int32_t level;                 /* of the block, 0 the finest; -1: all of a stream, or only its content check, which costs nothing */
  int32_t patch;                 /* the patch that it is in, 0 the oldest; -1: not in a patch */
  int32_t reserved;              /* 0 */
  uint64_t block;                /* its number among those of the level; UINT64_MAX: what all blocks of the level need */
  uint64_t lost;                 /* components that the read lost to this damage; what two have cost counts for one of them */
  uint64_t start[STZ_MAX_RANK];  /* the box of elements of the array that are lost: where it begins, along each axis, */
  uint64_t extent[STZ_MAX_RANK]; /* and how far it goes; all 0 if nothing is lost */
} stz_damage;
#define STZ_DAMAGE_INIT                              \
  {                                                  \
    sizeof(stz_damage), 0, 0, 0, 0, 0, 0, {0}, { 0 } \
  }

/* How much the latest stz_reader_read found damaged, 0 if it failed; and what, 0 <= index < this number. */
STZ_API size_t stz_reader_damage_count(const stz_reader* reader);
STZ_API int stz_reader_damage(const stz_reader* reader, size_t index, stz_damage* damage);

/* Tells which bytes of the stream such a read would fetch now, beyond what the reader holds: ranges in ascending order.
 * *range_count is the number of ranges; the first `capacity` of them are stored in `ranges`, as offset and size (2 numbers each).
 * May itself fetch the base section and the directories of levels, and the headers of patches. A plan is exact until the next call that
 * reads. */
STZ_API int stz_reader_plan(stz_reader* reader, const uint64_t* start, const uint64_t* count, const uint64_t* step, uint64_t* ranges,
                            size_t capacity, size_t* range_count);

/* What a reader has done since it was opened, and what it holds. */
typedef struct stz_reader_stats {
  size_t struct_size;      /* sizeof(stz_reader_stats) */
  uint64_t bytes_read;     /* bytes fetched from the source */
  uint64_t blocks_decoded; /* a block that was decoded twice counts twice */
  uint64_t blocks_present; /* blocks of the stream, on all levels; 0 if it is not stored in blocks. Of patches: those read so far */
  uint64_t cached_bytes;   /* bytes of samples that are kept now */
} stz_reader_stats;
#define STZ_READER_STATS_INIT {sizeof(stz_reader_stats), 0, 0, 0, 0}

/* Gives the statistics of a reader. */
STZ_API int stz_reader_get_stats(const stz_reader* reader, stz_reader_stats* stats);

/* Changes the limit of what is kept (cache_bytes of stz_reader_open) and frees what exceeds it. */
STZ_API int stz_reader_limit(stz_reader* reader, uint64_t cache_bytes);

#ifdef __cplusplus
}
#endif
#endif
