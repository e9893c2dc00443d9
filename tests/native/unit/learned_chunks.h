// Arrays that resemble each other, for tests of memories of predictions (stz_learned).
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "stz_learned.h"
#include "unit.h"

namespace unit {

using Memory = std::unique_ptr<stz_learned, decltype(&stz_learned_free)>;
inline Memory memory() { return {stz_learned_create(), stz_learned_free}; }

struct Chunk {
  stz_layout layout{};
  std::vector<u8> bytes;
};

// A piece of a wavy field at a random place, with noise. `roughness`: of the noise, beside a range of about 2.
template <class T>
Chunk chunk(Random& random, i32 dtype, std::vector<u64> shape, double roughness, double scale = 1) {
  Chunk chunk;
  chunk.layout.dtype = dtype;
  chunk.layout.rank = i32(shape.size());
  u64 elements = 1;
  for (size_t a = 0; a < shape.size(); a++) elements *= chunk.layout.shape[a] = shape[a];
  chunk.bytes.resize(size_t(elements) * sizeof(T));
  T* const out = reinterpret_cast<T*>(chunk.bytes.data());
  const double place = double(random.below(1000));
  for (u64 i = 0; i < elements; i++) {
    double sum = place;
    u64 rest = i;
    for (size_t a = shape.size(); a-- > 0; rest /= shape[a]) sum += double(rest % shape[a]) * (0.05 + 0.03 * double(a));
    const double noise = double(random.between(-1000, 1000)) / 1000 * roughness;
    const double value = scale * (std::sin(sum) + 0.3 * std::sin(2.3 * sum + place) + noise);
    out[i] = std::is_integral_v<T>
                 ? T(std::clamp(value, -0.9 * double(std::numeric_limits<T>::max()), 0.9 * double(std::numeric_limits<T>::max())))
                 : T(value);
  }
  return chunk;
}

inline stz_options options_of(int32_t mode, double bound, stz_learned* learned) {
  stz_options options = STZ_OPTIONS_INIT;
  options.mode = mode;
  options.bound = bound;
  options.learned = learned;
  options.integers = STZ_INTEGERS_BOUNDED;
  return options;
}

inline Bytes compressed(const Chunk& chunk, const stz_options& options) {
  Bytes stream(stz_max_compressed_size(&chunk.layout));
  size_t size = 0;
  const int error = stz_compress(&chunk.layout, chunk.bytes.data(), &options, stream.data(), stream.size(), &size);
  CHECK(error == STZ_OK, "error %d", error);
  stream.resize(size);
  return stream;
}

template <class T>
void check_bound(const Chunk& chunk, const Bytes& stream, const stz_options& options) {
  std::vector<u8> bytes(chunk.bytes.size());
  const int error = stz_decompress(stream.data(), stream.size(), bytes.data(), bytes.size());
  CHECK(error == STZ_OK, "error %d", error);
  const T *x = reinterpret_cast<const T*>(chunk.bytes.data()), *y = reinterpret_cast<const T*>(bytes.data());
  for (size_t i = 0; i < bytes.size() / sizeof(T); i++) {
    if (!std::isfinite(double(x[i])) || options.mode == STZ_LOSSLESS) {
      CHECK(!memcmp(x + i, y + i, sizeof(T)), "element %zu has other bits", i);
      continue;
    }
    const long double limit = options.mode == STZ_ABSOLUTE ? options.bound : options.bound * std::fabs((long double)(x[i]));
    CHECK(std::fabs((long double)(x[i]) - (long double)(y[i])) <= limit, "element %zu: %.17g became %.17g", i, double(x[i]), double(y[i]));
  }
}

inline std::vector<Chunk> field(u64 count, u64 seed = 7, double roughness = 0.002) {
  Random random(seed);
  std::vector<Chunk> chunks;
  for (u64 k = 0; k < count; k++) chunks.push_back(chunk<float>(random, STZ_F32, {24, 24, 24}, roughness));
  return chunks;
}

}  // namespace unit
