// A ring of compressed chunks (whole_write.h). All threads compress; the calling one writes what is ready first.
#include "intercept/whole_write.h"

#include <vector>

#include "base/buffer.h"
#include "region/chunk_threads.h"

namespace stz::intercept {
namespace {

using hdf5::hsize_t;
using region::Way;
using region::WholeDataset;

class WholeWriter : region::ChunkThreads<WholeWriter> {
 public:
  WholeWriter(const region::Request& request, const hdf5::Calls& calls, const WholeDataset& whole, const hdf5::ChunkFunctions& functions,
              const region::Shares& shares)
      : request_(request), calls_(calls), whole_(whole), functions_(functions), shares_(shares) {}
  ~WholeWriter() { functions_.free_trained(trained_); }

  Way run() {
    ring_.resize(2 * static_cast<size_t>(shares_.chunks));
    capacity_ = stz_max_compressed_size(&whole_.chunk);
    train();
    return work_with(shares_.chunks);
  }

 private:
  friend region::ChunkThreads<WholeWriter>;
  using Bytes = Buffer<unsigned char>;

  struct Slot {
    Bytes stream;
    bool is_ready = false;
  };
  struct Room {
    Bytes samples, stream;
  };

  // Before threads start, so that streams do not depend on them.
  void train() {
    Bytes samples;
    const auto give = [&](u64 number) { return samples_of(region::ChunkRows(whole_, number), samples); };
    const auto gather = [](void* given, u64 number) noexcept -> const void* {
      try {
        return (*static_cast<decltype(give)*>(given))(number);
      } catch (...) {  // out of memory
        return nullptr;
      }
    };
    trained_ = functions_.train(whole_.client_count, whole_.client_data, whole_.chunks, gather,
                                const_cast<void*>(static_cast<const void*>(&give)));
  }

  // The calling thread works until all chunks are written, the others until all are taken.
  bool is_done(bool calls_hdf5) const { return (calls_hdf5 ? written_ : taken_) == whole_.chunks; }

  Way step(Lock& lock, bool calls_hdf5, Room& room) {
    if (calls_hdf5 && slot(written_).is_ready) return write(lock);
    if (taken_ < whole_.chunks && taken_ < written_ + ring_.size()) return encode(lock, room);
    changed_.wait(lock);
    return Way::threads;
  }

  Slot& slot(hsize_t number) { return ring_[static_cast<size_t>(number % ring_.size())]; }

  Way encode(Lock& lock, Room& room) {
    const hsize_t number = taken_++;
    lock.unlock();
    static const char no_dataset = 0;  // nothing of this dataset was decoded
    const region::ChunkRows rows(whole_, number);
    const unsigned char* const samples = samples_of(rows, room.samples);
    room.stream.resize(capacity_);
    const size_t size = functions_.encode(whole_.client_count, whole_.client_data, &no_dataset, trained_, samples, whole_.chunk_bytes,
                                          shares_.threads_each, room.stream.data(), capacity_);
    if (size == 0) return Way::failed;
    Bytes stream(size);
    memcpy(stream.data(), room.stream.data(), size);
    lock.lock();
    slot(number).stream = std::move(stream);
    slot(number).is_ready = true;
    changed_.notify_all();
    return Way::threads;
  }

  // The samples of a chunk: in the program's buffer, if they are contiguous there, or else gathered in `samples`.
  const unsigned char* samples_of(const region::ChunkRows& rows, Bytes& samples) const {
    const auto* const buffer = static_cast<const unsigned char*>(request_.buffer);
    if (rows.is_one()) return buffer + rows.first();
    samples.resize(whole_.chunk_bytes);
    if (rows.sticks_out()) {
      for (size_t at = 0; at < whole_.chunk_bytes; at += whole_.element_size)
        memcpy(samples.data() + at, whole_.padding, whole_.element_size);
    }
    rows.each([&](hsize_t from, hsize_t to, hsize_t bytes) { memcpy(samples.data() + to, buffer + from, bytes); });
    return samples.data();
  }

  Way write(Lock& lock) {
    const Bytes stream = std::move(slot(written_).stream);
    slot(written_).is_ready = false;
    lock.unlock();
    hsize_t offset[region::max_rank];
    whole_.offset_of(written_, offset);
    if (calls_.H5Dwrite_chunk(request_.dataset, request_.transfer, 0, offset, stream.size(), stream.data()) < 0) return Way::failed;
    lock.lock();
    ++written_;
    changed_.notify_all();
    return Way::threads;
  }

  const region::Request& request_;
  const hdf5::Calls& calls_;
  const WholeDataset& whole_;
  const hdf5::ChunkFunctions& functions_;
  const region::Shares shares_;
  size_t capacity_ = 0;
  stz_learned* trained_ = nullptr;

  // Under the lock:
  std::vector<Slot> ring_;           // compressed chunks that are not written yet
  hsize_t taken_ = 0, written_ = 0;  // numbers of chunks; the calling thread alone changes written_
};

}  // namespace

Way write_whole(const region::Request& request, const hdf5::Calls& calls, const WholeDataset& whole, const hdf5::ChunkFunctions& functions,
                const region::Shares& shares) {
  return WholeWriter(request, calls, whole, functions, shares).run();
}

}  // namespace stz::intercept
