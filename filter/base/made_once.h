// An object that is made at its first use and never freed. Unlike a static local, it holds no lock while it is made: a process that is
// forked meanwhile makes its own, and does not wait for a thread that it does not have.
#pragma once
#include <atomic>
#include <memory>

namespace stz {

// Returns the object in `slot`. If the slot is empty, make() gives the object as a std::unique_ptr<T>. If two threads both make one, the
// first is kept.
template <class T, class Make>
T& made_once(std::atomic<T*>& slot, Make make) {
  T* object = slot.load(std::memory_order_acquire);
  if (object) return *object;
  auto fresh = make();
  return slot.compare_exchange_strong(object, fresh.get(), std::memory_order_acq_rel) ? *fresh.release() : *object;
}

}  // namespace stz
