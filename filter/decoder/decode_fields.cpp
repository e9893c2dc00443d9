#include "decoder/decode_fields.h"

#include "base/parallel.h"
#include "coding/checksum.h"
#include "coding/code_tables.h"
#include "format/convert.h"

namespace stz {
namespace {

// Reads fields of bits, the low bits of each first. Its caller has checked that they are there.
class BitFields {
 public:
  explicit BitFields(const u8* data) : at_(data) {}
  u32 take(int bits) {  // at most 16
    while (pending_ < bits) {
      accumulator_ |= u32(*at_++) << pending_;
      pending_ += 8;
    }
    const u32 v = accumulator_ & ((1u << bits) - 1);
    accumulator_ >>= bits;
    pending_ -= bits;
    return v;
  }

 private:
  const u8* at_;
  u32 accumulator_ = 0;
  int pending_ = 0;
};

// The table of decoding: symbol | frequency << 8 | offset << 20.
void make_table(const FieldBlock& b, u32* entry) {
  auto put = [&](size_t symbol, u32 frequency) {
    for (u32 k = 0; k < frequency; k++) *entry++ = u32(symbol) | frequency << 8 | k << 20;
  };
  for (size_t s = 0; s < b.symbols.size(); s++) put(s, b.symbols[s].frequency);
  put(b.symbols.size(), b.escape_frequency);
}

// Checks a block and returns its bytes without the check.
size_t checked_size(const u8* bytes, size_t size) {
  const size_t width = size < short_check_below + 2 ? 2 : 4;
  require(size > width && check_size(size - width) == width, STZ_ERROR_CORRUPT);
  require_check(check_of(bytes, size - width), bytes + size - width);
  return size - width;
}

}  // namespace

u64 field_numbers(const Header& h) { return element_count(h.layout) * u64(components(h.layout.dtype)); }

u64 field_block_count(const Header& h) {
  const u64 numbers = field_numbers(h);
  return numbers ? ((numbers - 1) >> h.fields.log2_block) + 1 : 0;
}

FieldBlockDecoder::FieldBlockDecoder(const Header& h)
    : widths_(h.layout.dtype, h.fields.mantissa),
      width_(component_size(h.layout.dtype)),
      swap_(swapped(h.layout)),
      all_(field_numbers(h)),
      in_block_(u64(1) << h.fields.log2_block) {}

const u8* FieldBlockDecoder::decode_symbols(const FieldBlock& b, const u8* parts, size_t n) {
  u32 table[probability_total], state[most_field_lanes];
  make_table(b, table);
  const u32 lanes = 1u << b.log2_lanes;
  for (u32 lane = 0; lane < lanes; lane++) {
    state[lane] = load_le<u32>(parts + 4 * lane);
    require(state[lane] >= rans_low && state[lane] >> 31 == 0, STZ_ERROR_CORRUPT);
  }
  const u8 *const words = parts + 4 * lanes, *const end = words + 2 * b.words;
  RansStream s{state, symbols_.data(), n, 0, words, end};
  kernels().rans.decode(table, lanes, &s, 1);
  const u8* word = s.word;
  for (size_t i = s.done; i < n; i++) {
    u32& x = state[i & (lanes - 1)];
    const u32 d = table[x & (probability_total - 1)];
    symbols_[i] = u8(d);
    x = ((d >> 8) & 4095) * (x >> probability_bits) + (d >> 20);
    if (x < rans_low) {
      require(end - word >= 2, STZ_ERROR_CORRUPT);
      x = x << 16 | load_le<u16>(word);
      word += 2;
    }
  }
  require(word == end, STZ_ERROR_CORRUPT);
  for (u32 lane = 0; lane < lanes; lane++) require(state[lane] == rans_low, STZ_ERROR_CORRUPT);
  return end;
}

// Puts numbers together whose rests are of several kinds.
template <class U>
void FieldBlockDecoder::join_kinds(const FieldBlock& b, const FieldBlockLayout& layout, const u8* planes, size_t n, U* x) {
  rests_.resize(size_t(layout.full + b.shorts) + 1);
  U* const rest = reinterpret_cast<U*>(rests_.data());
  const FieldKernels<U>& k = field_kernels<U>();
  const size_t full = size_t(layout.full), shorts = size_t(b.shorts);
  k.take_rests(planes, full, {widths_.low, b.zeros, full, 0}, rest);
  k.take_rests(planes + layout.full_planes, shorts, {widths_.low, b.short_zeros, shorts, 0}, rest + full);
  const U* next[3] = {rest, rest + full, nullptr};
  const U* const end[2] = {rest + full, rest + full + shorts};
  int kind_of[most_field_symbols + 1], zeros[3] = {b.zeros, b.short_zeros, 0};
  U top[most_field_symbols + 1], constant[most_field_symbols + 1];
  for (size_t s = 0; s <= b.symbols.size(); s++) {
    const FieldSymbol symbol = s < b.symbols.size() ? b.symbols[s] : FieldSymbol();
    kind_of[s] = int(symbol.kind);
    top[s] = U(U(symbol.top) << widths_.low);
    constant[s] = U(symbol.rest);
  }
  const U low = U((U(1) << widths_.low) - 1);
  u64 constants = 0;
  for (size_t i = 0; i < n; i++) {
    const u8 s = symbols_[i];
    U all = constant[s];
    const int kind = kind_of[s];
    if (kind != int(RestKind::constant)) {
      require(next[kind] != end[kind], STZ_ERROR_CORRUPT);
      all = U(*next[kind]++ << zeros[kind]);
    } else
      constants++;
    x[i] = U(top[s] | U(U(all >> widths_.low) << (widths_.number - 1)) | (all & low));
  }
  require(constants == b.constants && next[0] == end[0] && next[1] == end[1], STZ_ERROR_CORRUPT);
}

template <class U>
void FieldBlockDecoder::join(const FieldBlock& b, const u8* parts, size_t n, U* x) {
  const FieldBlockLayout layout(b, widths_, n);
  symbols_.resize(n + 64);
  const u8* planes = parts;
  if (b.coded())
    planes = decode_symbols(b, parts, n);
  else
    memset(symbols_.data(), 0, n);
  if (b.shorts || b.constants)
    join_kinds(b, layout, planes, n, x);
  else {
    U top[256] = {};
    for (size_t s = 0; s < b.symbols.size(); s++) top[s] = U(U(b.symbols[s].top) << widths_.low);
    field_kernels<U>().join(planes, symbols_.data(), top, n, {widths_.low, b.zeros, n, 0}, x);
  }
  if (!b.escapes) return;
  BitFields tops(planes + layout.full_planes + layout.short_planes);
  places_.resize(n);
  const size_t found = kernels().bytes.find(symbols_.data(), n, u8(b.symbols.size()), places_.data());
  require(found == b.escapes, STZ_ERROR_CORRUPT);
  for (size_t k = 0; k < found; k++) {
    U& v = x[places_[k]];
    v = U(v | U(U(tops.take(widths_.top)) << widths_.low));
  }
}

template <class U>
void FieldBlockDecoder::decode(const u8* bytes, size_t size, size_t n, u8* out) {
  ByteReader in(bytes, size);
  const FieldBlock b = read_field_block(in, widths_, n);
  require(FieldBlockLayout(b, widths_, n).size() == in.left(), STZ_ERROR_CORRUPT);
  const bool in_place = !swap_ && reinterpret_cast<uintptr_t>(out) % sizeof(U) == 0;
  if (!in_place) numbers_.resize(n);
  U* const x = in_place ? reinterpret_cast<U*>(out) : reinterpret_cast<U*>(numbers_.data());
  join(b, bytes + in.consumed(), n, x);
  if (!in_place)
    for (size_t i = 0; i < n; i++) store_bits(out + i * sizeof(U), x[i], sizeof(U), swap_);
}

void FieldBlockDecoder::decode(u64 block, const u8* bytes, size_t size, u8* out) {
  const size_t n = size_t(numbers(block)), checked = checked_size(bytes, size);
  try {
    width_ == 1   ? decode<u8>(bytes, checked, n, out)
    : width_ == 2 ? decode<u16>(bytes, checked, n, out)
    : width_ == 4 ? decode<u32>(bytes, checked, n, out)
                  : decode<u64>(bytes, checked, n, out);
  } catch (const Failure& failure) {  // the whole block was there
    if (failure.code != STZ_ERROR_TRUNCATED) throw;
    fail(STZ_ERROR_CORRUPT);
  }
}

void decode_fields(const Header& h, const u8* stream, u64 size, u8* out, int threads) {
  require_stream_size(h, size);
  const std::vector<u64> place =
      read_field_directory(stream + h.size, h.fields.directory, field_block_count(h), h.size + h.fields.directory, h.fields.blocks);
  const size_t width = component_size(h.layout.dtype);
  using Worker = std::vector<FieldBlockDecoder>;
  parallel_for<Worker>(place.size() - 1, threads, [&](Worker& decoder, u64 k) {
    if (decoder.empty()) decoder.emplace_back(h);
    decoder[0].decode(k, stream + place[k], size_t(place[k + 1] - place[k]), out + (k << h.fields.log2_block) * width);
  });
}

}  // namespace stz
