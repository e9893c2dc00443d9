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
 * - Threads: functions may be called from several threads at once. Between calls, the library keeps only constant tables and some memory.
 * - Trust: streams may be damaged or hostile; a decoder then returns an error and reads or writes nothing outside its buffers.
 *   Pointers, capacities and struct_size are the caller's responsibility.
 * - Host: nothing is printed; no function exits, throws or changes signal handlers. The calling thread's floating-point environment
 *   (rounding, traps, flush-to-zero, exception flags) does not change results and is as before when the function returns.
 *
 * Not promised: that another version writes the same bytes; which error code a damaged stream gives; the wording of texts.
 * Stability: everything here stays until 2.0, except parts whose comment says "provisional". Those may change in any minor release,
 * which announces the change (docs/compatibility.md). */
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

/* The version of this header. It is written nowhere else; builds read these three lines. */
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

/* Returns STZ_VERSION_NUMBER of the library that runs. A program that was compiled for one runs with every later one of the same soname.
 * Some libraries find the codec in the plug-in of the same package. Without the plug-in the number is 0, and other functions return
 * STZ_ERROR_LIBRARY; stz_error_text then tells where the plug-in should be. */
STZ_API int stz_version_number(void);

/* Returns STZ_VERSION_STRING of the library that runs: static text. */
STZ_API const char* stz_version_string(void);

/* The version of the stream format (docs/format.md) that this library writes and reads. It is final: every later version of the library
 * reads it. A stream that uses an addition to the format announces it in a record. Readers without the feature recognise the record and
 * refuse the stream with the feature's name. */
#define STZ_FORMAT_VERSION 2

/* ---- Structures ----
 *
 * Structures that begin with `struct_size` may get more fields at their end in later versions. Fields are never moved, removed or
 * given another meaning. Before use, set every field to 0 and struct_size to sizeof(the structure): initialise it with its macro
 * (STZ_OPTIONS_INIT, ...) or, in other languages, do the same by hand. 0 in a field means its default, in later versions too.
 *
 * - An input: fields that the caller's structure lacks take their defaults. Fields that the library does not know must be 0; otherwise
 *   the function returns STZ_ERROR_OPTION.
 * - An output: the library writes no more than struct_size bytes, does not change struct_size, and sets fields that it does not know
 *   to 0. The caller has to set only struct_size before the call.
 * - The function returns STZ_ERROR_ARGUMENT and writes nothing if struct_size is above STZ_MAX_STRUCT_SIZE, or below the size that the
 *   structure had in the first version with it. */
#define STZ_MAX_STRUCT_SIZE 4096

/* Stands in place of a bound: samples have lost precision, and nobody knows how much. It is the largest finite double. */
#define STZ_UNKNOWN_BOUND 1.7976931348623157e308

/* Largest numbers of axes of an array, of precision layers and of resolution levels of a stream. */
#define STZ_MAX_RANK 32
#define STZ_MAX_LAYERS 7
#define STZ_MAX_LEVELS 64

/* Element types. A bool is STZ_U8 (or the integer type that stores it). An enumeration is its base integer type. */
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
  STZ_C64 = 12,     /* two float32 per element: the bound holds for each component */
  STZ_C128 = 13,    /* two float64 per element: the bound holds for each component */
  STZ_BF16 = 14,    /* bfloat16; this type and the next two since 1.1 */
  STZ_F8_E4M3 = 15, /* float8 E4M3FN: no infinities, NaN where all bits but the sign are set */
  STZ_F8_E5M2 = 16
} stz_dtype;

typedef enum stz_byte_order { STZ_LITTLE = 0, STZ_BIG = 1 } stz_byte_order;

/* The promise for the decoded sample x' of an original sample x.
 * STZ_LOSSLESS: x' has the bits of x.
 * STZ_ABSOLUTE: |x - x'| <= bound in exact arithmetic, in the units of the data.
 * STZ_POINTWISE_RELATIVE: |x - x'| <= bound * |x| in exact arithmetic; zeros and signs are exact. For floating-point types only:
 *   integer types with STZ_INTEGERS_BOUNDED give STZ_ERROR_MODE.
 * Integer types are lossless in every mode, unless the options say STZ_INTEGERS_BOUNDED. Even then a bound below 1 is lossless.
 * NaN (with its payload), infinities and the fill value come back bit for bit in every mode. */
