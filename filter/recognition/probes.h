// Probes are the samples by which a chunk is recognised when HDF5 passes it again: single samples, and runs of neighbours. Their places
// depend on type and shape alone.
#pragma once
#include <vector>

#include "base/common.h"
#include "stz.h"

namespace stz::recognition {

struct Probes {
  u64 layout = 0;           // a hash of type, byte order and shape
  size_t singles = 0;       // number of hashes of single samples; hashes of runs follow
  size_t stride = 1;        // hash i has place i * stride; more than 1 if only some were kept
  std::vector<u32> hashes;  // in the order of their places; 0: says nothing

  // Sets the hashes of frequent values to 0, as these values do not tell chunks apart. Returns the number of other hashes.
  size_t leave_out_frequent() noexcept;
};

// Hash of type, byte order and shape.
u64 layout_hash(const stz_layout& layout) noexcept;

// The probes of the chunk at `samples`, whose layout is valid. Throws std::bad_alloc.
Probes take_probes(const stz_layout& layout, const void* samples);

}  // namespace stz::recognition
