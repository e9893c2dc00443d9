/* Reads a selection of a dataset through H5Dread and through stz_h5_read, compares the whole buffers and prints what the latter did.
 *
 *   region FILE DATASET [WORD...]
 *
 *   file START STRIDE COUNT BLOCK   a hyperslab of the file, numbers separated by commas; repeated: the union; none: H5S_ALL
 *   point INDEX                     one sample of the file, repeated: a selection of points
 *   none                            nothing of the file
 *   offset NUMBERS                  moves the file's selection
 *   memory EXTENTS START            samples lie in an array of these extents from START on, as a box
 *   spread                          samples lie in an array of one axis, every third
 *   all                             the memory's dataspace is H5S_ALL
 *   type f4|>f4|f8|i2|i4|c8   the type in memory; default: the dataset's. `c8` is a compound that no number converts to.
 *   transform TEXT                  a data transform in the transfer properties
 *   level L START COUNT             stz_h5_read_level beside H5Dread with the same samples
 *   update                          opens the file for writing, and writes one sample through HDF5 before the reads
 *   twice                           the same, and reads through the file opened again for reading only
 *   core                            opens the file with the driver that holds it in memory
 *   mpi                             opens the file with a driver that says that it uses MPI
 *   broken                          both must fail; prints the messages of the error stack after stz_h5_read
 *
 * Prints "key value..." lines; exit status 0 only if both readers returned the same status and the same bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "mpi_like_driver.h"
#include "stz_h5.h"

#define SAME(condition)                                          \
  do {                                                           \
    if (!(condition)) {                                          \
      printf("differs line %d: %s\n", __LINE__, #condition);     \
      exit(1);                                                   \
    }                                                            \
  } while (0)

enum { MAX_RANK = 32, MAX_POINTS = 16 };

static int numbers(const char *text, hsize_t *out) {
  int count = 0;
  for (char *end; *text; text = *end ? end + 1 : end) out[count++] = (hsize_t)strtoll(text, &end, 10);
  return count;
}

static herr_t print_message(unsigned n, const H5E_error2_t *error, void *client_data) {
  (void)n;
  (void)client_data;
  printf("message %s\n", error->desc);
  return 0;
}

static hid_t memory_type(const char *name, hid_t own) {
  if (!strcmp(name, "f4")) return H5T_IEEE_F32LE;
  if (!strcmp(name, ">f4")) return H5T_IEEE_F32BE;
  if (!strcmp(name, "f8")) return H5T_IEEE_F64LE;
  if (!strcmp(name, "i2")) return H5T_STD_I16LE;
  if (!strcmp(name, "i4")) return H5T_STD_I32LE;
  if (!strcmp(name, "c8")) {
    const hid_t type = H5Tcreate(H5T_COMPOUND, 8);
    CHECK(H5Tinsert(type, "a", 0, H5T_IEEE_F32LE));
    CHECK(H5Tinsert(type, "b", 4, H5T_IEEE_F32LE));
    return type;
  }
  return own;
}

static size_t buffer_bytes(hid_t space, hid_t type) {
  hsize_t extents[MAX_RANK], samples = 1;
  const int rank = H5Sget_simple_extent_dims(space, extents, NULL);
  CHECK(rank);
  for (int axis = 0; axis < rank; axis++) samples *= extents[axis];
  return (size_t)samples * H5Tget_size(type);
}

static void print_stats(const stz_h5_stats *s) {
  printf("reads %d\nthrough %d\n", (int)s->reads, (int)s->reads_through_hdf5);
  printf("direct %d\nranges %d\n", (int)s->chunks_direct, (int)s->chunks_by_ranges);
  printf("missing %d\nchunks_through %d\n", (int)s->chunks_missing, (int)s->chunks_through_hdf5);
  printf("bytes %llu %llu\nblocks %llu %llu\nreason %d %s\n", (unsigned long long)s->bytes_read, (unsigned long long)s->bytes_used,
         (unsigned long long)s->blocks_decoded, (unsigned long long)s->blocks_present, s->reason, stz_h5_reason_text(s->reason));
}

int main(int argc, char **argv) {
  hsize_t points[MAX_POINTS * MAX_RANK], v[4][MAX_RANK], level_start[MAX_RANK], level_count[MAX_RANK], extents[MAX_RANK];
  hssize_t offset[MAX_RANK];
  int n_points = 0, selected = 0, whole_memory = 0, spread = 0, boxed = 0, level = -1, broken = 0;
  if (argc < 3) return 2;
  int update = 0, core = 0, mpi = 0, twice = 0;
  for (int i = 3; i < argc; i++) {
    twice |= !strcmp(argv[i], "twice");
    update |= twice || !strcmp(argv[i], "update");
    core |= !strcmp(argv[i], "core");
    mpi |= !strcmp(argv[i], "mpi");
  }

  const hid_t access = mpi ? mpi_like_access() : H5Pcreate(H5P_FILE_ACCESS);
  CHECK(access);
  if (core) CHECK(H5Pset_fapl_core(access, 1 << 20, 0));
  const hid_t handle = H5Fopen(argv[1], update ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access);
  CHECK(handle);
  hid_t dataset = H5Dopen2(handle, argv[2], H5P_DEFAULT);
  CHECK(dataset);
  const hid_t space = H5Dget_space(dataset), own = H5Dget_type(dataset), transfer = H5Pcreate(H5P_DATASET_XFER);
  hid_t type = own, memory = H5S_ALL;
  const int rank = H5Sget_simple_extent_dims(space, extents, NULL);

  for (int i = 3; i < argc; i++) {
    if (!strcmp(argv[i], "file")) {
      for (int k = 0; k < 4; k++) SAME(numbers(argv[++i], v[k]) == rank);
      CHECK(H5Sselect_hyperslab(space, selected ? H5S_SELECT_OR : H5S_SELECT_SET, v[0], v[1], v[2], v[3]));
      selected = 1;
    } else if (!strcmp(argv[i], "point")) {
      SAME(numbers(argv[++i], points + rank * n_points++) == rank && n_points < MAX_POINTS);
      CHECK(H5Sselect_elements(space, H5S_SELECT_SET, (size_t)n_points, points));
      selected = 1;
    } else if (!strcmp(argv[i], "none")) {
      CHECK(H5Sselect_none(space));
      selected = 1;
    } else if (!strcmp(argv[i], "offset")) {
      SAME(numbers(argv[++i], v[0]) == rank);
      for (int axis = 0; axis < rank; axis++) offset[axis] = (hssize_t)v[0][axis];
      CHECK(H5Soffset_simple(space, offset));
    } else if (!strcmp(argv[i], "memory")) {
      boxed = numbers(argv[++i], v[0]);
      SAME(numbers(argv[++i], v[1]) == boxed);
    } else if (!strcmp(argv[i], "type")) {
      type = memory_type(argv[++i], own);
    } else if (!strcmp(argv[i], "transform")) {
      CHECK(H5Pset_data_transform(transfer, argv[++i]));
    } else if (!strcmp(argv[i], "level")) {
      level = atoi(argv[++i]);
      SAME(numbers(argv[++i], level_start) == rank && numbers(argv[++i], level_count) == rank);
    }
    spread |= !strcmp(argv[i], "spread");
    whole_memory |= !strcmp(argv[i], "all");
    broken |= !strcmp(argv[i], "broken");
  }

  if (level >= 0 && !broken) {
    hsize_t step[MAX_RANK], first[MAX_RANK];
    for (int axis = 0; axis < rank; axis++) step[axis] = (hsize_t)1 << level, first[axis] = level_start[axis] << level;
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, first, step, level_count, NULL));
    selected = 1;
  }
  const hsize_t samples = (hsize_t)H5Sget_select_npoints(space);
  hid_t shown = space;  /* the dataspace whose extents the buffer has */
  if (boxed) {
    hsize_t lengths[MAX_RANK];
    memory = shown = H5Screate_simple(boxed, v[0], NULL);
    /* The file's selection has as many axes as the memory's here. */
    hsize_t start[MAX_RANK], stride[MAX_RANK], count[MAX_RANK], block[MAX_RANK];
    CHECK(H5Sget_regular_hyperslab(space, start, stride, count, block));
    for (int axis = 0; axis < boxed; axis++) lengths[axis] = count[axis] * block[axis];
    CHECK(H5Sselect_hyperslab(memory, H5S_SELECT_SET, v[1], NULL, lengths, NULL));
  } else if (spread) {
    const hsize_t length = 3 * samples + 2, start = 1, stride = 3;
    memory = shown = H5Screate_simple(1, &length, NULL);
    CHECK(H5Sselect_hyperslab(memory, H5S_SELECT_SET, &start, &stride, &samples, NULL));
  } else if (selected && !whole_memory && samples) {
    memory = shown = H5Screate_simple(1, &samples, NULL);
  }
  if (update) {
    const hsize_t one = 1;
    const hid_t single = H5Screate_simple(1, &one, NULL), where = H5Dget_space(dataset);
    const double value = 7;
    hsize_t zeros[MAX_RANK] = {0};
    CHECK(H5Sselect_elements(where, H5S_SELECT_SET, 1, zeros));
    CHECK(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, single, where, H5P_DEFAULT, &value));
    CHECK(H5Sclose(single));
    CHECK(H5Sclose(where));
    if (twice) {
      const hid_t again = H5Fopen(argv[1], H5F_ACC_RDONLY, access);
      CHECK(again);
      CHECK(dataset = H5Dopen2(again, argv[2], H5P_DEFAULT));
    }
  }

  const size_t bytes = buffer_bytes(shown, type);
  unsigned char *expected = malloc(bytes), *found = malloc(bytes);
  memset(expected, 0x5a, bytes);
  memset(found, 0x5a, bytes);
  stz_h5_stats stats = STZ_H5_STATS_INIT;
  const hid_t file_space = selected ? space : H5S_ALL;
  H5E_auto2_t printer;
  void *printer_data;
  CHECK(H5Eget_auto2(H5E_DEFAULT, &printer, &printer_data));
  if (broken) CHECK(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
  const ssize_t open_before = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);

  /* First ours: what it reads must not come from a cache that HDF5 filled. */
  herr_t status;
  if (level >= 0) {
    status = stz_h5_read_level_stats(dataset, level, level_start, level_count, type, found, &stats);
  } else {
    status = stz_h5_read_stats(dataset, type, memory, file_space, transfer, found, &stats);
  }
  if (broken) CHECK(H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, print_message, NULL));
  SAME(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) == open_before);
  print_stats(&stats);
  if (level >= 0 && broken) {
    SAME(status < 0);
    return 0;
  }
  const herr_t expected_status = H5Dread(dataset, type, memory, file_space, transfer, expected);
  SAME((status < 0) == (expected_status < 0) && (status < 0) == broken);
  SAME(broken || memcmp(expected, found, bytes) == 0);
  H5E_auto2_t printer_after;
  void *data_after;
  CHECK(H5Eget_auto2(H5E_DEFAULT, &printer_after, &data_after));
  SAME(broken || (printer_after == printer && data_after == printer_data));

  /* The functions without statistics give the same. */
  if (!broken) {
    memset(found, 0x5a, bytes);
    if (level >= 0) {
      CHECK(stz_h5_read_level(dataset, level, level_start, level_count, type, found));
    } else {
      CHECK(stz_h5_read(dataset, type, memory, file_space, transfer, found));
    }
    SAME(memcmp(expected, found, bytes) == 0);
  }
  CHECK(H5Dclose(dataset));
  CHECK(H5Fclose(handle));
  free(expected);
  free(found);
  return 0;
}
