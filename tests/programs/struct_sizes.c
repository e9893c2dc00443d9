/* Structures of another size than the library's: callers that were compiled for a later version, and callers that forgot the size.
 * What the library does with callers of an earlier version is checked in tests/native/test_struct_size.cpp. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "stz_learned.h"
#include "stz_options.h"
#include "stz_reader.h"

#define LATER(type)         \
  struct later_##type {     \
    type known;             \
    uint64_t added[2];      \
    unsigned char guard[8]; \
  }
#define SIZE_LATER(type) offsetof(struct later_##type, guard)

LATER(stz_options);
LATER(stz_stream_info);
LATER(stz_size_estimate);
LATER(stz_reader_stats);
LATER(stz_source);
LATER(stz_damage);

enum { SAMPLES = 64 * 64, GUARD = 0x5a, FIRST_OPTIONS_SIZE = offsetof(stz_options, append_axis), FIRST_INFO_SIZE = offsetof(stz_stream_info, patches) };

static float samples[SAMPLES];
static unsigned char stream[sizeof samples + 64];
static size_t stream_size;

static int guard_is_whole(const unsigned char *guard) {
  int whole = 1, i;
  for (i = 0; i < 8; i++) whole = whole && guard[i] == GUARD;
  return whole;
}

static stz_layout layout(void) {
  stz_layout plane = {STZ_F32, STZ_LITTLE, 2, 0, {64, 64}};
  return plane;
}

static int compress_with(const stz_options *options) {
  const stz_layout plane = layout();
  stream_size = 99;
  return stz_compress(&plane, samples, options, stream, sizeof stream, &stream_size);
}

static void check_options(void) {
  struct later_stz_options later;
  stz_layout plane = layout();
  memset(&later, 0, sizeof later);
  later.known.mode = STZ_ABSOLUTE;
  later.known.bound = 0.5;

  EXPECT(stz_max_compressed_size(&plane) == sizeof stream);
  plane.reserved = 1;
  EXPECT(stz_max_compressed_size(&plane) == 0);
  later.known.struct_size = sizeof(stz_options);
  EXPECT(stz_compress(&plane, samples, &later.known, stream, sizeof stream, &stream_size) == STZ_ERROR_ARGUMENT);

  later.known.struct_size = 0;
  EXPECT(compress_with(&later.known) == STZ_ERROR_ARGUMENT && stream_size == 0);
  later.known.struct_size = FIRST_OPTIONS_SIZE - 1;
  EXPECT(compress_with(&later.known) == STZ_ERROR_ARGUMENT);
  later.known.struct_size = STZ_MAX_STRUCT_SIZE + 1;
  EXPECT(compress_with(&later.known) == STZ_ERROR_ARGUMENT);

  later.known.struct_size = SIZE_LATER(stz_options);
  later.added[1] = 1;
  EXPECT(compress_with(&later.known) == STZ_ERROR_OPTION && stream_size == 0);
  later.added[1] = 0;
  memset(later.guard, GUARD, sizeof later.guard);
  EXPECT(compress_with(&later.known) == STZ_OK && stream_size > 0 && stream_size < sizeof samples / 2);
}

/* The fields that came after the first version: a caller without them is served, and each value is checked. */
static void check_added_options(void) {
  stz_options options = STZ_OPTIONS_INIT;
  options.mode = STZ_ABSOLUTE;
  options.bound = 0.5;
  options.append_axis = 99;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
  options.struct_size = FIRST_OPTIONS_SIZE;
  EXPECT(compress_with(&options) == STZ_OK); /* what lies behind the caller's structure is not looked at */
  options.struct_size = sizeof options;

  options.append_axis = 3;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
  options.append_axis = -1;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
  options.append_axis = 2;
  EXPECT(compress_with(&options) == STZ_OK);

  options.integers = STZ_INTEGERS_BOUNDED;
  EXPECT(compress_with(&options) == STZ_OK);
  options.integers = 2;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
  options.integers = STZ_INTEGERS_LOSSLESS;

  options.bound_used = 1;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
  options.mode = STZ_LOSSLESS;
  EXPECT(compress_with(&options) == STZ_OK);
  options.bound_used = 2;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
  options.bound_used = 0;

  options.prior_bound = 0.25;
  EXPECT(compress_with(&options) == STZ_OK);
  options.prior_bound = -0.25;
  EXPECT(compress_with(&options) == STZ_ERROR_BOUND);
  options.prior_bound = HUGE_VAL;
  EXPECT(compress_with(&options) == STZ_ERROR_BOUND);
  options.prior_bound = 0;

  options.content_check = STZ_CONTENT_CHECK_WRITE;
  EXPECT(compress_with(&options) == STZ_OK);
  options.content_check = STZ_CONTENT_CHECK_WRITE + 1;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
  options.content_check = -1;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
  options.content_check = STZ_CONTENT_CHECK_DEFAULT;

  options.check = STZ_CHECK_DECODE;
  EXPECT(compress_with(&options) == STZ_OK);
  options.check = STZ_CHECK_DECODE + 1;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
  options.check = STZ_CHECK_NONE;

  options.learn = STZ_LEARN_NO;
  EXPECT(compress_with(&options) == STZ_OK);
  options.learn = STZ_LEARN_NO + 1;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
  options.learn = STZ_LEARN_YES;

  options.keep_range = 1;
  EXPECT(compress_with(&options) == STZ_OK);
  options.keep_range = 2;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
  options.keep_range = 0;

  options.keep_zeros = 1;
  EXPECT(compress_with(&options) == STZ_OK);
  options.keep_zeros = 2;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
  options.keep_zeros = 0;
  options.favour = STZ_FAVOUR_SIZE;
  EXPECT(compress_with(&options) == STZ_OK);
  options.favour = STZ_FAVOUR_QUALITY + 1;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
  options.favour = STZ_FAVOUR_DEFAULT;

  options.valid_range[1] = HUGE_VAL;
  EXPECT(compress_with(&options) == STZ_OK);
  options.valid_range[0] = HUGE_VAL;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
  options.valid_range[0] = 1;
  options.valid_range[1] = 0.5;
  EXPECT(compress_with(&options) == STZ_ERROR_OPTION);
}

