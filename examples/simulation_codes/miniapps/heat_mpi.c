/* Heat conduction in a periodic cube on MPI ranks: heat.f90 with parallel HDF5, each rank with a slab of planes.
 *
 *   mpirun -n RANKS heat_mpi PREFIX [--cells N] [--steps N] [--every N] [--series OPTIONS] [--checkpoint OPTIONS]
 *                           [--checkpoint-every N] [--restart FILE]
 *
 * The options, the files and the checkpoints are those of heat.f90, and a run may restart from a checkpoint of that program or of another
 * number of ranks. All ranks write together, because parallel HDF5 writes compressed datasets collectively only (docs/parallel_hdf5.md). A
 * chunk may hold planes of several ranks. Each frame of the series has chunks of its own, so no chunk is ever written twice. */
#include <math.h>
#include <mpi.h>
#include <string.h>

#include "h5stz_filter.h"

enum { PLANES_PER_CHUNK = 16 };
static const double ratio = 0.125; /* time step * conductivity / spacing^2; stable up to 1/6 */

typedef struct {
  const char *prefix, *series, *checkpoint, *restart;
  int cells, steps, every, checkpoint_every;
} Options;

/* Planes first ... first + count - 1 of a cube of n^3 samples; one more plane of each neighbour lies around them in `values`. */
typedef struct {
  int n, first, count, below, above; /* below, above: the ranks of the neighbours */
  int step, frames;
  double *values, *next;
} Slab;

static int rank, ranks;

