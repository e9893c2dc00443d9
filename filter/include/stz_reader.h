/* h5stz: reading parts of a stream. Any box with any step is decoded from the blocks that it needs and no others.
 *
 * A reader belongs to one stream, which it takes from memory, from an open file or from a function of the caller. It caches decoded
 * blocks up to a limit, so that a refined region or a moved slice fetches and decodes only new blocks. The samples have the same
 * bits as those of the whole decoded array.
 *
 * A step of 2^l along every axis reads resolution level l, which needs a prefix of the stream (stz_stream_info.level_bytes). Every
 * other step works too; the requested samples decide, axis by axis, which blocks are decoded.
 * The stream may be a prefix of a stream of form "blocks", such as the part of a file that has arrived so far. A read that needs bytes
 * beyond the prefix gives STZ_ERROR_TRUNCATED.
 *
 * A patched stream has boxes (patches) that were written again over a base. A read fetches a patch only if it holds requested samples. It
 * fetches older patches and the base only where no newer patch covers them.
 *
 * The rules of stz.h for every function hold here too. In addition:
 * - Threads: two threads must not use a reader at once. Different readers are independent, even if they read one stream.
 * - Failure: the reader stays usable after an error, and the same call may be tried again. */
#ifndef STZ_READER_H
#define STZ_READER_H

#include "stz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A function of the caller from which a stream is read.
 *
 * `read` copies bytes [offset, offset + size) of the stream to `out` and returns 0. It returns another number if it cannot; the function
 * that needed the bytes then returns STZ_ERROR_READ. The library never asks for bytes beyond the end of the stream.
 * - Threads: the thread that called the reader's function calls it, before that function returns.
 * - Floating-point environment: it is the library's, not the caller's: round to nearest, no traps, subnormal numbers are kept. A function
 *   that needs another environment has to set it, and to restore this one before it returns. Exception flags that it raises are lost.
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
 * cache_bytes: the most bytes of samples that the reader keeps between calls. With 0 it keeps only the coarsest level and the directories
 *   of the others. Base and patches of a patched stream share the limit in proportion to their numbers of samples. A patch with a small
 *   share keeps only compressed bytes.
 * Ownership: *source is copied; the object behind `handle` must live until the reader is closed.
 * Failure: *reader is NULL, and nothing has to be closed. */
STZ_API int stz_reader_open(const stz_source* source, uint64_t cache_bytes, stz_reader** reader);

/* Opens a stream in memory. The stream is not copied: it must stay unchanged until the reader is closed. Otherwise as stz_reader_open. */
STZ_API int stz_reader_open_memory(const void* stream, size_t size, uint64_t cache_bytes, stz_reader** reader);

/* Opens the stream in bytes [offset, offset + size) of a file. It is read with pread: the file position is neither used nor changed.
 * `fd` stays the caller's; it must stay open until the reader is closed. Otherwise as stz_reader_open. */
STZ_API int stz_reader_open_file(int fd, uint64_t offset, uint64_t size, uint64_t cache_bytes, stz_reader** reader);

/* Closes a reader and frees its memory. NULL is allowed. */
STZ_API void stz_reader_close(stz_reader* reader);

/* Gives the contents of the stream's header, as stz_info does. Fetches nothing; content_check is -1 if the answer needs a fetch. */
STZ_API int stz_reader_info(const stz_reader* reader, stz_stream_info* info);

/* Reads the elements start[a] + i * step[a], 0 <= i < count[a], of every axis a into `out`: an array of shape `count` in C order, in the
 * byte order of the stream.
 * start, count, step: `rank` numbers each. A NULL `step` means 1 everywhere; for a scalar all three may be NULL.
 * out_size: the product of `count` times the element size, else STZ_ERROR_CAPACITY. If a count is 0, nothing is read.
 * threads: as for stz_decompress_threads.
 * STZ_ERROR_ARGUMENT: a step is 0, or the last element lies outside the array. */
STZ_API int stz_reader_read(stz_reader* reader, const uint64_t* start, const uint64_t* count, const uint64_t* step, void* out,
                            size_t out_size, int threads);

/* Turns comparison with the stream's content check (stz_decompress_verified) on or off for later reads.
 * verify: 1: a read compares the blocks of the finest level that it decodes wholly, if the stream has a content check. It fails with
 *   STZ_ERROR_CONTENT if they differ, and with STZ_ERROR_TRUNCATED if the stream is a prefix without its check. Blocks of coarser levels
 *   and partly decoded blocks cannot be compared. Blocks that the reader holds already are not compared again. 0: no block is compared. */
STZ_API int stz_reader_verify(stz_reader* reader, int verify);

