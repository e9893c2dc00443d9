/* Reads one plane and one coarse level of a three-dimensional dataset, decoding only the blocks that they need.
 *
 *   read_slab FILE DATASET PLANE LEVEL OUTPUT
 *
 * PLANE is an index along the first axis; LEVEL l stands for every 2^l-th sample along all axes. Writes the samples of the plane,
 * then those of the level, to OUTPUT, as float32 in C order. To build:
 *
 *   export PKG_CONFIG_PATH=$(h5stz pkg-config-path)
 *   h5cc examples/simulation_codes/read_slab.c $(pkg-config --cflags --libs h5stz) -o read_slab
 *
 * Set HDF5_PLUGIN_PATH=$(h5stz plugin-path) to run it: HDF5 itself may have to decode chunks. */
#include <stdio.h>
#include <stdlib.h>

#include "stz_h5.h"

/* Ends the program on failure, after printing HDF5's error stack. */
static void check(long status, const char *what) {
  if (status >= 0) return;
  fprintf(stderr, "read_slab: %s\n", what);
  H5Eprint2(H5E_DEFAULT, stderr);
  exit(1);
}

static void report(const char *what, const hsize_t *shape, const stz_h5_stats *stats) {
  printf("%s: %llu x %llu x %llu samples\n", what, (unsigned long long)shape[0], (unsigned long long)shape[1],
         (unsigned long long)shape[2]);
  printf("  blocks decoded: %llu of %llu\n", (unsigned long long)stats->blocks_decoded, (unsigned long long)stats->blocks_present);
  printf("  bytes decoded: %llu of %llu\n", (unsigned long long)stats->bytes_used, (unsigned long long)stats->bytes_read);
  printf("  how: %s\n", stz_h5_reason_text(stats->reason));
}

static float *samples_for(const hsize_t *shape) {
  float *samples = malloc((size_t)(shape[0] * shape[1] * shape[2]) * sizeof *samples);
  if (!samples) check(-1, "out of memory");
  return samples;
}

static void write_and_free(float *samples, const hsize_t *shape, FILE *output) {
  const size_t count = (size_t)(shape[0] * shape[1] * shape[2]);
  if (fwrite(samples, sizeof *samples, count, output) != count) check(-1, "the output cannot be written");
  free(samples);
}

int main(int argc, char **argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: read_slab FILE DATASET PLANE LEVEL OUTPUT\n");
    return 2;
  }
  const int level = atoi(argv[4]);
  const hid_t file = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT);
  check(file, "the file cannot be opened");
  const hid_t dataset = H5Dopen2(file, argv[2], H5P_DEFAULT);
  check(dataset, "there is no such dataset");
  const hid_t space = H5Dget_space(dataset);
  hsize_t extents[3];
  if (H5Sget_simple_extent_ndims(space) != 3) check(-1, "the dataset has not three axes");
  H5Sget_simple_extent_dims(space, extents, NULL);
  FILE *output = fopen(argv[5], "wb");
  if (!output) check(-1, "the output cannot be written");

  /* A plane: the same calls as for H5Dread. */
  const hsize_t first[3] = {strtoull(argv[3], NULL, 10), 0, 0};
  const hsize_t plane[3] = {1, extents[1], extents[2]};
  check(H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, plane, NULL), "the plane cannot be selected");
  const hid_t memory = H5Screate_simple(3, plane, NULL);
  float *samples = samples_for(plane);
  stz_h5_stats stats = STZ_H5_STATS_INIT;
  check(stz_h5_read_stats(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, samples, &stats), "the plane cannot be read");
  report("plane", plane, &stats);
  write_and_free(samples, plane, output);

  /* The whole grid of a level: ceil(n / 2^level) samples along each axis. */
  const hsize_t origin[3] = {0, 0, 0};
  hsize_t grid[3];
  for (int axis = 0; axis < 3; axis++) grid[axis] = (extents[axis] + ((hsize_t)1 << level) - 1) >> level;
  samples = samples_for(grid);
  stats = (stz_h5_stats)STZ_H5_STATS_INIT;
  check(stz_h5_read_level_stats(dataset, level, origin, grid, H5T_NATIVE_FLOAT, samples, &stats), "the level cannot be read");
  report("level", grid, &stats);
  write_and_free(samples, grid, output);

  fclose(output);
  H5Sclose(memory);
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
  return 0;
}
