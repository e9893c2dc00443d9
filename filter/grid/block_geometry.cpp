#include "grid/block_geometry.h"

namespace stz {
namespace {

// Lays out rows whose length is a multiple of `unit`, with index 0 of each row at such a multiple: the lower halo of a row is at the end of
// the row before it.
void set_layout(ClassArrays& a, const Index& even, i64 unit) {
  Index extent;
  for (size_t k = 0; k < axes; k++) extent[k] = a.below[k] + even[k] + a.above[k];
  extent[3] = (extent[3] + unit - 1) / unit * unit;
  a.stride = {extent[1] * extent[2] * extent[3], extent[2] * extent[3], extent[3], 1};
  a.origin = a.below[0] * a.stride[0] + a.below[1] * a.stride[1] + a.below[2] * a.stride[2] + (a.below[3] + unit - 1) / unit * unit;
  a.size = (extent[0] * a.stride[0] + unit + row_slack + 15) / 16 * 16;
  a.origin += unit;  // rows may be read from before their start
}

// Offsets from a sample of class `cls` to its neighbours at the distances of taps.
class TapOffsets {
 public:
  TapOffsets(const BlockGeometry& g, const ClassArrays& arrays, int cls) : g_(g), arrays_(arrays), cls_(cls) {}
  void add(const std::vector<Tap>& taps, std::vector<std::ptrdiff_t>& out) const {
    for (const Tap& tap : taps) {
      int flipped = 0;
      i64 offset = 0;
      for (size_t a = 0; a < axes; a++) {
        const int d = tap[a];
        flipped |= (d & 1) << a;
        offset += ((d + (d & 1)) >> 1) * arrays_.stride[a];  // odd sample 2 j + 1 to even sample 2 (j + (d + 1) / 2)
      }
      out.push_back(std::ptrdiff_t(offset + i64(g_.slot[cls_ ^ flipped] - g_.slot[cls_]) * arrays_.size));
    }
  }

 private:
  const BlockGeometry& g_;
  const ClassArrays& arrays_;
  const int cls_;
};

}  // namespace

BlockGeometry block_geometry(const Level& level, const Box& box, StencilId reach) {
  BlockGeometry g;
  g.box = box;
  g.split_mask = level.split_mask();
  g.active_mask = 0;
  g.classes = parity_classes_of(g.split_mask);
  for (int a = 0; a < axes; a++) {
    bool split = level.split[a];
    if (level.n[a] > 1) g.active_mask |= 1 << a;
    g.even[a] = split ? (box.size[a] + 1) / 2 : box.size[a];
    g.odd[a] = split ? box.size[a] / 2 : 0;
    g.ghost_plane[a] = split && box.low[a] + box.size[a] < level.n[a];
    const bool halo = level.n[a] > 1;
    g.values.below[a] = halo ? reach_below(reach) : 0;
    g.values.above[a] = halo ? reach_above(reach) : 0;
    g.bytes.below[a] = halo ? context_reach_below : 0;
    g.bytes.above[a] = halo ? context_reach_above : 0;
  }
  set_layout(g.values, g.even, 16);
  set_layout(g.bytes, g.even, 1);
  for (int& s : g.slot) s = 0;
  for (int c = 0; c < g.classes.count; c++) g.slot[g.classes.mask[c]] = c + 1;
  return g;
}

LaidOut lay_out(const BlockGeometry& g, const ClassArrays& arrays, int cls, const Stencil& stencil) {
  LaidOut out;
  out.groups = int(stencil.groups.size());
  out.odd = stencil.odd;
  const TapOffsets offsets(g, arrays, cls);
  size_t taps = 0;
  for (const Group& group : stencil.groups) taps += group.taps.size();
  out.offset.reserve(taps);
  out.taps.reserve(stencil.groups.size());
  for (const Group& group : stencil.groups) {
    out.taps.push_back(int(group.taps.size()));
    offsets.add(group.taps, out.offset);
  }
  return out;
}

LaidOut lay_out_nearest(const BlockGeometry& g, const ClassArrays& arrays, int cls, bool faces_only) {
  const Stencil& stencil = stencil_of(stencil_standard, cls, g.active_mask);
  const TapOffsets offsets(g, arrays, cls);
  LaidOut out;
  out.groups = 1;
  out.odd = stencil.odd;
  for (size_t k = 0; k < stencil.groups.size(); k++) {
    bool face = k < size_t(stencil.odd), farther = !face && k < size_t(3 * stencil.odd);
    if (face || (!farther && !faces_only)) offsets.add(stencil.groups[k].taps, out.offset);
  }
  out.taps.push_back(int(out.offset.size()));
  return out;
}

}  // namespace stz
