#include "codec.h"

#include <math.h>
#include <stdlib.h>
#include <stz.h>

double round_trip(const float* values, size_t n, double bound, size_t* compressed_bytes) {
  stz_layout layout = {0};
  stz_options options = STZ_OPTIONS_INIT;
  double largest = 0;
  options.mode = STZ_ABSOLUTE;
  options.bound = bound;
  layout.dtype = STZ_F32;
  layout.byte_order = STZ_LITTLE;
  layout.rank = 1;
  layout.shape[0] = n;
  size_t capacity = stz_max_compressed_size(&layout);
  void* stream = malloc(capacity);
  float* decoded = malloc(n * sizeof *decoded);
  if (!stream || !decoded || stz_compress(&layout, values, &options, stream, capacity, compressed_bytes) != STZ_OK ||
      stz_decompress(stream, *compressed_bytes, decoded, n * sizeof *decoded) != STZ_OK)
    largest = -1;
  for (size_t i = 0; largest >= 0 && i < n; i++) largest = fmax(largest, fabs((double)values[i] - decoded[i]));
  free(stream);
  free(decoded);
  return largest;
}
