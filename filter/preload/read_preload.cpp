// A library to preload (LD_PRELOAD) into programs that read HDF5: their calls of H5Dread decode only the blocks that they need.
//
// It takes the place of H5Dread in every object of the process and reads with the HDF5 that the caller would have called. A chunk that
// fits into HDF5's chunk cache is left to HDF5, which decodes it once; so is everything that stz_h5_read leaves to it. State: the blocks
// decoded last (kept_readers.h), and counters of what was read, which the end of the process writes to the file named by H5STZ_RUN_STATS,
// if it is set.
#include <atomic>
#include <cstdio>

#include "region/read.h"
#include "run_stats.h"

namespace stz::region {
namespace {

struct Totals {
  std::atomic<uint64_t> reads{0}, reads_through_hdf5{0}, chunks_direct{0}, bytes_used{0}, blocks_decoded{0}, blocks_present{0};
};
Totals totals;

// Never destroyed: threads of the program may read until the process is gone.
KeptReaders& kept_readers() {
  static KeptReaders* const readers = new KeptReaders;
  return *readers;
}

// Are the dataset's chunks larger than the chunk cache, so that HDF5 would decode them at every read?
bool outgrows_cache(const Calls& calls, Id dataset) {
  const Library& library = *calls.library;
  const Quiet quiet(calls);  // H5Dread will say what is wrong
  using GetAccess = Id (*)(Id);
  using GetCache = Status (*)(Id, size_t*, size_t*, double*);
  const auto get_access = reinterpret_cast<GetAccess>(hdf5::library_function(library, "H5Dget_access_plist"));
  const auto get_cache = reinterpret_cast<GetCache>(hdf5::library_function(library, "H5Pget_chunk_cache"));
  if (!get_access || !get_cache) return false;
  const Owned access(calls.H5Pclose, get_access(dataset)), creation(calls.H5Pclose, calls.H5Dget_create_plist(dataset));
  const hdf5::TypeId type(library, calls.H5Dget_type(dataset));
  size_t slots, cache;
  double preemption;
  Size chunk[STZ_MAX_RANK];
  if (!access.valid() || !creation.valid() || !type.valid() || get_cache(access.get(), &slots, &cache, &preemption) < 0) return false;
  if (library.H5Pget_layout(creation.get()) != hdf5::kLayoutChunked) return false;
  const int rank = library.H5Pget_chunk(creation.get(), STZ_MAX_RANK, chunk);
  if (rank < 1 || rank > STZ_MAX_RANK) return false;
  Size bytes = library.H5Tget_size(type.get());
  for (int axis = 0; axis < rank; ++axis)
    if (__builtin_mul_overflow(bytes, chunk[axis], &bytes)) return false;
  return bytes > cache;
}

__attribute__((destructor)) void write_totals() {
  if (totals.reads == 0 || !preload::stats_are_wanted()) return;
  char line[320];
  const int length =
      snprintf(line, sizeof line,
               "{\"reads\": %llu, \"reads_through_hdf5\": %llu, \"chunks_direct\": %llu, \"bytes_used\": %llu, "
               "\"blocks_decoded\": %llu, \"blocks_present\": %llu}\n",
               static_cast<Size>(totals.reads), static_cast<Size>(totals.reads_through_hdf5), static_cast<Size>(totals.chunks_direct),
               static_cast<Size>(totals.bytes_used), static_cast<Size>(totals.blocks_decoded), static_cast<Size>(totals.blocks_present));
  preload::append_stats(line, static_cast<size_t>(length));
}

}  // namespace
}  // namespace stz::region

extern "C" __attribute__((visibility("default"))) herr_t H5Dread(hid_t dset, hid_t mem_type, hid_t mem_space, hid_t file_space, hid_t dxpl,
                                                                 void* buf) {
  using namespace stz::region;
  const void* const caller = __builtin_return_address(0);
  const Calls* const calls = calls_at(caller);
  if (!calls || !calls->H5Dread) return -1;  // an object that refers to H5Dread and has no HDF5
  totals.reads += 1;
  if (!calls->complete || file_space == kAll || !outgrows_cache(*calls, dset)) {
    totals.reads_through_hdf5 += 1;
    return calls->H5Dread(dset, mem_type, mem_space, file_space, dxpl, buf);
  }
  stz_h5_stats stats{};
  const Status status = read_for(caller, {dset, mem_type, mem_space, file_space, dxpl, buf, &kept_readers()}, &stats);
  totals.reads_through_hdf5 += stats.reads_through_hdf5;
  totals.chunks_direct += stats.chunks_direct;
  totals.bytes_used += stats.bytes_used;
  totals.blocks_decoded += stats.blocks_decoded;
  totals.blocks_present += stats.blocks_present;
  if (status >= 0) return status;
  // a damaged chunk, or one that is no longer there: the program gets the error that it knows
  totals.reads_through_hdf5 += 1;
  return calls->H5Dread(dset, mem_type, mem_space, file_space, dxpl, buf);
}
