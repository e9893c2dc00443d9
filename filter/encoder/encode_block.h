// Predicts, quantises and reconstructs the parity classes of one block or of a box to learn from (encoder only).
#pragma once
#include "base/function_ref.h"
#include "encoder/level_source.h"

namespace stz {

// A box ready to be coded: class 0, its activities and all masks are loaded, and `with_samples` the original samples of the classes.
template <class S>
void prepare_box(const LevelSource<S>& source, const LevelState<S>& state, size_t l, u64 item, const Box& box, StencilId reach,
                 BlockWork<S>& work, bool with_samples = true);
// A class of a prepared box, its codes as bytes or as numbers.
template <class S>
void code_class(const LevelSource<S>& source, size_t l, int cls, const ClassParameters& p, bool as_bytes, BlockWork<S>& work);
// All classes of a box prepared without samples, and their activities. `done`, unless it is null: takes the planes of the block in raster
// order, each when it is reconstructed.
using PlanesDone = FunctionRef<void(const Planes&)>;
template <class S>
void code_block(const LevelSource<S>& source, size_t l, u64 item, const ClassParameters* p, BlockWork<S>& work, const PlanesDone* done);

}  // namespace stz