typedef enum stz_mode { STZ_LOSSLESS = 0, STZ_ABSOLUTE = 1, STZ_POINTWISE_RELATIVE = 2 } stz_mode;

typedef enum stz_block {
  STZ_BLOCK_DEFAULT = 0,   /* best ratio and speed */
  STZ_BLOCK_REGION = 1,    /* smaller blocks: partial reads fetch and decode less */
  STZ_BLOCK_THROUGHPUT = 2 /* longer rows: whole volumes are compressed and decompressed faster, partial reads are slower */
} stz_block;

/* The meaning of a bound for integer types. Integers are often indices, flags, codes or times: a value near the right one is simply wrong.
 * So a bound that is given for a whole file must not reach them by default. */
typedef enum stz_integers {
  STZ_INTEGERS_LOSSLESS = 0, /* integers are stored exactly, whatever the mode says */
  STZ_INTEGERS_BOUNDED = 1   /* the mode and its bound apply to integers too */
} stz_integers;

/* Whether a stream gets a content check: a CRC over the decoded values of each block. stz_verify uses it to detect a decoder that decodes
 * other values. It costs four bytes for each block of the finest level. If samples are coded as float32 or float64 themselves, it takes
 * about 3 % of the time and is the default. It takes more if samples are converted first (integers, float16, logarithms, numbers on a
 * grid) or if some are missing. */
typedef enum stz_content_check {
  STZ_CONTENT_CHECK_DEFAULT = 0, /* if samples are coded as float32 or float64, none is missing, and it adds at most 1/300 to the stream */
  STZ_CONTENT_CHECK_NONE = 1,
  STZ_CONTENT_CHECK_WRITE = 2
} stz_content_check;

/* Trades a lower mean squared error per byte for a larger stream at the same bound; use it when you target a PSNR. It applies to float32,
 * float64 and complex arrays with an absolute bound that are not stored exactly. All other streams are those of STZ_ENHANCE_NONE, byte for
 * byte. */
typedef enum stz_enhance {
  STZ_ENHANCE_NONE = 0,
  /* |x - x'| <= stz_stream_info.relaxed_bound, which is at most 1.5 times the bound. A filter is fitted to the array and stored with it;
   * it brings decoded samples nearer to the originals. The stream has no filter if that does not pay for its bytes. Together with several
   * precision layers it is STZ_ERROR_OPTION. */
  STZ_ENHANCE_RELAXED = 1,
  /* The bound holds. The quantization has a wider dead zone (more indices are 0) and a smaller step. */
  STZ_ENHANCE_STRICT = 2,
  STZ_ENHANCE_BOTH = 3
} stz_enhance;

/* Whether a stream is decoded and compared with the original array before it is returned. This detects damage during compression by memory
 * without error correction or by a faulty processor. The stream is the same with and without the check. The check takes about as much time
 * as decoding, and memory for the decoded array. */
typedef enum stz_check {
  STZ_CHECK_NONE = 0,
  /* If the comparison fails, the array is compressed once more; if it fails again, the function returns STZ_ERROR_CHECK. */
  STZ_CHECK_DECODE = 1
} stz_check;

/* Type and shape of an array: contiguous, in C order (the last axis varies fastest).
 *
 * This structure never grows, so that it can be part of others. It describes any dense array; stz_options says how to compress it. */
typedef struct stz_layout {
  int32_t dtype;                /* stz_dtype */
  int32_t byte_order;           /* stz_byte_order of the array in memory */
  int32_t rank;                 /* 0 (a scalar) to STZ_MAX_RANK */
  int32_t reserved;             /* must be 0, else STZ_ERROR_ARGUMENT */
  uint64_t shape[STZ_MAX_RANK]; /* extents of the first `rank` axes; the others are ignored */
} stz_layout;

/* What arrays that resemble each other teach the encoder: stz_learned.h. NULL: every array is fitted. */
typedef struct stz_learned stz_learned;

