#include "base/memory_pool.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <new>
#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "base/thread_memory.h"

namespace stz {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool keeps = false;  // sanitizers must see every use
#else
constexpr bool keeps = true;
#endif

constexpr int smallest_log2 = 8, largest_log2 = 23, kinds = 4 * (largest_log2 - smallest_log2) + 1;
static_assert(size_t(1) << largest_log2 == largest_kept_block);

// The size classes of blocks: four to an octave.
struct Kind {
  int number;
  size_t bytes;
};
Kind kind_of(size_t bytes) {
  if (bytes <= size_t(1) << smallest_log2) return {0, size_t(1) << smallest_log2};
  const int octave = floor_log2(bytes - 1), quarter = int((bytes - 1) >> (octave - 2) & 3);
  return {4 * (octave - smallest_log2) + quarter + 1, size_t(5 + quarter) << (octave - 2)};
}

struct Free {
  Free* next;
};

// The pool of one thread. It has no destructor, as it is used until the end of the thread.
struct Pool {
  Free* first[kinds];
  size_t kept;
  bool watched, closed;

  void empty() noexcept {
    for (Free*& list : first)
      while (Free* block = list) {
        list = block->next;
        free(block);
      }
    kept = 0;
  }
};
constinit thread_local Pool pool{};

// Empties pools when their threads end, by a key instead of an object of the thread, for two reasons. Objects are destroyed before keys: an
// object that is made in the destructor of a key, where a thread may call for the first time, would never be destroyed. And the C library
// ends the process if it has no memory to register an object. The pool of the main thread ends with the process.
class ThreadEnds {
 public:
  ThreadEnds() {
    exists_ = pthread_key_create(&key_, [](void*) {
                pool.empty();
                pool.closed = true;
              }) == 0;
  }
  ~ThreadEnds() {  // a program may unload the library with the core: the pools of other threads are lost then
    if (exists_.exchange(0)) pthread_key_delete(key_);
    pool.empty();
  }
  ThreadEnds(const ThreadEnds&) = delete;
  ThreadEnds& operator=(const ThreadEnds&) = delete;
  // Whether the pool of this thread will be emptied.
  bool watch() noexcept { return exists_ && pthread_setspecific(key_, &pool) == 0; }
  bool is_watched() const noexcept { return !exists_ || pthread_getspecific(key_); }

 private:
  pthread_key_t key_;
  std::atomic<int> exists_;  // a word: riscv64 has no exchange of bytes
};
ThreadEnds thread_ends;

constexpr size_t large_page = size_t(2) << 20;
size_t unit_of(size_t bytes) { return bytes >= large_page ? large_page : 64; }
size_t allocated_size(size_t bytes) { return (bytes + unit_of(bytes) - 1) / unit_of(bytes) * unit_of(bytes); }

void* allocate(size_t bytes) {
  const size_t unit = unit_of(bytes), size = allocated_size(bytes);
  void* p = aligned_alloc(unit, size);
  if (!p) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  if (unit == large_page) madvise(p, size, MADV_HUGEPAGE);  // may fail without harm
#endif
  return p;
}

}  // namespace

void* take_memory(size_t bytes) {
  if (!keeps || bytes > largest_kept_block) return allocate(bytes);
  const Kind kind = kind_of(bytes);
  Pool& own = pool;
  if (Free* block = own.first[kind.number]) {
    own.first[kind.number] = block->next;
    own.kept -= allocated_size(kind.bytes);
    return block;
  }
  return allocate(kind.bytes);
}

void give_memory_back(void* memory, size_t bytes) noexcept {
  if (!memory) return;
  Pool& own = pool;
  if (!keeps || bytes > largest_kept_block || own.closed) return free(memory);
  if (!own.watched && !(own.watched = thread_ends.watch())) return free(memory);
  const Kind kind = kind_of(bytes);
  if (own.kept + allocated_size(kind.bytes) > most_kept_memory) own.empty();  // unused sizes would otherwise stay for ever
  Free* block = static_cast<Free*>(memory);
  block->next = own.first[kind.number];
  own.first[kind.number] = block;
  own.kept += allocated_size(kind.bytes);
}

// Allocates and frees a block, so that the C library can take this memory next: nothing happens in between.
bool thread_has_memory() noexcept {
  constexpr size_t enough = 8192;  // for the variables, and for a longer table of the variables of all libraries
  if (thread_ends.is_watched()) return true;
  void* const volatile block = malloc(enough);
  free(block);
  if (block && !pool.closed) pool.watched = thread_ends.watch();
  return block;
}

size_t kept_memory() { return pool.kept; }
void drop_kept_memory() noexcept { pool.empty(); }

}  // namespace stz
