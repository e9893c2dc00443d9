/* h5stz: error-bounded lossy and lossless compression of scientific arrays, in memory.
 *
 * This header is the core of the C API; docs/c_api.md shows how to use and link it. stz_reader.h reads parts of a stream,
 * stz_cd_values.h packs the client data of the HDF5 filter, stz_h5.h reads parts of HDF5 datasets.
 *
 * For every function of these headers:
 * - Returns: functions of type int return STZ_OK (0) or a negative code of stz_errors.h. Others say what they return.
 * - Failure: an output parameter that is a pointer or a size is set to NULL or 0 if the function fails and the parameter itself
 *   is not NULL. The contents of output buffers and output structures are then unspecified, unless the function says otherwise.
 * - Ownership: the caller owns every buffer and structure that it passes. None is kept after the call unless the function says so.
 * - Threads: functions may be called from several threads at once. Nothing is kept between calls but immutable tables.
 * - Trust: streams may be damaged or hostile; a decoder then returns an error and reads or writes nothing outside its buffers.
 *   Pointers, capacities and struct_size are the caller's responsibility.
 * - Host: nothing is printed; no function exits, throws or changes signal handlers. The calling thread's floating-point environment
 *   (rounding, traps, flush-to-zero, exception flags) does not change results and is as before when the function returns.
 *
 * Not promised: that another version writes the same bytes; which error code a damaged stream gives; the wording of texts.
 * Stability: everything here stays until 2.0, but for what its comment calls provisional: that may change in any minor release, which
 * announces it (docs/compatibility.md). */
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

/* ---- Versions ---- */

/* The version of this header. These three lines are the only place where it is written; builds read them. */
#define STZ_VERSION_MAJOR 1
#define STZ_VERSION_MINOR 0
#define STZ_VERSION_PATCH 0

/* The version as one number that can be compared: 10203 is 1.2.3. */
#define STZ_VERSION_NUMBER (STZ_VERSION_MAJOR * 10000 + STZ_VERSION_MINOR * 100 + STZ_VERSION_PATCH)

/* The version as text: "1.2.3". */
#define STZ_VERSION_STRING \
  STZ_VERSION_TEXT_OF(STZ_VERSION_MAJOR) "." STZ_VERSION_TEXT_OF(STZ_VERSION_MINOR) "." STZ_VERSION_TEXT_OF(STZ_VERSION_PATCH)
#define STZ_VERSION_TEXT_OF(number) STZ_VERSION_TEXT_OF_TOKEN(number)
#define STZ_VERSION_TEXT_OF_TOKEN(number) #number

/* STZ_VERSION_NUMBER of the library that runs, which may be newer than the header.
 * Libraries with the same soname are compatible: what was compiled for one runs with every later one. */
STZ_API int stz_version_number(void);

/* STZ_VERSION_STRING of the library that runs: static text. */
STZ_API const char* stz_version_string(void);

/* The version of the stream format (docs/format.md) that this library writes and reads. It is final: every later version of the library
 * reads it. What is added to the format is announced inside the stream, by records that readers without the feature recognise and refuse by
 * name. */
#define STZ_FORMAT_VERSION 2

/* ---- Structures ----
 *
 * Structures that begin with `struct_size` may get more fields at their end in later versions. Fields are never moved, removed or
 * given another meaning. Before use, set every field to 0 and struct_size to sizeof(the structure): initialise it with its macro
 * (STZ_OPTIONS_INIT, ...) or, in other languages, do the same by hand. 0 in a field means its default, in later versions too.
 *
 * - An input: fields that the caller's structure does not have take their defaults. If it has fields that the library does not
 *   know, they must be 0; otherwise the function returns STZ_ERROR_OPTION.
 * - An output: the library writes no more than struct_size bytes, does not change struct_size, and sets fields that it does not know
 *   to 0. Only struct_size need be set before the call.
 * - A struct_size that is smaller than the structure was in the first version that had it, or above STZ_MAX_STRUCT_SIZE, is
 *   STZ_ERROR_ARGUMENT; nothing is written then.
 *
 * stz_layout has no struct_size and never grows. */
#define STZ_MAX_STRUCT_SIZE 4096

