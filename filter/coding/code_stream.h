// The layout of a stream of codes (quantization indices): interleaved rANS symbols from the front, raw bits from the back.
//
// Layout: state of lane 0 (u32; if its top bit is set, a byte with log2(lanes) follows), states of the other lanes, 16-bit words in the
// order in which the decoder reads them, then the raw bits, whose first byte is the last byte of the stream.
// The codes of a parity class are partitioned (stably) by context into bins. Bins are coded one after the other, each with its context's
// model. In direct mode symbol j of a bin belongs to lane j mod lanes; in run-length mode token j does. States lie in [2^15, 2^31). At the
// end all states are 2^15 and words and raw bits meet exactly, which is a second check beside the CRC.
// In direct mode the raw bits of a bin are the low bits of all its codes, followed by those of its symbols.
#pragma once
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/code_constants.h"
#include "coding/code_tables.h"

namespace stz {

constexpr u8 no_context = 255;  // a masked sample, which has no code

// An outlier: its index in the class (raster order), and the sample's bits.
struct Outlier {
  u32 index;
  u64 bits;
};
// A wide code, whose byte is the escape: its index in the class and the code. With outlier_mark as code it is an outlier with its bits.
struct WideCode {
  u32 index;
  i64 code;
  u64 bits;
};
constexpr i64 outlier_mark = INT64_MIN;
// The code that marks an outlier.
template <class Code>
constexpr Code outlier_code = Code(u64(1) << (8 * sizeof(Code) - 1));
// Samples with larger codes become outliers.
template <class Code>
constexpr u64 largest_code = sizeof(Code) == 4 ? 0x7fffffff : (u64(1) << 61) - 1;

// The place of each code after partitioning by context. A class is walked in four parts at once, because in runs of one context each step
// would have to wait for the same counter.
class ContextBins {
 public:
  ContextBins(const u8* context, size_t n) {
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
  // Calls f(code number, place) for every code that has a context. May be called only once.
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