/* How to compress. */
typedef struct stz_options {
  size_t struct_size; /* sizeof(stz_options) */
  int32_t mode;       /* stz_mode */
  int32_t has_fill;   /* 1: samples with exactly the bits of `fill` are missing values; they do not influence the others */
  double bound;       /* finite, not negative; 0 means lossless. Ignored by STZ_LOSSLESS */
  uint64_t fill;      /* the bits of the fill value as an integer of the host, for real types of up to 8 bytes */
  int32_t block;      /* stz_block */
  int32_t threads;    /* at most so many threads, capped at 256; 0, 1, or below 2^21 samples: one. Never changes the stream */
  int32_t effort;     /* 0 (default: 5), or 1 (fastest) to 9 (smallest streams) */
  int32_t layers;     /* Precision layers: 0 (default: 1), or 1 to STZ_MAX_LAYERS. The first of several layers can be read alone */
  /* The axis along which the array grows: 1 + that axis, at most the rank; 0: it does not grow. If all samples of the last planes across
   * this axis have one bit pattern (nothing was written there yet), the array is stored losslessly: it can be completed later without a
   * second loss. */
  int32_t append_axis;
  int32_t integers; /* stz_integers */
  /* 1: the samples came out of a lossy stream and have used their bound, so that they must be stored exactly from now on. Recorded in the
   * stream. Only with STZ_LOSSLESS */
  int32_t bound_used;
  int32_t content_check; /* stz_content_check */
  /* Finite, not negative: a bound for the distance between these samples and the originals, which were compressed first, in the unit of
   * the data. With STZ_POINTWISE_RELATIVE it is relative to each original sample (before 1.1 it was an error). The stream records the
   * total of this bound and the bound of this compression (accumulated_bound). STZ_UNKNOWN_BOUND: nobody knows it. 0 records nothing */
  double prior_bound;
  /* Largest errors of the first layer, the first two layers and so on, in the unit of the data. They are above 0 and fall, are above an
   * absolute bound, and zeros follow them. A last layer reaches the bound. `layers` must be 0 or the number of all layers. If two errors
   * need the same layer, the stream has one layer for both. All zeros: the encoder chooses. Provisional */
  double layer_bounds[STZ_MAX_LAYERS - 1];
  int32_t enhance;      /* stz_enhance. Provisional */
  int32_t check;        /* stz_check */
  stz_learned* learned; /* stz_learned. Provisional */
  int32_t learn;        /* stz_learn. Provisional */
  int32_t favour;       /* stz_favour (stz_options.h). Provisional */
  /* 1: decoded samples stay between the smallest and the largest valid one. In any case they keep the sign that all valid ones have */
  int32_t keep_range;
  int32_t keep_zeros; /* 1: samples that are +0 or -0 keep their bits under a bound, at every level and with every layer */
  /* The smallest and the largest valid value; infinities: no end; 0, 0: none. Decoded samples stay within an end if all valid ones are */
  double valid_range[2];
} stz_options;

/* The contents of a stream's header. "If patched" is about streams with parts that were written again (`patches`), over a base. */
typedef struct stz_stream_info {
  size_t struct_size;     /* sizeof(stz_stream_info) */
  stz_layout layout;      /* the decoded array, as given to stz_compress */
  int32_t mode;           /* stz_mode */
  int32_t has_fill;       /* as in stz_options */
  double bound;           /* as in stz_options; 0 if lossless. If patched: the largest of the base and all patches */
  uint64_t fill;          /* as in stz_options; 0 without a fill value */
  uint64_t array_bytes;   /* size of the decoded array */
  const char* form;       /* how the array is stored, as text: "raw", "blocks of ...", "patched: raw", "repeats: raw" ... */
  int32_t block;          /* stz_block */
  int32_t format_version; /* of the stream */
  int32_t levels;         /* resolution levels that can be read on their own: 1 to STZ_MAX_LEVELS; 1: full resolution only */
  int32_t content_check;  /* 1: the stream has one (stz_verify); 0: none; -1: unknown, as the end is missing. If patched: of the base */
  uint64_t level_bytes[STZ_MAX_LEVELS]; /* length of the prefix that holds level l (its preview, if there is one); 0 is full resolution */
  int32_t patches;                      /* boxes that were written again after the rest was compressed, each stored on its own */
  int32_t bound_used;                   /* 1: the samples may differ from the originals, and must not be quantized again */
  double accumulated_bound;             /* bound to the originals, which were compressed first, if the samples came out of a stream; in
                                           the unit of the bound. 0: not recorded. STZ_UNKNOWN_BOUND: a loss of unknown size */
  int32_t layers;                       /* precision layers that can be read: 1 to STZ_MAX_LAYERS. If patched: of the base */
  int32_t reserved;                     /* 0 */
  uint64_t layer_bytes[STZ_MAX_LAYERS]; /* bytes of the stream that the first 1, 2 ... layers take together, at full resolution */
  double layer_error[STZ_MAX_LAYERS];   /* largest |x - x'| with these layers, as measured. If patched: `bound` or more. For a single
                                           layer that was not measured: the promise, 0 or `relaxed_bound`. -1: not known */
  double layer_rmse[STZ_MAX_LAYERS];    /* root of the mean of |x - x'|^2 with these layers; -1: not measured, as if patched */
  double relaxed_bound;                 /* the promise of the mode in place of `bound` (stz_enhance); `bound` if nothing is enhanced */
  int32_t enhanced;                     /* 1: decoded samples are enhanced. If patched: those of the base */
  int32_t reserved2;                    /* 0 */
  double preview_error;                 /* a read that accepts it (stz_reader_max_error) leaves out low bits; 0: there is no preview */
  uint64_t preview_bytes;               /* bytes of the stream that the preview takes, at full resolution. If patched: both of the base */
} stz_stream_info;
/* clang-format off */
#define STZ_OPTIONS_INIT \
  {sizeof(stz_options), STZ_LOSSLESS, 0, 0, 0, STZ_BLOCK_DEFAULT, 0, 0, 0, 0, STZ_INTEGERS_LOSSLESS, 0, 0, 0, {0}, 0, 0, NULL, 0, 0, 0, 0, {0, 0}}
