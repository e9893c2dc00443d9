/* region_stats FILE DATASET: statistics of region reads in structures of other sizes than the library's. */
#include <string.h>

#include "check.h"
#include "stz_h5.h"

struct later_stats {
  stz_h5_stats known;
  uint64_t added;
};

static hid_t dataset;

static herr_t read_sample(stz_h5_stats *stats) {
  const hsize_t start[3] = {0, 0, 0}, count[3] = {1, 1, 1};
  float sample;
  return stz_h5_read_level_stats(dataset, 0, start, count, H5T_NATIVE_FLOAT, &sample, stats);
}

int main(int argc, char **argv) {
  struct later_stats later;
  const hid_t file = argc == 3 ? H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
  EXPECT(file >= 0);
  dataset = H5Dopen2(file, argv[2], H5P_DEFAULT);
  EXPECT(dataset >= 0);
  memset(&later, 0, sizeof later);
  later.added = 7;
  EXPECT(read_sample(NULL) >= 0);
  EXPECT(read_sample(&later.known) < 0);
  EXPECT(H5Eget_num(H5E_DEFAULT) > 0);
  later.known.struct_size = sizeof later.known - 1;
  EXPECT(read_sample(&later.known) < 0 && later.known.reads == 0);
  later.known.struct_size = sizeof later.known;
  EXPECT(read_sample(&later.known) >= 0 && read_sample(&later.known) >= 0);
  EXPECT(later.known.reads == 2 && later.known.blocks_present > 0 && later.added == 7);
  later.known.struct_size = sizeof later;
  EXPECT(read_sample(&later.known) >= 0);
  EXPECT(later.known.reads == 3 && later.known.struct_size == sizeof later && later.added == 7);
  H5Dclose(dataset);
  H5Fclose(file);
  return 0;
}
