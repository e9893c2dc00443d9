// Small arrays of every kind of stream, for programs in which each step of the codec is checked or made to fail.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "stz.h"

namespace small_cases {

using Bytes = std::vector<unsigned char>;

inline int checks = 0;

// Allocates nothing.
inline void check(bool good, std::string_view where, const char* what = "") {
  checks++;
  if (good) return;
  std::printf("failed: %.*s%s\n", int(where.size()), where.data(), what);
  std::fflush(stdout);
  std::_Exit(1);
}

struct Case {
  std::string name;
  stz_layout layout{};
  stz_options options = STZ_OPTIONS_INIT;
  Bytes array{};
};

inline size_t numbers_of(const stz_layout& layout) {
  size_t numbers = layout.dtype == STZ_C64 || layout.dtype == STZ_C128 ? 2 : 1;
  for (int axis = 0; axis < layout.rank; axis++) numbers *= size_t(layout.shape[axis]);
  return numbers;
}

// A smooth field with noise as numbers of type T; every `holes`-th one is NaN, or `fill` where the type has no NaN.
template <class T>
Bytes field(size_t numbers, size_t holes, T fill) {
  std::mt19937 random(5);
  Bytes bytes(numbers * sizeof(T));
  for (size_t i = 0; i < numbers; i++) {
    const double noise = double(random() % 1000) * 1e-4;
    const T value = holes && i % holes == 3 ? fill : T(50 * std::sin(double(i) / 70) + noise + 60);
    std::memcpy(&bytes[i * sizeof(T)], &value, sizeof(T));
  }
  return bytes;
}

template <class T>
Case make(const char* name, int dtype, std::vector<uint64_t> shape, int mode, double bound, size_t holes = 0) {
  Case made{name};
  made.layout.dtype = dtype;
  made.layout.rank = int(shape.size());
  for (size_t axis = 0; axis < shape.size(); axis++) made.layout.shape[axis] = shape[axis];
  made.options.mode = mode;
  made.options.bound = bound;
  made.options.integers = STZ_INTEGERS_BOUNDED;
  const T fill = std::numeric_limits<T>::has_quiet_NaN ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::max();
  if (holes && !std::numeric_limits<T>::has_quiet_NaN) {
    made.options.has_fill = 1;
    std::memcpy(&made.options.fill, &fill, sizeof(T));
  }
  made.array = field<T>(numbers_of(made.layout), holes, fill);
  return made;
}

inline std::vector<Case> cases() {
  std::vector<Case> list;
  const std::vector<uint64_t> volume = {19, 35, 37}, ragged = {5, 67, 9};
  list.push_back(make<float>("f4", STZ_F32, volume, STZ_ABSOLUTE, 1e-2));
  list.push_back(make<float>("f4, fine", STZ_F32, {2999}, STZ_ABSOLUTE, 1e-6));
  list.push_back(make<float>("f4, coarse", STZ_F32, {41, 83}, STZ_ABSOLUTE, 1));
  list.push_back(make<float>("f4, masked", STZ_F32, volume, STZ_ABSOLUTE, 1e-2, 7));
  list.push_back(make<float>("f4, point-wise", STZ_F32, ragged, STZ_POINTWISE_RELATIVE, 1e-3));
  list.push_back(make<float>("f4, lossless", STZ_F32, ragged, STZ_LOSSLESS, 0));
  list.push_back(make<float>("f4, four axes", STZ_F32, {3, 6, 11, 17}, STZ_ABSOLUTE, 1e-2));
  list.push_back(make<double>("f8", STZ_F64, volume, STZ_ABSOLUTE, 1e-3));
  list.push_back(make<double>("f8, masked", STZ_F64, ragged, STZ_ABSOLUTE, 1e-2, 11));
  list.push_back(make<double>("f8, lossless", STZ_F64, {57, 61}, STZ_LOSSLESS, 0));
  list.push_back(make<float>("c8", STZ_C64, ragged, STZ_ABSOLUTE, 1e-2));
  list.push_back(make<double>("c16, point-wise", STZ_C128, {19, 23}, STZ_POINTWISE_RELATIVE, 1e-4));
  list.push_back(make<int32_t>("i4", STZ_I32, ragged, STZ_LOSSLESS, 0));
  list.push_back(make<uint16_t>("u2, masked", STZ_U16, volume, STZ_ABSOLUTE, 2, 13));
  list.push_back(make<int64_t>("i8", STZ_I64, ragged, STZ_ABSOLUTE, 1));
  list.push_back(make<uint8_t>("u1", STZ_U8, {1, 3000}, STZ_LOSSLESS, 0));
  list.push_back(make<float>("one sample", STZ_F32, {1, 1}, STZ_ABSOLUTE, 1e-2));

  Case half = make<uint16_t>("f2", STZ_F16, volume, STZ_ABSOLUTE, 1e-2);
  for (size_t i = 0; i < half.array.size(); i += 2) half.array[i + 1] = 0x40;  // numbers from 2 to 3
  list.push_back(half);
  Case spikes = make<float>("f4, outliers", STZ_F32, volume, STZ_ABSOLUTE, 1e-4);
  for (size_t i = 0; i < spikes.array.size(); i += 4 * 97) spikes.array[i + 3] ^= 0x20;
  list.push_back(spikes);
  Case padded = make<float>("f4, padded", STZ_F32, volume, STZ_ABSOLUTE, 1e-2);
  for (size_t i = padded.array.size() / 3 / 4 * 4; i < padded.array.size(); i++) padded.array[i] = 0;
  list.push_back(padded);
  Case constant = make<double>("f8, constant", STZ_F64, ragged, STZ_ABSOLUTE, 1e-2);
  for (size_t i = 8; i < constant.array.size(); i++) constant.array[i] = constant.array[i - 8];
  list.push_back(constant);
  Case noise = make<uint8_t>("u1, noise", STZ_U8, {4001}, STZ_LOSSLESS, 0);
  std::mt19937 random(7);
  for (unsigned char& byte : noise.array) byte = static_cast<unsigned char>(random());
  list.push_back(noise);
  Case fields = make<double>("c16, noise", STZ_C128, {700}, STZ_LOSSLESS, 0);  // floating-point fields
  for (size_t i = 0; i < fields.array.size(); i += 8) {
    for (size_t k = 0; k < 7; k++) fields.array[i + k] = static_cast<unsigned char>(random());
    if (i % 56 == 0) std::fill_n(&fields.array[i], 8, static_cast<unsigned char>(0));  // zeros are a kind of their own
  }
  list.push_back(fields);
  return list;
}

}  // namespace small_cases
