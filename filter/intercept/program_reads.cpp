#include "intercept/program_reads.h"

#include <atomic>
#include <cstdio>
#include <exception>
#include <memory>

#include "base/made_once.h"
#include "intercept/run_stats.h"
#include "region/read.h"

namespace stz::intercept {
namespace {

using hdf5::Calls;
using hdf5::herr_t;
using hdf5::hid_t;
using hdf5::hsize_t;
using hdf5::ScopedId;

struct Totals {
  std::atomic<u64> reads{0}, reads_through_hdf5{0}, chunks_direct{0}, bytes_used{0}, blocks_decoded{0}, blocks_present{0};
};
Totals totals;

// Never destroyed: threads of the program may read until the process ends.
region::KeptReaders& kept_readers() {
  static std::atomic<region::KeptReaders*> readers;
  return made_once(readers, [] { return std::make_unique<region::KeptReaders>(); });
}

// Datasets without gain, by key. A dataset whose slot is taken over by another one is just examined again.
constexpr size_t dataset_slots = 1024;
std::atomic<DatasetKey> plain_datasets[dataset_slots];

std::atomic<DatasetKey>& slot_of(DatasetKey key) { return plain_datasets[key % dataset_slots]; }

// Whether direct reads are a gain: the dataset's chunks are compressed and exceed the chunk cache, so that HDF5 decodes them at every read;
// or an error is accepted (H5STZ_MAX_ERROR), which HDF5 itself cannot use.
bool gains(const Calls& calls, hid_t dataset) {
  const hdf5::Library& library = *calls.library;
  if (!calls.H5Dget_access_plist || !calls.H5Pget_chunk_cache) return false;
  const ScopedId creation(calls.H5Pclose, calls.H5Dget_create_plist(dataset));
  if (!creation.valid() || library.H5Pget_layout(creation.get()) != hdf5::layout_chunked) return false;
  if (library.H5Pget_nfilters(creation.get()) < 1) return false;
  const ScopedId access(calls.H5Pclose, calls.H5Dget_access_plist(dataset));
  const hdf5::TypeId type(library, calls.H5Dget_type(dataset));
  size_t slots, cache;
  double preemption;
  hsize_t chunk[STZ_MAX_RANK];
  if (!access.valid() || !type.valid() || calls.H5Pget_chunk_cache(access.get(), &slots, &cache, &preemption) < 0) return false;
  const int rank = library.H5Pget_chunk(creation.get(), STZ_MAX_RANK, chunk);
  if (rank < 1 || rank > STZ_MAX_RANK) return false;
  hsize_t bytes = library.H5Tget_size(type.get());
  for (int axis = 0; axis < rank; ++axis)
    if (__builtin_mul_overflow(bytes, chunk[axis], &bytes)) return false;
  return bytes > cache || stz_environment_max_error() > 0;
}

void count(const stz_h5_stats& stats) {
  totals.chunks_direct += stats.chunks_direct;
  totals.bytes_used += stats.bytes_used;
  totals.blocks_decoded += stats.blocks_decoded;
  totals.blocks_present += stats.blocks_present;
}

__attribute__((destructor)) void write_totals() {
  if (totals.reads == 0 || !stats_are_wanted()) return;
  char line[320];
  const int length = snprintf(line, sizeof line,
                              "{\"reads\": %llu, \"reads_through_hdf5\": %llu, \"chunks_direct\": %llu, \"bytes_used\": %llu, "
                              "\"blocks_decoded\": %llu, \"blocks_present\": %llu}\n",
                              static_cast<hsize_t>(totals.reads), static_cast<hsize_t>(totals.reads_through_hdf5),
                              static_cast<hsize_t>(totals.chunks_direct), static_cast<hsize_t>(totals.bytes_used),
                              static_cast<hsize_t>(totals.blocks_decoded), static_cast<hsize_t>(totals.blocks_present));
  append_stats(line, static_cast<size_t>(length));
}

}  // namespace

DatasetKey key_of(const void* library, u64 dataset) noexcept {
  u64 key = reinterpret_cast<uintptr_t>(library) + dataset * 0x9e3779b97f4a7c15u;
  key = (key ^ key >> 32) * 0xd6e8feb86659fd93u;
  return (key ^ key >> 32) | 1;  // never 0, which marks an empty slot
}

bool worth_reading_directly(DatasetKey key, hid_t file_space) noexcept {
  return (file_space != hdf5::space_all || stz_environment_max_error() > 0) && slot_of(key).load(std::memory_order_relaxed) != key;
}

void invalidate(DatasetKey key) noexcept { slot_of(key).compare_exchange_strong(key, 0, std::memory_order_relaxed); }

bool read_needed_blocks(const Calls& calls, DatasetKey key, const ReadArguments& arguments) noexcept {
  if (!calls.complete) return false;
  stz_h5_stats stats{};
  bool done = false;
  try {
    const hdf5::SuppressErrors suppressed(calls);  // H5Dread will report errors
    if (!gains(calls, arguments.dataset)) {
      slot_of(key).store(key, std::memory_order_relaxed);
      return false;
    }
    Message unused;
    const region::Request request{arguments.dataset,  arguments.memory_type, arguments.memory_space, arguments.file_space,
                                  arguments.transfer, arguments.buffer,      &kept_readers()};
    done = region::read_directly(calls, request, stats, unused) == region::Outcome::done;
  } catch (const std::exception&) {  // out of memory
  }
  calls.H5Eclear2(hdf5::default_error_stack);  // drops errors of our own queries
  count(stats);
  return done;
}

void count_read(bool through_hdf5) noexcept {
  totals.reads += 1;
  totals.reads_through_hdf5 += through_hdf5;
}

void count_chunks(u64 chunks, u64 stored_bytes) noexcept {
  totals.chunks_direct += chunks;
  totals.bytes_used += stored_bytes;
}

}  // namespace stz::intercept
