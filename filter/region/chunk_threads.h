// What whole reads and whole writes by several threads share: steps under one lock, until everything is done or a step fails.
#pragma once
#include <condition_variable>
#include <mutex>

#include "base/parallel.h"
#include "region/whole_dataset.h"

namespace stz::region {

// Derived has a type Room, the memory of a thread, and with the lock held:
//   bool is_done(bool calls_hdf5) const: whether a thread has nothing more to do. `calls_hdf5`: it is the calling thread.
//   Way step(Lock&, bool calls_hdf5, Room&): does something, or waits for `changed_`. May return without the lock, if it fails, and throw.
template <class Derived>
class ChunkThreads {
 public:
  ChunkThreads() = default;
  ChunkThreads(const ChunkThreads&) = delete;

 protected:
  using Lock = std::unique_lock<std::mutex>;

  // Works with `count` threads, one of them the calling one. Returns Way::threads, or the outcome of a step that failed.
  Way work_with(int count) {
    {
      auto help = [this]() noexcept { work(false); };
      ThreadGroup helpers;
      if (count > 1) helpers.start(static_cast<size_t>(count) - 1, help);
      work(true);
    }
    return way_;
  }

  std::mutex mutex_;  // guards the members of Derived; a new one for each request, so that a fork leaves none held
  std::condition_variable changed_;

 private:
  void work(bool calls_hdf5) noexcept {
    Derived& self = static_cast<Derived&>(*this);
    typename Derived::Room room;
    Lock lock(mutex_);
    while (way_ == Way::threads && !self.is_done(calls_hdf5)) {
      Way way = Way::memory;
      try {
        way = self.step(lock, calls_hdf5, room);
      } catch (...) {  // out of memory
      }
      if (!lock.owns_lock()) lock.lock();
      if (way != Way::threads) way_ = way;
      if (way != Way::threads || self.is_done(false)) changed_.notify_all();
    }
  }

  Way way_ = Way::threads;
};

}  // namespace stz::region