static void fail(const char *what, const char *which) {
  fprintf(stderr, "heat_mpi: %s %s\n", what, which);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static Slab new_slab(int n) {
  if (n < ranks) fail("there are more ranks than planes:", "give fewer ranks or more --cells");
  const int first = (int)((long long)n * rank / ranks), next = (int)((long long)n * (rank + 1) / ranks);
  Slab slab = {n, first, next - first, (rank + ranks - 1) % ranks, (rank + 1) % ranks, 0, 0, NULL, NULL};
  const size_t samples = (size_t)(slab.count + 2) * (size_t)n * (size_t)n;
  slab.values = malloc(samples * sizeof(double));
  slab.next = malloc(samples * sizeof(double));
  if (!slab.values || !slab.next) fail("there is no memory", "for the slab");
  return slab;
}

static double *own(const Slab *slab) { return slab->values + (size_t)slab->n * (size_t)slab->n; }
static size_t samples_of(const Slab *slab) { return (size_t)slab->count * (size_t)slab->n * (size_t)slab->n; }
static double time_of(const Slab *slab) { return slab->step * ratio / ((double)slab->n * slab->n); }

/* The temperature at a point of the grid: two waves that decay, each at its rate. */
static double exact(const Slab *slab, int k, int j, int i) {
  const double pi = acos(-1.0), time = time_of(slab), x = 2 * pi * i / slab->n, y = 2 * pi * j / slab->n, z = 2 * pi * k / slab->n;
  return 1 + 0.5 * exp(-12 * pi * pi * time) * sin(x) * cos(y) * sin(z) + 0.25 * exp(-56 * pi * pi * time) * sin(3 * x) * cos(2 * y) * sin(z);
}

static void start(Slab *slab) {
  double *value = own(slab);
  for (int k = 0; k < slab->count; k++)
    for (int j = 0; j < slab->n; j++)
      for (int i = 0; i < slab->n; i++) *value++ = exact(slab, slab->first + k, j, i);
}

static void advance(Slab *slab) {
  const int n = slab->n, plane = n * n;
  double *old = slab->values, *top = old + (size_t)slab->count * (size_t)plane;
  MPI_Sendrecv(top, plane, MPI_DOUBLE, slab->above, 0, old, plane, MPI_DOUBLE, slab->below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(own(slab), plane, MPI_DOUBLE, slab->below, 1, top + plane, plane, MPI_DOUBLE, slab->above, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  for (int k = 1; k <= slab->count; k++)
    for (int j = 0; j < n; j++) {
      const double *line = old + ((size_t)k * (size_t)n + (size_t)j) * (size_t)n;
      const double *south = line + ((j + n - 1) % n - j) * n, *north = line + ((j + 1) % n - j) * n;
      double *result = slab->next + (line - old);
      for (int i = 0; i < n; i++)
        result[i] = (1 - 6 * ratio) * line[i] + ratio * ((line[(i + n - 1) % n] + line[(i + 1) % n]) + (south[i] + north[i]) +
                                                         (line[i - plane] + line[i + plane]));
    }
  slab->values = slab->next;
  slab->next = old;
  slab->step++;
}

static hid_t open_together(const char *path, int creates, unsigned mode) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  h5_check(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
  const hid_t file = creates ? H5Fcreate(path, mode, H5P_DEFAULT, access) : H5Fopen(path, mode, access);
  H5Pclose(access);
  return h5_check(file, path);
}

/* Writes the slab's planes, the last axes of a dataset, collectively: `samples` have the type of the dataset, as HDF5 must not convert. */
static void write_slab(hid_t dataset, hid_t type, const Slab *slab, const void *samples) {
  const hid_t space = H5Dget_space(dataset), transfer = H5Pcreate(H5P_DATASET_XFER);
  const int rank_of_space = H5Sget_simple_extent_ndims(space), has_frames = rank_of_space == 4;
  const hsize_t n = (hsize_t)slab->n;
  const hsize_t first[4] = {(hsize_t)slab->frames, (hsize_t)slab->first, 0, 0}, count[4] = {1, (hsize_t)slab->count, n, n};
  const hid_t memory = H5Screate_simple(3, count + 1, NULL);
  h5_check(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE), "H5Pset_dxpl_mpio");
  h5_check(H5Sselect_hyperslab(space, H5S_SELECT_SET, first + !has_frames, NULL, count + !has_frames, NULL), "H5Sselect_hyperslab");
  h5_check(H5Dwrite(dataset, type, memory, space, transfer, samples), "H5Dwrite");
  H5Sclose(memory);
  H5Pclose(transfer);
  H5Sclose(space);
}

static hid_t create_filtered(hid_t file, hid_t type, int axes, const hsize_t *extent, const hsize_t *limits, const hsize_t *chunk,
                             const char *options) {
  const hid_t space = H5Screate_simple(axes, extent, limits), properties = H5Pcreate(H5P_DATASET_CREATE);
  h5_check(H5Pset_chunk(properties, axes, chunk), "H5Pset_chunk");
  h5stz_set_filter(properties, options);
  const hid_t dataset = h5_check(H5Dcreate2(file, "temperature", type, space, H5P_DEFAULT, properties, H5P_DEFAULT), "H5Dcreate2");
  H5Pclose(properties);
  H5Sclose(space);
  return dataset;
}

static void append_frame(hid_t series, Slab *slab) {
  const hsize_t n = (hsize_t)slab->n, extent[4] = {(hsize_t)slab->frames + 1, n, n, n};
  float *samples = malloc(samples_of(slab) * sizeof(float));
  if (!samples) fail("there is no memory", "for a frame");
  for (size_t i = 0; i < samples_of(slab); i++) samples[i] = (float)own(slab)[i];
  h5_check(H5Dset_extent(series, extent), "H5Dset_extent");
  write_slab(series, H5T_NATIVE_FLOAT, slab, samples);
  free(samples);
  slab->frames++;
}

static void write_checkpoint(const Slab *slab, const Options *options) {
  char path[1024], unfinished[1040];
  snprintf(path, sizeof path, "%s.%06d.h5", options->prefix, slab->step);
  snprintf(unfinished, sizeof unfinished, "%s.part", path);
  const hsize_t n = (hsize_t)slab->n, extent[3] = {n, n, n}, chunk[3] = {n < PLANES_PER_CHUNK ? n : PLANES_PER_CHUNK, n, n};
  const hid_t file = open_together(unfinished, 1, H5F_ACC_TRUNC), scalar = H5Screate(H5S_SCALAR);
  const hid_t dataset = create_filtered(file, H5T_NATIVE_DOUBLE, 3, extent, NULL, chunk, options->checkpoint);
  write_slab(dataset, H5T_NATIVE_DOUBLE, slab, own(slab));
  const hsize_t stored = H5Dget_storage_size(dataset);
  const struct {
    const char *name;
    const int *value;
  } numbers[2] = {{"step", &slab->step}, {"frames", &slab->frames}};
  for (int i = 0; i < 2; i++) {
    const hid_t attribute = H5Acreate2(file, numbers[i].name, H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
    h5_check(H5Awrite(attribute, H5T_NATIVE_INT, numbers[i].value), numbers[i].name);
    H5Aclose(attribute);
  }
  H5Sclose(scalar);
  H5Dclose(dataset);
  h5_check(H5Fclose(file), path);
  if (rank) return;
  if (rename(unfinished, path)) fail("this file cannot be written:", path); /* a checkpoint is whole, or it is not there */
  printf("checkpoint: %s, %llu bytes in %llu\n", path, (unsigned long long)(n * n * n * sizeof(double)), (unsigned long long)stored);
}

static void read_number(hid_t file, const char *name, int *value) {
  const hid_t attribute = h5_check(H5Aopen(file, name, H5P_DEFAULT), name);
  h5_check(H5Aread(attribute, H5T_NATIVE_INT, value), name);
  H5Aclose(attribute);
}

/* Each rank reads its own planes, whatever ranks wrote them. */
static Slab read_checkpoint(const char *path) {
  const hid_t file = open_together(path, 0, H5F_ACC_RDONLY), dataset = h5_check(H5Dopen2(file, "temperature", H5P_DEFAULT), path);
  const hid_t space = H5Dget_space(dataset);
  hsize_t extent[3];
  if (H5Sget_simple_extent_ndims(space) != 3) fail("no cube is in", path);
  H5Sget_simple_extent_dims(space, extent, NULL);
  Slab slab = new_slab((int)extent[0]);
  read_number(file, "step", &slab.step);
  read_number(file, "frames", &slab.frames);
  const hsize_t first[3] = {(hsize_t)slab.first, 0, 0}, count[3] = {(hsize_t)slab.count, extent[1], extent[2]};
  const hid_t memory = H5Screate_simple(3, count, NULL);
  h5_check(H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, count, NULL), "H5Sselect_hyperslab");
  h5_check(H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, own(&slab)), path);
  H5Sclose(memory);
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
  return slab;
}

/* The series: it is continued if it is there, and made if not. */
static hid_t open_series(hid_t *file, Slab *slab, const Options *options) {
  char path[1024];
  snprintf(path, sizeof path, "%s.h5", options->prefix);
  int is_there = 0;
  if (rank == 0 && options->restart) {
    FILE *found = fopen(path, "rb");
    is_there = found != NULL;
    if (found) fclose(found);
  }
  MPI_Bcast(&is_there, 1, MPI_INT, 0, MPI_COMM_WORLD);
  *file = open_together(path, !is_there, is_there ? H5F_ACC_RDWR : H5F_ACC_TRUNC);
  if (is_there) return h5_check(H5Dopen2(*file, "temperature", H5P_DEFAULT), path);
  const hsize_t n = (hsize_t)slab->n, extent[4] = {0, n, n, n}, limits[4] = {H5S_UNLIMITED, n, n, n};
  const hsize_t chunk[4] = {1, n < PLANES_PER_CHUNK ? n : PLANES_PER_CHUNK, n, n};
  slab->frames = 0;
  return create_filtered(*file, H5T_NATIVE_FLOAT, 4, extent, limits, chunk, options->series);
}

static void report(hid_t series, const Slab *slab) {
  double sums[2] = {0, (double)samples_of(slab)}, error = 0, total[2], largest;
  const double *value = own(slab);
  for (int k = 0; k < slab->count; k++)
    for (int j = 0; j < slab->n; j++)
      for (int i = 0; i < slab->n; i++, value++) {
        sums[0] += *value;
        error = fmax(error, fabs(*value - exact(slab, slab->first + k, j, i)));
      }
  MPI_Reduce(sums, total, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  const hsize_t stored = H5Dget_storage_size(series);
  if (rank) return;
  printf("series of temperature: %d frames, %.0f bytes in %llu\n", slab->frames, slab->frames * total[1] * sizeof(float),
         (unsigned long long)stored);
  printf("step: %d\ntime: %.6f\nheat: %.15e\nerror of the scheme: %.4e\n", slab->step, time_of(slab), total[0] / total[1], largest);
}

static Options parse(int argc, char **argv) {
  Options options = {argc > 1 ? argv[1] : NULL, "absolute=1e-3", "lossless", NULL, 48, 200, 5, 100};
  if (argc < 2 || argc % 2) fail("usage: heat_mpi PREFIX [--OPTION VALUE]...;", "the options are listed in heat_mpi.c");
  const struct {
    const char *name, **text;
    int *number;
  } known[] = {{"--cells", NULL, &options.cells},      {"--steps", NULL, &options.steps},
               {"--every", NULL, &options.every},      {"--checkpoint-every", NULL, &options.checkpoint_every},
               {"--series", &options.series, NULL},    {"--checkpoint", &options.checkpoint, NULL},
               {"--restart", &options.restart, NULL}};
  const int count = sizeof known / sizeof *known;
  for (int i = 2, k; i < argc; i += 2) {
    for (k = 0; k < count && strcmp(argv[i], known[k].name); k++) continue;
    if (k == count) fail("unknown option", argv[i]);
    if (known[k].text) *known[k].text = argv[i + 1];
    else if ((*known[k].number = atoi(argv[i + 1])) < 1) fail("a positive number is needed for", argv[i]);
  }
  return options;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Options options = parse(argc, argv);
  h5stz_find_plugin();
  Slab slab = options.restart ? read_checkpoint(options.restart) : new_slab(options.cells);
  if (!options.restart) start(&slab);
  hid_t file;
  const hid_t series = open_series(&file, &slab, &options);
  while (slab.step < options.steps) {
    if (slab.step % options.every == 0) append_frame(series, &slab);
    advance(&slab);
    if (slab.step % options.checkpoint_every == 0 || slab.step == options.steps) write_checkpoint(&slab, &options);
  }
  report(series, &slab);
  H5Dclose(series);
  h5_check(H5Fclose(file), "H5Fclose");
  free(slab.values);
  free(slab.next);
  return MPI_Finalize();
}
