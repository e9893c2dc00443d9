/* A program that writes a float32 dataset of three axes piece by piece, as simulations do; it reads nothing.
 *
 *   piecewise FILE VALUES PLANES ROWS COLUMNS DEPTH ORDER CACHE FILTER WORD...
 *
 * VALUES: a file with the samples as they are in memory. Chunks have DEPTH planes. CACHE: bytes of the chunk cache, -1 for HDF5's own.
 * ORDER: `append`   plane by plane, of a dataset that grows
 *        `flush`    the same, with H5Fflush after each plane
 *        `reopen`   the same, with the file closed after each plane
 *        `columns`  column by column
 *        `strides`  rows 0, 4, 8, ... of all planes, then 1, 5, 9, ... and so on
 *        `points`   sample by sample in lists of every 97th. */
#include <hdf5.h>
#include <string.h>

#include "piecewise.h"

static long long cache;
static const float *values;
static const char *path;

static hid_t with_cache(void) {
  const hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
  if (cache >= 0) CHECK(H5Pset_chunk_cache(access, 521, (size_t)cache, H5D_CHUNK_CACHE_W0_DEFAULT));
  return access;
}

static hid_t create(hid_t file, int grows, unsigned filter, size_t count, const unsigned *words) {
  const hsize_t none[RANK] = {0, extents[1], extents[2]}, most[RANK] = {H5S_UNLIMITED, extents[1], extents[2]};
  const hid_t space = grows ? H5Screate_simple(RANK, none, most) : H5Screate_simple(RANK, extents, NULL);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE), access = with_cache();
  CHECK(H5Pset_chunk(properties, RANK, chunk));
  CHECK(H5Pset_filter(properties, (H5Z_filter_t)filter, H5Z_FLAG_MANDATORY, count, words));
  const hid_t dataset = H5Dcreate2(file, "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, access);
  CHECK(dataset);
  CHECK(H5Pclose(access));
  CHECK(H5Pclose(properties));
  CHECK(H5Sclose(space));
  return dataset;
}

/* The samples from `start` on, `count` of them along each axis, `step` apart. */
static void write_part(hid_t dataset, const hsize_t *start, const hsize_t *step, const hsize_t *count) {
  const hid_t memory = H5Screate_simple(RANK, extents, NULL), space = H5Dget_space(dataset);
  CHECK(H5Sselect_hyperslab(memory, H5S_SELECT_SET, start, step, count, NULL));
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, step, count, NULL));
  CHECK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values));
  CHECK(H5Sclose(space));
  CHECK(H5Sclose(memory));
}

static void append_plane(hid_t dataset, hsize_t plane) {
  const hsize_t start[RANK] = {plane, 0, 0}, count[RANK] = {1, extents[1], extents[2]};
  const hsize_t grown[RANK] = {plane + 1, extents[1], extents[2]};
  CHECK(H5Dset_extent(dataset, grown));
  write_part(dataset, start, NULL, count);
}

static void write_columns(hid_t dataset) {
  for (hsize_t column = 0; column < extents[2]; column++) {
    const hsize_t start[RANK] = {0, 0, column}, count[RANK] = {extents[0], extents[1], 1};
    write_part(dataset, start, NULL, count);
  }
}

static void write_strides(hid_t dataset) {
  for (hsize_t first = 0; first < 4 && first < extents[1]; first++) {
    const hsize_t start[RANK] = {0, first, 0}, step[RANK] = {1, 4, 1};
    const hsize_t count[RANK] = {extents[0], (extents[1] - first + 3) / 4, extents[2]};
    write_part(dataset, start, step, count);
  }
}

static void write_points(hid_t dataset) {
  const hsize_t size = extents[0] * extents[1] * extents[2], apart = 97;
  hsize_t *const places = malloc((size_t)(size / apart + 1) * RANK * sizeof *places);
  float *const samples = malloc((size_t)(size / apart + 1) * sizeof *samples);
  EXPECT(places && samples);
  for (hsize_t first = 0; first < apart && first < size; first++) {
    hsize_t number = 0;
    for (hsize_t i = first; i < size; i += apart, number++) {
      places[RANK * number] = i / (extents[1] * extents[2]);
      places[RANK * number + 1] = i / extents[2] % extents[1];
      places[RANK * number + 2] = i % extents[2];
      samples[number] = values[i];
    }
    const hid_t memory = H5Screate_simple(1, &number, NULL), space = H5Dget_space(dataset);
    CHECK(H5Sselect_elements(space, H5S_SELECT_SET, (size_t)number, places));
    CHECK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, samples));
    CHECK(H5Sclose(space));
    CHECK(H5Sclose(memory));
  }
  free(samples);
  free(places);
}

int main(int argc, char **argv) {
  if (argc < 10 || argc > 10 + WORDS) return 2;
  path = argv[1];
  for (int axis = 0; axis < RANK; axis++) chunk[axis] = extents[axis] = (hsize_t)atoll(argv[3 + axis]);
  chunk[0] = (hsize_t)atoll(argv[6]);
  const char *const order = argv[7];
  cache = atoll(argv[8]);
  unsigned words[WORDS];
  for (int i = 10; i < argc; i++) words[i - 10] = (unsigned)strtoul(argv[i], NULL, 10);
  values = load(argv[2]);

  const int flush = !strcmp(order, "flush"), reopen = !strcmp(order, "reopen"), grows = flush || reopen || !strcmp(order, "append");
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(file);
  hid_t dataset = create(file, grows, (unsigned)strtoul(argv[9], NULL, 10), (size_t)(argc - 10), words);
  for (hsize_t plane = 0; grows && plane < extents[0]; plane++) {
    append_plane(dataset, plane);
    if (flush) CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL));
    if (!reopen) continue;
    CHECK(H5Dclose(dataset));
    CHECK(H5Fclose(file));
    const hid_t access = with_cache();
    CHECK(file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT));
    CHECK(dataset = H5Dopen2(file, "x", access));
    CHECK(H5Pclose(access));
  }
  if (!strcmp(order, "columns")) write_columns(dataset);
  if (!strcmp(order, "strides")) write_strides(dataset);
  if (!strcmp(order, "points")) write_points(dataset);
  CHECK(H5Dclose(dataset));
  CHECK(H5Fclose(file));
  return 0;
}
