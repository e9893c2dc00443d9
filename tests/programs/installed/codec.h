/* A user's own code around h5stz. */
#include <stddef.h>

/* Compresses n floats within an absolute bound and decompresses them; returns the largest error, or -1 on failure. */
double round_trip(const float* values, size_t n, double bound, size_t* compressed_bytes);
