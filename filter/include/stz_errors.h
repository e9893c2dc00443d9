/* h5stz: every error code of the C ABI with its text, in one table.
 * Codes are stable: a number is never reused for another meaning. Texts say what went wrong. Callers that know more (a filter, a Python
 * function) add the remedy.
 * Use: #define STZ_ERROR(name, code, text) ... then STZ_ERRORS(STZ_ERROR). */
#ifndef STZ_ERRORS_H
#define STZ_ERRORS_H

#define STZ_ERRORS(X)                                                                                                       \
  X(STZ_OK, 0, "no error")                                                                                                  \
  X(STZ_ERROR_ARGUMENT, -1, "an argument is a null pointer or out of range, or a struct_size is not set")                   \
  X(STZ_ERROR_DTYPE, -2, "unknown element type")                                                                            \
  X(STZ_ERROR_SHAPE, -3, "the shape has more than 32 axes, or 2^56 elements or more")                                       \
  X(STZ_ERROR_MODE, -4, "unknown bound mode")                                                                               \
  X(STZ_ERROR_BOUND, -5, "the bound is not a finite number that is zero or more")                                           \
  X(STZ_ERROR_OPTION, -6, "an option has a value that this version does not know")                                          \
  X(STZ_ERROR_CAPACITY, -7, "the output buffer is too small")                                                               \
  X(STZ_ERROR_MEMORY, -8, "out of memory")                                                                                  \
  X(STZ_ERROR_READ, -9, "the source of the stream cannot be read: the file was cut short or replaced, or its medium fails") \
  X(STZ_ERROR_CHECK, -10,                                                                                                   \
    "the compressed stream did not decode to the array, twice: memory or processor may be faulty, or the array was "        \
    "changed meanwhile; test the memory, and write from another machine")                                                   \
  X(STZ_ERROR_LIBRARY, -11, "the HDF5 plug-in with the codec is missing or has another version: install h5stz again")       \
  X(STZ_ERROR_MAGIC, -20, "not an h5stz stream")                                                                            \
  X(STZ_ERROR_VERSION, -21, "the stream was written by a newer version of h5stz, or by a development version before 1.0")   \
  X(STZ_ERROR_TRUNCATED, -22, "the stream ends too early")                                                                  \
  X(STZ_ERROR_CORRUPT, -23, "the stream is damaged: a length or a value is impossible")                                     \
  X(STZ_ERROR_CHECKSUM, -24, "the stream is damaged: a checksum does not match")                                            \
  X(STZ_ERROR_CONTENT, -25,                                                                                                 \
    "the decoded values are not those that the writer saw: the decoder, its compiler or the processor is at fault, "        \
    "or the stream was put together from several")                                                                          \
  X(STZ_ERROR_INTERNAL, -99, "internal error: please report it with the data that caused it")

enum stz_error {
#define STZ_ERROR_ENUM(name, code, text) name = code,
  STZ_ERRORS(STZ_ERROR_ENUM)
#undef STZ_ERROR_ENUM
};

#endif
