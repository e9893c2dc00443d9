// What checks share: random numbers, the description of the running case, failures, the list of all kernels.
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "simd/kernels.h"

namespace check {
using namespace stz;

// The specification: a plain loop for every kernel. Not one of them shares code with filter/simd.
extern const Kernels reference;

// ---------------------------------------------------------------- failures

struct Wrong {
  std::string text;
};
// The running case, which a failure names.
void note(const char* format, ...) __attribute__((format(printf, 1, 2)));
[[noreturn]] void wrong(const char* format, ...) __attribute__((format(printf, 1, 2)));
void start_kernel(const char* isa, const char* kernel, u64 seed);
// "avx2 f32.predict, seed 1, case: ..."
std::string place();
// Calls f; a fault inside (a page that nobody may touch, an instruction that is not there) is thrown as Wrong.
void with_faults(const std::function<void()>& f);

std::string text_of(double v);
std::string text_of(float v);
template <class Int>
std::string text_of(Int v) {
  return std::to_string(v);
}

// ---------------------------------------------------------------- random numbers

class Random {
 public:
  explicit Random(u64 seed) : state_(seed) {}
  u64 next() {  // splitmix64
    u64 z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  u64 below(u64 n) { return u64((unsigned __int128)next() * n >> 64); }
  i64 between(i64 low, i64 high) { return low + i64(below(u64(high - low + 1))); }
  double real() { return double(next() >> 11) * 0x1p-53; }                                        // [0, 1)
  double normal() { return (real() + real() + real() + real() + real() + real() - 3) * 1.4142; }  // nearly
  void fill(u8* to, size_t n);

 private:
  u64 state_;
};

// Lengths of rows: all up to 300, then a few long ones.
constexpr int short_lengths = 300;
inline int length_of(int k) { return k <= short_lengths ? k : k == short_lengths + 1 ? 1023 : 4099; }
constexpr int lengths = short_lengths + 3;

// ---------------------------------------------------------------- kernels

struct Entry {
  const char* name;  // as in struct Kernels
  size_t slot;       // number of the function pointer there
  void (*check)(const Kernels& tested, Random& random);
};
// Every function pointer of struct Kernels, once each; made of those that the check_*.cpp list.
std::vector<Entry> all_entries();
void add_rows(std::vector<Entry>& entries);
void add_numbers(std::vector<Entry>& entries);
void add_integers(std::vector<Entry>& entries);
void add_classes(std::vector<Entry>& entries);
void add_feedback(std::vector<Entry>& entries);
void add_fit(std::vector<Entry>& entries);
void add_bytes(std::vector<Entry>& entries);
void add_layers(std::vector<Entry>& entries);
void add_fields(std::vector<Entry>& entries);
void add_remainders(std::vector<Entry>& entries);
void add_enhancement(std::vector<Entry>& entries);
void add_rans(std::vector<Entry>& entries);
#define CHECK_SLOT(member) #member, offsetof(stz::Kernels, member) / sizeof(void*)

// `from` with one of its kernels taken from another table.
Kernels with_slot(const Kernels& from, const Kernels& replacement, size_t slot);
// Kernels that call those of `right` and then do something wrong, each a mistake that a vector kernel might have.
const Kernels& wrong_kernels(const Kernels& right);

}  // namespace check
