/* A C program as a user writes one: puts a float32 field through the h5stz filter and reads it back.
 *
 *   host FILE BOUND [full] [rawedges] [refuse]
 *
 * Absolute bound, chunks of 16 x 24 in 50 x 70 samples, so that chunks stick out. `full` gives the full form of the client data,
 * `rawedges` leaves partial chunks unfiltered, `refuse` then tries a string dataset and prints the error stack's messages.
 * Prints one "key value..." line per result; the exit status is 0 only if every HDF5 call did what it should. */
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILTER_ID 34765
#define ROWS 50
#define COLUMNS 70

#define CHECK(call)                                             \
  do {                                                          \
    if ((call) < 0) {                                           \
      printf("failed line %d: %s\n", __LINE__, #call);          \
      return 1;                                                 \
    }                                                           \
  } while (0)

static float field[ROWS][COLUMNS], read_back[ROWS][COLUMNS];

static herr_t print_message(unsigned n, const H5E_error2_t *error, void *client_data) {
  (void)n;
  (void)client_data;
  /* H5E_PLINE makes a program that is not position-independent own a copy of the library's variable. */
  printf("message %s %s\n", error->maj_num == H5E_PLINE ? "pipeline" : "other", error->desc);
  return 0;
}

static int try_string_dataset(hid_t file) {
  const hsize_t size = 10;
  const unsigned lossless[2] = {101, 0};
  const hid_t type = H5Tcopy(H5T_C_S1);
  const hid_t space = H5Screate_simple(1, &size, NULL), properties = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Tset_size(type, 8));
  CHECK(H5Pset_chunk(properties, 1, &size));
  CHECK(H5Pset_filter(properties, FILTER_ID, H5Z_FLAG_OPTIONAL, 2, lossless));
  CHECK(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
  if (H5Dcreate2(file, "text", type, space, H5P_DEFAULT, properties, H5P_DEFAULT) >= 0) {
    printf("failed: a string dataset was accepted\n");
    return 1;
  }
  CHECK(H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, print_message, NULL));
  return 0;
}

int main(int argc, char **argv) {
  const hsize_t size[2] = {ROWS, COLUMNS}, chunk[2] = {16, 24};
  int full = 0, raw_edges = 0, refuse = 0;
  if (argc < 3) return 2;
  const double bound = atof(argv[2]);
  for (int i = 3; i < argc; i++) {
    full |= !strcmp(argv[i], "full");
    raw_edges |= !strcmp(argv[i], "rawedges");
    refuse |= !strcmp(argv[i], "refuse");
  }
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) field[i][j] = (float)(100 * sin(0.1 * i) * cos(0.07 * j));

  unsigned words[11] = {full ? 103 : 101, 1, 0, 0, 0, 0, 0, 0, 2 | 2 << 16, 16, 24};
  memcpy(&words[2], &bound, sizeof bound);

  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(file);
  const hid_t space = H5Screate_simple(2, size, NULL), properties = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(properties, 2, chunk));
  if (raw_edges) CHECK(H5Pset_chunk_opts(properties, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS));
  CHECK(H5Pset_filter(properties, FILTER_ID, H5Z_FLAG_MANDATORY, full ? 11 : 4, words));
  hid_t dataset = H5Dcreate2(file, "field", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  CHECK(dataset);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, field));
  CHECK(H5Dclose(dataset));
  if (refuse && try_string_dataset(file)) return 1;
  CHECK(H5Fclose(file));

  const hid_t again = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(again);
  CHECK(dataset = H5Dopen2(again, "field", H5P_DEFAULT));
  CHECK(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read_back));
  double error = 0;
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < COLUMNS; j++) error = fmax(error, fabs((double)field[i][j] - read_back[i][j]));

  unsigned stored[64], flags;
  size_t count = 64;
  const hid_t created = H5Dget_create_plist(dataset);
  CHECK(H5Pget_filter_by_id2(created, FILTER_ID, &flags, &count, stored, 0, NULL, NULL));
  printf("cd_values");
  for (size_t i = 0; i < count; i++) printf(" %u", stored[i]);
  printf("\nmax_error %.17g\nstorage %llu\n", error, (unsigned long long)H5Dget_storage_size(dataset));
  CHECK(H5Dclose(dataset));
  CHECK(H5Fclose(again));
  return error <= bound ? 0 : 1;
}