static void check_estimate(void) {
  struct later_stz_size_estimate later;
  stz_layout plane = layout();
  stz_options options = STZ_OPTIONS_INIT;
  options.mode = STZ_ABSOLUTE;
  options.bound = 0.5;
  memset(&later, GUARD, sizeof later);
  later.known.struct_size = 0;
  EXPECT(stz_estimate(&plane, samples, &options, &later.known) == STZ_ERROR_ARGUMENT);
  later.known.struct_size = SIZE_LATER(stz_size_estimate);
  EXPECT(stz_estimate(NULL, samples, &options, &later.known) == STZ_ERROR_ARGUMENT);
  EXPECT(stz_estimate(&plane, NULL, &options, &later.known) == STZ_ERROR_ARGUMENT);
  EXPECT(stz_estimate(&plane, samples, NULL, &later.known) == STZ_ERROR_ARGUMENT);
  EXPECT(stz_estimate(&plane, samples, &options, NULL) == STZ_ERROR_ARGUMENT);
  EXPECT(stz_estimate(&plane, samples, &options, &later.known) == STZ_OK);
  EXPECT(later.known.struct_size == SIZE_LATER(stz_size_estimate) && later.known.exact == 1);
  EXPECT(compress_with(&options) == STZ_OK && later.known.bytes == (double)stream_size);
  EXPECT(later.added[0] == 0 && later.added[1] == 0 && guard_is_whole(later.guard));
  options.bound = -1;
  EXPECT(stz_estimate(&plane, samples, &options, &later.known) == STZ_ERROR_BOUND);
}

