/* h5stz: error-bounded lossy and lossless compression of scientific arrays. The whole public C API.
 *
 * Every function is thread-safe, keeps no state between calls, never throws, prints or exits, and returns
 * STZ_OK (0) or a negative code of stz_errors.h. Arrays are contiguous in C order (the last axis varies fastest).
 * What is not promised before version 1.0: that a stream can be read by a later version. */
#ifndef STZ_H
#define STZ_H

#include <stddef.h>
#include <stdint.h>

#include "stz_errors.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define STZ_API __attribute__((visibility("default")))
#else
#define STZ_API
#endif

/* The version of this header. The build reads it here: it is written nowhere else. */
#define STZ_VERSION_MAJOR 0
#define STZ_VERSION_MINOR 1
#define STZ_VERSION_PATCH 0
#define STZ_VERSION_TEXT "0.1.0"
#define STZ_FORMAT_VERSION 1
#define STZ_MAX_RANK 32

/* Element types. bool is STZ_U8 (or the integer type that stores it), an enumeration is its base integer type. */
typedef enum stz_dtype {
  STZ_F16 = 1,
  STZ_F32 = 2,
  STZ_F64 = 3,
  STZ_I8 = 4,
  STZ_U8 = 5,
  STZ_I16 = 6,
  STZ_U16 = 7,
  STZ_I32 = 8,
  STZ_U32 = 9,
  STZ_I64 = 10,
  STZ_U64 = 11,
  STZ_C64 = 12, /* two float32 per element: the bound holds for each component */
  STZ_C128 = 13 /* two float64 per element: the bound holds for each component */
} stz_dtype;

typedef enum stz_byte_order { STZ_LITTLE = 0, STZ_BIG = 1 } stz_byte_order;

/* What "within the bound" means; x is a sample, x' what the decoder returns.
 * STZ_LOSSLESS: x' has the bits of x.
 * STZ_ABSOLUTE: |x - x'| <= bound in exact arithmetic, in the units of the data. For integers a bound below 1 is lossless.
 * STZ_POINTWISE_RELATIVE: |x - x'| <= bound * |x| in exact arithmetic, zeros and signs exact. Floating-point types only; for
 *   integer types it is an error (STZ_ERROR_MODE).
 * NaN (with its payload), infinities and the fill value come back bit for bit in every mode. */
typedef enum stz_mode { STZ_LOSSLESS = 0, STZ_ABSOLUTE = 1, STZ_POINTWISE_RELATIVE = 2 } stz_mode;

typedef enum stz_block {
  STZ_BLOCK_DEFAULT = 0, /* best ratio and speed */
  STZ_BLOCK_REGION = 1   /* smaller blocks: a region read touches fewer bytes */
} stz_block;

typedef struct stz_layout {
  int32_t dtype;      /* stz_dtype */
  int32_t byte_order; /* stz_byte_order of the array in memory */
  int32_t rank;       /* 0..STZ_MAX_RANK; 0 is a scalar */
  uint64_t shape[STZ_MAX_RANK];
} stz_layout;

typedef struct stz_options {
  int32_t mode;     /* stz_mode */
  double bound;     /* >= 0 and finite; 0 means lossless; ignored by STZ_LOSSLESS */
  int32_t has_fill; /* 1: samples with exactly the bits of `fill` are no data: outside fits, returned bit for bit */
  uint64_t fill;    /* the bits of the fill value as a host-endian integer of the element's size (of the real dtypes) */
  int32_t block;    /* stz_block */
  int32_t threads;  /* at most so many, 256 at most; 0 and 1: the calling thread alone. The bytes never depend on it. */
  int32_t effort;   /* 0: default (5). 1..9; reserved, has no effect yet */
  int32_t layers;   /* 0 and 1: one precision layer; nothing else is written yet */
} stz_options;

/* What a stream says of itself, from its header alone. */
typedef struct stz_stream_info {
  stz_layout layout; /* as given to stz_compress */
  int32_t mode;      /* stz_mode */
  double bound;
  int32_t has_fill;
  uint64_t fill;
  int32_t block;
  int32_t format_version;
  int32_t levels;                          /* resolution levels that can be read on their own, 1 for full resolution only */
  uint64_t level_offset[STZ_MAX_RANK * 2]; /* bytes of the stream that level l needs (a prefix), l = 0 full resolution */
  uint64_t array_bytes;                    /* size of the decoded array */
  const char* form;                        /* "constant", "raw", "blocks", ...: static text */
} stz_stream_info;

/* Fills `options` with the defaults: lossless, no fill value, one thread. */
STZ_API void stz_default_options(stz_options* options);

/* Bytes of one element of `dtype`, 0 if it is unknown. */
STZ_API size_t stz_element_size(int32_t dtype);

/* An output capacity that is always enough: bytes of the array + 64. 0 if the layout is invalid. */
STZ_API size_t stz_max_compressed_size(const stz_layout* layout);

/* Compresses the array at `data` into `out`; *out_size is the number of bytes written.
 * Fails with STZ_ERROR_CAPACITY only if `capacity` < stz_max_compressed_size. */
STZ_API int stz_compress(const stz_layout* layout, const void* data, const stz_options* options, void* out, size_t capacity,
                         size_t* out_size);

/* Decompresses into `out`, which must hold exactly `out_size` = stz_info's array_bytes (else STZ_ERROR_CAPACITY). The array has
 * the byte order that it was compressed in. On error the contents of `out` are unspecified. */
STZ_API int stz_decompress(const void* stream, size_t size, void* out, size_t out_size);

/* stz_decompress with at most `threads` threads, 256 at most; 0 and 1: the calling thread alone. The array never depends on it.
 * STZ_ERROR_OPTION if `threads` is negative. */
STZ_API int stz_decompress_threads(const void* stream, size_t size, void* out, size_t out_size, int threads);

/* What the stream's header says. Of a stream of form "raw" or "constant" all bytes must be there, and no more; of others a prefix of a
 * few hundred bytes is enough. What is guaranteed where it returns STZ_OK: the header of blocks, and all of a constant stream, have
 * passed their check; a raw stream has the size that its shape and type call for, so array_bytes is no more than `size`, but its check
 * covers all of its bytes and is left to stz_decompress. */
STZ_API int stz_info(const void* stream, size_t size, stz_stream_info* info);

/* English text of an error code; never NULL. */
STZ_API const char* stz_error_text(int code);

#ifdef __cplusplus
}
#endif
#endif
