/* An MPI program with parallel HDF5, for two ranks or more: writes through the filter, and reads what was written in all ways.
 *
 *   parallel FILE write BOUND            all ranks write one dataset together; the largest error must be at most BOUND
 *   parallel FILE independent BOUND      each rank writes for itself, which HDF5 refuses: prints its messages
 *   parallel FILE read DRIVER TRANSFER   stz_h5_read beside H5Dread: the same bytes; prints what the former did on each rank
 *   parallel FILE sums                   H5Dread alone, in all ways of `read`: prints check sums
 *   parallel FILE create DRIVER          a program that knows nothing of compression: a plain dataset of each layout
 *
 * DRIVER: `mpio` opens the file with all ranks, `sec2` each rank for itself (`create`: the first rank alone). TRANSFER: `collective`,
 * `independent`, or `alone`: the first rank reads through MPI while the others wait for it at a barrier, as independent reads may.
 * The first rank prints everything, in the order of the ranks. The exit status is 0 only if every call did what it should. */
#include <math.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stz_h5.h"

#define FAILED() MPI_Abort(MPI_COMM_WORLD, 1)
#include "check.h"

/* A chunk has more than 1 MiB, HDF5's chunk cache, so that programs under `h5stz run` read parts of it. */
enum { DEPTH = 100, ROWS = 64, COLUMNS = 96, CHUNK_DEPTH = 64, LENGTH = 4096 };
static const hsize_t extents[3] = {DEPTH, ROWS, COLUMNS}, chunk[3] = {CHUNK_DEPTH, ROWS, COLUMNS};
static float field[DEPTH][ROWS][COLUMNS], buffer[DEPTH][ROWS][COLUMNS], expected[DEPTH][ROWS][COLUMNS];
static int rank, ranks;
static char text[LENGTH];

static void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const size_t used = strlen(text);
  vsnprintf(text + used, LENGTH - used, format, arguments);
  va_end(arguments);
}

/* Collective: prints what all ranks said. */
static void print_all(void) {
  char *const all = malloc((size_t)ranks * LENGTH);
  MPI_Gather(text, LENGTH, MPI_CHAR, all, LENGTH, MPI_CHAR, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks; i++) fputs(all + (size_t)i * LENGTH, stdout);
  free(all);
  text[0] = 0;
}

static herr_t say_message(unsigned n, const H5E_error2_t *error, void *client_data) {
  (void)n, (void)client_data;
  say("message %s\n", error->desc);
  return 0;
}

static hid_t access_by(const char *driver) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (!strcmp(driver, "mpio")) CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
  return access;
}

static hid_t transfer_by(const char *kind) {
  const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  if (!strcmp(kind, "collective")) CHECK(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE));
  return transfer;
}

/* Rows from the first of this rank on: every chunk holds samples of every rank. */
static hid_t own_rows(hsize_t *start, hsize_t *count) {
  const hid_t space = H5Screate_simple(3, extents, NULL);
  const hsize_t first = (hsize_t)(ROWS * rank / ranks), next = (hsize_t)(ROWS * (rank + 1) / ranks);
  for (int axis = 0; axis < 3; axis++) start[axis] = 0, count[axis] = extents[axis];
  start[1] = first, count[1] = next - first;
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
  return space;
}

static hid_t create_filtered(hid_t file, double bound) {
  const hid_t space = H5Screate_simple(3, extents, NULL), properties = H5Pcreate(H5P_DATASET_CREATE);
  unsigned words[4] = {101, 1};
  memcpy(words + 2, &bound, sizeof bound);
  CHECK(H5Pset_chunk(properties, 3, chunk));
  CHECK(H5Pset_filter(properties, 34765, H5Z_FLAG_MANDATORY, 4, words));
  const hid_t dataset = H5Dcreate2(file, "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  CHECK(dataset);
  CHECK(H5Pclose(properties));
  CHECK(H5Sclose(space));
  return dataset;
}

static void write_together(const char *name, double bound) {
  const hid_t access = access_by("mpio"), transfer = transfer_by("collective");
  const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file);
  const hid_t dataset = create_filtered(file, bound);
  hsize_t start[3], count[3];
  const hid_t space = own_rows(start, count);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, space, space, transfer, field));
  CHECK(H5Dread(dataset, H5T_NATIVE_FLOAT, space, space, transfer, buffer));
  double error = 0;
  for (int z = 0; z < DEPTH; z++)
    for (hsize_t y = start[1]; y < start[1] + count[1]; y++)
      for (int x = 0; x < COLUMNS; x++) error = fmax(error, fabs((double)field[z][y][x] - buffer[z][y][x]));
  EXPECT(error <= bound);
  say("within %d of %g\n", rank, bound);
  CHECK(H5Sclose(space));
  CHECK(H5Dclose(dataset));
  CHECK(H5Fclose(file));
}

static void write_independently(const char *name, double bound) {
  const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access_by("mpio"));
  CHECK(file);
  const hid_t dataset = create_filtered(file, bound);
  hsize_t start[3], count[3];
  const hid_t space = own_rows(start, count);
  CHECK(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
  EXPECT(H5Dwrite(dataset, H5T_NATIVE_FLOAT, space, space, transfer_by("independent"), field) < 0);
  CHECK(H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, say_message, NULL));
  CHECK(H5Dclose(dataset));
  CHECK(H5Fclose(file));
}

