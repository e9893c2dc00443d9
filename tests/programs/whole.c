/* A program that writes and reads whole datasets, and much that only looks like it. It knows nothing of h5stz.
 *
 *   whole FILE TYPE SHAPE CHUNK [KEY=VALUE ...] -- STEP ...        for example: whole x.h5 f4 70x80x50 16x16x16 words=102,1,1,3 -- write read
 *
 * TYPE is f4, f8, i4 or >f4 (big-endian). The dataset "x" has the filter 34765 with the client data of `words`. Further keys: fill=V, undefined
 * or never; cache=BYTES; optional, raw_edges, unlimited, early, latest, core, existing (a file to read) = 1. Everything that is read is appended
 * to FILE.read. The exit status is 0 only if every call of HDF5 did what it should; a failed read or write prints its error stack instead. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <hdf5.h>

#include "check.h"

#define RANK 4

static int rank;
static hsize_t extents[RANK], chunk[RANK], limits[RANK];
static hid_t type, file, dataset, access_list, dataset_access;
static unsigned steps_done;
static const char *path;

static hsize_t samples(void) {
  hsize_t n = 1;
  for (int axis = 0; axis < rank; ++axis) n *= extents[axis];
  return n;
}

static const char *value_of(int argc, char **argv, const char *key, const char *otherwise) {
  for (int i = 5; i < argc && strcmp(argv[i], "--"); ++i)
    if (!strncmp(argv[i], key, strlen(key)) && argv[i][strlen(key)] == '=') return argv[i] + strlen(key) + 1;
  return otherwise;
}

static int parse(const char *text, hsize_t *numbers) {
  int n = 0;
  for (char *end; n < RANK; text = end + 1) {
    numbers[n++] = strtoull(text, &end, 10);
    if (!*end) break;
  }
  return n;
}

/* A field that differs at each step. */
static double sample(hsize_t i) {
  const hsize_t row = i / extents[rank - 1], column = i % extents[rank - 1];
  const double wave = (double)((row * 37 + column * 11 + steps_done * 1009) % 400) / 400;
  return 30 * wave * (1 - wave) + (double)((i * 2654435761u + steps_done) % 1009) * 1e-3;
}

static void *values(hid_t memory_type, hsize_t n) {
  const size_t size = H5Tget_size(memory_type);
  double *const wide = malloc((size_t)n * (size > sizeof(double) ? size : sizeof(double)));
  for (hsize_t i = 0; i < n; ++i) wide[i] = sample(i);
  CHECK(H5Tconvert(H5T_NATIVE_DOUBLE, memory_type, (size_t)n, wide, NULL, H5P_DEFAULT));
  return wide;
}

/* Reports an error as the program would see it, without what differs in each process: times, descriptors and addresses. */
static herr_t print_error(unsigned n, const H5E_error2_t *error, void *unused) {
  (void)n, (void)unused;
  const char *const time = strstr(error->desc, "time =");
  printf("%s: %.*s\n", error->func_name, time ? (int)(time - error->desc) : (int)strlen(error->desc), error->desc);
  return 0;
}
static void report(const char *what, herr_t status) {
  if (status >= 0) return;
  printf("%s failed\n", what);
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, print_error, NULL);
}

static void put(hid_t target, hid_t memory_type, hid_t memory, hid_t stored, hid_t transfer, hsize_t n) {
  void *const data = values(memory_type, n);
  report("write", H5Dwrite(target, memory_type, memory, stored, transfer, data));
  free(data);
}

static void get(hid_t memory_type, hid_t memory, hid_t stored, hsize_t n) {
  char name[4096];
  const size_t bytes = (size_t)n * H5Tget_size(memory_type);
  char *const data = malloc(bytes);
  memset(data, 0x5a, bytes);
  const herr_t status = H5Dread(dataset, memory_type, memory, stored, H5P_DEFAULT, data);
  report("read", status);
  snprintf(name, sizeof name, "%s.read", path);
  FILE *const out = fopen(name, "ab");
  if (status >= 0 && fwrite(data, 1, bytes, out) != bytes) exit(3);
  fclose(out);
  free(data);
}