/* In place of a bound: samples have lost something, and nobody knows how much. It is the largest finite double. */
#define STZ_UNKNOWN_BOUND 1.7976931348623157e308

/* Largest number of axes of an array. */
#define STZ_MAX_RANK 32

/* Largest number of precision layers of a stream. */
#define STZ_MAX_LAYERS 7

/* Largest number of resolution levels of a stream. */
#define STZ_MAX_LEVELS 64

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

/* What is promised of a decoded sample x' of an original sample x.
 * STZ_LOSSLESS: x' has the bits of x.
 * STZ_ABSOLUTE: |x - x'| <= bound in exact arithmetic, in the units of the data.
 * STZ_POINTWISE_RELATIVE: |x - x'| <= bound * |x| in exact arithmetic; zeros and signs are exact. For floating-point types only;
 *   integer types with STZ_INTEGERS_BOUNDED give STZ_ERROR_MODE.
 * Integer types are stored exactly in every mode, unless the options say STZ_INTEGERS_BOUNDED; a bound below 1 is lossless even then.
 * NaN (with its payload), infinities and the fill value come back bit for bit in every mode. */
typedef enum stz_mode { STZ_LOSSLESS = 0, STZ_ABSOLUTE = 1, STZ_POINTWISE_RELATIVE = 2 } stz_mode;

typedef enum stz_block {
  STZ_BLOCK_DEFAULT = 0,   /* best ratio and speed */
  STZ_BLOCK_REGION = 1,    /* smaller blocks: partial reads fetch and decode less */
  STZ_BLOCK_THROUGHPUT = 2 /* longer rows: volumes are compressed and decompressed faster as a whole, parts of them slower */
} stz_block;

/* What a bound means for integer types. Their values are often indices, flags, codes or times, for which a near value is simply wrong; a
 * bound that is given for a whole file must not reach them. */
typedef enum stz_integers {
  STZ_INTEGERS_LOSSLESS = 0, /* integers are stored exactly, whatever the mode says */
  STZ_INTEGERS_BOUNDED = 1   /* the mode and its bound apply to integers too */
} stz_integers;

/* Whether a stream gets a content check: a CRC for each block over the values that it decodes to, with which stz_verify finds out a decoder
 * that makes something else of them. It costs four bytes for each block of the finest level. Where samples are coded as float32 or float64
 * themselves it takes some 3 % of the time and is the default. Where they have to be converted first (integers, float16, logarithms,
 * numbers on a grid), or some are missing, it takes more. */
typedef enum stz_content_check {
  STZ_CONTENT_CHECK_DEFAULT = 0, /* if samples are coded as float32 or float64, none are missing, and a stream gets at most 1/300 longer */
  STZ_CONTENT_CHECK_NONE = 1,
  STZ_CONTENT_CHECK_WRITE = 2
} stz_content_check;

/* How a stream gets a lower mean squared error for its bytes, which are more at the same bound: for who wants a PSNR. For float32, float64
 * and complex arrays with an absolute bound that are not stored exactly; others are as with STZ_ENHANCE_NONE, byte for byte. */
typedef enum stz_enhance {
  STZ_ENHANCE_NONE = 0,
  /* |x - x'| <= stz_stream_info.relaxed_bound, which is at most 1.5 times the bound. A filter that is fitted to the array, and stored with
   * it, brings decoded samples nearer to the originals; where that is not worth its bytes the stream has none. Not together with several
   * precision layers: STZ_ERROR_OPTION. */
  STZ_ENHANCE_RELAXED = 1,
  /* The bound holds. Indices are 0 for more samples than those that are nearest to their prediction, steps are smaller. */
  STZ_ENHANCE_STRICT = 2,
  STZ_ENHANCE_BOTH = 3
} stz_enhance;

/* Whether a stream is checked before it is returned: decoded, and compared with the array that it was made of. That finds what memory
 * without error correction or a faulty processor has done to it while it was made; the stream is the same. It takes about as much time as
 * decoding, and memory for the decoded array. */
typedef enum stz_check {
  STZ_CHECK_NONE = 0,
  /* If the comparison fails, the array is compressed once more; if it fails again, the function returns STZ_ERROR_CHECK. */
  STZ_CHECK_DECODE = 1
} stz_check;

