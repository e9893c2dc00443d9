// stz_store: a chunk as it is, in little memory, of any type and shape.
#include <cstring>
#include <numeric>

#include "format/convert.h"
#include "stz.h"
#include "unit.h"

using namespace unit;

static Bytes random_samples(const stz_layout& layout) {
  Random random(7);
  Bytes samples(size_t(array_bytes(layout)));
  for (u8& each : samples) each = u8(random.below(256));
  return samples;
}

static void check_stored(const stz_layout& layout, const stz_options& options) {
  const Bytes samples = random_samples(layout);
  Bytes stream(stz_max_compressed_size(&layout));
  size_t size = 0;
  CHECK(stz_store(&layout, samples.data(), &options, stream.data(), stream.size(), &size) == STZ_OK, "dtype %d, %d axes", layout.dtype,
        layout.rank);
  CHECK(size <= stream.size());
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  CHECK(stz_info(stream.data(), size, &info) == STZ_OK && !strcmp(info.form, "raw"));
  CHECK(info.mode == STZ_LOSSLESS && info.bound_used == options.bound_used && info.array_bytes == samples.size());
  Bytes decoded(samples.size());
  CHECK(stz_decompress(stream.data(), size, decoded.data(), decoded.size()) == STZ_OK && decoded == samples);
  stream[size / 2] ^= 1;
  CHECK(stz_decompress(stream.data(), size, decoded.data(), decoded.size()) != STZ_OK, "the checksum covers it");
}

TEST(every_type_and_shape_is_stored) {
  for (i32 dtype = 0; dtype < 64; ++dtype) {
    if (stz_element_size(dtype) == 0) continue;
    for (const std::vector<u64>& shape : {std::vector<u64>{}, {1}, {0}, {5000}, {3, 0, 2}, {7, 11, 13}, {1, 2, 3, 4, 5}})
      for (const int used : {0, 1})
        for (const int order : {0, 1}) {
          stz_layout layout{};
          layout.dtype = dtype;
          layout.byte_order = order;
          layout.rank = i32(shape.size());
          std::copy(shape.begin(), shape.end(), layout.shape);
          stz_options options = STZ_OPTIONS_INIT;
          options.bound_used = used;
          check_stored(layout, options);
        }
  }
}

// The longest header that there is, for which only 64 bytes are there.
TEST(long_shapes_have_room_for_what_they_say) {
  for (int rank = 1; rank <= STZ_MAX_RANK; ++rank) {
    stz_layout layout{};
    layout.dtype = STZ_F64;
    layout.rank = rank;
    for (int axis = 0; axis < rank; ++axis) layout.shape[axis] = axis == 0 ? 0 : u64(1) << 62;
    stz_options options = STZ_OPTIONS_INIT;
    options.bound_used = 1;
    options.prior_bound = 0.125;
    u64 none = 0;
    Bytes stream(stz_max_compressed_size(&layout));
    size_t size = 0;
    const int error = stz_store(&layout, &none, &options, stream.data(), stream.size(), &size);
    const int compressed = stz_compress(&layout, &none, &options, stream.data(), stream.size(), &size);
    CHECK((error == STZ_OK) == (compressed == STZ_OK), "%d axes: %d, %d", rank, error, compressed);
  }
}

TEST(an_accumulated_bound_is_told) {
  stz_layout layout{};
  layout.dtype = STZ_F32;
  layout.rank = 1;
  layout.shape[0] = 100;
  stz_options options = STZ_OPTIONS_INIT;
  options.bound_used = 1;
  options.prior_bound = 0.125;
  const Bytes samples = random_samples(layout);
  Bytes stream(stz_max_compressed_size(&layout));
  size_t size = 0;
  CHECK(stz_store(&layout, samples.data(), &options, stream.data(), stream.size(), &size) == STZ_OK);
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  CHECK(stz_info(stream.data(), size, &info) == STZ_OK && info.accumulated_bound == 0.125);
}

TEST(wrong_arguments_are_refused) {
  stz_layout layout{};
  layout.dtype = STZ_F32;
  layout.rank = 1;
  layout.shape[0] = 10;
  const float samples[10] = {};
  u8 out[200];
  size_t size = 5;
  stz_options exact = STZ_OPTIONS_INIT, lossy = STZ_OPTIONS_INIT;
  lossy.mode = STZ_ABSOLUTE;
  lossy.bound = 1;
  CHECK(stz_store(&layout, samples, &lossy, out, sizeof out, &size) == STZ_ERROR_MODE && size == 0);
  CHECK(stz_store(&layout, samples, &exact, out, 103, &size) == STZ_ERROR_CAPACITY);
  CHECK(stz_store(&layout, samples, &exact, out, 104, &size) == STZ_OK);
  CHECK(stz_store(&layout, nullptr, &exact, out, sizeof out, &size) == STZ_ERROR_ARGUMENT && size == 0);
  CHECK(stz_store(nullptr, samples, &exact, out, sizeof out, &size) == STZ_ERROR_ARGUMENT);
  CHECK(stz_store(&layout, samples, nullptr, out, sizeof out, &size) == STZ_ERROR_ARGUMENT);
  CHECK(stz_store(&layout, samples, &exact, nullptr, sizeof out, &size) == STZ_ERROR_ARGUMENT);
  CHECK(stz_store(&layout, samples, &exact, out, sizeof out, nullptr) == STZ_ERROR_ARGUMENT);
}
