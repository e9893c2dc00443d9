/* h5stz: the number of the HDF5 filter, its options as client data (`cd_values`) and back, which docs/cd_values.md defines, and its latest
 * error.
 *
 * Needs no HDF5. What stz.h says of every function holds here too. */
#ifndef STZ_CD_VALUES_H
#define STZ_CD_VALUES_H

#include "stz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The filter's number in HDF5 files, for H5Pset_filter. 32768..65535 is HDF5's range for private use; a build may set another number of
 * 256..65535 once The HDF Group has registered one. */
#ifndef STZ_FILTER_ID
#define STZ_FILTER_ID 34765
#endif

#define STZ_CD_FORM_SHORT 101u
#define STZ_CD_FORM_INTEGER 102u
#define STZ_CD_FORM_FULL 103u

#define STZ_CD_FIXED_WORDS 9                                 /* words of the full form before the extents */
#define STZ_CD_MAX_WORDS (STZ_CD_FIXED_WORDS + STZ_MAX_RANK) /* no form is longer */
#define STZ_CD_MAX_THREADS 255                               /* largest number of threads that client data hold */
#define STZ_CD_MAX_DECIMALS 400u                             /* largest e of the integer form */
#define STZ_MAX_CHUNK_BYTES 0xffffffffull                    /* HDF5 stores the size of a chunk in 32 bits */

/* Reads options from the `count` words at `values`: one of the forms 101, 102 and 103, or no words (the defaults).
 * options: an output; set its struct_size first.
 * layout: gets the chunk's type and shape from form 103, and rank -1 from the others. May be NULL.
 * message: gets a text of up to message_size bytes, the final 0 included: empty if all is well, else which word is wrong and what to
 *   do. May be NULL.
 * Errors: STZ_ERROR_ARGUMENT (form, number of words or a reserved bit), _MODE, _BOUND, _OPTION, _DTYPE or _SHAPE.
 * Trust: the words may come from a damaged or hostile file. */
STZ_API int stz_cd_values_parse(size_t count, const unsigned* values, stz_options* options, stz_layout* layout, char* message,
                                size_t message_size);

/* Writes options as words to `out` and sets *count to their number: form 103, or 101 in its shortest spelling if `layout` is NULL.
 * capacity: words that `out` holds; STZ_CD_MAX_WORDS always suffices.
 * message: as for stz_cd_values_parse.
 * Errors: STZ_ERROR_CAPACITY, with *count the number of words that are needed; or the code with which stz_cd_values_parse would
 *   refuse the words, as everything that is written can be read back. A bound that reads like one with its two words exchanged
 *   (below 2.3e-308 in form 101) is STZ_ERROR_BOUND. */
STZ_API int stz_cd_values_pack(const stz_options* options, const stz_layout* layout, unsigned* out, size_t capacity, size_t* count,
                               char* message, size_t message_size);

/* The latest error of the filter in this process, in any thread: English text, empty if there was none. Copies it to `text` (at most
 * `capacity` bytes with the final 0; may be NULL if capacity is 0) and returns its length. The message is on HDF5's error stack as well;
 * this is for hosts that drop it. Only the plug-in, libh5stz.so, has this function: find it with dlsym in the plug-in that HDF5 loaded. */
STZ_API size_t stz_h5_last_error(char* text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
