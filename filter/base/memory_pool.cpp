#include "base/memory_pool.h"

#include <cstdlib>
#include <new>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace stz {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool keeps = false;  // tools are to see every use
#else
constexpr bool keeps = true;
#endif

constexpr int smallest_log2 = 8, largest_log2 = 23, kinds = 4 * (largest_log2 - smallest_log2) + 1;
static_assert(size_t(1) << largest_log2 == largest_kept_block);

// Blocks have one of four sizes to an octave.
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

// Of one thread. Without a destructor: it is used until the end of the thread.
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

// Empties the pool when the thread ends.
struct Watch {
  ~Watch() {
    pool.empty();
    pool.closed = true;
  }
};
thread_local Watch watch;

constexpr size_t large_page = size_t(2) << 20;
size_t unit_of(size_t bytes) { return bytes >= large_page ? large_page : 64; }
size_t allocated_size(size_t bytes) { return (bytes + unit_of(bytes) - 1) / unit_of(bytes) * unit_of(bytes); }

void* allocate(size_t bytes) {
  const size_t unit = unit_of(bytes), size = allocated_size(bytes);
  void* p = aligned_alloc(unit, size);
  if (!p) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  if (unit == large_page) madvise(p, size, MADV_HUGEPAGE);  // a wish
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
  if (!own.watched) {
    own.watched = true;
    [[maybe_unused]] Watch* volatile registered = &watch;
  }
  const Kind kind = kind_of(bytes);
  if (own.kept + allocated_size(kind.bytes) > most_kept_memory) own.empty();  // sizes that are asked for no more would stay for good
  Free* block = static_cast<Free*>(memory);
  block->next = own.first[kind.number];
  own.first[kind.number] = block;
  own.kept += allocated_size(kind.bytes);
}

size_t kept_memory() { return pool.kept; }
void drop_kept_memory() noexcept { pool.empty(); }

}  // namespace stz
