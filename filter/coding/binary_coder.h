// Adaptive binary range coder for level parameters, indexes, masks and the base section.
//
// A model is one adaptive probability. Bits are coded into a 32-bit range with carry propagation, in integer arithmetic. Numbers are coded
// as an adaptive unary exponent followed by the mantissa, so their range need not be known.
// The encoder drops trailing zero bytes. So the decoder reads up to four zero bytes past the end; beyond that it fails as truncated.
#pragma once
#include <array>

#include "base/bytes.h"

namespace stz {

// The probability that the next bit is 1, in 1/65536. It learns fast at first: the n-th bit moves it by 1 / (n + 1.5).
struct BitModel {
  u16 p = 32768;
  u8 seen = 0;
  static constexpr u8 slowest = 30;
  // 65536 / (seen + 1.5)
  static constexpr std::array<i32, slowest + 1> rates = [] {
    std::array<i32, slowest + 1> r{};
    for (int n = 0; n <= slowest; n++) r[size_t(n)] = 131072 / (2 * n + 3);
    return r;
  }();
  void learn(int bit) {
    i32 target = bit ? 65535 : 0;
    p = u16(p + (((target - i32(p)) * i64(rates[seen])) >> 16));
    if (seen < slowest) seen++;
  }
  // Before its first bit, a model can start with what a more general one has learned.
  void begin_as(const BitModel& general) {
    if (seen) return;
    p = general.p;
    seen = general.seen < 2 ? general.seen : u8(2);
  }
  // The probability in 16 bits, limited so that the less likely bit can always be coded.
  u32 one() const { return p < 64 ? 64 : p > 65472 ? 65472 : p; }
};

struct NumberModel {
  BitModel exponent[65];
  BitModel mantissa[65];  // the bit below the leading one, by exponent
};
struct SignedModel {
  NumberModel magnitude;
  BitModel sign;
};

// Models in their initial state. Copying them is faster than constructing them.
template <class Models>
inline constexpr Models fresh{};

class BinaryEncoder {
 public:
  template <class Model>  // BitModel, or a type with the same interface
  void bit(Model& m, int b) {
    const u32 bound = (range_ >> 16) * m.one(), other = u32(b) - 1;  // all ones for bit 0, to avoid a branch
    low_ += bound & other;
    range_ = bound + ((range_ - 2 * bound) & other);
    m.learn(b);
    normalise();
  }
  void raw(u64 v, int count) {  // equally likely bits, high bits first
    while (count > 0) {
      count--;
      range_ >>= 1;
      if (v >> count & 1) low_ += range_;
      normalise();
    }
  }
  void plain(u64 v, int count) {  // the same in faster steps of up to 16 bits; the bytes differ
    while (count > 0) {
      const int piece = count < 16 ? count : 16;
      count -= piece;
      range_ >>= piece;
      low_ += u64(range_) * (v >> count & ((1u << piece) - 1));
      normalise();
    }
  }
  void below(u32 v, u32 count) {  // equally likely numbers below `count`, which is at most 2^16
    range_ /= count;
    low_ += u64(range_) * v;
    normalise();
  }
  void number(NumberModel& m, u64 v) {  // v < 2^63
    int e = floor_log2(v + 1);
    for (int k = 0; k < e; k++) bit(m.exponent[k], 1);
    bit(m.exponent[e], 0);
    if (e > 0) {
      u64 rest = (v + 1) - (u64(1) << e);
      bit(m.mantissa[e], int(rest >> (e - 1) & 1));
      raw(rest, e - 1);
    }
  }
  void signed_number(SignedModel& m, i64 v) {
    number(m.magnitude, v < 0 ? u64(-v) : u64(v));
    if (v) bit(m.sign, v < 0);
  }
  Bytes finish() {
    // Choose the value in [low, low + range) with the most trailing zeros.
    for (int k = 31; k >= 0; k--) {
      u64 mask = (u64(1) << k) - 1, v = (low_ + mask) & ~mask;
      if (v < low_ + range_) {
        low_ = v;
        break;
      }
    }
    for (int k = 0; k < 5; k++) shift_low();
    out_.erase(out_.begin());  // the first byte is the empty cache
    for (int k = 0; k < 4 && !out_.empty() && out_.back() == 0; k++) out_.pop_back();
    return std::move(out_);
  }

