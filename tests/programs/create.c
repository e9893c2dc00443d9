/* A C program as a simulation writes its results, without a thought of compression.
 *
 *   create FILE [mpi] [close]
 *
 * Writes datasets in the ways that programs have: at once, in tiles, step by step, growing; by H5Dcreate1 too. `mpi` opens the file with a
 * driver that says that it uses MPI, `close` closes /steps after every step and opens it again. The exit status is 0 only if every HDF5
 * call did what it should, and a dataset that exists cannot be created again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "mpi_like_driver.h"

#define STEPS 12
#define ROWS 96
#define COLUMNS 112

static float field[STEPS][ROWS][COLUMNS];
static const hsize_t extents[3] = {STEPS, ROWS, COLUMNS};

static void write_box(hid_t dataset, hsize_t z, hsize_t y, hsize_t x, hsize_t depth, hsize_t rows, hsize_t columns) {
  const hsize_t start[3] = {z, y, x}, count[3] = {depth, rows, columns};
  const hid_t memory = H5Screate_simple(3, extents, NULL), stored = H5Dget_space(dataset);
  CHECK(H5Sselect_hyperslab(memory, H5S_SELECT_SET, start, NULL, count, NULL));
  CHECK(H5Sselect_hyperslab(stored, H5S_SELECT_SET, start, NULL, count, NULL));
  CHECK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, stored, H5P_DEFAULT, field));
  H5Sclose(memory);
  H5Sclose(stored);
}

static hid_t create(hid_t where, const char *name, hid_t type, hid_t properties) {
  const hid_t space = H5Screate_simple(3, extents, NULL);
  const hid_t dataset = H5Dcreate2(where, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  CHECK(dataset);
  H5Sclose(space);
  return dataset;
}

static void write_growing(hid_t file, const char *name, hsize_t steps_per_chunk) {
  const hsize_t none[3] = {0, ROWS, COLUMNS}, most[3] = {H5S_UNLIMITED, ROWS, COLUMNS}, chunk[3] = {steps_per_chunk, ROWS, COLUMNS};
  const hid_t space = H5Screate_simple(3, none, most), properties = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(properties, 3, chunk));
  const hid_t dataset = H5Dcreate2(file, name, H5T_NATIVE_FLOAT, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  CHECK(dataset);
  for (hsize_t step = 0; step < STEPS; ++step) {
    const hsize_t now[3] = {step + 1, ROWS, COLUMNS};
    CHECK(H5Dset_extent(dataset, now));
    write_box(dataset, step, 0, 0, 1, ROWS, COLUMNS);
  }
  H5Dclose(dataset);
  H5Pclose(properties);
  H5Sclose(space);
}

int main(int argc, char **argv) {
  int mpi = 0, close_often = 0;
  if (argc < 2) return 2;
  for (int i = 2; i < argc; ++i) {
    mpi |= !strcmp(argv[i], "mpi");
    close_often |= !strcmp(argv[i], "close");
  }
  for (int z = 0; z < STEPS; ++z)
    for (int y = 0; y < ROWS; ++y)
      for (int x = 0; x < COLUMNS; ++x) field[z][y][x] = (float)(20 * sin(z / 5. + y / 9.) * cos(x / 7.) + x * .01 + (x * 7919 + y * 104729 + z * 31) % 997 * 1e-4);

  const hid_t access = mpi ? mpi_like_access() : H5Pcreate(H5P_FILE_ACCESS);
  const hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file);

  hid_t dataset = create(file, "whole", H5T_IEEE_F32LE, H5P_DEFAULT);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, field));
  H5Dclose(dataset);

  const hid_t space = H5Screate_simple(3, extents, NULL);
  dataset = H5Dcreate1(file, "old", H5T_IEEE_F64BE, space, H5P_DEFAULT);
  CHECK(dataset);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, field));
  H5Dclose(dataset);
  H5E_BEGIN_TRY {
    if (H5Dcreate2(file, "whole", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0) return 1;
    if (H5Dcreate1(file, "old", H5T_IEEE_F32LE, space, H5P_DEFAULT) >= 0) return 1;
  }
  H5E_END_TRY

  /* every tile goes through all steps, as the ranks of a decomposed domain would write it one after the other */
  const hid_t group = H5Gcreate2(file, "run", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  const float missing = -999;
  CHECK(H5Pset_fill_value(properties, H5T_NATIVE_FLOAT, &missing));
  dataset = create(group, "./tiles", H5T_IEEE_F32LE, properties);
  for (hsize_t step = 0; step < STEPS; step += 3)
    for (hsize_t row = 0; row < ROWS - 20; row += 16)
      for (hsize_t column = 0; column < COLUMNS; column += 28) write_box(dataset, step, row, column, 3, 16, 28);
  H5Dclose(dataset);

  dataset = create(file, "steps", H5T_IEEE_F32LE, H5P_DEFAULT);
  for (hsize_t step = 0; step < STEPS; ++step) {
    write_box(dataset, step, 0, 0, 1, ROWS, COLUMNS);
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL));
    if (close_often) {
      H5Dclose(dataset);
      dataset = H5Dopen2(file, "steps", H5P_DEFAULT);
      CHECK(dataset);
    }
  }
  H5Dclose(dataset);

  write_growing(file, "growing", 1);
  write_growing(file, "growing_inside", 4);

  H5Pclose(properties);
  H5Gclose(group);
  H5Sclose(space);
  CHECK(H5Fclose(file));
  H5Pclose(access);
  return 0;
}
