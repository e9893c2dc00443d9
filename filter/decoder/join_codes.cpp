#include "decoder/join_codes.h"

#include <algorithm>

namespace stz {

template <class Code>
void make_numbers(ClassCodes<Code>& codes, size_t n) {
  if (!codes.as_bytes) return;
  codes.as_bytes = false;
  codes.numbers.resize(n + row_slack);
  codes.outliers.clear();
  Code* const numbers = codes.numbers.data();
  const u8* const bytes = codes.bytes.data();
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
  mask_.resize(n + row_slack);
  if (codes.as_bytes)
    std::copy_n(codes.bytes.data(), n, mask_.data());
  else
    for (size_t i = 0; i < n; i++) mask_[i] = codes.numbers[i] != 0;
  nonzero_ = kernels().bytes.count_nonzero(mask_.data(), n);
}

template <class Code>
void CodeJoiner<Code>::contexts_of_zeros(const u8* context, Buffer<u8>& of_zeros) const {
  of_zeros.resize(n_ + row_slack);
  u8* const out = of_zeros.data();
  const u8* const mask = mask_.data();
  for (size_t i = 0; i < n_; i++) out[i] = u8(context[i] | (mask[i] ? no_context : 0));
}

template <class Code>
u8* CodeJoiner<Code>::fields() {
  fields_.resize(n_ + row_slack);
  return fields_.data();
}

template <class Code>
void CodeJoiner<Code>::append(int width) {
  low_.resize(n_ + row_slack);
  kernels().bytes.spread_fields(fields_.data(), mask_.data(), n_, low_.data());
  if (codes_->as_bytes) return append_to_bytes(low_.data(), width);
  require(code_kernels<Code>().append_bits(codes_->numbers.data(), low_.data(), n_, width, largest_code<Code>), STZ_ERROR_CORRUPT);
}

// Codes that are no bytes afterwards are listed anew.
template <class Code>
void CodeJoiner<Code>::append_to_bytes(const u8* low, int width) {
  const std::vector<WideCode> before = std::move(codes_->wide_codes);
  codes_->wide_codes.clear();
  Buffer<u8> old(n_ + row_slack);
  std::copy_n(codes_->bytes.data(), n_, old.data());
  if (!kernels().bytes.append_bits(codes_->bytes.data(), low, n_, width)) return;
  places_.resize(n_ + row_slack);
  const size_t count = kernels().bytes.find(codes_->bytes.data(), n_, byte_escape, places_.data());
  auto next = before.begin();
  for (size_t k = 0; k < count; k++) {
    const u32 i = places_[k];
    const bool was_wide = next != before.end() && next->index == i;
    const i64 code = was_wide ? next->code : unzigzag(old[i]);
    const u64 bits = was_wide ? next->bits : 0, size = u64(code < 0 ? -code : code);
    next += was_wide;
    if (code == outlier_mark) {
      codes_->wide_codes.push_back({i, outlier_mark, bits});
      continue;
    }
    require(size <= largest_code<Code> >> width, STZ_ERROR_CORRUPT);
    const i64 joined = i64(size << width | low[i]);
    codes_->wide_codes.push_back({i, code < 0 ? -joined : joined, 0});
  }
}

template <class Code>
void CodeJoiner<Code>::replace_zeros(const ClassCodes<Code>& added) {
  if (codes_->as_bytes) {
    for (size_t i = 0; i < n_; i++) codes_->bytes[i] |= added.bytes[i];
    return;
  }
  Code* const numbers = codes_->numbers.data();
  if (added.as_bytes)
    for (size_t i = 0; i < n_; i++) numbers[i] |= Code(added.bytes[i] >> 1) ^ Code(-(added.bytes[i] & 1));
  else
    for (size_t i = 0; i < n_; i++) numbers[i] |= added.numbers[i];
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
