/* Threads that write and read whole datasets, each in a file of its own, while the process forks: whole_forks FILE THREADS ROUNDS. A child that
 * is forked when no thread is in HDF5 does the same. Prints "not thread-safe" if HDF5 is not. Knows nothing of h5stz. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hdf5.h>

#include "check.h"

#define N 72

static const char *path;
static int rounds;
static const hsize_t extents[3] = {N, N, N}, chunk[3] = {16, 20, N};

static void work(int number, int of_child) {
  char name[4096];
  float *const data = malloc(sizeof(float) * N * N * N), *const found = malloc(sizeof(float) * N * N * N);
  const unsigned words[] = {102, 1, 1, 3};
  snprintf(name, sizeof name, "%s.%d.%d", path, number, of_child);
  for (int i = 0; i < N * N * N; ++i) data[i] = (float)sin(i / 40. + number) * 3;
  const hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), space = H5Screate_simple(3, extents, NULL);
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(file);
  CHECK(H5Pset_chunk(list, 3, chunk));
  CHECK(H5Pset_filter(list, 34765, 0, 4, words));
  const hid_t dataset = H5Dcreate2(file, "x", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, list, H5P_DEFAULT);
  CHECK(dataset);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
  CHECK(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found));
  for (int i = 0; i < N * N * N; ++i) EXPECT(fabs((double)data[i] - found[i]) <= 1e-3);
  CHECK(H5Dclose(dataset));
  CHECK(H5Pclose(list));
  CHECK(H5Sclose(space));
  CHECK(H5Fclose(file));
  unlink(name);
  free(data);
  free(found);
}

static void *keep_working(void *number) {
  for (int round = 0; round < rounds; ++round) work(*(int *)number, 0);
  return NULL;
}

int main(int argc, char **argv) {
  pthread_t threads[16];
  int numbers[16];
  hbool_t safe = 0;
  if (argc < 4) return 2;
  path = argv[1];
  rounds = atoi(argv[3]);
  const int count = atoi(argv[2]) < 16 ? atoi(argv[2]) : 16;
  if (H5is_library_threadsafe(&safe) < 0 || !safe) return puts("not thread-safe"), 0;
  work(99, 0);
  for (int i = 0; i < count; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, keep_working, &numbers[i]);
  }
  for (int round = 0; round < rounds; ++round) {
    const pid_t child = fork();
    if (child == 0) _exit(0); /* another thread may hold the lock of HDF5 */
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  const pid_t child = fork(); /* no thread is in HDF5 */
  if (child == 0) {
    for (int round = 0; round < 3; ++round) work(round, 1);
    _exit(0);
  }
  int status = 1;
  if (waitpid(child, &status, 0) != child || status != 0) return 1;
  work(99, 0);
  puts("done");
  return 0;
}