static void check_info(void) {
  struct later_stz_stream_info later;
  memset(&later, GUARD, sizeof later);
  later.known.struct_size = 0;
  EXPECT(stz_info(stream, stream_size, &later.known) == STZ_ERROR_ARGUMENT);
  later.known.struct_size = FIRST_INFO_SIZE - 1;
  EXPECT(stz_info(stream, stream_size, &later.known) == STZ_ERROR_ARGUMENT);
  later.known.struct_size = STZ_MAX_STRUCT_SIZE + 1;
  EXPECT(stz_info(stream, stream_size, &later.known) == STZ_ERROR_ARGUMENT && guard_is_whole((unsigned char *)&later.known.layout));

  later.known.struct_size = SIZE_LATER(stz_stream_info);
  EXPECT(stz_info(stream, stream_size, &later.known) == STZ_OK);
  EXPECT(later.known.struct_size == SIZE_LATER(stz_stream_info));
  EXPECT(later.known.array_bytes == sizeof samples && later.known.bound == 0.5);
  EXPECT(later.known.levels > 1 && later.known.level_bytes[0] <= stream_size && later.known.level_bytes[1] < stream_size);
  EXPECT(later.added[0] == 0 && later.added[1] == 0 && guard_is_whole(later.guard));

  memset(&later, GUARD, sizeof later);
  later.known.struct_size = sizeof later.known;
  EXPECT(stz_info(stream, stream_size, &later.known) == STZ_OK);
  EXPECT(guard_is_whole((unsigned char *)&later.added[0]) && guard_is_whole((unsigned char *)&later.added[1]));
  EXPECT(later.known.patches == 0 && later.known.bound_used == 1 && later.known.accumulated_bound == 0);

  memset(&later, GUARD, sizeof later);
  later.known.struct_size = FIRST_INFO_SIZE;
  EXPECT(stz_info(stream, stream_size, &later.known) == STZ_OK && later.known.levels > 1);
  EXPECT(guard_is_whole((unsigned char *)&later.known.accumulated_bound));
}

static int read_memory(void *handle, uint64_t offset, size_t size, void *out) {
  memcpy(out, (unsigned char *)handle + offset, size);
  return 0;
}

/* A reader that goes on where its stream is damaged: at a byte of the last section. */
static void check_damage(size_t place) {
  stz_reader *reader;
  struct later_stz_damage damage;
  static float out[SAMPLES];
  const float mark = -1;
  const uint64_t start[2] = {0, 0}, count[2] = {64, 64};
  EXPECT(stz_reader_damage_count(NULL) == 0 && stz_reader_on_error(NULL, &mark) == STZ_ERROR_ARGUMENT);
  stream[place] ^= 1;
  EXPECT(stz_reader_open_memory(stream, stream_size, 0, &reader) == STZ_OK && stz_reader_damage_count(reader) == 0);
  EXPECT(stz_reader_read(reader, start, count, NULL, out, sizeof out, 1) == STZ_ERROR_CHECKSUM);
  EXPECT(stz_reader_damage_count(reader) == 0);
  EXPECT(stz_reader_on_error(reader, &mark) == STZ_OK);
  EXPECT(stz_reader_read(reader, start, count, NULL, out, sizeof out, 1) == STZ_OK);
  EXPECT(stz_reader_damage_count(reader) == 1);
  memset(&damage, GUARD, sizeof damage);
  damage.known.struct_size = 8;
  EXPECT(stz_reader_damage(reader, 0, &damage.known) == STZ_ERROR_ARGUMENT);
  damage.known.struct_size = SIZE_LATER(stz_damage);
  EXPECT(stz_reader_damage(reader, 1, &damage.known) == STZ_ERROR_ARGUMENT);
  EXPECT(stz_reader_damage(reader, 0, &damage.known) == STZ_OK && damage.added[1] == 0 && guard_is_whole(damage.guard));
  EXPECT(damage.known.error == STZ_ERROR_CHECKSUM && damage.known.level == 0 && damage.known.patch == -1 && damage.known.lost > 0);
  EXPECT(damage.known.start[0] == 0 && damage.known.extent[1] == 64 && out[65] == mark && out[0] != mark);
  EXPECT(stz_reader_on_error(reader, NULL) == STZ_OK);
  EXPECT(stz_reader_read(reader, start, count, NULL, out, sizeof out, 1) == STZ_ERROR_CHECKSUM);
  stz_reader_close(reader);
  stream[place] ^= 1;
}