#define STZ_STREAM_INFO_INIT \
  {sizeof(stz_stream_info), {0, 0, 0, 0, {0}}, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, {0}, 0, 0, 0, 0, 0, {0}, {0}, {0}, 0, 0, 0, 0, 0}
/* clang-format on */

/* ---- Functions ---- */

/* Returns the bytes of one element of type `dtype`, or 0 if there is no such type. */
STZ_API size_t stz_element_size(int32_t dtype);

/* The expected size and error of a stream. */
typedef struct stz_size_estimate {
  size_t struct_size;        /* sizeof(stz_size_estimate) */
  double bytes;              /* expected length of the stream */
  double variance;           /* variance of that length, estimated from the differences between samples; 0 if exact */
  double mean_squared_error; /* mean of |x - x'|^2 over the finite numbers x, in units of the data squared */
  int32_t exact;             /* 1: bytes and error are those of stz_compress, because the array is small and was compressed */
  int32_t reserved;          /* 0 */
} stz_size_estimate;
#define STZ_SIZE_ESTIMATE_INIT {sizeof(stz_size_estimate), 0, 0, 0, 0, 0}

/* Returns an output capacity, in bytes, that suffices for every array of this layout: its bytes + 64.
 * Returns 0 if the layout is NULL or invalid; stz_compress then returns the reason. */
STZ_API size_t stz_max_compressed_size(const stz_layout* layout);

/* Compresses the array at `data` into `out` and sets *out_size to the length of the stream.
 * Capacity: less than stz_max_compressed_size(layout) is STZ_ERROR_CAPACITY, even if the stream would be shorter. More never is.
 * Trust: any bits are valid samples. `data` may be NULL if the array has no elements. `data` and `out` must not overlap.
 * Check: with STZ_CHECK_DECODE, STZ_OK means that the stream in `out` was decoded and kept every promise. If two attempts fail, the
 *   function returns STZ_ERROR_CHECK; the contents of `out` must not be used then. */
STZ_API int stz_compress(const stz_layout* layout, const void* data, const stz_options* options, void* out, size_t capacity,
                         size_t* out_size);

/* Estimates the size and the error of the stream that stz_compress would write, from samples of the array. It codes the coarse levels, and
 * some boxes of the finer levels, as the encoder does to fit its parameters. Arrays of up to 2^21 elements are compressed instead, which
 * takes no longer.
 * result: gets the estimate; result->struct_size must be set. Trust and errors: as for stz_compress. */
STZ_API int stz_estimate(const stz_layout* layout, const void* data, const stz_options* options, stz_size_estimate* result);

