#include "format/float_fields.h"

#include "coding/binary_coder.h"
#include "coding/checksum.h"
#include "coding/code_tables.h"

namespace stz {
namespace {

struct FieldModels {
  NumberModel count, gap, frequency, zeros, numbers;
  BitModel any_escape, any_short, any_constant, is_constant, is_short;
};

constexpr u64 bits_to_bytes(u64 numbers, int bits) { return (numbers * u64(bits) + 7) / 8; }

// Symbols rise by this.
u64 order_of(const FieldSymbol& s) { return u64(s.top) * 3 + u64(s.kind); }

}  // namespace

FieldBlockLayout::FieldBlockLayout(const FieldBlock& b, const FieldWidths& w, u64 n)
    : full(n - b.shorts - b.constants),
      states(b.coded() ? u64(4) << b.log2_lanes : 0),
      words(2 * b.words),
      full_planes(bits_to_bytes(full, w.low + 1 - b.zeros)),
      short_planes(bits_to_bytes(b.shorts, w.low + 1 - b.short_zeros)),
      tops(bits_to_bytes(b.escapes, w.top)) {}

Bytes write_field_block(const FieldBlock& b, const FieldWidths& w) {
  BinaryEncoder out;
  FieldModels m;
  out.number(m.count, b.symbols.size());
  out.bit(m.any_escape, b.escapes != 0);
  if (b.escapes) out.number(m.numbers, b.escapes - 1);
  out.bit(m.any_short, b.shorts != 0);
  out.bit(m.any_constant, b.constants != 0);
  out.number(m.zeros, u64(b.zeros));
  if (b.shorts) {
    out.number(m.zeros, u64(b.short_zeros));
    out.number(m.numbers, b.shorts - 1);
  }
  if (b.constants) out.number(m.numbers, b.constants - 1);
  u64 next = 0;
  for (const FieldSymbol& s : b.symbols) {
    const u64 least = next / 3;  // the kind of an equal top is higher
    out.number(m.gap, s.top - least);
    if (b.constants) out.bit(m.is_constant, s.kind == RestKind::constant);
    if (b.shorts && s.kind != RestKind::constant) out.bit(m.is_short, s.kind == RestKind::short_);
    if (s.kind == RestKind::constant) out.plain(s.rest, w.low + 1);
    if (b.coded()) out.number(m.frequency, s.frequency - 1);
    next = order_of(s) + 1;
  }
  if (b.coded()) {
    if (b.escapes) out.number(m.frequency, b.escape_frequency - 1);
    out.raw(u64(b.log2_lanes), 3);
    out.number(m.numbers, b.words);
  }
  const Bytes coded = out.finish();
  Bytes all;
  put_varint(all, coded.size());
  all.insert(all.end(), coded.begin(), coded.end());
  return all;
}

namespace {

FieldSymbol read_symbol(BinaryDecoder& in, FieldModels& m, const FieldBlock& b, const FieldWidths& w, u64& next) {
  FieldSymbol s;
  const u64 most_top = (u64(1) << w.top) - 1, least = next / 3;
  s.top = u32(least + in.number(m.gap, most_top));
  require(s.top <= most_top, STZ_ERROR_CORRUPT);
  if (b.constants && in.bit(m.is_constant))
    s.kind = RestKind::constant;
  else if (b.shorts && in.bit(m.is_short))
    s.kind = RestKind::short_;
  if (s.kind == RestKind::constant) s.rest = in.plain(w.low + 1);
  require(order_of(s) >= next, STZ_ERROR_CORRUPT);
  next = order_of(s) + 1;
  return s;
}

}  // namespace

FieldBlock read_field_block(ByteReader& bytes, const FieldWidths& w, u64 n) {
  const u64 size = bytes.varint();
  const u8* const coded = bytes.take(size);
  BinaryDecoder in(coded, size_t(size));
  FieldModels m;
  FieldBlock b;
  const u64 count = in.number(m.count, most_field_symbols);
  b.escapes = in.bit(m.any_escape);
  if (b.escapes) b.escapes += in.number(m.numbers, n);
  b.shorts = in.bit(m.any_short);
  b.constants = in.bit(m.any_constant);
  b.zeros = int(in.number(m.zeros, u64(w.low)));
  if (b.shorts) {
    b.short_zeros = int(in.number(m.zeros, u64(w.low)));
    b.shorts += in.number(m.numbers, n);
  }
  if (b.constants) b.constants += in.number(m.numbers, n);
  require(count + (b.escapes != 0) >= 1 && count + (b.escapes != 0) <= most_field_symbols && b.escapes <= n && b.shorts <= n &&
              b.constants <= n && b.escapes + b.shorts + b.constants <= n,
          STZ_ERROR_CORRUPT);
  const bool coded_symbols = count + (b.escapes != 0) > 1;
  u64 next = 0, sum = 0;
  auto frequency = [&] {
    const u32 f = u32(1 + in.number(m.frequency, probability_total));
    sum += f;
    return f;
  };
  for (u64 k = 0; k < count; k++) {
    b.symbols.push_back(read_symbol(in, m, b, w, next));
    if (coded_symbols) b.symbols.back().frequency = frequency();
  }
  if (!coded_symbols) return b;
  if (b.escapes) b.escape_frequency = frequency();
  require(sum == probability_total, STZ_ERROR_CORRUPT);
  b.log2_lanes = int(in.raw(3));
  require(b.log2_lanes <= 6, STZ_ERROR_CORRUPT);
  b.words = in.number(m.numbers, n);
  return b;
}

Bytes write_float_fields(const FloatFields& f) {
  Bytes out{u8(f.log2_block), u8(f.mantissa)};
  put_varint(out, f.directory);
  put_varint(out, f.blocks);
  return out;
}

void read_float_fields(ByteReader& payload, i32 dtype, FloatFields& f) {
  require(is_floating(dtype), STZ_ERROR_CORRUPT);
  f.log2_block = payload.get<u8>();
  f.mantissa = payload.get<u8>();
  require(f.log2_block >= least_log2_block && f.log2_block <= most_log2_block && f.mantissa <= mantissa_bits(dtype) &&
              FieldWidths(dtype, f.mantissa).top <= 16,
          STZ_ERROR_CORRUPT);
  f.directory = payload.varint();
  f.blocks = payload.varint();
  require(f.directory >= 1 + check_size(1), STZ_ERROR_CORRUPT);
}

Bytes write_field_directory(const std::vector<u64>& sizes) {
  Bytes out;
  for (u64 size : sizes) put_varint(out, size);
  put_check(out, check_of(out.data(), out.size()));
  return out;
}

std::vector<u64> read_field_directory(const u8* directory, u64 size, u64 blocks, u64 begin, u64 all) {
  constexpr u64 least_size = 3;
  const size_t width = size < short_check_below + 2 ? 2 : 4;
  require(size > width && blocks <= size - width, STZ_ERROR_CORRUPT);
  const u64 coded = size - width;
  require(check_size(coded) == width, STZ_ERROR_CORRUPT);
  require_check(check_of(directory, size_t(coded)), directory + coded);
  ByteReader in(directory, size_t(coded));
  std::vector<u64> place(size_t(blocks) + 1, begin);
  for (size_t k = 0; k < blocks; k++) {
    const u64 n = in.varint();
    require(n >= least_size && n <= all, STZ_ERROR_CORRUPT);
    all -= n;
    place[k + 1] = place[k] + n;
  }
  require(in.left() == 0 && all == 0, STZ_ERROR_CORRUPT);
  return place;
}

}  // namespace stz
