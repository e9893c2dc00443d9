#include "encoder/fields/field_block_encoder.h"

#include <algorithm>

#include "base/faults.h"
#include "coding/checksum.h"
#include "coding/code_tables.h"
#include "format/convert.h"

namespace stz {
namespace {

// Frequencies of 4096 in proportion to counts; symbols that occur have at least 1.
std::vector<u32> frequencies_of(const std::vector<u32>& counts) {
  u64 all = 0;
  for (u32 c : counts) all += c;
  std::vector<u32> f(counts.size());
  i64 left = probability_total;
  for (size_t s = 0; s < counts.size(); s++) {
    f[s] = counts[s] ? std::max<u32>(1, u32((u64(counts[s]) * probability_total + all / 2) / all)) : 0;
    left -= f[s];
  }
  // The cheapest changes: bits gained by one more are about counts / (f + 1/2), bits lost by one less counts / (f - 1/2).
  for (; left != 0; left -= left > 0 ? 1 : -1) {
    size_t best = counts.size();
    for (size_t s = 0; s < counts.size(); s++) {
      if (!counts[s] || (left < 0 && f[s] == 1)) continue;
      if (best == counts.size()) best = s;
      const u64 a = u64(counts[s]) * (2 * f[best] + (left > 0 ? 1 : -1)), b = u64(counts[best]) * (2 * f[s] + (left > 0 ? 1 : -1));
      if (left > 0 ? a > b : a < b) best = s;
    }
    f[best] += left > 0 ? 1 : u32(-1);
  }
  return f;
}

int log2_lanes_for(size_t n) { return n >= 4096 ? 5 : n >= 512 ? 2 : 0; }

}  // namespace

template <class U>
void FieldBlockEncoder<U>::load(const u8* data, size_t n) {
  n_ = n;
  numbers_ = reinterpret_cast<const U*>(data);
  if (swap_ || reinterpret_cast<uintptr_t>(data) % sizeof(U)) {
    copy_.resize(n);
    for (size_t i = 0; i < n; i++) copy_[i] = U(load_bits(data + i * sizeof(U), sizeof(U), swap_));
    numbers_ = copy_.data();
  }
  keys_.resize(n + 64);
  low_bits_ = field_kernels<U>().tops(numbers_, n, widths_.low, keys_.data());
  if (short_zeros_)
    for (size_t i = 0; i < n; i++) keys_[i] = u16(key_of(numbers_[i], keys_[i]));
}

// The most frequent keys become symbols; others are escapes.
template <class U>
void FieldBlockEncoder<U>::choose_symbols() {
  const size_t keys = size_t(1) << (widths_.top + (short_zeros_ != 0));
  key_counts_.assign(4 * keys, 0);
  u32 *const counts = key_counts_.data(), *const second = counts + keys, *const third = second + keys, *const fourth = third + keys;
  const u16* const key = keys_.data();
  size_t i = 0;
  for (; i + 4 <= n_; i += 4) {  // runs of one key need not wait for its counter
    counts[key[i]]++;
    second[key[i + 1]]++;
    third[key[i + 2]]++;
    fourth[key[i + 3]]++;
  }
  for (; i < n_; i++) counts[key[i]]++;
  std::vector<u32> used;
  for (size_t k = 0; k < keys; k++) {
    counts[k] += second[k] + third[k] + fourth[k];
    if (counts[k]) used.push_back(u32(k));
  }
  const bool escapes = used.size() > most_field_symbols;
  if (escapes) {
    std::sort(used.begin(), used.end(), [&](u32 a, u32 b) { return counts[a] != counts[b] ? counts[a] > counts[b] : a < b; });
    used.resize(most_field_symbols - 1);
    std::sort(used.begin(), used.end());
  }
  symbol_of_.assign(keys, u8(used.size()));
  counts_.clear();
  u64 kept = 0;
  for (u32 k : used) {
    symbol_of_[k] = u8(counts_.size());
    block_.symbols.push_back({short_zeros_ ? k >> 1 : k, short_zeros_ && (k & 1) ? RestKind::short_ : RestKind::full});
    counts_.push_back(counts[k]);
    kept += counts[k];
  }
  if (escapes) counts_.push_back(u32(n_ - kept));
  block_.escapes = n_ - kept;
  symbols_.resize(n_ + 64);
  u8 *const symbols = symbols_.data(), *const symbol_of = symbol_of_.data();
  for (i = 0; i < n_; i++) symbols[i] = symbol_of[key[i]];
}

// Finds symbols whose numbers are all equal. A sample says which are worth a look.
template <class U>
void FieldBlockEncoder<U>::find_constants() {
  constexpr size_t step = 31;
  U first[most_field_symbols] = {}, other[most_field_symbols] = {};
  u32 seen[most_field_symbols] = {};
  auto look_at = [&](size_t i) {
    const u8 s = symbols_[i];
    if (!seen[s]) first[s] = numbers_[i];
    seen[s]++;
    other[s] |= first[s] ^ numbers_[i];
  };
  for (size_t i = 0; i < n_; i += n_ < 4096 ? 1 : step) look_at(i);
  bool any = false;
  for (size_t s = 0; s < block_.symbols.size(); s++) any |= other[s] == 0 && (seen[s] > 4 || (seen[s] && counts_[s] < 256));
  if (!any) return;
  if (n_ >= 4096)
    for (size_t i = 0; i < n_; i++) look_at(i);
  for (size_t s = 0; s < block_.symbols.size(); s++) {
    if (other[s] != 0 || counts_[s] < 2) continue;
    FieldSymbol& symbol = block_.symbols[s];
    if (s && block_.symbols[s - 1].top == symbol.top && block_.symbols[s - 1].kind == RestKind::constant) continue;  // one for each top
    symbol.kind = RestKind::constant;
    symbol.rest = rest_of(first[s]);
    block_.constants += counts_[s];
  }
  for (size_t s = 0; s + 1 < block_.symbols.size(); s++)  // a constant comes behind other kinds of its top
    if (block_.symbols[s].top == block_.symbols[s + 1].top && block_.symbols[s].kind == RestKind::constant) {
      std::swap(block_.symbols[s], block_.symbols[s + 1]);
      std::swap(counts_[s], counts_[s + 1]);
      for (size_t i = 0; i < n_; i++)
        if (symbols_[i] == s || symbols_[i] == s + 1) symbols_[i] = u8(2 * s + 1 - symbols_[i]);
    }
}

// Finds the low zero bits of both kinds of rests.
template <class U>
void FieldBlockEncoder<U>::set_zeros() {
  const U all = U(U(1) << widths_.low);
  U full = low_bits_, shorts = 0;
  for (size_t s = 0; s < block_.symbols.size(); s++)
    if (block_.symbols[s].kind == RestKind::short_) block_.shorts += counts_[s];
  if (block_.shorts || block_.constants) {
    full = 0;
    for (size_t i = 0; i < n_; i++) {
      const u8 s = symbols_[i];
      const RestKind kind = s < block_.symbols.size() ? block_.symbols[s].kind : RestKind::full;
      full |= kind == RestKind::full ? numbers_[i] : U(0);
      shorts |= kind == RestKind::short_ ? numbers_[i] : U(0);
    }
  }
  auto zeros = [&](U bits) { return __builtin_ctzll(u64(bits | all)); };
  block_.zeros = zeros(full);
  block_.short_zeros = block_.shorts ? zeros(shorts) : 0;
}

template <class U>
void FieldBlockEncoder<U>::encode_symbols() {
  const std::vector<u32> frequency = frequencies_of(counts_);
  u32 reciprocal[most_field_symbols] = {}, step[most_field_symbols] = {}, start = 0;
  for (size_t s = 0; s < counts_.size(); s++) {
    (s < block_.symbols.size() ? block_.symbols[s].frequency : block_.escape_frequency) = frequency[s];
    const RansStep r = rans_step(frequency[s], start);
    reciprocal[s] = r.reciprocal;
    step[s] = r.step;
    start += frequency[s];
  }
  block_.log2_lanes = log2_lanes_for(n_);
  const u32 lanes = 1u << block_.log2_lanes;
  std::fill_n(state_, lanes, rans_low);
  words_.resize(n_ + rans_slack);
  const RansSegment segment{{reciprocal, reciprocal}, {step, step}, int(counts_.size()), symbols_.data(), n_};
  RansOutput output{state_, &segment, 1, words_.data()};
  STZ_FAULT_POINT_UP_TO(symbols, symbols_.data(), n_, u8(counts_.size() - 1));
  kernels().rans.encode(lanes, &output, 1);
  block_.words = u64(output.word - words_.data());
  STZ_FAULT_POINT(rans, words_.data(), block_.words * sizeof(u16));
}

template <class U>
u8* FieldBlockEncoder<U>::put_symbols(u8* out) const {
  for (u32 lane = 0; lane < 1u << block_.log2_lanes; lane++, out += 4) store_le<u32>(out, state_[lane]);
  for (u64 k = block_.words; k-- > 0; out += 2) store_le<u16>(out, words_[k]);  // the decoder reads the last word first
  return out;
}

template <class U>
u8* FieldBlockEncoder<U>::put_planes(u8* out, const U* numbers, size_t count, int zeros) const {
  field_kernels<U>().put_rests(numbers, count, {widths_.low, zeros, count, 0}, out);
  return out + (count * size_t(widths_.low + 1 - zeros) + 7) / 8;
}

// The rests of full and of short numbers.
template <class U>
u8* FieldBlockEncoder<U>::put_kinds(u8* out) {
  for (RestKind wanted : {RestKind::full, RestKind::short_}) {
    selected_.resize(n_);
    size_t count = 0;
    for (size_t i = 0; i < n_; i++) {
      const u8 s = symbols_[i];
      selected_[count] = numbers_[i];
      count += (s < block_.symbols.size() ? block_.symbols[s].kind : RestKind::full) == wanted;
    }
    out = put_planes(out, selected_.data(), count, wanted == RestKind::full ? block_.zeros : block_.short_zeros);
  }
  return out;
}

// The tops of numbers without a symbol.
template <class U>
u8* FieldBlockEncoder<U>::put_escapes(u8* out) const {
  u32 pending = 0;
  int bits = 0;
  for (size_t i = 0; i < n_; i++) {
    if (symbols_[i] != block_.symbols.size()) continue;
    pending |= u32(U(U(numbers_[i] << 1) >> 1) >> widths_.low) << bits;
    for (bits += widths_.top; bits >= 8; bits -= 8, pending >>= 8) *out++ = u8(pending);
  }
  if (bits) *out++ = u8(pending);
  return out;
}

template <class U>
void FieldBlockEncoder<U>::encode(const u8* data, size_t n, Buffer<u8>& out) {
  block_ = FieldBlock();
  load(data, n);
  choose_symbols();
  find_constants();
  set_zeros();
  if (block_.coded()) encode_symbols();
  const Bytes parameters = write_field_block(block_, widths_);
  const size_t size = parameters.size() + size_t(FieldBlockLayout(block_, widths_, n).size());
  out.resize(size + check_size(size));
  memcpy(out.data(), parameters.data(), parameters.size());
  u8* at = out.data() + parameters.size();
  if (block_.coded()) at = put_symbols(at);
  at = block_.shorts || block_.constants ? put_kinds(at) : put_planes(at, numbers_, n_, block_.zeros);
  if (block_.escapes) at = put_escapes(at);
  STZ_FAULT_POINT(streams, out.data(), size);
  const Check check = check_of(out.data(), size);
  for (size_t k = 0; k < check.size; k++) *at++ = u8(check.crc >> (8 * k));
}

template class FieldBlockEncoder<u8>;
template class FieldBlockEncoder<u16>;
template class FieldBlockEncoder<u32>;
template class FieldBlockEncoder<u64>;

}  // namespace stz
