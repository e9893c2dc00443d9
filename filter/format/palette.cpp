#include "format/palette.h"

#include "coding/binary_coder.h"
#include "format/convert.h"
#include "format/section.h"

namespace stz {
namespace {

// The palette is coded as distances of neighbours or as changes of these, whichever is shorter. The model of a number depends on the
// magnitudes of the two before it.
struct PaletteModels {
  NumberModel zero_bits;
  BitModel changes;
  SignedModel number[64];
  u64 before[2] = {0, 0};
  SignedModel& next() { return number[floor_log2(before[0] + before[1] + 1)]; }
  void remember(u64 magnitude) {
    before[1] = before[0];
    before[0] = magnitude;
  }
};

Bytes write_table(const Places& places, const std::vector<u64>& bits, int zero_bits, bool changes) {
  auto models = std::make_unique<PaletteModels>();
  BinaryEncoder out;
  out.number(models->zero_bits, u64(zero_bits));
  out.bit(models->changes, changes);
  u64 place = places.shortened(places.of(bits[0]), zero_bits);
  out.raw(place, places.width() - zero_bits);
  i64 gap_before = 1;
  for (size_t i = 1; i < bits.size(); i++) {
    const u64 next = places.shortened(places.of(bits[i]), zero_bits);
    const i64 gap = i64(next - place), number = changes ? gap - gap_before : gap - 1;
    if (changes)
      out.signed_number(models->next(), number);
    else
      out.number(models->next().magnitude, u64(number));
    models->remember(u64(number < 0 ? -number : number));
    gap_before = gap;
    place = next;
  }
  return out.finish();
}

}  // namespace

Places::Places(i32 dtype) : floating_(is_floating(dtype)), width_(int(8 * component_size(dtype))) {
  sign_ = u64(1) << (width_ - 1);
  mask_ = sign_ | (sign_ - 1);
  flip_ = floating_ || is_signed(dtype) ? sign_ : 0;
  const u64 first_special = floating_ ? float_format(dtype).first_special() : 0;
  highest_ = floating_ ? of(first_special - 1) : mask_;
  lowest_ = floating_ ? of(sign_ | (first_special - 1)) : 0;
}

Bytes write_palette(i32 dtype, const std::vector<u64>& bits) {
  const Places places(dtype);
  u64 any = 0;
  for (u64 b : bits) any |= b;
  const int zero_bits = any ? __builtin_ctzll(any) : 0;
  for (size_t i = 1; i < bits.size(); i++)
    if (places.shortened(places.of(bits[i]), zero_bits) - places.shortened(places.of(bits[i - 1]), zero_bits) > largest_palette_gap)
      return {};
  Bytes best = write_table(places, bits, zero_bits, false), changes = write_table(places, bits, zero_bits, true);
  if (changes.size() < best.size()) best = std::move(changes);
  put_check(best, check_of(best.data(), best.size()));
  return best;
}

void read_palette(Header& h, const u8* section) {
  const u64 coded = checked_coder_bytes(section, h.palette_size);
  require(h.palette_count <= most_decisions(coded), STZ_ERROR_CORRUPT);
  const Places places(h.layout.dtype);
  auto models = std::make_unique<PaletteModels>();
  BinaryDecoder in(section, size_t(coded));
  const int zero_bits = int(in.number(models->zero_bits, u64(places.width() - 1)));
  const bool changes = in.bit(models->changes);
  const u64 highest = places.shortened(places.highest(), zero_bits);
  u64 place = in.raw(places.width() - zero_bits);
  require(places.extended(place, zero_bits) >= places.lowest() && place <= highest, STZ_ERROR_CORRUPT);
  auto bits = std::make_shared<std::vector<u64>>();
  bits->reserve(size_t(h.palette_count));
  bits->push_back(places.bits(places.extended(place, zero_bits)));
  i64 gap = 1;
  while (bits->size() < h.palette_count) {
    const i64 number = changes ? in.signed_number(models->next()) : i64(in.number(models->next().magnitude));
    require(!__builtin_add_overflow(number, changes ? gap : 1, &gap), STZ_ERROR_CORRUPT);
    require(gap > 0 && u64(gap) <= highest - place, STZ_ERROR_CORRUPT);
    models->remember(u64(number < 0 ? -number : number));
    place += u64(gap);
    bits->push_back(places.bits(places.extended(place, zero_bits)));
  }
  h.palette = std::move(bits);
}

}  // namespace stz
