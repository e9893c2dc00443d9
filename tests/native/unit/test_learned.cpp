// Arrays that take predictions of earlier arrays (stz_learned): the bound, the decoded values, sizes, and what bytes depend on.
#include <thread>

#include "learned_chunks.h"

using namespace unit;

namespace {

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
