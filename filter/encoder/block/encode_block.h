// Predicts, quantises and reconstructs the parity classes of one block or of a box to learn from (encoder only).
#pragma once
#include "base/function_ref.h"
#include "encoder/block/level_source.h"
#include "predict/block_rows.h"

namespace stz {

// The input of coding boxes of a level: the coarser level's reconstruction and activities, as far as the halo reaches, and the samples.
template <class S>
struct BoxSource {
  GridPart<const S> coarse;
  GridPart<const u8> coarse_activities;
  GridPart<const S> samples;
};
// All of an item.
template <class S>
BoxSource<S> whole_item(const LevelSource<S>& source, const LevelState<S>& coarser, size_t l, u64 item) {
  const Level& level = source.level(l + 1);
  const u64 first = item * level.samples();
  return {whole_grid(coarser.grid.data() + first, level), whole_grid(coarser.activities.data() + first, level), source.samples(l, item)};
}

// A box ready to be coded: class 0, its activities and all masks are loaded, and `with_samples` the original samples of the classes.
template <class S>
void prepare_box(const LevelSource<S>& source, const BoxSource<S>& from, size_t l, u64 item, const Box& box, StencilId reach,
                 BlockWork<S>& work, bool with_samples = true);
// A class of a prepared box, its codes as bytes or as numbers.
template <class S>
void code_class(const LevelSource<S>& source, size_t l, int cls, const ClassParameters& p, bool as_bytes, BlockWork<S>& work);
// Leaves out of the codes of a class, which are complete, what refinements have (split_codes.h). Before its activities are made.
template <class S>
void leave_out_bits(const ClassParameters& p, int cls, BlockWork<S>& work);
// All classes of a box prepared without samples, their codes as the section of the level has them, and their activities. `done`, unless it
// is null: takes the planes of the block in raster order, each when it is reconstructed.
using PlanesDone = FunctionRef<void(const Planes&)>;
template <class S>
void code_block(const LevelSource<S>& source, const GridPart<const S>& samples, size_t l, const ClassParameters* p, BlockWork<S>& work,
                const PlanesDone* done);

}  // namespace stz
