// The calling thread fills a ring of stored chunks (whole_read.h). All threads, also this one when the ring is full, decode them.
#include "region/whole_read.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "base/parallel.h"

namespace stz::region {
namespace {

class WholeReader {
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
    auto help = [this]() noexcept { work(false); };
    {
      ThreadGroup helpers;
      if (shares_.chunks > 1) helpers.start(static_cast<size_t>(shares_.chunks) - 1, help);
      work(true);
    }
    return way_;
  }

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Bytes = Buffer<unsigned char>;

  // Until all chunks are decoded, or one cannot be.
  void work(bool may_call_hdf5) noexcept {
    Bytes samples;
    Lock lock(mutex_);
    while (way_ == Way::threads && decoded_ < whole_.chunks) {
      Way way = Way::threads;
      if (may_call_hdf5 && fetched_ < whole_.chunks && fetched_ < taken_ + ring_.size())
        way = protect([&] { return fetch(lock); });
      else if (taken_ < fetched_)
        way = protect([&] { return decode(lock, samples); });
      else
        changed_.wait(lock);
      if (!lock.owns_lock()) lock.lock();
      if (way != Way::threads) way_ = way;
      if (way != Way::threads || decoded_ == whole_.chunks) changed_.notify_all();
    }
  }

  template <class Step>
  static Way protect(Step step) noexcept {
    try {
      return step();
    } catch (...) {  // out of memory
      return Way::memory;
    }
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

  std::mutex mutex_;  // guards what follows; a new one for each read, so that a fork leaves none held
  std::condition_variable changed_;
  std::vector<Bytes> ring_;                        // stored chunks that nobody decodes yet
  hsize_t fetched_ = 0, taken_ = 0, decoded_ = 0;  // numbers of chunks
  Way way_ = Way::threads;
};

}  // namespace

Way read_whole(const Calls& calls, const Request& request, const WholeDataset& whole, const hdf5::ChunkFunctions& functions,
               const Shares& shares, hsize_t& stored_bytes) {
  WholeReader reader(calls, request, whole, functions, shares);
  const Way way = reader.find_sizes(stored_bytes);
  return way == Way::threads ? reader.run() : way;
}

}  // namespace stz::region
