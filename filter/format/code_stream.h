// One stream of codes: interleaved rANS symbols from the front, raw bits from the back.
//
// Layout: state of lane 0 (u32; its top bit set: a byte log2(lanes) follows), states of the other lanes, 16-bit words in the order the
// decoder takes them, then the raw bits, whose first byte is the last byte of the stream. The codes of a class are sorted by context
// into queues (stable); queues are coded one after the other, each with its context's model: symbol j of a dense queue belongs to lane
// j mod lanes; so does token j of a sparse queue. States live in [2^15, 2^31) and end at 2^15 exactly, when the words and the raw bits have
// met: a second check beside the stream's CRC. The raw bits of a dense queue: the low bits of all its codes, then those of its symbols.
#pragma once
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"
#include "format/code_tables.h"

namespace stz {

constexpr int contexts = 16;
constexpr u8 no_context = 255;  // a masked sample: it has no code
constexpr u32 rans_low = 1u << 15;
constexpr int max_lanes = 64;

// A sample stored verbatim: where it is in its class (raster order) and its bits.
struct Verbatim {
  u32 index;
  u64 bits;
};
// A code that is no byte: its index in the class, and the code; verbatim_exception: the sample's bits.
struct Exception {
  u32 index;
  i64 code;
  u64 bits;
};
constexpr i64 verbatim_exception = INT64_MIN;
// The code that marks a verbatim sample.
template <class Code>
constexpr Code verbatim_code = Code(u64(1) << (8 * sizeof(Code) - 1));
// Codes beyond it are stored verbatim.
template <class Code>
constexpr u64 largest_code = sizeof(Code) == 4 ? 0x7fffffff : (u64(1) << 61) - 1;

// Where each code of a class goes when codes are sorted by context. A class is walked in four parts at once: runs of one context would
// otherwise wait for their own counter at every code.
class QueueLayout {
 public:
  QueueLayout(const u8* context, size_t n) {
    const size_t part = n / parts;
    size_t count[parts][256] = {};
    for (size_t i = 0; i < part; i++)
      for (size_t p = 0; p < parts; p++) count[p][context[p * part + i]]++;
    for (size_t i = parts * part; i < n; i++) count[parts - 1][context[i]]++;
    size_t at = 0;
    for (int k = 0; k < contexts; k++) {
      start_[k] = at;
      for (size_t p = 0; p < parts; p++) {
        next_[p][k] = at;
        at += count[p][k];
      }
    }
    start_[contexts] = at;
    masked_ = at != n;
  }
  size_t start(int k) const { return start_[k]; }
  size_t length(int k) const { return start_[k + 1] - start_[k]; }
  // Calls f(code number, place) for every code that has a context. Once.
  template <class F>
  void for_each(const u8* context, size_t n, F f) {
    const size_t part = n / parts;
    if (masked_) {
      for (size_t i = 0; i < part; i++)
        for (size_t p = 0; p < parts; p++)
          if (context[p * part + i] != no_context) f(p * part + i, next_[p][context[p * part + i]]++);
      for (size_t i = parts * part; i < n; i++)
        if (context[i] != no_context) f(i, next_[parts - 1][context[i]]++);
      return;
    }
    for (size_t i = 0; i < part; i++)
      for (size_t p = 0; p < parts; p++) f(p * part + i, next_[p][context[p * part + i]]++);
    for (size_t i = parts * part; i < n; i++) f(i, next_[parts - 1][context[i]]++);
  }

 private:
  static constexpr size_t parts = 4;
  size_t start_[contexts + 1], next_[parts][contexts];
  bool masked_;
};

}  // namespace stz
