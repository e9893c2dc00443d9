/* other_values FILE NEW FILTER WORD...: reads the float32 dataset x of FILE, a single chunk, and writes twice its values to x0 of NEW; and
 * once more to x1, ... x7. The new datasets have this filter.
 *
 * It takes the address of malloc, so that an executable which is not position-independent (-no-pie) has a malloc of its own. */
#include <hdf5.h>

#include "check.h"

static void *(*volatile allocate)(size_t);

/* The extents in `space`. */
static void read_twice_the_values(const char *path, hid_t *space, float **values) {
  const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file);
  const hid_t dataset = H5Dopen2(file, "x", H5P_DEFAULT);
  CHECK(dataset);
  CHECK(*space = H5Dget_space(dataset));
  const size_t count = (size_t)H5Sget_simple_extent_npoints(*space);
  if (!*values) *values = allocate(count * sizeof **values);
  EXPECT(*values);
  CHECK(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, *values));
  for (size_t i = 0; i < count; i++) (*values)[i] *= 2;
  CHECK(H5Dclose(dataset));
  CHECK(H5Fclose(file));
}

static void write_values(hid_t file, const char *name, hid_t space, const float *values, unsigned filter, size_t words,
                         const unsigned *word) {
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  hsize_t extents[H5S_MAX_RANK];
  const int rank = H5Sget_simple_extent_dims(space, extents, NULL);
  CHECK(rank);
  CHECK(H5Pset_chunk(properties, rank, extents));
  CHECK(H5Pset_filter(properties, (H5Z_filter_t)filter, H5Z_FLAG_MANDATORY, words, word));
  const hid_t dataset = H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  CHECK(dataset);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
  CHECK(H5Dclose(dataset));
  CHECK(H5Pclose(properties));
}

int main(int argc, char **argv) {
  unsigned word[64];
  EXPECT(argc > 3 && argc < 68);
  for (int i = 4; i < argc; i++) word[i - 4] = (unsigned)strtoul(argv[i], NULL, 10);
  const hid_t file = H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(file);
  allocate = malloc;
  float *values = NULL;
  for (char name[] = "x0"; name[1] < '8'; name[1]++) {
    hid_t space;
    read_twice_the_values(argv[1], &space, &values);
    write_values(file, name, space, values, (unsigned)strtoul(argv[3], NULL, 10), (size_t)argc - 4, word);
    CHECK(H5Sclose(space));
  }
  free(values);
  CHECK(H5Fclose(file));
  return 0;
}