/* Type and shape of an array: contiguous, in C order (the last axis varies fastest).
 *
 * This structure never grows, so that it can be part of others: it holds what describes any dense array and nothing of how it is
 * compressed, which is the business of stz_options. */
typedef struct stz_layout {
  int32_t dtype;                /* stz_dtype */
  int32_t byte_order;           /* stz_byte_order of the array in memory */
  int32_t rank;                 /* 0 (a scalar) to STZ_MAX_RANK */
  int32_t reserved;             /* must be 0, else STZ_ERROR_ARGUMENT */
  uint64_t shape[STZ_MAX_RANK]; /* extents of the first `rank` axes; the others are ignored */
} stz_layout;

/* How to compress. */
typedef struct stz_options {
  size_t struct_size; /* sizeof(stz_options) */
  int32_t mode;       /* stz_mode */
  int32_t has_fill;   /* 1: samples with exactly the bits of `fill` are missing data; they do not influence the others */
  double bound;       /* finite, not negative; 0 means lossless. Ignored by STZ_LOSSLESS */
  uint64_t fill;      /* the bits of the fill value as an integer of the host, for real types of up to 8 bytes */
  int32_t block;      /* stz_block */
  int32_t threads;    /* maximum number of threads, capped at 256; 0 and 1: the calling thread alone. Never changes the stream */
  int32_t effort;     /* 0 (default: 5), or 1 (fastest) to 9 (smallest streams) */
  int32_t layers; /* Precision layers: 0 (default: 1), or 1 to STZ_MAX_LAYERS. Of a stream with several, the first ones can be read alone */
  /* The array grows along an axis: 1 + that axis, at most the rank; 0: it does not. If the last planes across it hold nothing but one bit
   * pattern (nothing was written there yet), the array is stored exactly, so that it can be completed without a second loss. */
  int32_t append_axis;
  int32_t integers; /* stz_integers */
  /* 1: the samples came out of a lossy stream and have used their bound: whoever compresses them again must store them exactly. Recorded
   * in the stream. Only with STZ_LOSSLESS */
  int32_t bound_used;
  int32_t content_check; /* stz_content_check */
  /* Finite, not negative: a bound between the samples and what was compressed first, in the unit of the data. With
   * STZ_POINTWISE_RELATIVE it is relative to each sample that was compressed first (before 1.1 it was an error). The stream records what
   * this bound and that of this compression come to (accumulated_bound). STZ_UNKNOWN_BOUND: nobody knows it. 0 records nothing */
  double prior_bound;
  /* Largest errors of precision layers, in the unit of the data: that of the first layer, of the first two ...; above 0 and falling, all
   * above an absolute bound, then zeros. A last layer follows, which has the bound. `layers` must be 0 or their number. Where an error
   * cannot be met by fewer layers than another one, the stream has fewer. All zeros: the encoder chooses. Provisional */
  double layer_bounds[STZ_MAX_LAYERS - 1];
  int32_t enhance; /* stz_enhance. Provisional */
  int32_t check;   /* stz_check */
} stz_options;
#define STZ_OPTIONS_INIT \
  {sizeof(stz_options), STZ_LOSSLESS, 0, 0, 0, STZ_BLOCK_DEFAULT, 0, 0, 0, 0, STZ_INTEGERS_LOSSLESS, 0, 0, 0, {0}, 0, 0}

