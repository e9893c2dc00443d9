#include "decoder/join_codes.h"

#include <algorithm>

namespace stz {

template <class Code>
void make_numbers(ClassCodes<Code>& codes, size_t n) {
  if (!codes.as_bytes) return;
  codes.as_bytes = false;
  codes.numbers.resize(n + row_slack);
  codes.outliers.clear();
  Code* __restrict const numbers = codes.numbers.data();
  const u8* __restrict const bytes = codes.bytes.data();
  for (size_t i = 0; i < n; i++) numbers[i] = Code(bytes[i] >> 1) ^ Code(-(bytes[i] & 1));
  for (const WideCode& e : codes.wide_codes) {
    numbers[e.index] = e.code == outlier_mark ? outlier_code<Code> : Code(e.code);
    if (e.code == outlier_mark) codes.outliers.push_back({e.index, e.bits});
  }
  codes.wide_codes.clear();
}

template <class Code>
void CodeJoiner<Code>::start(ClassCodes<Code>& codes, size_t n) {
  codes_ = &codes;
  n_ = n;
  mask_ = codes.bytes.data();
  if (!codes.as_bytes) {
    mask_of_numbers_.resize(n + row_slack);
    const Code* __restrict const numbers = codes.numbers.data();
    u8* __restrict const mask = mask_of_numbers_.data();
    for (size_t i = 0; i < n; i++) mask[i] = numbers[i] != 0;
    mask_ = mask;
  }
  nonzero_ = kernels().bytes.count_nonzero(mask_, n);
}

template <class Code>
void CodeJoiner<Code>::keep_contexts_of_zeros(u8* __restrict context) const {
  if (!nonzero_) return;
  const u8* __restrict const mask = mask_;
  static_assert(no_context == 255);
  const size_t n = n_;  // a local copy allows vectorization: bytes may alias members
  for (size_t i = 0; i < n; i++) context[i] |= u8(-i8(mask[i] != 0));
}

template <class Code>
u8* CodeJoiner<Code>::fields() {
  fields_.resize(n_ + row_slack);
  return fields_.data();
}

template <class Code>
void CodeJoiner<Code>::append(int width) {
  if (!nonzero_) return;
  low_.resize(n_ + row_slack);
  kernels().bytes.spread_fields(fields_.data(), mask_, n_, low_.data());
  if (codes_->as_bytes) return append_to_bytes(low_.data(), width);
  require(code_kernels<Code>().append_bits(codes_->numbers.data(), low_.data(), n_, width, largest_code<Code>), STZ_ERROR_CORRUPT);
}

// Appends bits to byte codes. Codes that do not fit in bytes afterwards are listed anew.
template <class Code>
void CodeJoiner<Code>::append_to_bytes(const u8* low, int width) {
  u8* const bytes = codes_->bytes.data();
  places_.resize(n_ + row_slack);
  const size_t count = kernels().bytes.find(bytes, n_, std::max(u8(1), u8(255u >> width)), places_.data());
  old_.resize(count);
  for (size_t k = 0; k < count; k++) old_[k] = bytes[places_[k]];
  kernels().bytes.append_bits(bytes, low, n_, width);
  const std::vector<WideCode> before = std::move(codes_->wide_codes);
  codes_->wide_codes.clear();
  auto next = before.begin();
  for (size_t k = 0; k < count; k++) {
    const u32 i = places_[k];
    const bool was_wide = next != before.end() && next->index == i;
    const i64 code = was_wide ? next->code : unzigzag(old_[k]);
    const u64 bits = was_wide ? next->bits : 0;
    next += was_wide;
    if (code == outlier_mark) {  // the smallest i64 has no magnitude
      codes_->wide_codes.push_back({i, outlier_mark, bits});
      continue;
    }
    const u64 size = u64(code < 0 ? -code : code);
    require(size <= largest_code<Code> >> width, STZ_ERROR_CORRUPT);
    const i64 joined = i64(size << width | low[i]);
    codes_->wide_codes.push_back({i, code < 0 ? -joined : joined, 0});
  }
}

template <class Code>
void CodeJoiner<Code>::replace_zeros(ClassCodes<Code>& added) {
  const u8* __restrict const added_bytes = added.bytes.data();
  const size_t n = n_;
  if (codes_->as_bytes) {
    if (!nonzero_) return std::swap(codes_->bytes, added.bytes);
    u8* __restrict const bytes = codes_->bytes.data();
    for (size_t i = 0; i < n; i++) bytes[i] |= added_bytes[i];
    return;
  }
  Code* __restrict const numbers = codes_->numbers.data();
  if (added.as_bytes)
    for (size_t i = 0; i < n; i++) numbers[i] |= Code(added_bytes[i] >> 1) ^ Code(-(added_bytes[i] & 1));
  else
    for (size_t i = 0; i < n; i++) numbers[i] |= added.numbers[i];
}

template <class Code>
void CodeJoiner<Code>::complete(int missing) {
  low_.resize(n_ + row_slack);
  for (bool first = true; missing > 0; first = false) {
    const int width = std::min(missing, bits_at_once);
    std::fill_n(low_.data(), n_, first ? u8(1 << (width - 1)) : u8(0));
    if (codes_->as_bytes) {
      for (size_t i = 0; i < n_; i++) low_[i] = codes_->bytes[i] ? low_[i] : u8(0);
      append_to_bytes(low_.data(), width);
    } else {
      require(code_kernels<Code>().append_bits(codes_->numbers.data(), low_.data(), n_, width, largest_code<Code>), STZ_ERROR_CORRUPT);
    }
    missing -= width;
  }
}

template void make_numbers(ClassCodes<i32>&, size_t);
template void make_numbers(ClassCodes<i64>&, size_t);
template class CodeJoiner<i32>;
template class CodeJoiner<i64>;

}  // namespace stz
