/* A reader beside a writer (SWMR): does what the lines of its standard input say, and prints an answer to each, so that a test can have
 * the writer do something in between.
 *
 *   swmr FILE [plain | alone]
 *
 *   read START COUNT   the samples of a box, numbers separated by commas. By stz_h5_read beside H5Dread, which must give the same bytes;
 *                      with `plain` by H5Dread alone, as a program that knows nothing of h5stz.
 *   refresh            H5Drefresh
 *
 * `alone`: the file is opened for reading without SWMR, as nobody writes it any more.
 * Answers: the samples; in front of them, without `plain`, "through R direct D ranges G", what stz_h5_read did. The exit status is 0 only
 * if every call did what it should. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "stz_h5.h"

enum { RANK = 3, MOST = 4096 };

static void read_box(hid_t dataset, const hsize_t *start, const hsize_t *count, int plain) {
  static float found[MOST], expected[MOST];
  hsize_t samples = 1;
  for (int axis = 0; axis < RANK; axis++) samples *= count[axis];
  CHECK(samples <= MOST ? 0 : -1);
  const hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(RANK, count, NULL);
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
  if (!plain) {
    stz_h5_stats stats = STZ_H5_STATS_INIT;
    CHECK(stz_h5_read_stats(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, found, &stats));
    printf("through %d direct %d ranges %d ", (int)stats.reads_through_hdf5, (int)stats.chunks_direct, (int)stats.chunks_by_ranges);
  }
  CHECK(H5Dread(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, expected));
  CHECK(plain || memcmp(found, expected, samples * sizeof *found) == 0 ? 0 : -1);
  for (hsize_t i = 0; i < samples; i++) printf(" %.9g", expected[i]);
  printf("\n");
  CHECK(H5Sclose(memory));
  CHECK(H5Sclose(space));
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  const int plain = argc > 2 && !strcmp(argv[2], "plain"), alone = argc > 2 && !strcmp(argv[2], "alone");
  const hid_t file = H5Fopen(argv[1], alone ? H5F_ACC_RDONLY : H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT);
  CHECK(file);
  const hid_t dataset = H5Dopen2(file, "x", H5P_DEFAULT);
  CHECK(dataset);
  for (char line[256]; fgets(line, sizeof line, stdin); fflush(stdout)) {
    hsize_t start[RANK], count[RANK];
    if (!strcmp(line, "refresh\n")) {
      CHECK(H5Drefresh(dataset));
      printf("refreshed\n");
    } else {
      const int read = sscanf(line, "read %llu,%llu,%llu %llu,%llu,%llu", (unsigned long long *)start, (unsigned long long *)start + 1,
                              (unsigned long long *)start + 2, (unsigned long long *)count, (unsigned long long *)count + 1,
                              (unsigned long long *)count + 2);
      CHECK(read == 2 * RANK ? 0 : -1);
      read_box(dataset, start, count, plain);
    }
  }
  CHECK(H5Dclose(dataset));
  CHECK(H5Fclose(file));
  return 0;
}
