/* A program with a floating-point environment of its own writes and reads datasets through the h5stz filter.
 *
 *   floating_environment FILE PLUGIN default|trap|flush|down|flags
 *
 * trap: every exception ends the program (SIGFPE); flush: subnormal numbers are zero, as after -ffast-math; down: rounding toward minus
 * infinity; flags: some exceptions have been raised, as sticky flags show.
 * The datasets: float32 with a signalling NaN and subnormal numbers, float64 with a range beyond DBL_MAX, each with the integer form of the
 * client data. They go through HDF5, which itself raises "inexact", and then through the filter's function in the file PLUGIN.
 * Prints "ok" if the samples come back within the bound and the environment is after each call what it was before. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fenv.h>
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define FILTER_ID 34765
enum { ROWS = 60, COLUMNS = 50, SAMPLES = ROWS * COLUMNS };

static const double bound = 1e-3;
static float singles[SAMPLES];
static double doubles[SAMPLES];

/* What an environment says: modes and flags. */
typedef struct environment {
  uint32_t sse;
  uint16_t x87_control, x87_status;
  int rounding, traps, flags;
} environment;

static environment now(void) {
  environment e;
  memset(&e, 0, sizeof e);
#if defined(__x86_64__)
  __asm__ volatile("stmxcsr %0" : "=m"(e.sse));
  __asm__ volatile("fnstcw %0" : "=m"(e.x87_control));
  __asm__ volatile("fnstsw %0" : "=m"(e.x87_status));
#elif defined(__aarch64__)
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  e.sse = (uint32_t)control;
#endif
  e.rounding = fegetround();
  e.traps = fegetexcept();
  e.flags = fetestexcept(FE_ALL_EXCEPT);
  return e;
}

/* Subnormal numbers become zero, before and after each operation. 0 if this program does not know how on this machine. */
static int flush_subnormal_numbers(void) {
#if defined(__x86_64__)
  uint32_t sse;
  __asm__ volatile("stmxcsr %0" : "=m"(sse));
  sse |= 0x8040;
  __asm__ volatile("ldmxcsr %0" : : "m"(sse));
  return 1;
#elif defined(__aarch64__)
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  __asm__ volatile("msr fpcr, %0" : : "r"(control | 1u << 24));
  return 1;
#else
  return 0;
#endif
}

static int unwatched = FE_INEXACT; /* exceptions that are not looked at */

static int set_environment(const char *mode) {
  if (!strcmp(mode, "trap")) return feenableexcept(FE_ALL_EXCEPT & ~unwatched) >= 0;
  if (!strcmp(mode, "flush")) return flush_subnormal_numbers();
  if (!strcmp(mode, "down")) return fesetround(FE_DOWNWARD) == 0;
  if (!strcmp(mode, "flags")) return feraiseexcept(FE_OVERFLOW | FE_DIVBYZERO) == 0;
  return !strcmp(mode, "default");
}

static void set_bits(float *sample, uint32_t bits) { memcpy(sample, &bits, sizeof bits); }

static void make_data(void) {
  for (int i = 0; i < SAMPLES; i++) {
    const int row = i / COLUMNS, column = i % COLUMNS;
    singles[i] = (float)(row * row + 3 * column + i * 7 % 5) * 0.0625f;
    doubles[i] = row * column + i * 7 % 5;
  }
  for (int i = 100; i < 400; i++) set_bits(&singles[i], (uint32_t)(1 + i * 977)); /* subnormal */
  set_bits(&singles[700], 0x7f800001);                                           /* a signalling NaN */
  for (int i = 0; i < SAMPLES; i += 41) doubles[i] = i % 2 ? 1.7e308 : -1.7e308;
}

static environment expected;

static void same_environment(int line) {
  const environment here = now();
  const uint32_t ignored = (uint32_t)unwatched;
  if ((here.sse | ignored) == (expected.sse | ignored) && here.x87_control == expected.x87_control &&
      (here.x87_status | ignored) == (expected.x87_status | ignored) && here.rounding == expected.rounding && here.traps == expected.traps &&
      (here.flags | unwatched) == (expected.flags | unwatched))
    return;
  printf("line %d: sse %x, then %x; control %x, then %x; status %x, then %x; flags %x, then %x\n", line, expected.sse, here.sse,
         expected.x87_control, here.x87_control, expected.x87_status, here.x87_status, (unsigned)expected.flags, (unsigned)here.flags);
  exit(1);
}

