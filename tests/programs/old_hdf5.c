/* A library that passes for HDF5 1.8, which has none of the functions of 1.10, as far as reading, writing and creating go: each function
 * returns a number of its own. */
int H5get_libversion(unsigned *major, unsigned *minor, unsigned *release) {
  *major = 1, *minor = 8, *release = 23;
  return 0;
}

int H5Dread(int dataset, int memory_type, int memory_space, int file_space, int transfer, void *buffer) {
  (void)memory_type, (void)memory_space, (void)file_space, (void)transfer;
  *(int *)buffer = dataset;
  return 101;
}

int H5Dwrite(int dataset, int memory_type, int memory_space, int file_space, int transfer, const void *buffer) {
  (void)memory_type, (void)memory_space, (void)file_space, (void)transfer;
  return *(const int *)buffer == dataset ? 102 : -1;
}

int H5Dcreate2(int location, const char *name, int type, int space, int links, int creation, int access) {
  (void)name, (void)type, (void)space, (void)links, (void)creation, (void)access;
  return location + 103;
}
