// Numbers that are remembered of datasets. The table has a fixed size: a dataset whose slot another one takes is forgotten. Takes no lock,
// which a fork could leave held.
#pragma once
#include <array>
#include <atomic>

#include "base/common.h"

namespace stz::intercept {

class DatasetTable {
 public:
  static constexpr u64 most = 63;  // the largest number

  // key: a hash that is not 0.
  void remember(u64 key, u64 number) noexcept { slot(key).store((key & ~most) | number, std::memory_order_relaxed); }
  // The number, or 0 if there is none.
  u64 number_of(u64 key) const noexcept {
    const u64 found = slot(key).load(std::memory_order_relaxed);
    return (found & ~most) == (key & ~most) ? found & most : 0;
  }
  void forget(u64 key) noexcept {
    u64 found = slot(key).load(std::memory_order_relaxed);
    if ((found & ~most) == (key & ~most)) slot(key).compare_exchange_strong(found, 0, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t slots = 1024;
  const std::atomic<u64>& slot(u64 key) const noexcept { return table_[(key >> 6) % slots]; }
  std::atomic<u64>& slot(u64 key) noexcept { return table_[(key >> 6) % slots]; }
  std::array<std::atomic<u64>, slots> table_{};
};

}  // namespace stz::intercept
