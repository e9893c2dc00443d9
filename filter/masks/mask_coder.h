// Masks: the samples that are not numbers (NaN, infinities) or have the fill value. Coded with the adaptive binary coder, one stream per
// block.
//
// The masks of a block are coded as regions or as scattered samples (scattered_mask.h). In regions most samples equal all of their nearest
// neighbours among coarser samples and earlier parity classes; one bit per row says that this holds for all such samples. The context of
// the others is the number of these neighbours that are masked, and which samples before them in their class are. The kind of a masked
// sample is predicted from a masked neighbour. A literal is followed by its bits: a NaN with another payload, or an element that the
// transform cannot code. Encoder and decoder share one walk.
#pragma once
#include <algorithm>

#include "coding/binary_coder.h"
#include "format/frame.h"
#include "predict/block_codec.h"

namespace stz {

struct MaskModels {
  static constexpr u16 likely[6] = {1311, 13107, 26214, 39322, 52429, 64225};  // initial probabilities by context, in 1/65536
  BitModel coarsest[2], row[2][2], general[6], masked[6][27], same_special, kind[8];
  constexpr MaskModels() {
    for (size_t context = 0; context < 6; context++) {
      general[context].p = likely[context];
      general[context].seen = context % 5 ? 1 : 2;
    }
  }
};

// The bits of an element of kind special_literal, with its index in level 0 of the whole batch.
struct LiteralElement {
  u64 index;
  u64 bits;
};
inline void sort_literals(std::vector<LiteralElement>& literals) {
  std::sort(literals.begin(), literals.end(), [](const LiteralElement& a, const LiteralElement& b) { return a.index < b.index; });
}

// Encoder: functions return their arguments. `bits_of(index in level 0)` gives the bits of a sample.
template <class BitsOf>
struct MaskWriter {
  static constexpr bool writes = true;
  BinaryEncoder& out;
  BitsOf bits_of;
  int width;
  int bit(BitModel& m, int b) {
    out.bit(m, b);
    return b;
  }
  int uncertain_bit(BitModel& m, int b) { return bit(m, b); }
  u32 below(u32 v, u32 count) {
    out.below(v, count);
    return v;
  }
  void literal(u64 index) { out.raw(bits_of(index), width); }
  u8 checked(u8 kind) const { return kind; }
};

struct MaskReader {
  static constexpr bool writes = false;
  BinaryDecoder& in;
  std::vector<LiteralElement>& literals;
  int width;
  u32 possible;  // bit k: kind k may occur
  int bit(BitModel& m, int) { return in.bit(m); }
  int uncertain_bit(BitModel& m, int) { return in.uncertain_bit(m); }
  u32 below(u32, u32 count) { return in.below(count); }
  void literal(u64 index) { literals.push_back({index, in.raw(width)}); }
  u8 checked(u8 kind) const {
    require(possible >> kind & 1, STZ_ERROR_CORRUPT);
    return kind;
  }
};

// Codes the kind of a masked sample. `index()` is its index in level 0.
template <class Coder, class PlaceOf>
u8 code_kind(Coder& coder, MaskModels& m, u8 kind, u8 neighbour, PlaceOf index) {
  if (neighbour != special_none && coder.bit(m.same_special, kind == neighbour))
    kind = neighbour;
  else {
    int node = 1;
    for (int b = 2; b >= 0; b--) node = node * 2 + coder.bit(m.kind[node], kind >> b & 1);
    kind = coder.checked(u8(node - 8));
  }
  if (kind == special_literal) coder.literal(index());
  return kind;
}
template <class Coder, class PlaceOf>
u8 code_special(Coder& coder, BitModel& masked, MaskModels& m, u8 kind, u8 neighbour, PlaceOf index) {
  return coder.bit(masked, kind != special_none) ? code_kind(coder, m, kind, neighbour, index) : u8(special_none);
}

// Maps samples of a level to indices in level 0: item + sum of coordinate * step.
struct LevelMap {
  u64 item = 0;  // index of the item's first sample
  Index step;    // level-0 elements per step on the level
};
LevelMap level_map(const Hierarchy& h, size_t level, u64 item);
// The level-0 index of sample number `i` (C order) of a level.
u64 level_zero_index(const Level& level, const LevelMap& map, u64 i);

// The level-0 indices of the samples of a row of a class.
struct RowPlaces {
  u64 first, step;
  u64 operator()(i64 x) const { return first + u64(x) * step; }
};
inline RowPlaces row_places(const BlockGeometry& g, const LevelMap& map, int cls, const Index& at) {
  RowPlaces places{map.item, u64(map.step[3]) << (g.split_mask >> 3 & 1)};
  for (size_t a = 0; a < axes; a++)
    places.first += u64((g.split_mask >> a & 1 ? 2 * at[a] + (cls >> a & 1) : at[a]) + g.box.low[a]) * u64(map.step[a]);
  return places;
}

// The known neighbours of the samples of a row, sixteen samples at a time. All of them are decoded before the row.
class MaskContexts {
 public:
  static constexpr i64 piece = 16;

