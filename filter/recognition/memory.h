// The memory of the chunks that a process decoded. It recognises them when HDF5 passes them again, changed in part.
//
// HDF5 decodes a chunk, changes a part and passes the whole chunk to be encoded. The unchanged samples used their bound at their first
// compression, and must not be quantized again. HDF5 does not tell the filter which chunk it passes. So this memory keeps hashes of samples
// of each decoded chunk (probes.h), and its stream as long as there is room: the variable H5STZ_REWRITE_MEMORY is the number of MiB for
// streams (default: 128; 0: none). The contents of a chunk tell its possible previous versions. If they tell little, addresses and order
// give hints. stz_rewrite_any decodes and compares these candidates, so that a wrong one does no harm.
//
// The memory belongs to the process: threads, copies of HDF5 and copies of the plug-in share it. It never changes what a read returns.
#pragma once
#include <vector>

#include "base/buffer.h"
#include "recognition/prior.h"
#include "stz.h"

namespace stz::recognition {

// False in a build that measures the cost of remembering (benchmarks/remembering.py). In that build, rewriting breaks the bound.
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
  const void* dataset;  // a hint: HDF5's address of the client data, equal for encoding and decoding, different for each open dataset
};

// A hash of the options that decide the decoded values.
u64 settings_of(const stz_options& options) noexcept;

// Settings for chunks that are stored exactly but lost precision before. Their samples may be quantized, so such a chunk is never taken for
// a previous version.
inline u64 history_only(u64 settings) noexcept { return ~settings; }

// Remembers a chunk that was decoded from a stream, and the loss of its samples. Throws std::bad_alloc.
void remember(const Chunk& chunk, const Prior& prior, const void* stream, size_t size);

struct Recognised {
  std::vector<Buffer<u8>> streams;  // streams of its possible previous versions
  bool exact = false;               // its previous version may be forgotten: no sample may be quantized
  Prior prior = {};                 // the loss of chunks with other settings whose samples it has
  Prior own = {};                   // the loss of its possible previous versions; it counts if the chunk is stored exactly
};

// Finds the possible previous versions of a chunk that is to be encoded. If it runs out of memory, the result is `exact`, the safe answer.
Recognised recognise(const Chunk& chunk) noexcept;

// Forgets everything, and reads H5STZ_REWRITE_MEMORY anew.
void forget() noexcept;

}  // namespace stz::recognition
