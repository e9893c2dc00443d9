/* h5stz: predictions that arrays which resemble each other, such as the chunks of a dataset, take from each other. Provisional: it may
 * change in any minor release.
 *
 * Most of the time of a small array goes into fitting its predictions. With a memory in stz_options.learned, an array takes predictions
 * that were fitted to earlier arrays, if these had the same levels and representation. Now and then an array is fitted too, more often if
 * that makes its stream shorter. If there are many arrays, those of 16^3 to 64^3 samples compress 1.2 to 1.6 times as fast. Few arrays gain
 * less. Streams are less than one percent longer on average. They contain their parameters: every reader decodes them, and the bound holds.
 * The bytes of a stream depend on the arrays before it, until stz_learned_fix is called.
 *
 * Use a memory for arrays of one kind: the same type, shape and options. Any number of threads may use it at the same time. It has no
 * effect with several layers, with efforts from 7 on, in stz_estimate, and in stz_rewrite and stz_rewrite_any with a previous stream. */
#ifndef STZ_LEARNED_H
#define STZ_LEARNED_H

#include "stz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether arrays may take predictions that were fitted to others. */
typedef enum stz_learn {
  STZ_LEARN_YES = 0, /* if there is a memory: that of the options, or one that the HDF5 filter has for each kind of dataset */
  STZ_LEARN_NO = 1   /* every array is fitted: its bytes do not depend on other arrays */
} stz_learn;

/* Returns a new memory, or NULL if there is no room for it. */
STZ_API stz_learned* stz_learned_create(void);

/* Fits an array, at the effort of the options, and remembers its predictions. Writes no stream. Returns STZ_ERROR_ARGUMENT if the memory is
 * fixed, and STZ_ERROR_MEMORY if it cannot be used, as in a child of a process that forked while another thread used it. The other
 * arguments and errors are those of stz_compress. The precision layers of the options are ignored. */
STZ_API int stz_learned_train(stz_learned* learned, const stz_layout* layout, const void* data, const stz_options* options);

/* Adds what another memory has learned, oldest first, as if its arrays had taught this one: memories that several threads trained side by
 * side become one, in the order of the calls. Nobody may train `other` during this call. Errors: STZ_ERROR_ARGUMENT if one of them is
 * NULL, both are the same, or `learned` is fixed; STZ_ERROR_MEMORY, after which a part may have been added. */
STZ_API int stz_learned_join(stz_learned* learned, const stz_learned* other);

/* Ends learning. From now on the bytes of a stream depend only on its array, the options and what was learned so far. No thread may use
 * the memory during this call. It may be NULL. */
STZ_API void stz_learned_fix(stz_learned* learned);

/* Adds the predictions of a memory to the client data of a dataset. The bytes of a chunk then depend only on the chunk and the client
 * data, in every process that writes it. Readers ignore the predictions.
 * learned: the memory. If there is no room for all of its predictions, the oldest are left out. Nobody may train it during this call.
 *   NULL: no chunk learns from others.
 * words, count: client data of any form, which become those of form 105. Predictions that they have are replaced.
 * capacity: the number of words that `words` can hold. STZ_CD_MAX_WORDS always suffices.
 * Errors: STZ_ERROR_CAPACITY, with the number of words that are needed in *count; those of stz_cd_values_parse; STZ_ERROR_MEMORY. After an
 *   error the words are as before. */
STZ_API int stz_cd_values_add_learned(const stz_learned* learned, unsigned* words, size_t capacity, size_t* count);

/* Returns a new, fixed memory (stz_learned_fix) with the predictions of client data. Returns NULL if the client data have none, if the
 * predictions are damaged, or if memory is short. Trust: the words may come from a damaged or hostile file. */
STZ_API stz_learned* stz_cd_values_learned(size_t count, const unsigned* words);

/* The number of arrays whose predictions a memory has; 0 for NULL. Nobody may train it during this call. */
STZ_API size_t stz_learned_count(const stz_learned* learned);

/* Frees a memory, after the last call that uses it. It may be NULL. */
STZ_API void stz_learned_free(stz_learned* learned);

#ifdef __cplusplus
}
#endif
#endif