/* What the header of a stream says. */
typedef struct stz_stream_info {
  size_t struct_size;     /* sizeof(stz_stream_info) */
  stz_layout layout;      /* of the decoded array, as given to stz_compress */
  int32_t mode;           /* stz_mode */
  int32_t has_fill;       /* as in stz_options */
  double bound;           /* as in stz_options; 0 if lossless. If patched: the largest of the base and all patches */
  uint64_t fill;          /* as in stz_options; 0 without a fill value */
  uint64_t array_bytes;   /* size of the decoded array */
  const char* form;       /* how the array is stored: text for people, "raw", "constant", "blocks of ...", "patched: raw" ... */
  int32_t block;          /* stz_block */
  int32_t format_version; /* of the stream */
  int32_t levels;         /* resolution levels that can be read on their own: 1 to STZ_MAX_LEVELS; 1: full resolution only */
  int32_t content_check;  /* 1: there is one (stz_verify), 0: none, -1: the end, which would tell, is missing. If patched: of the base */
  uint64_t level_bytes[STZ_MAX_LEVELS]; /* length of the prefix of the stream that holds level l; level 0 is full resolution */
  int32_t patches;                      /* boxes that were written again after the rest was compressed, each stored on its own */
  int32_t bound_used;                   /* 1: the samples may differ from what was compressed first, and must not be quantised again */
  double accumulated_bound;             /* between the samples and what was compressed first, if they came out of a stream before; in the
                                           unit of the bound. 0: not recorded. STZ_UNKNOWN_BOUND: not known, but something was lost */
  int32_t layers;                       /* precision layers that can be read: 1 to STZ_MAX_LAYERS. If patched: of the base */
  int32_t reserved;                     /* 0 */
  uint64_t layer_bytes[STZ_MAX_LAYERS]; /* bytes of the stream that the first 1, 2 ... layers take together, at full resolution */
  double layer_error[STZ_MAX_LAYERS];   /* largest |x - x'| with these layers, as measured. If patched: `bound` or more. Of a single layer
                                           that was not measured: what is promised, 0 or `relaxed_bound`. -1: not known */
  double layer_rmse[STZ_MAX_LAYERS];    /* root of the mean of |x - x'|^2 with these layers; -1: not measured, as if patched */
  double relaxed_bound;                 /* what the mode promises in place of `bound` (stz_enhance); the bound where nothing is enhanced */
  int32_t enhanced;                     /* 1: decoded samples are enhanced. If patched: those of the base */
  int32_t reserved2;                    /* 0 */
} stz_stream_info;
/* clang-format off */
#define STZ_STREAM_INFO_INIT \
  {sizeof(stz_stream_info), {0, 0, 0, 0, {0}}, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, {0}, 0, 0, 0, 0, 0, {0}, {0}, {0}, 0, 0, 0}
/* clang-format on */

/* ---- Functions ---- */

/* Returns the bytes of one element of type `dtype`, or 0 if there is no such type. */
STZ_API size_t stz_element_size(int32_t dtype);

/* What an array will take. */
typedef struct stz_size_estimate {
  size_t struct_size;        /* sizeof(stz_size_estimate) */
  double bytes;              /* expected length of the stream */
  double variance;           /* of that length, as far as the differences between samples tell it; 0 if exact */
  double mean_squared_error; /* of |x - x'|^2 over the finite numbers x and what they will decode to, in units of the data squared */
  int32_t exact;             /* 1: bytes and error are those of stz_compress: the array is small and was compressed */
  int32_t reserved;          /* 0 */
} stz_size_estimate;
#define STZ_SIZE_ESTIMATE_INIT {sizeof(stz_size_estimate), 0, 0, 0, 0, 0}

/* Returns an output capacity that suffices for every array of this layout: its bytes + 64.
 * Returns 0, which is never a capacity, if the layout is NULL or invalid; stz_compress then returns the reason. */
STZ_API size_t stz_max_compressed_size(const stz_layout* layout);

/* Compresses the array at `data` into `out` and sets *out_size to the length of the stream.
 * Capacity: less than stz_max_compressed_size(layout) is STZ_ERROR_CAPACITY, however short the stream would be. More never is.
 * Trust: any bits are valid samples. `data` may be NULL if the array has no elements. `data` and `out` must not overlap.
 * Check: with STZ_CHECK_DECODE, what is in `out` when the function returns STZ_OK was decoded there and kept every promise. If it did not
 *   twice, the error is STZ_ERROR_CHECK; nothing in `out` is to be used then. */
STZ_API int stz_compress(const stz_layout* layout, const void* data, const stz_options* options, void* out, size_t capacity,
                         size_t* out_size);

/* Estimates what stz_compress would make of the array, from samples of it: the coarse levels are coded, of the finer ones some boxes, as
 * the encoder does to fit its parameters. Arrays of up to 2^21 elements are compressed instead, which takes no longer. result: gets the
 * estimate; result->struct_size must be set. Trust and errors: as for stz_compress. */
STZ_API int stz_estimate(const stz_layout* layout, const void* data, const stz_options* options, stz_size_estimate* result);

