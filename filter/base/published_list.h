// A list that only grows. Published entries never change and are never freed, so that readers need no lock, which a fork could leave held.
// Two threads may publish equal entries at the same time, which wastes one entry.
#pragma once
#include <atomic>

namespace stz {

// Entry has a member `const Entry* next`, which belongs to the list.
template <class Entry>
class PublishedList {
 public:
  // The entry published last for which `matches` is true, or null.
  template <class Predicate>
  const Entry* find(Predicate matches) const noexcept {
    const Entry* entry = last_.load(std::memory_order_acquire);
    while (entry && !matches(*entry)) entry = entry->next;
    return entry;
  }

  // Takes over an entry made by new and returns it.
  const Entry* publish(Entry* entry) noexcept {
    entry->next = last_.load(std::memory_order_relaxed);
    while (!last_.compare_exchange_weak(entry->next, entry, std::memory_order_release, std::memory_order_relaxed)) {}
    return entry;
  }

 private:
  std::atomic<const Entry*> last_{nullptr};
};

}  // namespace stz