  MaskContexts(const BlockGeometry& g, int cls)
      : near_(lay_out_nearest(g, g.bytes, cls, false)),
        faces_(lay_out_nearest(g, g.bytes, cls, true)),
        n_(g.count(cls, 3)),
        taps_(u8(near_.offset.size())),
        face_taps_(u8(faces_.offset.size())),
        masked_(size_t(n_ + piece)),
        masked_faces_(size_t(n_ + piece)),
        kind_(size_t(n_ + piece)),
        open_(size_t(n_ + piece)),
        open_piece_(size_t(n_ / piece + 1)) {
    const int taps = taps_, face_taps = face_taps_;
    of_counts_.resize(size_t(taps + 1) * size_t(face_taps + 1));
    for (int count = 0; count <= taps; count++)
      for (int face_count = 0; face_count <= face_taps; face_count++)
        of_counts_[size_t(count * (face_taps + 1) + face_count)] = u8(count == 0                    ? 0
                                                                      : count == taps               ? 5
                                                                      : face_count == 0             ? 1
                                                                      : face_count == face_taps     ? 4
                                                                      : 2 * face_count <= face_taps ? 2
                                                                                                    : 3);
  }
  // Collects the neighbours of a row. Reads beyond its end (row_slack).
  void look_around(const u8* row) {
    any_settled_ = any_open_ = false;
    for (i64 x = 0; x < n_; x += piece) {
      const Sixteen first = load(row + x + near_.offset[0]);
      Sixteen other{};
      for (std::ptrdiff_t o : near_.offset) other |= load(row + x + o) ^ first;
      if (is_zero(other | (Sixteen)(first == u8(special_literal)))) {
        const Sixteen masked = (Sixteen)(first != 0);
        put(masked_, x, masked & taps_);
        put(masked_faces_, x, masked & face_taps_);
        put(kind_, x, first);
        put(open_, x, Sixteen{});
        any_settled_ = true;
        open_piece_[size_t(x / piece)] = false;
      } else
        count_around(row, x);
    }
  }
  // Whether the row has settled samples: all nearest neighbours are masked (and the last is not a literal), or none is. Others are open.
  bool any_settled() const { return any_settled_; }
  bool any_open() const { return any_open_; }
  bool open(i64 x) const { return open_[size_t(x)]; }
  bool open_piece(i64 x) const { return open_piece_[size_t(x / piece)]; }  // for the piece that begins at x
  u8 context(i64 x) const { return of_counts_[masked_[size_t(x)] * (face_taps_ + size_t(1)) + masked_faces_[size_t(x)]]; }
  u8 neighbour(i64 x) const { return kind_[size_t(x)]; }  // kind of the last masked neighbour; the expected kind of a settled sample
  const u8* neighbours() const { return kind_.data(); }