/* Compresses an array that came out of the stream `previous` and was changed in part, so that no sample loses its bound twice. Samples with
 * the bits that `previous` decodes to decode to exactly these bits again. Every other sample gets its bound, as stz_compress gives it.
 * If nothing was changed, the result is `previous` byte for byte; with STZ_CONTENT_CHECK_WRITE a check is added to it if it has none.
 * If `previous` has not used its bound (stz_stream_info.bound_used is 0), nothing has to be kept: the result is stz_compress's.
 * A patched result states a bound that holds for every sample: the largest bound of what was kept and of what was written. Its mode is that
 * of the options, or STZ_ABSOLUTE if `previous` is lossy in another one. What a lossless `previous` had lost before is in its accumulated
 * bound.
 * previous: a whole stream of an array of the same layout, else STZ_ERROR_ARGUMENT. Not limited to what stz_compress wrote with the same
 *   options.
 * Capacity, trust and errors: as for stz_compress; of `previous` as for stz_decompress. */
STZ_API int stz_rewrite(const stz_layout* layout, const void* data, const stz_options* options, const void* previous, size_t previous_size,
                        void* out, size_t capacity, size_t* out_size);

/* Does the same as stz_rewrite where it is not known out of which of `count` streams the array came, or whether it came out of any. Samples
 * with the bits that one of them decodes to in the same place decode to exactly these bits again. Every other sample gets its bound. The
 * result is stz_compress's stream if less than half of the array has such bits, and that stream gives them back and states an error that
 * holds for them.
 * previous, previous_sizes: `count` streams and their sizes, at most STZ_MAX_CANDIDATES. With 0 streams it is stz_compress. Each stream is
 *   decoded and compared. One that has nothing in common with the array, or has not used its bound, changes nothing.
 * Trust, capacity and errors: as for stz_rewrite. */
#define STZ_MAX_CANDIDATES 32
STZ_API int stz_rewrite_any(const stz_layout* layout, const void* data, const stz_options* options, const void* const* previous,
                            const size_t* previous_sizes, size_t count, void* out, size_t capacity, size_t* out_size);

/* Stores the array as it is, in a stream of the form "raw". It is for want of memory: it takes a few hundred bytes besides `out`.
 * options: as for stz_compress; a mode other than STZ_LOSSLESS is STZ_ERROR_MODE. Those that say how to compress are not used.
 * Capacity, trust and errors: as for stz_compress. */
STZ_API int stz_store(const stz_layout* layout, const void* data, const stz_options* options, void* out, size_t capacity, size_t* out_size);

/* Provisional. Makes a stream shorter by leaving out its last precision layers (stz_options.layers), without decoding it: as few layers
 * stay as keep every sample within max_error of what was compressed, as the writer measured it (stz_stream_info.layer_error). The result is
 * a whole stream: its mode is STZ_ABSOLUTE with the bound that was measured, it decodes as `stream` is read with that many layers
 * (stz_reader_max_error), and it has no content check. Of a patched stream, what lies beneath the patches gets shorter.
 * A stream that has no layers to spare is copied as it is.
 * max_error: in the unit of the data, 0 or more, else STZ_ERROR_BOUND; 0 keeps all layers.
 * capacity: `size` is always enough. *out_size: bytes of the result.
 * Trust: as for stz_decompress. */
STZ_API int stz_drop_layers(const void* stream, size_t size, double max_error, void* out, size_t capacity, size_t* out_size);

/* Decompresses the stream of `size` bytes into `out`, in the byte order in which the array was compressed.
 * out_size must be array_bytes of stz_info, else STZ_ERROR_CAPACITY. `stream` and `out` must not overlap.
 * Uses the calling thread alone. */
STZ_API int stz_decompress(const void* stream, size_t size, void* out, size_t out_size);

/* Decompresses as stz_decompress does, with up to `threads` threads, capped at 256; 0 and 1 use the calling thread alone.
 * The array does not depend on the number. A negative number is STZ_ERROR_OPTION. */
STZ_API int stz_decompress_threads(const void* stream, size_t size, void* out, size_t out_size, int threads);

/* Decompresses as stz_decompress_threads does, and compares the values with the content check of the stream: CRCs of what the writer saw as
 * the decoded values. A stream whose bytes are sound may still decode to something else: if the compiler of the decoder contracted
 * operations, if a processor errs, or if sections of several streams were put together.
 * blocks: gets how many blocks were compared: 0 if there is no content check, which streams of the forms "raw" and "constant" do not need,
 *   as their checksum covers the values. May be NULL.
 * Failure: STZ_ERROR_CONTENT if values differ. */
