/* Compresses a field in memory, decompresses it, and reads a part of it from the stream: the core of the C API, without HDF5.
 *
 *   export PKG_CONFIG_PATH=$(h5stz pkg-config-path)
 *   cc compress.c $(pkg-config --cflags --libs h5stz) -lm -o compress
 *
 * Without the Python package, the module of pkg-config is `stz` (docs/c_api.md).
 * docs/c_api.md explains the calls and shows the same with CMake. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "stz.h"
#include "stz_reader.h"

enum { NZ = 64, NY = 96, NX = 128, SAMPLES = NZ * NY * NX }; /* the field */
enum { DEPTH = 8, HEIGHT = 16, WIDTH = 32 };                 /* the box */

/* Ends the program with the text of an error code. */
static void check(int code, const char *what) {
  if (code == STZ_OK) return;
  fprintf(stderr, "compress: %s: %s (error %d)\n", what, stz_error_text(code), code);
  exit(1);
}

static void *allocate(size_t size) {
  void *memory = malloc(size);
  if (!memory) check(STZ_ERROR_MEMORY, "allocation");
  return memory;
}

int main(void) {
  const stz_layout layout = {STZ_F32, STZ_LITTLE, 3, 0, {NZ, NY, NX}};
  const double bound = 1e-3;
  float *field = allocate(SAMPLES * sizeof *field);
  for (int i = 0; i < SAMPLES; i++) field[i] = (float)(sin(i % NX / 9.0) * cos(i / NX % NY / 7.0) + i / (NX * NY) / 20.0);

  /* Compress: every sample within 0.001 of the original. */
  stz_options options = STZ_OPTIONS_INIT;
  options.mode = STZ_ABSOLUTE;
  options.bound = bound;
  options.block = STZ_BLOCK_REGION; /* smaller blocks, for partial reads */
  options.threads = 2;
  const size_t capacity = stz_max_compressed_size(&layout);
  size_t size = 0;
  unsigned char *stream = allocate(capacity);
  check(stz_compress(&layout, field, &options, stream, capacity, &size), "compression");
  printf("h5stz %s: %zu bytes from %zu\n", stz_version_string(), size, SAMPLES * sizeof *field);

  /* Decompress: the stream says how large the array is. */
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  check(stz_info(stream, size, &info), "header");
  float *decoded = allocate((size_t)info.array_bytes);
  check(stz_decompress_threads(stream, size, decoded, (size_t)info.array_bytes, 2), "decompression");
  double largest = 0;
  for (int i = 0; i < SAMPLES; i++) largest = fmax(largest, fabs((double)field[i] - (double)decoded[i]));
  printf("max error / bound: %.3f\n", largest / bound);

  /* Read a box with a step of 2 along the second axis, decoding only the blocks that it needs. */
  stz_reader *reader = NULL;
  stz_reader_stats stats = STZ_READER_STATS_INIT;
  const uint64_t start[3] = {17, 10, 20}, count[3] = {DEPTH, HEIGHT, WIDTH}, step[3] = {1, 2, 1};
  float *box = allocate(DEPTH * HEIGHT * WIDTH * sizeof *box);
  check(stz_reader_open_memory(stream, size, 0, &reader), "reader");
  check(stz_reader_read(reader, start, count, step, box, DEPTH * HEIGHT * WIDTH * sizeof *box, 1), "partial read");
  check(stz_reader_get_stats(reader, &stats), "statistics");
  int same = 1;
  for (int z = 0; z < DEPTH; z++)
    for (int y = 0; y < HEIGHT; y++)
      for (int x = 0; x < WIDTH; x++)
        same = same && box[(z * HEIGHT + y) * WIDTH + x] == decoded[((17 + z) * NY + 10 + 2 * y) * NX + 20 + x];
  printf("same as decompressed: %s\n", same ? "yes" : "no");
  printf("blocks decoded: %llu of %llu\n", (unsigned long long)stats.blocks_decoded, (unsigned long long)stats.blocks_present);

  stz_reader_close(reader);
  free(box);
  free(decoded);
  free(stream);
  free(field);
  return 0;
}