/* A box across chunks, of odd sizes. */
static hid_t box(hsize_t *n) {
  hsize_t start[RANK], count[RANK];
  const hid_t space = H5Dget_space(dataset);
  *n = 1;
  for (int axis = 0; axis < rank; ++axis) {
    start[axis] = extents[axis] / 5;
    count[axis] = extents[axis] / 2 + 1;
    *n *= count[axis];
  }
  CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL));
  return space;
}

static void part(hid_t target, int writes) {
  hsize_t n;
  const hid_t stored = box(&n), memory = H5Screate_simple(1, &n, NULL);
  if (writes)
    put(target, type, memory, stored, H5P_DEFAULT, n);
  else
    get(type, memory, stored, n);
  H5Sclose(memory);
  H5Sclose(stored);
}

/* Everything, as a hyperslab, from the middle of a larger array. With a gap the samples are not contiguous in memory. */
static void hyperslab(int writes, int gap) {
  hsize_t zeros[RANK] = {0}, n = samples(), start = 100, stride = 2, room = gap ? 2 * n + 100 : n + 300;
  const hid_t stored = H5Dget_space(dataset), memory = H5Screate_simple(1, &room, NULL);
  CHECK(H5Sselect_hyperslab(stored, H5S_SELECT_SET, zeros, NULL, extents, NULL));
  CHECK(H5Sselect_hyperslab(memory, H5S_SELECT_SET, &start, gap ? &stride : NULL, &n, NULL));
  if (writes)
    put(dataset, type, memory, stored, H5P_DEFAULT, room);
  else
    get(type, memory, stored, room);
  H5Sclose(memory);
  H5Sclose(stored);
}

static void open_dataset(void) {
  dataset = H5Dopen2(file, "x", dataset_access);
  CHECK(dataset);
}

static void reopen(unsigned flags) {
  CHECK(H5Dclose(dataset));
  CHECK(H5Fclose(file));
  file = H5Fopen(path, flags, access_list);
  CHECK(file);
  open_dataset();
}

static void transformed(void) {
  const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  CHECK(H5Pset_data_transform(transfer, "2*x"));
  put(dataset, type, H5S_ALL, H5S_ALL, transfer, samples());
  H5Pclose(transfer);
}

static void resize(hsize_t length) {
  extents[0] = length;
  CHECK(H5Dset_extent(dataset, extents));
}

static void other_handle(int whole) {
  const hid_t second = H5Dopen2(file, "x", dataset_access);
  CHECK(second);
  if (whole)
    put(second, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, samples());
  else
    part(second, 1);
  CHECK(H5Dclose(second));
}

static void step(const char *name) {
  ++steps_done;
  if (!strcmp(name, "write")) put(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, samples());
  if (!strcmp(name, "read")) get(type, H5S_ALL, H5S_ALL, samples());
  if (!strcmp(name, "part")) part(dataset, 1);
  if (!strcmp(name, "look")) part(dataset, 0);
  if (!strcmp(name, "slab")) hyperslab(1, 0);
  if (!strcmp(name, "gaps")) hyperslab(1, 1);
  if (!strcmp(name, "readslab")) hyperslab(0, 0);
  if (!strcmp(name, "readgaps")) hyperslab(0, 1);
  if (!strcmp(name, "double")) put(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, samples());
  if (!strcmp(name, "readdouble")) get(H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, samples());
  if (!strcmp(name, "transform")) transformed();
  if (!strcmp(name, "second")) other_handle(0);
  if (!strcmp(name, "secondwhole")) other_handle(1);
  if (!strcmp(name, "flush")) CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL));
  if (!strcmp(name, "grow")) resize(extents[0] + 9);
  if (!strcmp(name, "shrink")) resize(extents[0] > 13 ? extents[0] - 13 : 1);
  if (!strcmp(name, "again")) reopen(H5F_ACC_RDWR);
  if (!strcmp(name, "readonly")) reopen(H5F_ACC_RDONLY);
  if (!strcmp(name, "stop")) { /* HDF5 may crash when it closes a file in which a write failed */
    fflush(stdout);
    _exit(0);
  }
  if (!strcmp(name, "full")) { /* no byte more fits in a file: what HDF5 does then is a failed write, not a signal */
    const struct rlimit none = {60000, 60000};
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &none));
  }
}

