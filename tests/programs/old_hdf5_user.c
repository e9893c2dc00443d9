/* A program that is linked with tests/programs/old_hdf5.c. Prints what its functions return. */
#include <stdio.h>

int H5Dread(int dataset, int memory_type, int memory_space, int file_space, int transfer, void *buffer);
int H5Dwrite(int dataset, int memory_type, int memory_space, int file_space, int transfer, const void *buffer);
int H5Dcreate2(int location, const char *name, int type, int space, int links, int creation, int access);

int main(void) {
  int sample = 0;
  const int read = H5Dread(7, 1, 2, 3, 0, &sample);
  printf("%d %d %d %d\n", read, sample, H5Dwrite(7, 1, 2, 3, 0, &sample), H5Dcreate2(1000, "x", 1, 2, 0, 0, 0));
  return 0;
}
