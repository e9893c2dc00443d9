/* The samples that a program writes piece by piece. */
#ifndef PIECEWISE_H
#define PIECEWISE_H

#include <hdf5.h>

#include "check.h"

enum { RANK = 3, WORDS = 32 };
static hsize_t extents[RANK], chunk[RANK];

/* All of the dataset's, from a file that holds them as they are in memory. The caller frees them. */
static float *load(const char *name) {
  const size_t size = (size_t)(extents[0] * extents[1] * extents[2]) * sizeof(float);
  float *const read = malloc(size);
  FILE *const file = fopen(name, "rb");
  EXPECT(read && file && fread(read, 1, size, file) == size);
  fclose(file);
  return read;
}

#endif
