#include "format/remainders.h"

#include <algorithm>

#include "coding/binary_coder.h"
#include "coding/checksum.h"
#include "format/frame.h"

namespace stz {
namespace {

constexpr i64 least_slab = 4096;  // samples

struct SlabModels {
  SignedModel change;
};

}  // namespace

RemainderWidths::RemainderWidths(const Header& h)
    : number(8 * int(component_size(h.layout.dtype))),
      mantissa(mantissa_bits(h.layout.dtype)),
      zero_bits(h.remainders.zero_bits),
      exponent_of_step(0),
      all_ones((u64(1) << (number - 1 - mantissa)) - 1),
      fill(h.fill),
      has_fill(h.has_fill) {
  const i64 exponent = i64(bit_cast_to<u64>(h.remainders.step) >> 52 & 0x7ff) - 1023 + i64(all_ones >> 1);
  exponent_of_step = exponent > 0 ? u64(exponent) : 0;
}

Slabs::Slabs(const Hierarchy& hierarchy, size_t level_number)
    : h(hierarchy), l(level_number), is_base(int(level_number) == hierarchy.base_level), blocks(1), per_block(1), axis(3), thickness(1) {
  const Level& level = h.level[l];
  const Index extent = is_base ? level.n : level.block;
  if (!is_base) blocks = block_count(level);
  for (size_t finer = 0; finer < l; finer++)
    for (size_t a = 0; a < axes; a++) step[a] <<= h.level[finer].split[a];
  axis = 0;
  while (axis < 3 && extent[size_t(axis)] == 1) axis++;
  i64 plane = 1;
  for (int a = axis + 1; a < axes; a++) plane *= extent[size_t(a)];
  while (thickness * plane < least_slab && thickness < extent[size_t(axis)]) thickness *= 2;
  per_block = u64((extent[size_t(axis)] - 1) / thickness) + 1;
}

Slabs::Slab Slabs::at(u64 number) const {
  const u64 block = number / per_block, part = number % per_block;
  const Level& level = h.level[l];
  Slab slab{block / blocks, is_base ? Box{{}, level.n} : block_box(level, block % blocks)};
  const size_t a = size_t(axis);
  const i64 from = std::min(i64(part) * thickness, slab.box.size[a]), to = std::min(from + thickness, slab.box.size[a]);
  slab.box.low[a] += from;
  slab.box.size[a] = to - from;
  return slab;
}

u64 most_slabs(u64 section) { return std::max<u64>(u64(1) << 22, 256 * section); }

double preview_error(const Header& h) { return h.remainders.present && earlier_error(h) == 0 ? 1.5 * h.remainders.step : 0; }

Bytes write_remainders(const Remainders& r) {
  Bytes payload{u8(u8(r.zeros) | r.gap_bits << 2), u8(r.zero_bits)};
  put_double(payload, r.step);
  return payload;
}

void read_remainders(ByteReader& payload, Remainders& r) {
  const u8 small = payload.get<u8>(), zeros = small & 3;
  require(zeros <= u8(Zeros::all) && small >> 2 <= most_gap_bits, STZ_ERROR_CORRUPT);
  r.present = true;
  r.zeros = Zeros(zeros);
  r.gap_bits = small >> 2;
  r.zero_bits = payload.get<u8>();
  r.step = payload.get_double();
}

void require_remainders(const Header& h) {
  if (!h.remainders.present) return;
  const u64 step = bit_cast_to<u64>(h.remainders.step);
  require(h.mode == STZ_LOSSLESS && h.quantizer == QuantizerKind::uniform && h.transform == Transform::none &&
              component_size(h.layout.dtype) >= 4 && is_floating(h.layout.dtype) && step << 12 == 0 && step >> 63 == 0 && !h.layers.any() &&
              !h.enhancement.any(),
          STZ_ERROR_CORRUPT);
  const RemainderWidths w(h);
  require(w.exponent_of_step >= 1 && w.exponent_of_step < w.all_ones && h.remainders.zero_bits <= w.mantissa, STZ_ERROR_CORRUPT);
}

Bytes write_slab_directory(const std::vector<u64>& sizes) {
  BinaryEncoder out;
  SlabModels m;
  u64 before = 0;
  for (u64 size : sizes) {
    out.signed_number(m.change, i64(size) - i64(before));
    before = size;
  }
  const Bytes coded = out.finish();
  Bytes front;
  put_varint(front, coded.size());
  front.insert(front.end(), coded.begin(), coded.end());
  put_check(front, check_of(front.data(), front.size()));
  return front;
}

u64 read_slab_directory(const u8* section, u64 available, u64 size, u64 slabs, std::vector<u64>& sizes, u64& begin) {
  const u64 longest_varint = std::min<u64>(10, size);
  if (available < longest_varint) return longest_varint;
  ByteReader in(section, size_t(available));
  const u64 coded = in.varint(), front = in.consumed() + coded;
  require(coded <= size - in.consumed() && check_size(front) <= size - front, STZ_ERROR_TRUNCATED);
  begin = front + check_size(front);
  if (available < begin) return begin;
  require_check(check_of(section, size_t(front)), section + front);
  require(slabs <= most_decisions(coded) && slabs <= most_slabs(size), STZ_ERROR_CORRUPT);
  BinaryDecoder decoder(section + in.consumed(), size_t(coded));
  SlabModels m;
  u64 left = size - begin;
  i64 last = 0;
  sizes.reserve(size_t(slabs));
  for (u64 k = 0; k < slabs; k++) {
    last = i64(u64(last) + u64(decoder.signed_number(m.change)));
    require(last >= 0 && u64(last) <= left, STZ_ERROR_CORRUPT);
    const u64 stored = u64(last) + (last ? check_size(u64(last)) : 0);
    require(stored <= left, STZ_ERROR_CORRUPT);
    left -= stored;
    sizes.push_back(u64(last));
  }
  require(left == 0, STZ_ERROR_CORRUPT);
  return 0;
}

}  // namespace stz
