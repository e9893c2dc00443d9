// Watches what the writes of programs do to datasets that are compressed by rules of H5STZ_COMPRESS (program_creations.h).
//
// Where a program writes a part of a chunk that is stored already, HDF5 decodes the chunk and codes it again, and its other samples move
// once more: no longer within the bound of what the program wrote. The chunk cache prevents that while the dataset is open and a chunk is
// incomplete; what it could not prevent is counted here, so that `h5stz run` can say it. The write itself is HDF5's.
#pragma once
#include <cstdint>

#include "intercept/create_calls.h"

namespace stz::intercept {

// One write of this thread, from its making on.
class WatchedWrite {
 public:
  WatchedWrite() noexcept;
  // Has a chunk been decoded since that will be coded with a loss again? False where there are no rules.
  bool rewrote() const noexcept;

 private:
  bool watched_;
  u64 before_;
};

// Counts a write that did, into `dataset`, by the HDF5 of `region`, which may be null.
void count_rewrite(const hdf5::Calls* region, hid_t dataset) noexcept;

}  // namespace stz::intercept
