// Freed memory is used again by its thread, up to a limit and no longer than the thread lives.
#include "base/memory_pool.h"

#include <thread>

#include "base/buffer.h"
#include "unit.h"

using namespace unit;

static bool pool_keeps() {
  drop_kept_memory();
  give_memory_back(take_memory(1000), 1000);
  return kept_memory() != 0;  // not with sanitizers, which are to see every use
}

TEST(memory_of_the_same_size_is_used_again) {
  if (!pool_keeps()) return;
  for (const size_t bytes : {size_t(1), size_t(256), size_t(257), size_t(5000), size_t(1) << 20, largest_kept_block}) {
    drop_kept_memory();
    void* first = take_memory(bytes);
    CHECK(reinterpret_cast<uintptr_t>(first) % 64 == 0);
    memset(first, 1, bytes);
    give_memory_back(first, bytes);
    const size_t kept = kept_memory();
    CHECK(kept >= bytes && (bytes <= 256 || kept < bytes + bytes / 4 + 1));
    void* second = take_memory(bytes);
    CHECK(second == first && kept_memory() == 0);
    give_memory_back(second, bytes);
  }
}

TEST(sizes_of_one_kind_fit_its_blocks) {
  drop_kept_memory();
  for (size_t bytes = 1; bytes < 5000; bytes++) {  // written to the end: tools that watch memory would see it
    Buffer<u8> buffer(bytes);
    std::fill(buffer.begin(), buffer.end(), u8(bytes));
  }
}

TEST(a_thread_keeps_no_more_than_the_limit) {
  if (!pool_keeps()) return;
  drop_kept_memory();
  give_memory_back(take_memory(largest_kept_block + 1), largest_kept_block + 1);
  CHECK(kept_memory() == 0);
  std::vector<void*> blocks;
  for (int i = 0; i < 40; i++) blocks.push_back(take_memory(size_t(1) << 20));
  for (void* block : blocks) {
    give_memory_back(block, size_t(1) << 20);
    CHECK(kept_memory() <= most_kept_memory);
  }
  CHECK(kept_memory() > 0);
}

TEST(each_thread_has_its_own) {
  if (!pool_keeps()) return;
  drop_kept_memory();
  Buffer<u8> from_there;
  std::thread other([&] {
    Buffer<u8>(100000).begin();
    CHECK(kept_memory() > 0);
    from_there.resize(100000);
    CHECK(kept_memory() == 0);
  });
  other.join();
  CHECK(kept_memory() == 0);
  from_there = Buffer<u8>();  // what another thread took, this one keeps
  CHECK(kept_memory() > 0);
}
