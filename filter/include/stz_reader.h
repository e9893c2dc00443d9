/* h5stz: reading a part of a stream. Any box, with any step, decodes only the blocks that it needs, from as few bytes.
 *
 * A reader belongs to one stream, which it gets from a source: memory, a file, or a function of the caller. It keeps what it has
 * decoded up to a limit, so that refining a region or moving a slice reads and decodes only what is new. Results have the same
 * bits as the same cut out of the whole array.
 *
 * A step of 2^l on all axes is resolution level l: it needs the first bytes of the stream alone. Any step works; what is
 * decoded follows from the samples asked for, axis by axis.
 *
 * One thread at a time may use a reader; different readers are independent. No function throws, prints or exits; all return
 * STZ_OK (0) or a code of stz_errors.h. After an error a reader can be used further. */
#ifndef STZ_READER_H
#define STZ_READER_H

#include "stz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a stream comes from. `read` puts the bytes [offset, offset + size) of the stream into `out` and returns 0, or anything
 * else if it cannot (then the caller of the reader gets STZ_ERROR_READ). It is called by the thread that calls the reader, and
 * never beyond `size`. It runs in the default floating-point environment (round to nearest, no traps), whatever the caller's is, and
 * the exception flags that it raises are lost. */
typedef struct stz_source {
  int (*read)(void* handle, uint64_t offset, size_t size, void* out);
  void* handle;
  uint64_t size; /* bytes of the stream */
} stz_source;

typedef struct stz_reader stz_reader;

/* Opens the stream of a source; `handle` must live as long as the reader. Reads and checks the header: as stz_info does, that of a raw
 * stream by its size alone until its samples are read for the first time.
 * cache_bytes: the most that the reader keeps between calls, in bytes of decoded samples; 0 keeps nothing but the coarsest
 * level and the directories of the others. */
STZ_API int stz_reader_open(const stz_source* source, uint64_t cache_bytes, stz_reader** reader);
/* The same for a stream in memory, which must live as long as the reader and is not copied. */
STZ_API int stz_reader_open_memory(const void* stream, size_t size, uint64_t cache_bytes, stz_reader** reader);
/* The same for bytes [offset, offset + size) of an open file (read with pread; `fd` stays the caller's and must stay open). */
STZ_API int stz_reader_open_file(int fd, uint64_t offset, uint64_t size, uint64_t cache_bytes, stz_reader** reader);
STZ_API void stz_reader_close(stz_reader* reader); /* null is allowed */

/* What the header says, like stz_info. */
STZ_API int stz_reader_info(const stz_reader* reader, stz_stream_info* info);

/* Reads the elements start[a] + i * step[a], 0 <= i < count[a], of every axis a < rank of the array, into `out`: an array of
 * shape `count` in C order and the byte order of the stream, out_size = product of count * element size (else
 * STZ_ERROR_CAPACITY). step[a] >= 1; a null `step` means 1 everywhere. The last element must be inside of the array
 * (STZ_ERROR_ARGUMENT); a count of 0 on any axis reads nothing. At most `threads` threads decode, 256 at most. On error the
 * contents of `out` are unspecified. */
STZ_API int stz_reader_read(stz_reader* reader, const uint64_t* start, const uint64_t* count, const uint64_t* step, void* out,
                            size_t out_size, int threads);

/* The bytes of the stream that such a read would fetch now, over what the reader holds already, as ranges (offset, size) by
 * rising offset: *found of them, of which at most `capacity` are stored (2 numbers each). May read directories of levels. */
STZ_API int stz_reader_plan(stz_reader* reader, const uint64_t* start, const uint64_t* count, const uint64_t* step, uint64_t* ranges,
                            size_t capacity, size_t* found);

typedef struct stz_reader_stats {
  uint64_t bytes_read;     /* of the source, since the reader was opened */
  uint64_t blocks_decoded; /* since then; a block that was decoded twice counts twice */
  uint64_t blocks_present; /* in the stream, on all levels; 0 if it has no blocks */
  uint64_t cached_bytes;   /* kept now */
} stz_reader_stats;
STZ_API int stz_reader_get_stats(const stz_reader* reader, stz_reader_stats* stats);

/* Changes the limit of what is kept, and drops what is beyond it. */
STZ_API int stz_reader_limit(stz_reader* reader, uint64_t cache_bytes);

#ifdef __cplusplus
}
#endif
#endif