 private:
  void normalise() {
    while (range_ < (1u << 24)) {
      range_ <<= 8;
      shift_low();
    }
  }
  void shift_low() {
    if (u32(low_) < 0xFF000000u || low_ >> 32) {
      u8 carry = u8(low_ >> 32);
      out_.push_back(u8(cache_ + carry));
      for (; pending_; pending_--) out_.push_back(u8(0xFF + carry));
      cache_ = u8(low_ >> 24);
    } else
      pending_++;
    low_ = u64(u32(low_) << 8);
  }
  u64 low_ = 0;
  u32 range_ = ~0u;
  u8 cache_ = 0;
  u64 pending_ = 0;
  Bytes out_;
};

// Most model bits that a stream of this many bytes can hold: each takes at least log2(65536 / 65472) bits.
inline u64 most_decisions(u64 bytes) { return bytes < (u64(1) << 48) ? (bytes + 8) * 8192 : ~u64(0); }

class BinaryDecoder {
 public:
  BinaryDecoder(const u8* data, size_t size) : at_(data), end_(data + size) {
    for (int k = 0; k < 4; k++) code_ = code_ << 8 | next();
  }
  template <class Model>
  int bit(Model& m) {
    u32 bound = (range_ >> 16) * m.one();
    int b = code_ < bound;
    if (b)
      range_ = bound;
    else {
      code_ -= bound;
      range_ -= bound;
    }
    m.learn(b);
    normalise();
    return b;
  }
  // As bit(), without branches, for unpredictable bits.
  int uncertain_bit(BitModel& m) {
    const u32 bound = (range_ >> 16) * m.one(), b = code_ < bound, other = b - 1;
    code_ -= bound & other;
    range_ = bound + ((range_ - 2 * bound) & other);
    m.learn(int(b));
    normalise_at_once();
    return int(b);
  }
  u64 raw(int count) {
    u64 v = 0;
    for (; count > 0; count--) {
      range_ >>= 1;
      u32 b = code_ >= range_;
      if (b) code_ -= range_;
      v = v << 1 | b;
      normalise();
    }
    return v;
  }
  u64 plain(int count) {
    u64 v = 0;
    while (count > 0) {
      const int piece = count < 16 ? count : 16;
      count -= piece;
      range_ >>= piece;
      const u32 most = (1u << piece) - 1, q = code_ / range_, part = q < most ? q : most;
      code_ -= part * range_;
      v = v << piece | part;
      normalise();
    }
    return v;
  }
  u32 below(u32 count) {
    range_ /= count;
    const u32 q = code_ / range_, v = q < count ? q : count - 1;
    code_ -= v * range_;
    normalise_at_once();
    return v;
  }
  u64 number(NumberModel& m) {
    int e = 0;
    while (bit(m.exponent[e])) {
      e++;
      require(e < 63, STZ_ERROR_CORRUPT);
    }
    if (e == 0) return 0;
    u64 top = u64(bit(m.mantissa[e]));
    return ((u64(1) << e) | top << (e - 1) | raw(e - 1)) - 1;
  }
  u64 number(NumberModel& m, u64 limit) {  // fails above `limit`
    u64 v = number(m);
    require(v <= limit, STZ_ERROR_CORRUPT);
    return v;
  }
  i64 signed_number(SignedModel& m) {
    i64 v = i64(number(m.magnitude));
    return v && bit(m.sign) ? -v : v;
  }

 private:
  void normalise() {
    while (range_ < (1u << 24)) {
      range_ <<= 8;
      code_ = code_ << 8 | next();
    }
  }
  void normalise_at_once() {
    if (end_ - at_ < 4) return normalise();
    const int bits = __builtin_clz(range_ | 1) & ~7;
    const u64 ahead = u64(code_) << 32 | u32(at_[0]) << 24 | u32(at_[1]) << 16 | u32(at_[2]) << 8 | at_[3];
    code_ = u32(ahead << bits >> 32);
    range_ <<= bits;
    at_ += bits / 8;
  }
  u32 next() {
    if (at_ < end_) return *at_++;
    require(++past_ <= 4, STZ_ERROR_TRUNCATED);
    return 0;
  }
  const u8 *at_, *end_;
  u32 range_ = ~0u, code_ = 0;
  int past_ = 0;
};

}  // namespace stz