static hid_t creation_list(int argc, char **argv) {
  const char *const fill = value_of(argc, argv, "fill", NULL);
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(list, rank, chunk));
  unsigned words[64];
  size_t count = 0;
  char *text = strdup(value_of(argc, argv, "words", "102,1,1,3"));
  for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) words[count++] = (unsigned)strtoul(word, NULL, 10);
  free(text);
  CHECK(H5Pset_filter(list, 34765, *value_of(argc, argv, "optional", "0") == '1' ? H5Z_FLAG_OPTIONAL : 0, count, words));
  if (fill && !strcmp(fill, "undefined")) {
    CHECK(H5Pset_fill_value(list, type, NULL));
  } else if (fill && !strcmp(fill, "never")) {
    const double seven = 7;
    CHECK(H5Pset_fill_value(list, H5T_NATIVE_DOUBLE, &seven));
    CHECK(H5Pset_fill_time(list, H5D_FILL_TIME_NEVER));
  } else if (fill) {
    const double number = atof(fill);
    CHECK(H5Pset_fill_value(list, H5T_NATIVE_DOUBLE, &number));
  }
  if (*value_of(argc, argv, "raw_edges", "0") == '1') CHECK(H5Pset_chunk_opts(list, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS));
  if (*value_of(argc, argv, "early", "0") == '1') CHECK(H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY));
  CHECK(H5Pset_obj_track_times(list, 0));
  return list;
}

static void create(int argc, char **argv) {
  const hid_t timeless = H5Pcreate(H5P_FILE_CREATE);
  CHECK(H5Pset_obj_track_times(timeless, 0));
  file = H5Fcreate(path, H5F_ACC_TRUNC, timeless, access_list);
  CHECK(file);
  H5Pclose(timeless);
  for (int axis = 0; axis < rank; ++axis) limits[axis] = *value_of(argc, argv, "unlimited", "0") == '1' ? H5S_UNLIMITED : extents[axis] + 9;
  const hid_t space = H5Screate_simple(rank, extents, limits), list = creation_list(argc, argv);
  dataset = H5Dcreate2(file, "x", type, space, H5P_DEFAULT, list, dataset_access);
  CHECK(dataset);
  H5Pclose(list);
  H5Sclose(space);
}

int main(int argc, char **argv) {
  int at = 5;
  if (argc < 6) return 2;
  path = argv[1];
  rank = parse(argv[3], extents);
  if (parse(argv[4], chunk) != rank) return 2;
  type = H5Tcopy(!strcmp(argv[2], "f8")    ? H5T_IEEE_F64LE
                 : !strcmp(argv[2], "i4")  ? H5T_STD_I32LE
                 : !strcmp(argv[2], ">f4") ? H5T_IEEE_F32BE
                                           : H5T_IEEE_F32LE);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  access_list = H5Pcreate(H5P_FILE_ACCESS);
  CHECK(H5Pset_cache(access_list, 0, 521, (size_t)atoll(value_of(argc, argv, "cache", "1048576")), 0.75));
  if (*value_of(argc, argv, "latest", "0") == '1') CHECK(H5Pset_libver_bounds(access_list, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
  if (*value_of(argc, argv, "core", "0") == '1') CHECK(H5Pset_fapl_core(access_list, 1 << 20, 1));
  dataset_access = H5P_DEFAULT;
  if (*value_of(argc, argv, "existing", "0") == '1') {
    file = H5Fopen(path, H5F_ACC_RDONLY, access_list);
    CHECK(file);
    open_dataset();
  } else {
    create(argc, argv);
  }
  while (at < argc && strcmp(argv[at], "--")) ++at;
  for (++at; at < argc; ++at) step(argv[at]);
  report("close", H5Dclose(dataset));
  report("close file", H5Fclose(file));
  return 0;
}
