// The calling thread fills a ring of stored chunks (whole_read.h). All threads, also this one when the ring is full, decode them.
#include "region/whole_read.h"

#include <vector>

#include "base/buffer.h"
#include "region/chunk_threads.h"

namespace stz::region {
namespace {

class WholeReader : ChunkThreads<WholeReader> {
 public:
  WholeReader(const Calls& calls, const Request& request, const WholeDataset& whole, const hdf5::ChunkFunctions& functions,
              const Shares& shares)
      : calls_(calls), request_(request), whole_(whole), functions_(functions), shares_(shares) {}

  // Asks HDF5 for the sizes of all chunks before anything is read: a chunk that is not in the file leaves everything to HDF5.
  Way find_sizes(hsize_t& stored_bytes) {
    stored_bytes = 0;
    const hsize_t most = stz_max_compressed_size(&whole_.chunk);
    sizes_.resize(static_cast<size_t>(whole_.chunks));
    for (hsize_t number = 0; number < whole_.chunks; ++number) {
      hsize_t offset[max_rank], size = 0;
      whole_.offset_of(number, offset);
      if (calls_.H5Dget_chunk_storage_size(request_.dataset, offset, &size) < 0 || size == 0) return Way::missing;
      if (size > most) return Way::failed;
      sizes_[static_cast<size_t>(number)] = static_cast<size_t>(size);
      stored_bytes += size;
    }
    return Way::threads;
  }

  Way run() {
    ring_.resize(2 * static_cast<size_t>(shares_.chunks));
    return work_with(shares_.chunks);
  }

 private:
  friend ChunkThreads<WholeReader>;
  using Bytes = Buffer<unsigned char>;
  using Room = Bytes;  // for the samples of a chunk

  bool is_done(bool) const { return decoded_ == whole_.chunks; }

  Way step(Lock& lock, bool calls_hdf5, Bytes& samples) {
    if (calls_hdf5 && fetched_ < whole_.chunks && fetched_ < taken_ + ring_.size()) return fetch(lock);
    if (taken_ < fetched_) return decode(lock, samples);
    changed_.wait(lock);
    return Way::threads;
  }

  Way fetch(Lock& lock) {
    const hsize_t number = fetched_;
    lock.unlock();
    Bytes stored(sizes_[static_cast<size_t>(number)]);
    hsize_t offset[max_rank];
    whole_.offset_of(number, offset);
    u32 mask = 0;
    if (!read_stored_chunk(calls_, request_.dataset, request_.transfer, offset, stored.size(), mask, stored.data())) return Way::failed;
    if (mask != 0) return Way::missing;
    lock.lock();
    ring_[static_cast<size_t>(number % ring_.size())] = std::move(stored);
    ++fetched_;
    changed_.notify_one();
    return Way::threads;
  }

  Way decode(Lock& lock, Bytes& samples) {
    const hsize_t number = taken_++;
    const Bytes stored = std::move(ring_[static_cast<size_t>(number % ring_.size())]);
    changed_.notify_one();
    lock.unlock();
    static const char all_datasets = 0;  // the memory of decoded chunks takes no hints from these reads
    const ChunkRows rows(whole_, number);
    auto* const buffer = static_cast<unsigned char*>(request_.buffer);
    if (!rows.is_one()) samples.resize(whole_.chunk_bytes);
    unsigned char* const out = rows.is_one() ? buffer + rows.first() : samples.data();
    const size_t size = functions_.decode(whole_.client_count, whole_.client_data, &all_datasets, stored.data(), stored.size(),
                                          shares_.threads_each, out, whole_.chunk_bytes);
    if (size != whole_.chunk_bytes) return Way::failed;
    if (!rows.is_one()) rows.each([&](hsize_t to, hsize_t from, hsize_t bytes) { memcpy(buffer + to, samples.data() + from, bytes); });
    lock.lock();
    ++decoded_;
    return Way::threads;
  }

  const Calls& calls_;
  const Request& request_;
  const WholeDataset& whole_;
  const hdf5::ChunkFunctions& functions_;
  const Shares shares_;
  std::vector<size_t> sizes_;  // of the stored chunks

  // Under the lock:
  std::vector<Bytes> ring_;                        // stored chunks that nobody decodes yet
  hsize_t fetched_ = 0, taken_ = 0, decoded_ = 0;  // numbers of chunks
};

}  // namespace

Way read_whole(const Calls& calls, const Request& request, const WholeDataset& whole, const hdf5::ChunkFunctions& functions,
               const Shares& shares, hsize_t& stored_bytes) {
  WholeReader reader(calls, request, whole, functions, shares);
  const Way way = reader.find_sizes(stored_bytes);
  return way == Way::threads ? reader.run() : way;
}

}  // namespace stz::region
