// Recognises chunks that HDF5 decoded, changed in part and passes to the filter again. Their other samples have used their bound when they
// were compressed first, and must not be quantised once more.
//
// HDF5 passes the very buffer that it got when it evicts a chunk from its cache, and a copy of it when it flushes one that stays there; a
// program that copies datasets passes the same samples at any address. So a decoded chunk is remembered by the address of its buffer, as
// long as that may exist, by samples at fixed positions (probes.h), and with its stream as long as there is room: the variable
// H5STZ_REWRITE_MEMORY is the number of MiB for streams (default: 128; 0: none). Up to a million chunks are remembered, in some 160 bytes
// each. Where the stream was forgotten a rewritten chunk is stored exactly.
//
// The memory belongs to the process: threads and copies of HDF5 share it. Nothing in it changes what a read returns.
#pragma once
#include "base/buffer.h"
#include "hdf5/chunk_buffer.h"
#include "stz.h"

namespace stz::hdf5 {

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
  size_t bytes;
  const void* dataset;  // where HDF5 has the client data: one place for each open dataset, in both directions
};

// A hash of the options that decide what is stored.
u64 settings_of(const stz_options& options) noexcept;

// Memory that may hold something else than decoded samples from now on.
struct Memory {
  const void* begin;
  size_t bytes;
};

// Remembers what was decoded from a stream. prior_bound: of the samples, absolute; 0 if not known. Throws std::bad_alloc.
void remember_decoded(const Library& library, const Chunk& chunk, double prior_bound, const void* stream, size_t size);

// Nothing is remembered of what is there, but the memory is used anew.
void reuse(const Memory& input, const Memory& output) noexcept;

enum class Storage {
  bounded,  // new samples: the dataset's options apply
  rewrite,  // a change of `previous`
  exact     // a change of what was forgotten
};
struct Recognised {
  Storage storage = Storage::bounded;
  Buffer<u8> previous;
  double prior_bound = 0;  // of new samples that were decoded from a stream of other settings
};

// How to store a chunk. Throws std::bad_alloc.
Recognised recognise(const Library& library, const Chunk& chunk);

// Forgets everything, and reads H5STZ_REWRITE_MEMORY anew.
void forget_decoded() noexcept;

}  // namespace stz::hdf5
