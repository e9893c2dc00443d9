// Masks of a block whose masked samples are scattered: codes the number of masked samples in each group of 16, then which ones. Contexts
// from neighbours have almost no information here, and coding every sample takes long.
#pragma once
#include "masks/mask_coder.h"

namespace stz {

// All 16-bit numbers, sorted by their number of ones and then by value.
struct BitPatterns {
  u16 number[1 << 16], rank[1 << 16];  // rank: among those with the same number of ones
  u32 first[18] = {};                  // by number of ones
  BitPatterns() {
    for (u32 v = 0; v < 1 << 16; v++) first[__builtin_popcount(v) + 1]++;
    for (size_t ones = 0; ones < 17; ones++) first[ones + 1] += first[ones];
    u32 next[17];
    std::copy(first, first + 17, next);
    for (u32 v = 0; v < 1 << 16; v++) {
      const int ones = __builtin_popcount(v);
      rank[v] = u16(next[ones] - first[ones]);
      number[next[ones]++] = u16(v);
    }
  }
  // How many numbers of `bits` bits have `ones` ones. They are the first of those with that many ones.
  static u32 count(int bits, int ones) {
    u32 c = 1;
    for (int k = 1; k <= ones; k++) c = c * u32(bits - ones + k) / u32(k);
    return c;
  }
};
const BitPatterns& bit_patterns();

template <class Coder>
class ScatteredMaskWalk {
 public:
  static constexpr i64 group = 16;

  ScatteredMaskWalk(Coder& coder, const BlockGeometry& g, const LevelMap& map, u8* specials)
      : coder_(coder), g_(g), map_(map), specials_(specials), patterns_(bit_patterns()) {}

  // `kind` (encoder): the kind of all masked samples, or 0 if they differ.
  void run(u8 kind) {
    if (coder_.bit(one_kind_, kind != special_none)) {
      int node = 1;
      for (int b = 2; b >= 0; b--) node = node * 2 + coder_.bit(models_.kind[node], kind >> b & 1);
      kind_ = coder_.checked(u8(node - 8));
      require(kind_ != special_literal, STZ_ERROR_CORRUPT);
    }
    for (int c = 0; c < g_.classes.count; c++) {
      const int cls = g_.classes.mask[c];
      const Index to = g_.counts(cls);
      for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
        u8* row = specials_ + g_.start(g_.bytes, cls) + g_.bytes.at(i, j, k);
        const RowPlaces places = row_places(g_, map_, cls, Index{i, j, k, 0});
        for (i64 x = 0; x < to[3]; x += group) code_group(row + x, int(std::min(group, to[3] - x)), RowPlaces{places(x), places.step});
      });
      fill_halo_of_bytes(g_, cls, specials_);
    }
  }

 private:
  void code_group(u8* row, int n, const RowPlaces& places) {
    const u32 bits = group_bits(row, n, coder_);
    if (kind_ && n == group)
      for (int half = 0; half < 2; half++) {
        const u64 spread = (u64(bits >> 8 * half & 0xff) * 0x0101010101010101 & 0x8040201008040201) + 0x7f7f7f7f7f7f7f7f;
        store_le<u64>(row + 8 * half, (spread >> 7 & 0x0101010101010101) * kind_);
      }
    else
      for (int x = 0; x < n; x++) {
        if (!(bits >> x & 1))
          row[x] = special_none;
        else if (kind_)
          row[x] = kind_;
        else
          row[x] = kind_before_ = code_kind(coder_, models_, row[x], kind_before_, [&] { return places(x); });
      }
  }
  u32 group_bits(const u8* row, int n, Coder& coder) {
    u32 bits = 0;
    if constexpr (Coder::writes) {
      u8 kinds[16] = {};
      memcpy(kinds, row, size_t(n));
      for (int half = 0; half < 2; half++) {
        const u64 of_half = load_le<u64>(kinds + 8 * half),
                  masked = (of_half | of_half >> 1 | of_half >> 2) & 0x0101010101010101;  // kinds have three bits
        bits |= u32(masked * 0x0102040810204080 >> 56) << 8 * half;
      }
    }
    BitModel* const ones_model = ones_[n == group];
    int node = 1;
    for (int b = 4, ones = __builtin_popcount(bits); b >= 0; b--) node = node * 2 + coder.uncertain_bit(ones_model[node], ones >> b & 1);
    const int ones = node - 32;
    require(ones <= n, STZ_ERROR_CORRUPT);
    if (ones == 0) return 0;
    const u32 count = n == group ? patterns_.first[ones + 1] - patterns_.first[ones] : BitPatterns::count(n, ones);
    return patterns_.number[patterns_.first[ones] + coder.below(patterns_.rank[bits], count)];
  }

  Coder& coder_;
  const BlockGeometry& g_;
  const LevelMap& map_;
  u8* const specials_;
  const BitPatterns& patterns_;
  MaskModels models_;
  BitModel one_kind_, ones_[2][32];
  u8 kind_ = special_none, kind_before_ = special_none;
};

// How the masks of a block are coded.
struct MaskForm {
  bool scattered = false;
  u8 kind = special_none;  // scattered: the kind of all masked samples, if they have the same and it is not literal
};

// Codes the mask stream of a block; arguments as for code_mask_regions. `form`: for the encoder.
template <class Coder>
void code_block_mask(Coder& coder, const BlockGeometry& g, const LevelMap& map, u8* specials, const MaskForm& form) {
  BitModel scattered;
  if (coder.bit(scattered, form.scattered))
    ScatteredMaskWalk<Coder>(coder, g, map, specials).run(form.kind);
  else {
    MaskModels models;
    code_mask_regions(coder, models, g, map, specials, true);
  }
}

}  // namespace stz
