// What a process remembers of the chunks that it decoded, to recognise them when HDF5 passes them again, changed in part.
//
// HDF5 decodes a chunk, changes a part and passes all of it to be encoded. The samples that were not changed used their bound when they
// were compressed first, and must not be quantised once more. HDF5 does not tell the filter which chunk it passes. So this memory keeps
// hashes of samples of each decoded chunk (probes.h), and its stream as long as there is room: the variable H5STZ_REWRITE_MEMORY is the
// number of MiB for streams (default: 128; 0: none). Content shows of which chunks a chunk may be a changed version. If it shows little,
// addresses and order are hints. stz_rewrite_any decodes and compares these candidates, so that a wrong one does no harm.
//
// The memory belongs to the process: threads, copies of HDF5 and copies of the plug-in share it. It never changes what a read returns.
#pragma once
#include <vector>

#include "base/buffer.h"
#include "recognition/prior.h"
#include "stz.h"

namespace stz::recognition {

// False in a build that shows what remembering costs (benchmarks/remembering.py). In that build, rewriting breaks the bound.
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
  const void* dataset;  // a hint: where HDF5 has the client data, the same for encoding and decoding, another for each open dataset
};

// A hash of the options that decide as which values samples are stored.
u64 settings_of(const stz_options& options) noexcept;

// Settings for chunks that hold their samples exactly but have lost something before. These samples may be quantised, so no chunk is taken
// for a changed version of such a chunk.
inline u64 history_only(u64 settings) noexcept { return ~settings; }

// Remembers what was decoded from a stream, with what its samples have lost. Throws std::bad_alloc.
void remember(const Chunk& chunk, const Prior& prior, const void* stream, size_t size);

struct Recognised {
  std::vector<Buffer<u8>> streams;  // of chunks of which it may be a changed version
  bool exact = false;               // it may be a changed version of a forgotten one: no sample may be quantised
  Prior prior = {};                 // what chunks with other settings have lost of which it has samples
  Prior own = {};                   // what chunks have lost of which it may be a changed version: counts if it is stored exactly
};

// Of which decoded chunks a chunk that is to be encoded may be a changed version. If there is no memory to find out, the result is `exact`.
Recognised recognise(const Chunk& chunk) noexcept;

// Forgets everything, and reads H5STZ_REWRITE_MEMORY anew.
void forget() noexcept;

}  // namespace stz::recognition
