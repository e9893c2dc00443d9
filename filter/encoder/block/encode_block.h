// Predicts, quantizes and reconstructs the parity classes of a block, or of a box that is coded to fit parameters. Encoder only.
#pragma once
#include "base/function_ref.h"
#include "encoder/block/level_source.h"
#include "predict/block_rows.h"

namespace stz {

// What boxes of a level are coded from: the samples, and the coarser level's reconstruction and activities as far as the halo reaches.
template <class S>
struct BoxSource {
  GridPart<const S> coarse;
  GridPart<const u8> coarse_activities;
  GridPart<const S> samples;
};
// The source for all boxes of an item.
template <class S>
BoxSource<S> whole_item(const LevelSource<S>& source, const LevelState<S>& coarser, size_t l, u64 item) {
  const Level& level = source.level(l + 1);
  const u64 first = item * level.samples();
  return {whole_grid(coarser.grid.data() + first, level), whole_grid(coarser.activities.data() + first, level), source.samples(l, item)};
}

// Prepares a box for coding: loads class 0, its activities and all masks. With `with_samples`, also loads the original samples of the
// classes.
template <class S>
void prepare_box(const LevelSource<S>& source, const BoxSource<S>& from, size_t l, u64 item, const Box& box, StencilId reach,
                 BlockWork<S>& work, bool with_samples = true);
// Codes one class of a prepared box. `as_bytes`: its codes are kept as bytes, else as numbers.
template <class S>
void code_class(const LevelSource<S>& source, size_t l, int cls, const ClassParameters& p, bool as_bytes, BlockWork<S>& work);
// Removes the bits that refinements add (split_codes.h) from the complete codes of a class. Must run before the activities are computed.
template <class S>
void leave_out_bits(const ClassParameters& p, int cls, BlockWork<S>& work);
// Codes all classes of a box that was prepared without samples. Leaves the codes as the level's section has them, and computes their
// activities. `done` (may be null) is called with planes of the block in raster order, each as soon as it is reconstructed, or once with
// all of them.
using PlanesDone = FunctionRef<void(const Planes&)>;
template <class S>
void code_block(const LevelSource<S>& source, const GridPart<const S>& samples, size_t l, const ClassParameters* p, BlockWork<S>& work,
                const PlanesDone* done);

}  // namespace stz
