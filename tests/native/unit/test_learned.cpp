// Arrays that take predictions of earlier arrays (stz_learned): the bound, the decoded values, sizes, and what bytes depend on.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>

#include "stz_learned.h"
#include "unit.h"

using namespace unit;

namespace {

using Memory = std::unique_ptr<stz_learned, decltype(&stz_learned_free)>;
Memory memory() { return {stz_learned_create(), stz_learned_free}; }

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

stz_options options_of(int32_t mode, double bound, stz_learned* learned) {
  stz_options options = STZ_OPTIONS_INIT;
  options.mode = mode;
  options.bound = bound;
  options.learned = learned;
  options.integers = STZ_INTEGERS_BOUNDED;
  return options;
}

Bytes compressed(const Chunk& chunk, const stz_options& options) {
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

template <class T>
void check_kinds(i32 dtype, double scale) {
  Random random(u64(dtype) + 1);
  for (const int32_t mode : {STZ_ABSOLUTE, STZ_POINTWISE_RELATIVE, STZ_LOSSLESS}) {
    if (mode == STZ_POINTWISE_RELATIVE && std::is_integral_v<T>) continue;
    for (const std::vector<u64>& shape : {std::vector<u64>{16, 16, 16}, {9, 33, 20}, {50, 70}, {3000}, {2, 3, 12, 40, 9}}) {
      const Memory learned = memory();
      for (u64 k = 0; k < turns(8); k++) {
        Chunk one = chunk<T>(random, dtype, shape, random.chance(0.2) ? 0.5 : 0.001, random.chance(0.1) ? 100 * scale : scale);
        T* const x = reinterpret_cast<T*>(one.bytes.data());
        const size_t n = one.bytes.size() / sizeof(T);
        if (random.chance(0.2)) std::fill_n(x, n / 2, x[0]);
        if (std::is_floating_point_v<T> && random.chance(0.3))
          for (size_t i = 0; i < n; i += 1 + random.below(9)) x[i] = std::numeric_limits<T>::quiet_NaN();
        stz_options options = options_of(mode, mode == STZ_ABSOLUTE ? 0.01 * scale : 0.001, learned.get());
        options.effort = int(random.below(8));
        options.enhance = random.chance(0.1) ? STZ_ENHANCE_STRICT : STZ_ENHANCE_NONE;
        check_bound<T>(one, compressed(one, options), options);
      }
    }
  }
}

// Chunks of one field.
std::vector<Chunk> field(u64 count, u64 seed = 7, double roughness = 0.002) {
  Random random(seed);
  std::vector<Chunk> chunks;
  for (u64 k = 0; k < count; k++) chunks.push_back(chunk<float>(random, STZ_F32, {24, 24, 24}, roughness));
  return chunks;
}

}  // namespace

TEST(bound_of_every_type_and_mode) {
  check_kinds<float>(STZ_F32, 1);
  check_kinds<double>(STZ_F64, 1e5);
  check_kinds<i16>(STZ_I16, 1000);
  check_kinds<i32>(STZ_I32, 1e6);
  check_kinds<i64>(STZ_I64, 1e12);
}

TEST(streams_differ_and_are_about_as_short) {
  const Memory learned = memory();
  double with = 0, without = 0;
  size_t others = 0;
  for (const Chunk& one : field(64)) {
    const Bytes a = compressed(one, options_of(STZ_ABSOLUTE, 1e-3, nullptr)),
                b = compressed(one, options_of(STZ_ABSOLUTE, 1e-3, learned.get()));
    others += a != b;
    without += double(a.size());
    with += double(b.size());
  }
  CHECK(others > 32, "%zu of 64 streams differ", others);
  CHECK(with < 1.03 * without, "%.0f bytes, %.0f without learning", with, without);
}

// With sets of smooth chunks only, a rough one would take many more bytes.
TEST(drifting_data_are_fitted_again) {
  const Memory learned = memory();
  double with = 0, without = 0;
  for (const double roughness : {0.0, 0.02, 0.3})
    for (const Chunk& one : field(40, 3, roughness)) {
      without += double(compressed(one, options_of(STZ_ABSOLUTE, 1e-4, nullptr)).size());
      with += double(compressed(one, options_of(STZ_ABSOLUTE, 1e-4, learned.get())).size());
    }
  CHECK(with < 1.02 * without, "%.0f bytes, %.0f without learning", with, without);
}

// Long after the data seemed settled, chunks of another kind follow.
TEST(data_that_change_are_fitted_again) {
  Random random(11);
  const auto noise = [&] { return chunk<float>(random, STZ_F32, {16, 16, 16}, 3.0, 0.1); };
  const auto smooth = [&] { return chunk<float>(random, STZ_F32, {16, 16, 16}, 1e-5, 1e4); };
  const Memory learned = memory();
  double with = 0, without = 0;
  for (int k = 0; k < 110; k++) {
    const Chunk one = k < 40 ? noise() : smooth();
    without += double(compressed(one, options_of(STZ_ABSOLUTE, 1, nullptr)).size());
    with += double(compressed(one, options_of(STZ_ABSOLUTE, 1, learned.get())).size());
  }
  CHECK(with < 1.05 * without, "%.0f bytes, %.0f without learning", with, without);
}

// Waves of any direction: what is fitted to one is of no use for the next.
TEST(arrays_that_teach_nothing_are_fitted) {
  Random random(12);
  const Memory learned = memory();
  double with = 0, without = 0;
  for (int k = 0; k < 60; k++) {
    Chunk one = chunk<float>(random, STZ_F32, {16, 16, 16}, 0);
    float* const x = reinterpret_cast<float*>(one.bytes.data());
    double wave[3];
    for (double& of_axis : wave) of_axis = double(random.between(-100, 100)) / 100;
    for (int i = 0; i < 16 * 16 * 16; i++) x[i] = float(std::sin(wave[0] * (i >> 8) + wave[1] * (i >> 4 & 15) + wave[2] * (i & 15)));
    without += double(compressed(one, options_of(STZ_ABSOLUTE, 1e-3, nullptr)).size());
    with += double(compressed(one, options_of(STZ_ABSOLUTE, 1e-3, learned.get())).size());
  }
  CHECK(with < 1.03 * without, "%.0f bytes, %.0f without learning", with, without);
}

TEST(fixed_bytes_depend_on_the_array_alone) {
  const std::vector<Chunk> chunks = field(24);
  const Memory learned = memory();
  for (size_t k = 0; k < chunks.size(); k += 6) {
    const stz_options options = options_of(STZ_ABSOLUTE, 1e-3, nullptr);
    CHECK(stz_learned_train(learned.get(), &chunks[k].layout, chunks[k].bytes.data(), &options) == STZ_OK);
  }
  stz_learned_fix(learned.get());
  const stz_options options = options_of(STZ_ABSOLUTE, 1e-3, learned.get());
  std::vector<Bytes> forwards, side_by_side(chunks.size());
  for (const Chunk& one : chunks) forwards.push_back(compressed(one, options));
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      for (size_t k = chunks.size(); k-- > 0;)
        if (k % 4 == t) side_by_side[k] = compressed(chunks[k], options);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(forwards == side_by_side);
  size_t others = 0;
  for (size_t k = 0; k < chunks.size(); k++) others += forwards[k] != compressed(chunks[k], options_of(STZ_ABSOLUTE, 1e-3, nullptr));
  CHECK(others > 12, "%zu streams differ from those without learning", others);
}

TEST(threads_share_a_memory) {
  const std::vector<Chunk> chunks = field(16);
  const Memory learned = memory();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&] {
      for (const Chunk& one : chunks) {
        const stz_options options = options_of(STZ_ABSOLUTE, 1e-3, learned.get());
        check_bound<float>(one, compressed(one, options), options);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(efforts_that_fit_every_array_learn_nothing) {
  const Memory learned = memory();
  for (const Chunk& one : field(6)) {
    stz_options options = options_of(STZ_ABSOLUTE, 1e-3, nullptr);
    options.effort = 7;
    const Bytes plain = compressed(one, options);
    options.learned = learned.get();
    CHECK(compressed(one, options) == plain);
  }
}

TEST(wrong_arguments) {
  const Memory learned = memory();
  const Chunk one = field(1)[0];
  stz_options options = options_of(STZ_ABSOLUTE, 1e-3, nullptr);
  CHECK(stz_learned_train(nullptr, &one.layout, one.bytes.data(), &options) == STZ_ERROR_ARGUMENT);
  CHECK(stz_learned_train(learned.get(), nullptr, one.bytes.data(), &options) == STZ_ERROR_ARGUMENT);
  CHECK(stz_learned_train(learned.get(), &one.layout, nullptr, &options) == STZ_ERROR_ARGUMENT);
  CHECK(stz_learned_train(learned.get(), &one.layout, one.bytes.data(), nullptr) == STZ_ERROR_ARGUMENT);
  const Memory fixed = memory();
  stz_learned_fix(fixed.get());
  CHECK(stz_learned_train(fixed.get(), &one.layout, one.bytes.data(), &options) == STZ_ERROR_ARGUMENT);
  options.bound = -1;
  CHECK(stz_learned_train(learned.get(), &one.layout, one.bytes.data(), &options) == STZ_ERROR_BOUND);
  stz_learned_fix(nullptr);
  stz_learned_free(nullptr);
}