/* Compresses an array that was decoded from the stream `previous` and then changed in part, so that no sample loses its bound twice.
 * Samples that still have their decoded bits decode to exactly these bits again. Every other sample gets its bound as in stz_compress.
 * If nothing was changed, the result is `previous` byte for byte; STZ_CONTENT_CHECK_WRITE adds a content check if it has none.
 * If `previous` has not used its bound (stz_stream_info.bound_used is 0), nothing has to be kept: the result is that of stz_compress.
 * A patched result states a bound that holds for every sample: the largest bound of the kept and the new samples. Its mode is that of the
 * options, or STZ_ABSOLUTE if `previous` is lossy in another mode. Earlier losses of a lossless `previous` are in its accumulated bound.
 * previous: a whole stream of an array of the same layout, else STZ_ERROR_ARGUMENT. It may come from any function and any options.
 * Capacity, trust and errors: as for stz_compress; for `previous` as for stz_decompress. */
STZ_API int stz_rewrite(const stz_layout* layout, const void* data, const stz_options* options, const void* previous, size_t previous_size,
                        void* out, size_t capacity, size_t* out_size);

/* Does the same as stz_rewrite if it is unknown which of `count` streams the array was decoded from, or whether it was decoded at all.
 * A sample whose bits equal those that one of the streams decodes to in the same place decodes to exactly these bits again. Every other
 * sample gets its bound. The result is the stream of stz_compress if less than half of the array has such bits, and that stream gives them
 * back and states an error that holds for them.
 * previous, previous_sizes: `count` streams and their sizes, at most STZ_MAX_CANDIDATES. With 0 streams it is stz_compress. Each stream is
 *   decoded and compared. A stream that has nothing in common with the array, or has not used its bound, changes nothing.
 * Trust, capacity and errors: as for stz_rewrite. */
#define STZ_MAX_CANDIDATES 32
STZ_API int stz_rewrite_any(const stz_layout* layout, const void* data, const stz_options* options, const void* const* previous,
                            const size_t* previous_sizes, size_t count, void* out, size_t capacity, size_t* out_size);

/* Stores the array as it is, in a stream of the form "raw". Use it when memory is short: it takes a few hundred bytes besides `out`.
 * options: as for stz_compress; a mode other than STZ_LOSSLESS is STZ_ERROR_MODE. Options that say how to compress have no effect.
 * Capacity, trust and errors: as for stz_compress. */
STZ_API int stz_store(const stz_layout* layout, const void* data, const stz_options* options, void* out, size_t capacity, size_t* out_size);

/* Provisional. Makes a stream shorter by leaving out its last precision layers (stz_options.layers), without decoding it. It keeps the
 * fewest layers with which every sample is within max_error of the compressed one, as the writer measured (stz_stream_info.layer_error).
 * The result is a whole stream without a content check. Its mode is STZ_ABSOLUTE with the measured error as its bound. It decodes to the
 * samples that a read of `stream` with these layers gives (stz_reader_max_error). A patched stream loses layers beneath its patches only.
 * A stream that has no layers to spare is copied. max_error: in the unit of the data, 0 or more, else STZ_ERROR_BOUND; 0 keeps all layers.
 * capacity: `size` is always enough. *out_size: bytes of the result.
 * Trust: as for stz_decompress. */
STZ_API int stz_drop_layers(const void* stream, size_t size, double max_error, void* out, size_t capacity, size_t* out_size);

/* Decompresses the stream of `size` bytes into `out`, in the byte order in which the array was compressed.
 * out_size must be array_bytes of stz_info, else STZ_ERROR_CAPACITY. `stream` and `out` must not overlap.
 * Uses the calling thread alone. */
STZ_API int stz_decompress(const void* stream, size_t size, void* out, size_t out_size);

/* Decompresses as stz_decompress does, with up to `threads` threads, capped at 256; 0 and 1 use the calling thread alone,
 * which is also enough for arrays of fewer than 2^21 samples. The threads end with the call.
 * The array does not depend on the number. A negative number is STZ_ERROR_OPTION. */
STZ_API int stz_decompress_threads(const void* stream, size_t size, void* out, size_t out_size, int threads);

/* Decompresses as stz_decompress_threads does, and compares the values with the content check of the stream, the writer's CRCs of the
 * decoded values. It detects wrong decoding of intact bytes: a decoder whose compiler contracted operations, a faulty processor, or a
 * stream that was put together from sections of several.
 * blocks: gets the number of blocks that were compared; 0 if the stream has no content check. Streams of the forms "raw" and "constant"
 *   need none, as their checksum covers the values. May be NULL.
 * Failure: STZ_ERROR_CONTENT if values differ. */
