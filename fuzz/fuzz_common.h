// What the fuzz targets share: a reader of fuzzer bytes, a small generator of random numbers, sample types, a way to stop.
//
// A target is a function LLVMFuzzerTestOneInput: libFuzzer's, or called by standalone.cpp where libFuzzer is missing. A broken promise
// prints what was promised and aborts; the sanitizers report the rest.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "stz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace fuzz {

using Bytes = std::vector<uint8_t>;

// A target that starts from real inputs gives the standalone driver its seeds and its way to mutate one.
Bytes seed_input(uint64_t number);
void mutate_input(Bytes& input, uint64_t random_seed);

// Inputs that a target found to be valid streams, for the standalone driver to report.
inline uint64_t inputs_accepted = 0;

// SplitMix64 (Steele, Lea and Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t limit) { return bits() % limit; }
  double unit() { return double(bits() >> 11) * 0x1p-53; }
  double normal() {  // near enough: the sum of twelve uniform numbers
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += unit();
    return sum;
  }

 private:
  uint64_t state_;
};

inline Bytes random_bytes(Random& random, uint64_t size) {
  Bytes bytes(size);
  for (uint8_t& byte : bytes) byte = uint8_t(random.bits());
  return bytes;
}

// What most targets do to an input: one to four of its bytes become others.
inline void replace_bytes(Bytes& input, uint64_t random_seed) {
  Random random(random_seed);
  for (uint64_t count = 1 + random.below(4); count && !input.empty(); count--) input[random.below(input.size())] = uint8_t(random.bits());
}

// One input of `of`, by all of its bytes (FNV-1a): for what takes long. An input that is changed becomes another one, so that no corpus
// fills with slow inputs, whose descendants would take most of the time.
inline bool one_of(uint64_t of, const uint8_t* data, size_t size) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; i++) hash = (hash ^ data[i]) * 0x100000001b3u;
  return (hash >> 32) % of == 0;
}

// The fuzzer's bytes as decisions; past their end every decision is 0.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), at_(data), end_(data + size) {}
  // Is the whole input one of those that may take long? Not a decision of its next bytes: see one_of.
  bool slow(uint64_t of) const { return one_of(of, data_, size_t(end_ - data_)); }
  size_t left() const { return size_t(end_ - at_); }
  uint8_t byte() { return at_ < end_ ? *at_++ : 0; }
  uint64_t below(uint64_t limit) {
    uint64_t value = byte();
    if (limit > 256) value = value << 8 | byte();
    return value % limit;
  }
  uint64_t word() {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value = value << 8 | byte();
    return value;
  }

 private:
  const uint8_t *data_, *at_, *end_;
};

[[noreturn]] inline void broken(const std::string& promise) {
  fprintf(stderr, "broken promise: %s\n", promise.c_str());
  abort();
}
inline void promise(bool kept, const char* what) {
  if (!kept) broken(what);
}

constexpr int dtypes = 16;  // from STZ_F16 on
inline bool is_floating(int dtype) { return dtype <= STZ_F64 || dtype >= STZ_C64; }
inline int parts(int dtype) { return dtype == STZ_C64 || dtype == STZ_C128 ? 2 : 1; }
inline size_t number_size(int dtype) { return stz_element_size(dtype) / size_t(parts(dtype)); }
inline bool swapped(const stz_layout& layout) { return (layout.byte_order == STZ_BIG) == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__); }

// Floating-point types of 8 and 16 bits, for which compilers have no type: rounded to nearest, ties to even, and back.
struct ShortFloat {
  int exponent, mantissa;  // bits
  double largest;          // number; what is beyond is infinite, or NaN in float8 E4M3FN, which has no infinity
  uint16_t beyond;
  int smallest() const { return 2 - (1 << (exponent - 1)); }  // log2 of the smallest normal number
  uint16_t sign() const { return uint16_t(1 << (exponent + mantissa)); }
};
inline bool is_short(int dtype) { return dtype == STZ_F16 || dtype >= STZ_BF16; }
inline ShortFloat short_float(int dtype) {
  if (dtype == STZ_F16) return {5, 10, 65504, 0x7c00};
  if (dtype == STZ_BF16) return {8, 7, 0x1.fep127, 0x7f80};
  if (dtype == STZ_F8_E4M3) return {4, 3, 448, 0x7f};
  return {5, 2, 57344, 0x7c};
}
inline uint16_t short_bits(const ShortFloat& type, double value) {
  const uint16_t sign = std::signbit(value) ? type.sign() : uint16_t(0);
  const double size = std::fabs(value);
  if (std::isnan(value)) return uint16_t(sign | type.beyond | 1 << (type.mantissa - 1));
  const int exponent = size < std::ldexp(1, type.smallest()) ? type.smallest() : std::ilogb(std::min(size, 2 * type.largest));
  const double digits = std::nearbyint(std::ldexp(size, type.mantissa - exponent));  // the exponent below the normal numbers is fixed
  if (std::ldexp(digits, exponent - type.mantissa) > type.largest) return uint16_t(sign | type.beyond);
  return uint16_t(sign + ((exponent - type.smallest()) << type.mantissa) + int(digits));
}
inline double short_value(const ShortFloat& type, uint16_t bits) {
  const int magnitude = bits & (type.sign() - 1), exponent = magnitude >> type.mantissa, hidden = 1 << type.mantissa;
  const int fraction = magnitude & (hidden - 1);
  const double size = magnitude > type.beyond || (magnitude == type.beyond && fraction) ? NAN
                      : magnitude == type.beyond                                        ? INFINITY
                                                 : std::ldexp(exponent ? hidden + fraction : fraction,
                                                              (exponent ? exponent - 1 : 0) + type.smallest() - type.mantissa);
  return bits & type.sign() ? -size : size;
}

inline uint64_t elements(const stz_layout& layout) {
  uint64_t count = 1;
  for (int axis = 0; axis < layout.rank; axis++) count *= layout.shape[axis];
  return count;
}

// Bits of one number of an array in memory, as a host integer, and back.
inline uint64_t load_number(const uint8_t* from, size_t width, bool swap) {
  uint64_t bits = 0;
  for (size_t i = 0; i < width; i++) bits |= uint64_t(from[swap ? width - 1 - i : i]) << (8 * i);
  return bits;
}
inline void store_number(uint8_t* to, uint64_t bits, size_t width, bool swap) {
  for (size_t i = 0; i < width; i++) to[swap ? width - 1 - i : i] = uint8_t(bits >> (8 * i));
}

}  // namespace fuzz