STZ_API int stz_decompress_verified(const void* stream, size_t size, void* out, size_t out_size, int threads, uint64_t* blocks);

/* Does the same without an output: checks that the stream can be decoded, and to what.
 * Takes memory for the decoded array: read array_bytes with stz_info and limit it before. */
STZ_API int stz_verify(const void* stream, size_t size, int threads, uint64_t* blocks);

/* Reads what the header says into *info.
 * Of a stream of form "blocks", `stream` may be a prefix: 512 bytes hold almost every header; STZ_ERROR_TRUNCATED asks for more. Of the
 * forms "raw" and "constant" it must be the whole stream. A patched stream ends with an ordinary one, its base, of which as much must be
 * there: what lies before it are the boxes that were written again.
 * Trust: the checksums of headers and of whole constant streams are verified. A raw stream has the size that its shape and type call
 * for, so array_bytes is less than `size`; its checksum covers all of its bytes and is left to stz_decompress. Limit array_bytes before
 * you allocate it: constant streams and blocks expand. */
STZ_API int stz_info(const void* stream, size_t size, stz_stream_info* info);

/* Provisional. Returns the number of threads that the environment variable H5STZ_THREADS allows: a decimal number of 1 or more, capped at
 * 255. 0 if it is missing or anything else. Read anew by every call. The filter and Python obey it; the functions above do not. */
STZ_API int stz_environment_threads(void);

/* Provisional. Returns 1 if the environment variable H5STZ_VERIFY is 1, else 0. The filter then decompresses chunks as
 * stz_decompress_verified does, and partial reads of HDF5 datasets check what they decode; the functions above do not obey it. */
STZ_API int stz_environment_verify(void);

/* Provisional. Returns 1 if the environment variable H5STZ_CHECK is 1, else 0. The filter and Python then compress as with
 * STZ_CHECK_DECODE, whatever the options say; the functions above do not obey it. */
STZ_API int stz_environment_check(void);

/* Provisional. Returns the number of bytes that the environment variable H5STZ_MAX_BYTES holds, a decimal number of 1 or more: the largest
 * array that is made because a stream claims it. 0 if it is missing or anything else. Read anew by every call. The filter refuses larger
 * chunks, Python larger arrays; the functions above, whose callers bring the memory, do not obey it. */
STZ_API uint64_t stz_environment_max_bytes(void);

/* Provisional. Returns the number that the environment variable H5STZ_MAX_ERROR holds, in the units of the data; 0 if it is missing or no
 * number of 0 or more. Reads of parts of HDF5 datasets, and what `h5stz run` reads, then take as few precision layers as
 * stz_reader_max_error says. The filter and the functions above do not obey it: what HDF5 decodes may be written again. */
STZ_API double stz_environment_max_error(void);

/* Provisional. Looks in an array for a value that stands for missing samples although nobody has named it: HDF5 does not show a filter
 * netCDF's _FillValue, nor what a simulation writes on land. Sets options->has_fill and options->fill if there is one; leaves options that
 * have a fill value as they are. The rule: the smallest or the largest of evenly spread samples, if it occurs at least twice with the same
 * bits and is farther from all other values than twice their range and, with an absolute bound, than 16 bounds. The result depends on the
 * arguments alone. The bound holds either way: samples of that value are coded as a mask, bit for bit. Finds none in complex, 8-bit and
 * half-precision data, which have no values far from their own. Returns STZ_OK, or the code of a bad argument. */
STZ_API int stz_find_missing_value(const stz_layout* layout, const void* data, stz_options* options);

/* Returns the English text of an error code: static text, never NULL. */
STZ_API const char* stz_error_text(int code);

/* Where a function gives STZ_ERROR_VERSION for a stream: writes to `text` what the stream calls for and this library does not have, such as
 * "a later syntax of sections (critical record 3)", as far as the header tells; else an empty text. What does not fit in `capacity` is cut
 * off; the text ends with a zero byte. */
STZ_API int stz_missing_feature(const void* stream, size_t size, char* text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
