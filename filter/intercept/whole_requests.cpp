#include "intercept/whole_requests.h"

#include <array>
#include <cerrno>
#include <exception>
#include <string>

#include "hdf5/chunk_functions.h"
#include "intercept/dataset_table.h"
#include "intercept/run_stats.h"
#include "intercept/run_threads.h"
#include "intercept/whole_write.h"
#include "region/whole_read.h"

namespace stz::intercept {
namespace {

using hdf5::Calls;
using hdf5::hid_t;
using hdf5::hsize_t;
using hdf5::ScopedId;
using region::Way;

// ---- counters ----

struct Count {
  std::atomic<u64> requests{0}, bytes{0};
};
using Counts = std::array<Count, region::ways>;
Counts reads, writes;

// The bytes of the request in memory; 0 if HDF5 does not tell.
u64 bytes_of(const Calls& calls, const ReadArguments& arguments) {
  if (!calls.complete) return 0;
  hid_t space = arguments.memory_space == hdf5::space_all ? arguments.file_space : arguments.memory_space;
  const ScopedId whole(calls.H5Sclose, space == hdf5::space_all ? calls.H5Dget_space(arguments.dataset) : -1);
  if (whole.valid()) space = whole.get();
  const long long samples = calls.H5Sget_select_npoints(space);
  return samples < 0 ? 0 : static_cast<u64>(samples) * calls.library->H5Tget_size(arguments.memory_type);
}

void count_request(Counts& counts, Way way, const Calls& calls, const ReadArguments& arguments) {
  Count& count = counts[static_cast<size_t>(way)];
  count.requests += 1;
  count.bytes += bytes_of(calls, arguments);
}

void append_counts(std::string& line, const char* kind, const Counts& counts) {
  for (size_t way = 0; way < counts.size(); ++way) {
    const Count& count = counts[way];
    if (count.requests == 0) continue;
    const std::string name = std::string("\"") + kind + "/" + region::way_name(static_cast<Way>(way));
    line += (line.empty() ? "{" : ", ") + name + "/requests\": " + std::to_string(count.requests) + ", " + name +
            "/bytes\": " + std::to_string(count.bytes);
  }
}

__attribute__((destructor)) void write_counts() {
  if (!stats_are_wanted()) return;
  try {
    std::string line;
    append_counts(line, "read", reads);
    append_counts(line, "write", writes);
    if (line.empty()) return;
    line += "}\n";
    append_stats(line.data(), line.size());
  } catch (const std::exception&) {  // out of memory
  }
}

// ---- what is known of datasets ----

DatasetTable unreadable, unwritable;  // by key: the Way, never changes while the dataset is open
DatasetTable written_by_hdf5;         // by identity: HDF5's chunk cache may hold samples that are not in the file

// Whether a question about the dataset's object may be a collective operation.
bool may_be_collective(const Calls& calls, hid_t dataset) {
  if (!calls.H5Fget_mpi_atomicity) return false;  // no parallel library
  const ScopedId file(calls.H5Fclose, calls.H5Iget_file_id(dataset));
  return !file.valid() || region::may_use_mpi(calls, file.get());
}

// Identifies a dataset while its file is open, also if it is opened several times; 0 if HDF5 does not tell.
u64 identity_of(const Calls& calls, hid_t dataset) {
  if (may_be_collective(calls, dataset)) return 0;
  struct {
    u64 file, address, rest[62];  // H5O_info1_t or H5O_info2_t: the number of the open file, and an address or token
  } info{};
  const auto ask = calls.H5Oget_info3 ? calls.H5Oget_info3 : calls.H5Oget_info2;
  if (!ask || ask(dataset, &info, hdf5::basic_info) < 0) return 0;
  return key_of(calls.library, info.file * 0x9e3779b97f4a7c15u ^ info.address);
}

// Whether the Way is about the dataset rather than this request for it.
bool is_lasting(Way way, bool may_grow) {
  return way == Way::dataset || way == Way::driver || way == Way::raw_edges || way == Way::library || (way == Way::small && !may_grow);
}

bool cache_holds(const Calls& calls, hid_t dataset, hsize_t bytes) {
  if (!calls.H5Dget_access_plist || !calls.H5Pget_chunk_cache) return true;
  const ScopedId access(calls.H5Pclose, calls.H5Dget_access_plist(dataset));
  size_t slots = 0, cache = 0;
  double preemption = 0;
  return !access.valid() || calls.H5Pget_chunk_cache(access.get(), &slots, &cache, &preemption) < 0 || bytes <= cache;
}

region::Request request_of(const ReadArguments& arguments) {
  return {arguments.dataset, arguments.memory_type, arguments.memory_space, arguments.file_space, arguments.transfer, arguments.buffer};
}

// `whole` gets what was found out before a reason to leave everything to HDF5.
Way try_to_read(const Calls& calls, const ReadArguments& arguments, int threads, region::WholeDataset& whole) {
  const region::Request request = request_of(arguments);
  if (const Way way = look_at_whole(calls, request, whole); way != Way::threads) return way;
  const region::Shares shares = share_threads(whole, threads);
  if (shares.chunks * shares.threads_each == 1) return Way::small;
  if (cache_holds(calls, arguments.dataset, whole.bytes)) return Way::cache;
  const u64 identity = whole.read_only ? 0 : identity_of(calls, arguments.dataset);
  if (!whole.read_only && (identity == 0 || written_by_hdf5.number_of(identity))) return Way::cache;
  if (!calls.H5Zfilter_avail || calls.H5Zfilter_avail(STZ_FILTER_ID) <= 0) return Way::library;
  const hdf5::ChunkFunctions* const functions = hdf5::chunk_functions();
  hsize_t stored_bytes = 0;
  const Way way = functions ? read_whole(calls, request, whole, *functions, shares, stored_bytes) : Way::library;
  if (way == Way::threads) count_chunks(whole.chunks, stored_bytes);
  return way;
}

// `identity` gets that of a dataset that threads might write, or read, another time.
Way try_to_write(const Calls& calls, const ReadArguments& arguments, u64& identity, int threads) {
  const region::Request request = request_of(arguments);
  region::WholeDataset whole;
  const Way look = look_at_whole(calls, request, whole);
  if (look != Way::dataset && look != Way::driver) identity = identity_of(calls, arguments.dataset);
  if (look != Way::threads) return look;
  const region::Shares shares = share_threads(whole, threads);
  if (shares.chunks * shares.threads_each == 1) return Way::small;
  if (!calls.H5Dwrite_chunk || !calls.H5Dget_space_status || !calls.H5Zfilter_avail || identity == 0) return Way::library;
  if (written_by_hdf5.number_of(identity)) return Way::stored;
  if (calls.H5Zfilter_avail(STZ_FILTER_ID) <= 0) return Way::library;
  const hdf5::ChunkFunctions* const functions = hdf5::chunk_functions();
  if (!functions) return Way::library;
  int status = ~hdf5::space_not_allocated;
  if (calls.H5Dget_space_status(arguments.dataset, &status) < 0) return Way::refused;
  return status == hdf5::space_not_allocated ? write_whole(request, calls, whole, *functions, shares) : Way::stored;
}

// Calls work() with errors suppressed, as HDF5 will report them. The calling program's errno is kept.
template <class Work>
Way quietly(const Calls& calls, Work work) noexcept {
  const int error = errno;
  Way way = Way::memory;
  if (!calls.complete) return Way::library;
  try {
    const hdf5::SuppressErrors suppressed(calls);
    way = work();
  } catch (const std::exception&) {  // out of memory
  }
  calls.H5Eclear2(hdf5::default_error_stack);  // drops errors of our own queries
  errno = error;
  return way;
}

}  // namespace

bool threads_are_wanted() noexcept { return run_threads() > 1 || stats_are_wanted(); }

bool read_whole_by_threads(const Calls& calls, DatasetKey key, const ReadArguments& arguments) noexcept {
  const int threads = run_threads();
  Way way = Way::one_thread;
  if (threads > 1 && stz_environment_max_error() == 0) {
    way = static_cast<Way>(unreadable.number_of(key));
    if (way == Way::threads) {
      region::WholeDataset whole{};
      way = quietly(calls, [&] { return try_to_read(calls, arguments, threads, whole); });
      if (is_lasting(way, whole.may_grow)) unreadable.remember(key, static_cast<u64>(way));
    }
  }
  if (stats_are_wanted()) quietly(calls, [&] { return count_request(reads, way, calls, arguments), way; });
  return way == Way::threads;
}

bool write_whole_by_threads(const Calls& calls, DatasetKey key, const ReadArguments& arguments) noexcept {
  const int threads = run_threads();
  Way way = Way::one_thread;
  if (threads > 1) {
    way = static_cast<Way>(unwritable.number_of(key));
    if (way == Way::threads) {
      u64 identity = 0;
      way = quietly(calls, [&] { return try_to_write(calls, arguments, identity, threads); });
      if (way != Way::threads) unwritable.remember(key, static_cast<u64>(way));  // HDF5 writes now
      if (way != Way::threads && identity != 0) written_by_hdf5.remember(identity, 1);
    }
  }
  if (stats_are_wanted()) quietly(calls, [&] { return count_request(writes, way, calls, arguments), way; });
  return way == Way::threads;
}

void forget_whole(DatasetKey key) noexcept {
  unreadable.forget(key);
  unwritable.forget(key);
}

}  // namespace stz::intercept
