/* h5stz: packing and parsing of the filter's client data (`cd_values`), which docs/cd_values.md defines.
 * Needs no HDF5. Like the rest of the C ABI both functions are thread-safe, keep no state and never throw. */
#ifndef STZ_CD_VALUES_H
#define STZ_CD_VALUES_H

#include "stz.h"

#ifdef __cplusplus
extern "C" {
#endif

#define STZ_CD_FORM_SHORT 101u
#define STZ_CD_FORM_INTEGER 102u
#define STZ_CD_FORM_FULL 103u

#define STZ_CD_FIXED_WORDS 9                                 /* words of the full form in front of the dims */
#define STZ_CD_MAX_WORDS (STZ_CD_FIXED_WORDS + STZ_MAX_RANK) /* no form is longer */
#define STZ_CD_MAX_DECIMALS 400u                             /* greatest e of the integer form */
#define STZ_MAX_CHUNK_BYTES 0xffffffffull                    /* HDF5 stores a chunk's size in 32 bits */

/* Reads the `count` words at `values` (form 101, 102, 103 or none at all).
 * Fills `options`; `layout` gets the chunk's type and shape from the full form, and rank -1 from the others. `layout` may be
 * NULL. Returns STZ_OK; or STZ_ERROR_ARGUMENT (form, length or a reserved bit), STZ_ERROR_MODE, STZ_ERROR_BOUND,
 * STZ_ERROR_OPTION, STZ_ERROR_DTYPE or STZ_ERROR_SHAPE. On an error `message` (if not NULL, at most `message_size` bytes with the
 * final 0) says which word is wrong and what to do, and `options` and `layout` are unspecified. */
STZ_API int stz_cd_values_parse(size_t count, const unsigned* values, stz_options* options, stz_layout* layout, char* message,
                                size_t message_size);

/* Writes the full form, or with a NULL `layout` the short one, in its shortest spelling. Returns the number of words written; 0 if
 * `capacity` is too small (STZ_CD_MAX_WORDS always suffices) or if an argument is one that stz_cd_values_parse would not accept. */
STZ_API size_t stz_cd_values_pack(const stz_options* options, const stz_layout* layout, unsigned* out, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