static void store(hid_t file, const char *name, hid_t type, const void *data) {
  const hsize_t size[2] = {ROWS, COLUMNS};
  const unsigned words[4] = {102, 1, 1, 3};
  const hid_t space = H5Screate_simple(2, size, NULL), properties = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(properties, 2, size));
  CHECK(H5Pset_filter(properties, FILTER_ID, H5Z_FLAG_MANDATORY, 4, words));
  const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  CHECK(dataset);
  same_environment(__LINE__);
  CHECK(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
  CHECK(H5Fflush(file, H5F_SCOPE_LOCAL));
  same_environment(__LINE__);
  CHECK(H5Dclose(dataset));
}

static void load(hid_t file, const char *name, hid_t type, void *data) {
  const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  CHECK(dataset);
  CHECK(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data));
  same_environment(__LINE__);
  CHECK(H5Dclose(dataset));
}

/* Through the filter alone, with every exception watched. */
static void call_filter(const char *plugin, unsigned dtype, const void *data, void *decoded, size_t bytes) {
  const unsigned words[11] = {103, 1, 0xd2f1a9fc, 0x3f50624d, 0, 0, 0, 0, dtype | 2 << 16, ROWS, COLUMNS}; /* 1e-3 */
  void *const library = dlopen(plugin, RTLD_NOW);
  const H5Z_class2_t *(*information)(void) = (const H5Z_class2_t *(*)(void))dlsym(library, "H5PLget_plugin_info");
  const H5Z_func_t filter = information()->filter;
  void *buffer = malloc(bytes);
  size_t capacity = bytes;
  memcpy(buffer, data, bytes);
  expected = now();
  const size_t size = filter(0, 11, words, bytes, &capacity, &buffer);
  same_environment(__LINE__);
  const size_t restored = size ? filter(H5Z_FLAG_REVERSE, 11, words, size, &capacity, &buffer) : 0;
  same_environment(__LINE__);
  if (restored != bytes) exit(3);
  memcpy(decoded, buffer, bytes);
}

static int are_within_the_bound(const float *singles_read, const double *doubles_read) {
  for (int i = 0; i < SAMPLES; i++) {
    const int same = !memcmp(&singles[i], &singles_read[i], sizeof *singles);
    if (!same && !((double)singles[i] - singles_read[i] <= bound && (double)singles_read[i] - singles[i] <= bound)) return 0;
    if (!(doubles[i] - doubles_read[i] <= bound && doubles_read[i] - doubles[i] <= bound)) return 0;
  }
  return 1;
}

int main(int argc, char **argv) {
  static float singles_read[SAMPLES];
  static double doubles_read[SAMPLES];
  if (argc != 4) return 2;
  make_data();
  CHECK(H5open());
  feclearexcept(FE_ALL_EXCEPT);
  if (!set_environment(argv[3])) return 2;
  expected = now();
  hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(file);
  store(file, "singles", H5T_NATIVE_FLOAT, singles);
  store(file, "doubles", H5T_NATIVE_DOUBLE, doubles);
  CHECK(H5Fclose(file));
  CHECK(file = H5Fopen(argv[1], H5F_ACC_RDONLY, H5P_DEFAULT));
  load(file, "singles", H5T_NATIVE_FLOAT, singles_read);
  load(file, "doubles", H5T_NATIVE_DOUBLE, doubles_read);
  CHECK(H5Fclose(file));
  same_environment(__LINE__);

  fesetenv(FE_DFL_ENV); /* to look at the samples */
  if (!are_within_the_bound(singles_read, doubles_read)) return 1;

  unwatched = 0;
  feclearexcept(FE_ALL_EXCEPT);
  set_environment(argv[3]);
  call_filter(argv[2], 2, singles, singles_read, sizeof singles);
  call_filter(argv[2], 3, doubles, doubles_read, sizeof doubles);
  fesetenv(FE_DFL_ENV);
  if (!are_within_the_bound(singles_read, doubles_read)) return 1;
  printf("ok\n");
  return 0;
}
