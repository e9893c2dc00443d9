// Samples at fixed positions of a chunk, by which it is recognised later. The positions depend on type and shape alone; every plane of
// every axis has some where there are no more planes than probes.
#pragma once
#include "base/common.h"
#include "stz.h"

namespace stz::hdf5 {

constexpr size_t most_probes = 257;
constexpr size_t most_kept_probes = 16;
// Chunks with fewer distinctive probes are told apart by many more of their bytes.
constexpr size_t enough_distinctive = 4;

// A probe is distinctive if no other probe of the chunk has its value and this is not 0 or NaN.
struct KeptProbes {
  u8 count = 0;
  u8 position[most_kept_probes];  // number of the probe
  u32 hash[most_kept_probes];     // of its value
};

struct Probes {
  u64 layout;  // a hash of type, byte order and shape
  size_t count;
  u64 values[most_probes];
  u32 hashes[most_probes];      // of the values
  bool is_number[most_probes];  // neither 0 nor NaN
  KeptProbes kept;              // up to 16 of the distinctive ones, spread over the chunk
  u64 usual_word;               // the most frequent value as bytes of the chunk, repeated
  u32 most_frequent;            // hash of the value that most probes have

  bool is_distinct() const { return kept.count >= enough_distinctive; }
  // A hash of all values; for a chunk that is not distinct, of the bytes at `samples`.
  u64 fingerprint(const void* samples, size_t bytes) const noexcept;
  size_t how_many_have(u32 hash) const noexcept;
};

// The probes of the chunk at `samples`, whose element type is valid.
void take_probes(const stz_layout& layout, const void* samples, Probes& probes) noexcept;

}  // namespace stz::hdf5