/* Each rank has its own slabs, in one chunk and across two. */
static hid_t slab(int number) {
  const hsize_t starts[2][3] = {{3, 5, 7}, {60, 30, 40}}, counts[2][3] = {{2, 4, 9}, {8, 10, 11}};
  hsize_t start[3];
  for (int axis = 0; axis < 3; axis++) start[axis] = starts[number][axis] + (hsize_t)rank;
  const hid_t space = H5Screate_simple(3, extents, NULL);
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, counts[number], NULL));
  return space;
}

static void read_both_ways(hid_t dataset, hid_t transfer) {
  stz_h5_stats stats = STZ_H5_STATS_INIT;
  for (int number = 0; number < 2; number++) {
    const hid_t space = slab(number);
    memset(buffer, 0x5a, sizeof buffer);
    memset(expected, 0x5a, sizeof expected);
    CHECK(stz_h5_read_stats(dataset, H5T_NATIVE_FLOAT, space, space, transfer, buffer, &stats));
    CHECK(H5Dread(dataset, H5T_NATIVE_FLOAT, space, space, transfer, expected));
    EXPECT(memcmp(buffer, expected, sizeof buffer) == 0);
    CHECK(H5Sclose(space));
  }
  say("rank %d reads %d through %d direct %d ranges %d reason %d\n", rank, (int)stats.reads, (int)stats.reads_through_hdf5,
      (int)stats.chunks_direct, (int)stats.chunks_by_ranges, stats.reason);
}

static void sum_slabs(hid_t dataset, hid_t transfer) {
  for (int number = 0; number < 2; number++) {
    const hid_t space = slab(number);
    memset(buffer, 0, sizeof buffer);
    CHECK(H5Dread(dataset, H5T_NATIVE_FLOAT, space, space, transfer, buffer));
    unsigned long long sum = 0;
    const unsigned char *const bytes = (const unsigned char *)buffer;
    for (size_t i = 0; i < sizeof buffer; i++) sum = sum * 31 + bytes[i];
    say("rank %d slab %d sum %llx\n", rank, number, sum);
    CHECK(H5Sclose(space));
  }
}

static void read_file(const char *name, const char *driver, const char *kind, void (*read)(hid_t, hid_t)) {
  const hid_t file = H5Fopen(name, H5F_ACC_RDONLY, access_by(driver));
  CHECK(file);
  const hid_t dataset = H5Dopen2(file, "x", H5P_DEFAULT);
  CHECK(dataset);
  const hid_t transfer = transfer_by(kind);
  if (rank == 0 || strcmp(kind, "alone")) read(dataset, transfer);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(H5Dclose(dataset));
  CHECK(H5Fclose(file));
}

static void create_plain(const char *name, const char *driver) {
  const int together = !strcmp(driver, "mpio");
  if (!together && rank > 0) return;
  const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access_by(driver));
  CHECK(file);
  const hid_t transfer = transfer_by(together ? "collective" : "independent");
  hsize_t start[3], count[3];
  const hid_t space = H5Screate_simple(3, extents, NULL), own = own_rows(start, count);
  for (int chunked = 0; chunked < 2; chunked++) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (chunked) CHECK(H5Pset_chunk(properties, 3, chunk));
    const hid_t dataset = H5Dcreate2(file, chunked ? "chunked" : "contiguous", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    CHECK(dataset);
    CHECK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, together ? own : space, together ? own : space, transfer, field));
    CHECK(H5Pclose(properties));
    CHECK(H5Dclose(dataset));
  }
  CHECK(H5Sclose(own));
  CHECK(H5Sclose(space));
  CHECK(H5Fclose(file));
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int z = 0; z < DEPTH; z++)
    for (int y = 0; y < ROWS; y++)
      for (int x = 0; x < COLUMNS; x++)
        field[z][y][x] = (float)(20 * sin(z / 5. + y / 9.) * cos(x / 7.) + (x * 7919 + y * 104729 + z * 31) % 997 * 1e-4);
  const char *const mode = argc > 2 ? argv[2] : "";
  if (!strcmp(mode, "write") && argc == 4) {
    write_together(argv[1], atof(argv[3]));
  } else if (!strcmp(mode, "independent") && argc == 4) {
    write_independently(argv[1], atof(argv[3]));
  } else if (!strcmp(mode, "read") && argc == 5) {
    read_file(argv[1], argv[3], argv[4], read_both_ways);
  } else if (!strcmp(mode, "sums") && argc == 3) {
    read_file(argv[1], "mpio", "collective", sum_slabs);
    read_file(argv[1], "mpio", "independent", sum_slabs);
    read_file(argv[1], "mpio", "alone", sum_slabs);
    read_file(argv[1], "sec2", "independent", sum_slabs);
  } else if (!strcmp(mode, "create") && argc == 4) {
    create_plain(argv[1], argv[3]);
  } else {
    EXPECT(!"the words of the command line");
  }
  print_all();
  MPI_Finalize();
  return 0;
}
