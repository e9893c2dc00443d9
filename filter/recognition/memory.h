// The memory of a process of the chunks that were decoded, and the question of which of them a chunk is a change.
//
// HDF5 decodes a chunk, changes a part and passes all of it to be encoded: what was not changed has used its bound when it was compressed
// first, and must not be quantised once more. Nobody tells the filter which chunk it gets. So samples of what was decoded are remembered
// at certain places (probes.h), with the stream as long as there is room: the variable H5STZ_REWRITE_MEMORY is the number of MiB for
// streams (default: 128; 0: none). Content tells which chunks a chunk may be a change of; where it says little, addresses and order are
// hints. What is named here is decoded and compared by stz_rewrite_any, so that a wrong candidate does no harm.
//
// The memory belongs to the process: threads, copies of HDF5 and copies of the plug-in share it. Nothing in it changes what a read returns.
#pragma once
#include <vector>

#include "base/buffer.h"
#include "stz.h"

namespace stz::recognition {

// False in a build that shows what remembering costs (benchmarks/remembering.py), and in which rewriting breaks the bound.
#ifdef STZ_REMEMBER_NOTHING
constexpr bool remembers = false;
#else
constexpr bool remembers = true;
#endif

// A chunk of samples.
struct Chunk {
  const stz_layout& layout;
  u64 settings;  // settings_of() the dataset
  const void* samples;
  const void* dataset;  // where HDF5 has the client data: one place for each open dataset, in both directions. A hint
};

// A hash of the options by which equal samples would be stored as other values.
u64 settings_of(const stz_options& options) noexcept;

// Remembers what was decoded from a stream. prior_bound: of the samples, absolute; 0 if not known. Throws std::bad_alloc.
void remember(const Chunk& chunk, double prior_bound, const void* stream, size_t size);

struct Recognised {
  std::vector<Buffer<u8>> streams;  // of which the chunk may be a change
  bool exact = false;               // it may be a change of what was forgotten: no sample may be quantised
  double prior_bound = 0;           // that the samples had when they were decoded; 0: not known
};

// What a chunk that is to be encoded may be. Where there is no memory to find out, it is `exact`.
Recognised recognise(const Chunk& chunk) noexcept;

// Forgets everything, and reads H5STZ_REWRITE_MEMORY anew.
void forget() noexcept;

}  // namespace stz::recognition
