// What passes for an HDF5 library: its functions of memory work and count, the others fail. GUARDED: as a build that checks its memory,
// with guards around each block, and with addresses that come again at once.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "hdf5/library.h"

namespace {

std::mutex mutex;
std::map<void*, size_t> blocks;
std::atomic<long> wrong_frees{0};
std::atomic<bool> next_fails{false};

#if GUARDED
constexpr size_t guard = 16, slot_bytes = size_t(1) << 21, most_slots = 16;
alignas(64) char slots[most_slots][slot_bytes];
size_t unused[most_slots], unused_count = 0, used_ever = 0;

void* get(size_t size) {
  if (size + 2 * guard > slot_bytes || (unused_count == 0 && used_ever == most_slots)) return nullptr;
  char* const slot = slots[unused_count ? unused[--unused_count] : used_ever++];
  std::memcpy(slot + guard - 8, "DEADBEEF", 8);
  return slot + guard;
}
void put(void* block) { unused[unused_count++] = size_t(static_cast<char*>(block) - slots[0]) / slot_bytes; }
#else
void* get(size_t size) { return std::malloc(size ? size : 1); }
void put(void* block) { std::free(block); }
#endif

}  // namespace

extern "C" {

#define H5get_libversion stub_of_H5get_libversion
#define H5allocate_memory stub_of_H5allocate_memory
#define H5free_memory stub_of_H5free_memory
#define STUB(name, result, parameters) \
  int name() { return -1; }
STZ_HDF5_FUNCTIONS(STUB)
#undef H5get_libversion
#undef H5allocate_memory
#undef H5free_memory

int H5get_libversion(unsigned* major, unsigned* minor, unsigned* release) {
  *major = 1, *minor = 14, *release = 6;
  return 0;
}

void* H5allocate_memory(size_t size, bool clear) {
  const std::lock_guard lock(mutex);
  void* const block = next_fails.exchange(false) ? nullptr : get(size);
  if (!block) return nullptr;
  if (clear) std::memset(block, 0, size);
  blocks[block] = size;
  return block;
}

int H5free_memory(void* block) {
  const std::lock_guard lock(mutex);
  if (!blocks.erase(block)) return ++wrong_frees, -1;
  put(block);
  return 0;
}

#if GUARDED
void H5MM_final_sanity_check() {}
#endif

size_t call_filter(const stz::hdf5::FilterClass* filter, unsigned flags, size_t count, const unsigned* words, size_t bytes,
                   size_t* buffer_size, void** buffer) {
  const volatile size_t result = filter->filter(flags, count, words, bytes, buffer_size, buffer);  // not the last call: no jump
  return result;
}

// Bytes of the blocks that were not freed, and frees of what is no block of this library.
size_t bytes_in_use() {
  const std::lock_guard lock(mutex);
  size_t bytes = 0;
  for (const auto& [block, size] : blocks) bytes += size;
  return bytes;
}
long count_wrong_frees() { return wrong_frees; }
// The next call for memory.
void fail_once() { next_fails = true; }

}  // extern "C"