STZ_API int stz_decompress_verified(const void* stream, size_t size, void* out, size_t out_size, int threads, uint64_t* blocks);

/* Does the same as stz_decompress_verified without an output: checks that the stream can be decoded, and the decoded values.
 * Allocates memory for the decoded array: read array_bytes with stz_info and limit it before. */
STZ_API int stz_verify(const void* stream, size_t size, int threads, uint64_t* blocks);

/* Reads the header of a stream into *info.
 * `stream` may be a prefix of a stream of form "blocks": 512 bytes hold almost every header; STZ_ERROR_TRUNCATED asks for more. It must be
 * the whole stream for the forms "raw" and "constant". A patched stream begins with the boxes that were written again and ends with an
 * ordinary stream, its base; the same rules hold for the base.
 * Trust: the checksums of headers and of whole constant streams are verified. A raw stream has the size that its shape and type call
 * for, so array_bytes is less than `size`; stz_decompress verifies its checksum, which covers all of its bytes. Limit array_bytes before
 * you allocate it: constant streams and blocks expand. */
STZ_API int stz_info(const void* stream, size_t size, stz_stream_info* info);

/* Provisional. Returns the number of threads that the environment variable H5STZ_THREADS allows: a decimal number of 1 or more, capped at
 * 255. Returns 0 if it is missing or has another value. Every call reads it anew. The filter and Python obey it; the functions above do
 * not. */
STZ_API int stz_environment_threads(void);

/* Provisional. Returns 1 if the environment variable H5STZ_VERIFY is 1, else 0. The filter then decompresses chunks as
 * stz_decompress_verified does, and partial reads of HDF5 datasets check what they decode; the functions above do not obey it. */
STZ_API int stz_environment_verify(void);

/* Provisional. Returns 1 if the environment variable H5STZ_CHECK is 1, else 0. The filter and Python then compress as with
 * STZ_CHECK_DECODE, whatever the options say; the functions above do not obey it. */
STZ_API int stz_environment_check(void);

/* Provisional. Returns the limit in bytes that the environment variable H5STZ_MAX_BYTES sets for an array that a stream claims to hold, a
 * decimal number of 1 or more. Returns 0 if it is missing or has another value. Every call reads it anew. The filter refuses larger chunks,
 * Python larger arrays. The functions above do not obey it, as their callers provide the memory. */
STZ_API uint64_t stz_environment_max_bytes(void);

/* Provisional. Returns the number that the environment variable H5STZ_MAX_ERROR holds, in the unit of the data; 0 if it is missing or not
 * a number of 0 or more. Partial reads of HDF5 datasets and the reads of `h5stz run` then take as few precision layers as
 * stz_reader_max_error says. The filter and the functions above do not obey it: samples that HDF5 decodes may be written again. */
STZ_API double stz_environment_max_error(void);

/* Provisional. Looks in an array for a missing value that the caller has not named. HDF5 does not show a filter netCDF's _FillValue, nor
 * the value that a simulation writes on land. Sets options->has_fill and options->fill if it finds one; options with a fill value stay as
 * they are. The rule: it takes evenly spread samples, and their smallest or largest value is a missing value if it occurs at least twice
 * with the same bits and is farther from all other values than twice their range and, with an absolute bound, than 16 bounds. The result
 * depends on the arguments alone. The bound holds either way: samples of that value are coded as a mask, bit for bit. Finds none in
 * complex data and floats of 8 or 16 bits, which have no values far from their own. Returns STZ_OK, or the code of a bad argument. */
STZ_API int stz_find_missing_value(const stz_layout* layout, const void* data, stz_options* options);

/* Returns the English text of an error code: static text, never NULL. */
STZ_API const char* stz_error_text(int code);

/* Explains STZ_ERROR_VERSION: writes to `text` the name of the feature that the stream needs and this library lacks, such as "a later
 * syntax of sections (critical record 3)". The text is empty if the header does not tell. A text longer than `capacity` bytes is cut off;
 * it always ends with a zero byte. */
STZ_API int stz_missing_feature(const void* stream, size_t size, char* text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
