/* h5stz: predictions that arrays which resemble each other, such as the chunks of a dataset, take from each other. Provisional: it may
 * change in any minor release.
 *
 * Most of the time of a small array goes into fitting its predictions. With a memory in stz_options.learned, an array takes predictions
 * that were fitted to earlier arrays, if these had the same levels and representation. Now and then an array is fitted too, more often if
 * that makes its stream shorter. Arrays of 16^3 to 64^3 samples compress about one and a half times as fast; streams are about one percent
 * longer. Streams contain their parameters: every reader decodes them, and the bound holds. Their bytes depend on the arrays before them,
 * until stz_learned_fix.
 *
 * Use a memory for arrays of one kind: the same type, shape and options. Any number of threads may use it at the same time. It has no
 * effect with several layers, with efforts from 7 on, in rewritten arrays and in estimates. */
#ifndef STZ_LEARNED_H
#define STZ_LEARNED_H

#include "stz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns a new memory, or NULL if there is no room for it. */
STZ_API stz_learned* stz_learned_create(void);

/* Fits an array, at the effort of the options, and remembers its predictions. Writes no stream. A fixed memory is STZ_ERROR_ARGUMENT; the
 * other arguments and the errors are those of stz_compress. In a child of a process that forked while another thread used the memory,
 * STZ_ERROR_MEMORY is possible. Precision layers have no effect. */
STZ_API int stz_learned_train(stz_learned* learned, const stz_layout* layout, const void* data, const stz_options* options);

/* Ends learning. From now on the bytes of a stream depend on its array, the options and what was learned so far, and not on other arrays.
 * No thread may use the memory during this call. It may be NULL. */
STZ_API void stz_learned_fix(stz_learned* learned);

/* Frees a memory, after the last call that uses it. It may be NULL. */
STZ_API void stz_learned_free(stz_learned* learned);

#ifdef __cplusplus
}
#endif
#endif
