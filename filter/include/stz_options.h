/* h5stz: one table of all options that are one number each. Their text, their bits in client data, their ranges and their names in Python
 * follow from it. Provisional: columns may be added in any release.
 *
 * Use: #define STZ_OPTION(name, first_bit, bits, least, most, offset, changes_samples, words) ... then STZ_OPTIONS(STZ_OPTION).
 *   name: the field of stz_options, and the key of the option as text. 0 is the default of every field.
 *   first_bit, bits: the bits of the field in client data (docs/cd_values.md): below 32 in word 4, from 32 on in the record of further
 *     options.
 *   least, most: the range of the number that users give. The field is this number + offset.
 *   changes_samples: 1 if the decoded samples depend on the option.
 *   words: for an option that users give as a word, the words for 0, 1, 2 ... between bars. Users cannot give a value without a word. */
#ifndef STZ_OPTIONS_H
#define STZ_OPTIONS_H

#define STZ_OPTIONS(X)                                     \
  X(block, 0, 2, 0, 2, 0, 1, "default|region|throughput")  \
  X(threads, 8, 8, 1, 255, 0, 0, "")                       \
  X(effort, 16, 4, 1, 9, 0, 0, "")                         \
  X(layers, 24, 3, 1, STZ_MAX_LAYERS, 0, 1, "")            \
  X(append_axis, 27, 5, 0, 30, 1, 1, "")                   \
  X(integers, 20, 1, 0, 1, 0, 1, "lossless|lossy")         \
  X(content_check, 21, 2, 0, 2, 0, 0, "|no|yes")           \
  X(enhance, 6, 2, 0, 3, 0, 1, "none|relaxed|strict|both") \
  X(check, 23, 1, 0, 1, 0, 0, "no|yes")                    \
  X(learn, 5, 1, 0, 1, 0, 0, "yes|no")                     \
  X(keep_range, 4, 1, 0, 1, 0, 1, "no|yes")                \
  X(keep_zeros, 2, 1, 0, 1, 0, 1, "no|yes")                \
  X(favour, 32, 2, 0, 2, 0, 1, "default|size|quality")

/* What counts under one bound: fewer bytes or a smaller mean error. Only the bounds of coarser levels differ. None is above the bound. */
typedef enum stz_favour {
  STZ_FAVOUR_DEFAULT = 0, /* the mean error; from effort 7 on, the smaller of both streams */
  STZ_FAVOUR_SIZE = 1,    /* bytes: about 1 % fewer, for a PSNR that is up to 1.5 dB lower */
  STZ_FAVOUR_QUALITY = 2  /* the mean error, at every effort: use it when you target a PSNR */
} stz_favour;

#endif