static void check_reader(void) {
  struct later_stz_source source;
  struct later_stz_reader_stats stats;
  struct later_stz_stream_info info;
  stz_reader *reader = (stz_reader *)&source;
  memset(&source, 0, sizeof source);
  source.known.read = read_memory;
  source.known.handle = stream;
  source.known.size = stream_size;
  EXPECT(stz_reader_open(&source.known, 0, &reader) == STZ_ERROR_ARGUMENT && reader == NULL);
  source.known.struct_size = SIZE_LATER(stz_source);
  source.added[0] = 1;
  EXPECT(stz_reader_open(&source.known, 0, &reader) == STZ_ERROR_OPTION && reader == NULL);
  source.added[0] = 0;
  EXPECT(stz_reader_open(&source.known, 0, &reader) == STZ_OK && reader != NULL);

  memset(&stats, GUARD, sizeof stats);
  stats.known.struct_size = 8;
  EXPECT(stz_reader_get_stats(reader, &stats.known) == STZ_ERROR_ARGUMENT);
  stats.known.struct_size = SIZE_LATER(stz_reader_stats);
  EXPECT(stz_reader_get_stats(reader, &stats.known) == STZ_OK);
  EXPECT(stats.known.bytes_read > 0 && stats.known.blocks_present > 0 && stats.added[1] == 0 && guard_is_whole(stats.guard));

  memset(&info, GUARD, sizeof info);
  info.known.struct_size = 8;
  EXPECT(stz_reader_info(reader, &info.known) == STZ_ERROR_ARGUMENT);
  info.known.struct_size = SIZE_LATER(stz_stream_info);
  EXPECT(stz_reader_info(reader, &info.known) == STZ_OK && info.added[1] == 0 && guard_is_whole(info.guard));
  check_damage((size_t)info.known.level_bytes[0] - 2);
  stz_reader_close(reader);
}

/* What output parameters hold after a failure. */
static void check_failures(void) {
  stz_reader *reader = (stz_reader *)stream;
  const uint64_t outside[2] = {64, 0}, one[2] = {1, 1};
  size_t count = 99;
  EXPECT(stz_reader_open_memory(NULL, 0, 0, &reader) == STZ_ERROR_ARGUMENT && reader == NULL);
  reader = (stz_reader *)stream;
  EXPECT(stz_reader_open_file(-1, 0, 1, 0, &reader) == STZ_ERROR_ARGUMENT && reader == NULL);
  reader = (stz_reader *)stream;
  EXPECT(stz_reader_open(NULL, 0, &reader) == STZ_ERROR_ARGUMENT && reader == NULL);
  reader = (stz_reader *)stream;
  EXPECT(stz_reader_open_memory(stream, 8, 0, &reader) == STZ_ERROR_TRUNCATED && reader == NULL);
  EXPECT(stz_reader_open_memory(stream, stream_size, 0, NULL) == STZ_ERROR_ARGUMENT);
  EXPECT(stz_reader_plan(NULL, NULL, NULL, NULL, NULL, 0, &count) == STZ_ERROR_ARGUMENT && count == 0);
  EXPECT(stz_reader_open_memory(stream, stream_size, 0, &reader) == STZ_OK);
  count = 99;
  EXPECT(stz_reader_plan(reader, outside, one, NULL, NULL, 0, &count) == STZ_ERROR_ARGUMENT && count == 0);
  stz_reader_close(reader);
}

int main(void) {
  int i;
  for (i = 0; i < SAMPLES; i++) samples[i] = (float)(i % 64) * (float)(i / 64);
  EXPECT(stz_version_number() == STZ_VERSION_NUMBER && strcmp(stz_version_string(), STZ_VERSION_STRING) == 0);
  check_options();
  check_estimate();
  check_info();
  check_reader();
  check_failures();
  check_added_options();
  return 0;
}