/* Sets the precision of later reads.
 * max_error: reads take the fewest precision layers that keep every sample within this distance of the compressed one, in the unit of the
 *   data, as the writer measured it (stz_stream_info.layer_error). 0, the default: all layers. If all layers do not suffice, or the stream
 *   has no layers, reads take everything: compare with the last layer_error, or with the bound. If layer_error is not known and the bound r
 *   is point-wise, errors are at most r / (1 - r) times the largest magnitude that was read. If the stream has a preview and max_error is
 *   preview_error (stz_stream_info) or more, the lowest bits are left out.
 *   Earlier losses count too, if accumulated_bound gives them in the unit of the data.
 * The reader drops samples of another precision when the next read takes another number of layers.
 * STZ_ERROR_BOUND: the number is negative or NaN. */
STZ_API int stz_reader_max_error(stz_reader* reader, double max_error);

/* Turns the enhancement of the stream (stz_stream_info.enhanced) on or off for later reads.
 * enhance: 0: reads give the samples before their enhancement, within the bound itself. 1, the default: reads give the samples of
 *   stz_decompress. Both are the same if the stream has no enhancement. */
STZ_API int stz_reader_enhance(stz_reader* reader, int enhance);

/* Decides whether later reads fail or go on at damaged bytes.
 * element: NULL, the default: a read of damaged bytes fails. Otherwise a read goes on as far as it can and returns STZ_OK: undamaged
 *   samples have their bits, and the components of `element` (the bytes of one element, in the byte order of the stream) replace lost
 *   ones. stz_reader_damage() then tells the damage: callers have to look at it.
 *
 * A damaged block costs its own samples and the samples of finer levels that are predicted from them. Damage to data that all blocks of a
 * level need costs this level and the finer ones. Damage to the base section, or to the only section of a raw or constant stream, costs
 * everything. Samples of coarser levels stay, even if the blocks around them on a finer level are lost. Samples that an enhancement would
 * change are lost if damage lies within its reach. Bytes missing from the end of the stream count as damaged, and so do blocks that differ
 * from the content check (stz_reader_verify). A damaged header is always an error, and so is a source that cannot be read. */
STZ_API int stz_reader_on_error(stz_reader* reader, const void* element);

/* One damaged part of a stream that a read found. */
typedef struct stz_damage {
  size_t struct_size;            /* sizeof(stz_damage) */
  int32_t error;                 /* the kind of damage: an stz_error */
  int32_t level;                 /* level of the block, 0 the finest; -1: all of a stream, or only its content check, which costs nothing */
  int32_t patch;                 /* the patch that holds it, 0 the oldest; -1: not in a patch */
  int32_t reserved;              /* 0 */
  uint64_t block;                /* number of the block within the level; UINT64_MAX: data that all blocks of the level need */
  uint64_t lost;                 /* components that the read lost to this damage; a loss to two damages counts for one of them */
  uint64_t start[STZ_MAX_RANK];  /* the box of lost elements of the array: its first index along each axis, */
  uint64_t extent[STZ_MAX_RANK]; /* and its extent along each axis; all 0 if nothing is lost */
} stz_damage;
#define STZ_DAMAGE_INIT                              \
  {                                                  \
    sizeof(stz_damage), 0, 0, 0, 0, 0, 0, {0}, { 0 } \
  }

/* The number of damages that the latest stz_reader_read found, 0 if it failed; and each of them, 0 <= index < this number. */
STZ_API size_t stz_reader_damage_count(const stz_reader* reader);
STZ_API int stz_reader_damage(const stz_reader* reader, size_t index, stz_damage* damage);

/* Gives the byte ranges of the stream that stz_reader_read with these arguments would fetch now, beyond the bytes that the reader holds, in
 * ascending order. *range_count is the number of ranges; the first `capacity` of them are stored in `ranges`, as offset and size (2 numbers
 * each). The call itself may fetch the base section, the directories of levels and the headers of patches. A plan is exact until the next
 * call that reads. */
STZ_API int stz_reader_plan(stz_reader* reader, const uint64_t* start, const uint64_t* count, const uint64_t* step, uint64_t* ranges,
                            size_t capacity, size_t* range_count);

/* The work of a reader since it was opened, and the size of its cache. */
typedef struct stz_reader_stats {
  size_t struct_size;      /* sizeof(stz_reader_stats) */
  uint64_t bytes_read;     /* bytes fetched from the source */
  uint64_t blocks_decoded; /* blocks decoded; a block that was decoded twice counts twice */
  uint64_t blocks_present; /* blocks of the stream, on all levels; 0 if it is not stored in blocks. Patches count once they are read */
  uint64_t cached_bytes;   /* bytes of samples that are kept now */
} stz_reader_stats;
#define STZ_READER_STATS_INIT {sizeof(stz_reader_stats), 0, 0, 0, 0}

/* Gives the statistics of a reader. */
STZ_API int stz_reader_get_stats(const stz_reader* reader, stz_reader_stats* stats);

/* Changes the limit of the cache (cache_bytes of stz_reader_open) and frees the excess. */
STZ_API int stz_reader_limit(stz_reader* reader, uint64_t cache_bytes);

#ifdef __cplusplus
}
#endif
#endif
