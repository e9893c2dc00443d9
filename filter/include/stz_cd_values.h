/* h5stz: the number of the HDF5 filter, conversion between its options and its client data (`cd_values`, docs/cd_values.md), and its latest
 * error.
 *
 * This header needs no HDF5. The rules of stz.h for every function hold here too. */
#ifndef STZ_CD_VALUES_H
#define STZ_CD_VALUES_H

#include "stz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The filter's number in HDF5 files, for H5Pset_filter. HDF5 reserves 32768..65535 for private use and 256..32767 for numbers that The HDF
 * Group registers (docs/registration.md). A build may set any of these numbers; it then writes and reads that number alone. */
#ifndef STZ_FILTER_ID
#define STZ_FILTER_ID 34765
#endif

#define STZ_CD_FORM_SHORT 101u
#define STZ_CD_FORM_INTEGER 102u
#define STZ_CD_FORM_FULL 103u
#define STZ_CD_FORM_WIDE 104u    /* full, with two words for each extent: chunks of 4 GiB and more */
#define STZ_CD_FORM_RECORDS 105u /* 104, with or without a layout, and records after it */

#define STZ_CD_FIXED_WORDS 9              /* words of the full forms before the extents */
#define STZ_CD_RECORD_LAYER_BOUNDS 1      /* the tag of stz_options.layer_bounds: two words for each */
#define STZ_CD_RECORD_VALID_RANGE 3       /* the tag of stz_options.valid_range: two words for each end */
#define STZ_CD_RECORD_OPTIONS 4           /* the tag of one word with options that word 4 has no room for */
#define STZ_CD_RECORD_LEARNED 2           /* the tag of predictions that chunks choose from (stz_learned.h) */
#define STZ_CD_MAX_WORDS 256              /* of any form. h5py reads no more */
#define STZ_CD_MAX_THREADS 255            /* largest number of threads that client data hold */
#define STZ_CD_MAX_DECIMALS 400u          /* largest e of the integer form */
#define STZ_MAX_CHUNK_BYTES 0xffffffffull /* of form 103, and of HDF5 files without 64-bit chunks */

/* Reads options from the `count` words at `values`: one of the forms 101 to 105, or no words (the defaults).
 * options: an output; set its struct_size first.
 * Predictions are skipped; stz_cd_values_learned reads them.
 * layout: gets the chunk's type and shape if the form (103 to 105) has them, else rank -1. May be NULL.
 * message: gets a text of up to message_size bytes, including the final 0: empty without an error, else it names the wrong word and says
 *   what to do. May be NULL.
 * Errors: STZ_ERROR_ARGUMENT (form, number of words or a reserved bit), _MODE, _BOUND, _OPTION, _DTYPE or _SHAPE.
 * Trust: the words may come from a damaged or hostile file. */
STZ_API int stz_cd_values_parse(size_t count, const unsigned* values, stz_options* options, stz_layout* layout, char* message,
                                size_t message_size);

/* Writes options as words to `out` and sets *count to their number. The form is 103, or 104 if the chunk has 4 GiB or more, or 101 in its
 * shortest spelling if `layout` is NULL, or 105 if the options have layer bounds or a valid range. stz_cd_values_add_learned adds
 * predictions. capacity: the number of words that `out` holds; STZ_CD_MAX_WORDS always suffices. message: as for stz_cd_values_parse.
 * Errors: STZ_ERROR_CAPACITY, with the number of words that are needed in *count; or the code with which stz_cd_values_parse would
 *   refuse the words, so that everything that is written can be read back. A bound that looks like one with its two words exchanged
 *   (below 2.3e-308 in form 101) is STZ_ERROR_BOUND. */
STZ_API int stz_cd_values_pack(const stz_options* options, const stz_layout* layout, unsigned* out, size_t capacity, size_t* count,
                               char* message, size_t message_size);

/* Reads options from text, such as "absolute=1e-3,block=region,append_axis=0": KEY=VALUE (or KEY:VALUE), separated by commas, in any order.
 * The text has exactly one bound: absolute=B, pointwise_relative=R or lossless. It may have fill_value=X, dtype=f4, block=region,
 * threads=N, effort=N, layers=N, layer_bounds=B/B, append_axis=N (the first axis is 0), integers=lossy, content_check=no, enhance=strict,
 * check=yes, learn=no, keep_zeros=yes, keep_range=yes, valid_range=A/B and favour=size, with the meaning that they have in Python
 * (h5stz.STZ). Numbers become the nearest double, in every locale.
 *
 * dtype: the type of the dataset (stz_dtype), or 0 if it is not known; gets the type in the text. A fill value needs it. May be NULL.
 *
 * options: an output; set its struct_size first.
 *
 * message: as for stz_cd_values_parse.
 *
 * Errors: STZ_ERROR_OPTION, _MODE, _BOUND or _DTYPE; the message names the key. *options and *dtype stay as they were. */
STZ_API int stz_options_parse_text(const char* text, int32_t* dtype, stz_options* options, char* message, size_t message_size);

/* Writes options as text in its shortest spelling, with a final 0; stz_options_parse_text reads it as the same options. Sets *length to the
 * length of the text without the final 0.
 * dtype: the type of the dataset; needed if there is a fill value.
 * Errors: STZ_ERROR_CAPACITY, with the needed capacity less 1 in *length; or the code with which the text would be refused. */
STZ_API int stz_options_print_text(const stz_options* options, int32_t dtype, char* text, size_t capacity, size_t* length, char* message,
                                   size_t message_size);

/* Copies the latest error of the filter in this process, in any thread, to `text` and returns its length: English text, empty if there was
 * none. It copies at most `capacity` bytes with the final 0; `text` may be NULL if capacity is 0. The message is on HDF5's error stack as
 * well; this function is for hosts that drop it. Only the plug-in, libh5stz.so, has this function: find it with dlsym in the plug-in that
 * HDF5 loaded. */
STZ_API size_t stz_h5_last_error(char* text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
