// Masks: which samples are no numbers (NaN, infinities) or the fill value. Coded with the adaptive binary coder, a stream per block.
//
// A sample's context is how many of its nearest neighbours of coarser samples and earlier parity classes are masked. Its kind is likely
// that of a masked neighbour. A literal is followed by its bits: a NaN with another payload, or an element that the transform does not
// code. One walk serves both directions.
#pragma once
#include <algorithm>

#include "format/block_codec.h"
#include "format/frame.h"

namespace stz {

struct MaskModels {
  BitModel masked[axes + 1][6], same_special, kind[8];
};

// The bits of an element of kind special_literal, by its index in level 0 of the whole batch.
struct LiteralElement {
  u64 index;
  u64 bits;
};
inline void sort_literals(std::vector<LiteralElement>& literals) {
  std::sort(literals.begin(), literals.end(), [](const LiteralElement& a, const LiteralElement& b) { return a.index < b.index; });
}

// Writing: returns what it is given. `bits_of(index in level 0)` gives the bits of a sample.
template <class BitsOf>
struct MaskWriter {
  BinaryEncoder& out;
  BitsOf bits_of;
  int width;
  u8 code(BitModel& masked, MaskModels& m, u8 kind, u8 neighbour, u64 index) {
    out.bit(masked, kind != special_none);
    if (kind == special_none) return kind;
    if (neighbour != special_none) {
      out.bit(m.same_special, kind == neighbour);
      if (kind == neighbour && kind != special_literal) return kind;
    }
    if (neighbour == special_none || kind != neighbour) code_kind(m, kind);
    if (kind == special_literal) out.raw(bits_of(index), width);
    return kind;
  }

 private:
  void code_kind(MaskModels& m, u8 kind) {
    int node = 1;
    for (int b = 2; b >= 0; b--) {
      out.bit(m.kind[node], kind >> b & 1);
      node = node * 2 + (kind >> b & 1);
    }
  }
};

struct MaskReader {
  BinaryDecoder& in;
  std::vector<LiteralElement>& literals;
  int width;
  u32 possible;  // bit k: kind k may appear
  u8 code(BitModel& masked, MaskModels& m, u8, u8 neighbour, u64 index) {
    if (!in.bit(masked)) return special_none;
    u8 kind;
    if (neighbour != special_none && in.bit(m.same_special))
      kind = neighbour;
    else {
      int node = 1;
      for (int b = 2; b >= 0; b--) node = node * 2 + in.bit(m.kind[node]);
      kind = u8(node - 8);
      require(possible >> kind & 1, STZ_ERROR_CORRUPT);
    }
    if (kind == special_literal) literals.push_back({index, in.raw(width)});
    return kind;
  }
};

// Where a sample of a level is in level 0: item_index + sum of coordinate * step.
struct LevelMap {
  u64 item = 0;  // index of the item's first sample
  Index step;    // level-0 elements per step of the level
};
LevelMap level_map(const Hierarchy& h, size_t level, u64 item);
// Level-0 index of a level's sample number `i` (C order).
u64 level_zero_index(const Level& level, const LevelMap& map, u64 i);

// What surrounds the samples of a class that are to be coded, row by row: all of it is known before the row is.
class MaskContexts {
 public:
  MaskContexts(const BlockGeometry& g, int cls)
      : near_(lay_out_nearest(g, g.bytes, cls, false)),
        faces_(lay_out_nearest(g, g.bytes, cls, true)),
        n_(size_t(g.count(cls, 3))),
        masked_faces_(n_ + 16),
        masked_(n_ + 16),
        kind_(n_ + 16) {
    const int taps = int(near_.offset.size()), face_taps = int(faces_.offset.size());
    context_.resize(size_t(taps + 1) * size_t(face_taps + 1));
    for (int count = 0; count <= taps; count++)
      for (int face_count = 0; face_count <= face_taps; face_count++)
        context_[size_t(count * (face_taps + 1) + face_count)] = u8(count == 0                    ? 0
                                                                    : count == taps               ? 5
                                                                    : face_count == 0             ? 1
                                                                    : face_count == face_taps     ? 4
                                                                    : 2 * face_count <= face_taps ? 2
                                                                                                  : 3);
  }
  // Counts of masked neighbours and the kind of the last of them, sixteen samples at a time; reads beyond the row (row_slack).
  void look_around(const u8* row) {
    typedef u8 Sixteen __attribute__((vector_size(16)));
    auto load = [](const u8* p) {
      Sixteen v;
      memcpy(&v, p, sizeof v);
      return v;
    };
    for (size_t x = 0; x < n_; x += 16) {
      Sixteen faces{}, all{}, kind{};
      for (std::ptrdiff_t o : faces_.offset) faces -= (Sixteen)(load(row + x + o) != 0);
      for (std::ptrdiff_t o : near_.offset) {
        const Sixteen v = load(row + x + o), masked = (Sixteen)(v != 0);
        all -= masked;
        kind = (kind & ~masked) | v;
      }
      memcpy(masked_faces_.data() + x, &faces, sizeof faces);
      memcpy(masked_.data() + x, &all, sizeof all);
      memcpy(kind_.data() + x, &kind, sizeof kind);
    }
  }
  u8 context(i64 x) const { return context_[masked_[size_t(x)] * (faces_.offset.size() + 1) + masked_faces_[size_t(x)]]; }
  u8 neighbour(i64 x) const { return kind_[size_t(x)]; }

 private:
  const LaidOut near_, faces_;
  size_t n_;
  Buffer<u8> masked_faces_, masked_, kind_;  // of the row
  Buffer<u8> context_;                       // by the two counts
};

// Codes the masks of a block; `specials` has the geometry's halo. Class 0 must be loaded; writing: all classes hold their special values.
template <class Coder>
void code_block_mask(Coder& coder, MaskModels& m, const BlockGeometry& g, const LevelMap& map, u8* specials) {
  for (int c = 0; c < g.classes.count; c++) {
    const int cls = g.classes.mask[c], odd = __builtin_popcount(unsigned(cls));
    MaskContexts around(g, cls);
    Index to = g.counts(cls);
    for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
      u8* row = specials + g.start(g.bytes, cls) + g.bytes.at(i, j, k);
      const i64 at[3] = {i, j, k};
      u64 index = map.item;
      for (size_t a = 0; a < 3; a++)
        index += u64((g.split_mask >> a & 1 ? 2 * at[a] + (cls >> a & 1) : at[a]) + g.box.low[a]) * u64(map.step[a]);
      around.look_around(row);
      for (i64 x = 0; x < to[3]; x++) {
        u64 x_index = u64((g.split_mask >> 3 & 1 ? 2 * x + (cls >> 3 & 1) : x) + g.box.low[3]) * u64(map.step[3]);
        row[x] = coder.code(m.masked[odd][around.context(x)], m, row[x], around.neighbour(x), index + x_index);
      }
    });
    fill_halo_of_bytes(g, cls, specials);
  }
}

}  // namespace stz
