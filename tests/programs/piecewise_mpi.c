/* An MPI program that writes a float32 dataset plane by plane with all its ranks; the chunk's owner changes with every plane.
 *
 *   piecewise_mpi FILE VALUES PLANES ROWS COLUMNS DEPTH FILTER WORD...
 *
 * VALUES: a file with the samples as they are in memory. Chunks have DEPTH planes. HDF5 has the rank with most of a chunk's new samples
 * decode and encode it: of plane k that is rank k % ranks, which writes all rows but one for each other rank. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define FAILED() MPI_Abort(MPI_COMM_WORLD, 1)
#include "piecewise.h"

static hid_t create(hid_t file, unsigned filter, size_t count, const unsigned *words) {
  const hid_t space = H5Screate_simple(RANK, extents, NULL), properties = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(properties, RANK, chunk));
  CHECK(H5Pset_filter(properties, (H5Z_filter_t)filter, H5Z_FLAG_MANDATORY, count, words));
  const hid_t dataset = H5Dcreate2(file, "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  CHECK(dataset);
  CHECK(H5Pclose(properties));
  CHECK(H5Sclose(space));
  return dataset;
}

/* This rank's rows of a plane. */
static void rows_of(hsize_t plane, int rank, int ranks, hsize_t *first, hsize_t *count) {
  const int owner = (int)(plane % (hsize_t)ranks);
  *count = rank == owner ? extents[1] - (hsize_t)(ranks - 1) : 1;
  *first = (hsize_t)rank + (rank > owner ? extents[1] - (hsize_t)ranks : 0);
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  EXPECT(argc >= 8 && argc <= 8 + WORDS);
  for (int axis = 0; axis < RANK; axis++) chunk[axis] = extents[axis] = (hsize_t)atoll(argv[3 + axis]);
  chunk[0] = (hsize_t)atoll(argv[6]);
  unsigned words[WORDS];
  for (int i = 8; i < argc; i++) words[i - 8] = (unsigned)strtoul(argv[i], NULL, 10);
  float *const values = load(argv[2]);

  const hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
  CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL));
  CHECK(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE));
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file);
  const hid_t dataset = create(file, (unsigned)strtoul(argv[7], NULL, 10), (size_t)(argc - 8), words);
  for (hsize_t plane = 0; plane < extents[0]; plane++) {
    hsize_t start[RANK] = {plane, 0, 0}, count[RANK] = {1, 0, extents[2]};
    rows_of(plane, rank, ranks, &start[1], &count[1]);
    const hid_t space = H5Screate_simple(RANK, extents, NULL);
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
    CHECK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, space, space, transfer, values));
    CHECK(H5Sclose(space));
  }
  CHECK(H5Dclose(dataset));
  CHECK(H5Fclose(file));
  CHECK(H5Pclose(transfer));
  CHECK(H5Pclose(access));
  free(values);
  return MPI_Finalize();
}