 private:
  typedef u8 Sixteen __attribute__((vector_size(16)));
  static Sixteen load(const u8* p) {
    Sixteen v;
    memcpy(&v, p, sizeof v);
    return v;
  }
  static void put(Buffer<u8>& to, i64 x, Sixteen v) { memcpy(to.data() + x, &v, sizeof v); }
  static bool is_zero(Sixteen v) {
    u64 halves[2];
    memcpy(halves, &v, sizeof v);
    return !(halves[0] | halves[1]);
  }
  void count_around(const u8* row, i64 x) {
    Sixteen faces{}, all{}, kind{};
    for (std::ptrdiff_t o : faces_.offset) faces -= (Sixteen)(load(row + x + o) != 0);
    for (std::ptrdiff_t o : near_.offset) {
      const Sixteen v = load(row + x + o), masked = (Sixteen)(v != 0);
      all -= masked;
      kind = (kind & ~masked) | v;
    }
    put(masked_faces_, x, faces);
    put(masked_, x, all);
    put(kind_, x, kind);
    const Sixteen settled = (Sixteen)(all == 0) | (Sixteen)((all == taps_) & (kind != u8(special_literal)));
    const Sixteen number = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const Sixteen of_row = (Sixteen)(number < u8(std::min(piece, n_ - x)));
    put(open_, x, ~settled);
    const bool any_open = !is_zero(~settled & of_row);
    any_settled_ |= !is_zero(settled & of_row);
    any_open_ |= any_open;
    open_piece_[size_t(x / piece)] = any_open;
  }

  const LaidOut near_, faces_;
  const i64 n_;
  const u8 taps_, face_taps_;
  Buffer<u8> masked_, masked_faces_, kind_, open_;  // per sample: counts of masked neighbours, kind of the last one, whether it is open
  Buffer<u8> open_piece_;
  Buffer<u8> of_counts_;  // context of each pair of counts
  bool any_settled_ = false, any_open_ = false;
};

// The samples of the class before a sample: in its row, and in the rows before it along two axes.
struct RowsBefore {
  const u8* row[2] = {};
  RowsBefore(const ClassArrays& arrays, const u8* row_here, const Index& at) {
    int found = 0;
    for (size_t a = 3; a-- > 0 && found < 2;)
      if (at[a]) row[found++] = row_here - arrays.stride[a];
  }
  static int relation(const u8* kind) { return !kind ? 0 : *kind ? 2 : 1; }
  int context(const u8* row_here, i64 x) const {
    return 9 * relation(x ? row_here + x - 1 : nullptr) + 3 * relation(row[0] ? row[0] + x : nullptr) +
           relation(row[1] ? row[1] + x : nullptr);
  }
};

// Codes the masks of a block as regions. `specials` has the geometry's layout with halo. Class 0 must be loaded; for encoding, all classes
// must be. `with_rows`: a bit per row says whether its settled samples are as expected; otherwise every sample is coded.
template <class Coder>
void code_mask_regions(Coder& coder, MaskModels& m, const BlockGeometry& g, const LevelMap& map, u8* specials, bool with_rows) {
  for (int c = 0; c < g.classes.count; c++) {
    const int cls = g.classes.mask[c];
    const Index to = g.counts(cls);
    const i64 n = to[3];
    MaskContexts around(g, cls);
    int exceptions_before = 0;
    for_rows(Index{}, {to[0], to[1], to[2], 1}, [&](i64 i, i64 j, i64 k) {
      const Index at{i, j, k, 0};
      u8* row = specials + g.start(g.bytes, cls) + g.bytes.at(i, j, k);
      around.look_around(row);
      bool settle = with_rows && around.any_settled();
      if (settle) {
        int exceptions = 0;
        if constexpr (Coder::writes)
          for (i64 x = 0; x < n; x++) exceptions |= int(!around.open(x)) & int(row[x] != around.neighbour(x));
        exceptions_before = coder.bit(m.row[around.any_open()][exceptions_before], exceptions);
        settle = !exceptions_before;
      }
      if (settle && !Coder::writes) memcpy(row, around.neighbours(), size_t(n));
      if (settle && !around.any_open()) return;
      const RowsBefore before(g.bytes, row, at);
      const RowPlaces places = row_places(g, map, cls, at);
      for (i64 x = 0; x < n; x++) {
        if (settle) {
          if (x % MaskContexts::piece == 0 && !around.open_piece(x)) {
            x += MaskContexts::piece - 1;
            continue;
          }
          if (!around.open(x)) continue;
        }
        const u8 context = around.context(x);
        BitModel &general = m.general[context], &masked = m.masked[context][before.context(row, x)];
        masked.begin_as(general);
        row[x] = code_special(coder, masked, m, row[x], around.neighbour(x), [&] { return places(x); });
        general.learn(row[x] != special_none);
      }
    });
    fill_halo_of_bytes(g, cls, specials);
  }
}

}  // namespace stz
