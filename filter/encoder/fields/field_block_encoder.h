// Encodes the blocks of floating-point fields, one after the other.
#pragma once
#include "base/buffer.h"
#include "encoder/fields/plan_fields.h"

namespace stz {

// U: an unsigned integer as wide as the numbers.
template <class U>
class FieldBlockEncoder {
 public:
  FieldBlockEncoder(i32 dtype, const FieldPlan& plan, bool swap)
      : widths_(dtype, plan.mantissa), short_zeros_(plan.short_zeros), swap_(swap) {}

  // Encodes the n numbers at `data`, in the byte order of the array. The block, with its check, stands in `out`, which is resized.
  void encode(const u8* data, size_t n, Buffer<u8>& out);

 private:
  void load(const u8* data, size_t n);
  void choose_symbols();
  void find_constants();
  void set_zeros();
  void encode_symbols();
  u8* put_symbols(u8* out) const;
  u8* put_planes(u8* out, const U* numbers, size_t count, int zeros) const;
  u8* put_kinds(u8* out);
  u8* put_escapes(u8* out) const;
  u32 key_of(U number, u16 top) const { return short_zeros_ ? u32(top) << 1 | u32((number & ((U(1) << short_zeros_) - 1)) == 0) : top; }
  U rest_of(U number) const { return U(U(number >> (widths_.number - 1)) << widths_.low | (number & ((U(1) << widths_.low) - 1))); }

  const FieldWidths widths_;
  const int short_zeros_;
  const bool swap_;
  size_t n_ = 0;
  const U* numbers_ = nullptr;
  U low_bits_ = 0;  // set in any number
  FieldBlock block_;
  std::vector<u32> counts_;      // of symbols, the escape last
  std::vector<u8> symbol_of_;    // of each key
  std::vector<u32> key_counts_;  // of each key
  Buffer<U> copy_, selected_;
  Buffer<u16> keys_, words_;
  Buffer<u8> symbols_;
  u32 state_[most_field_lanes];
};

}  // namespace stz
