#include "hdf5/chunk_buffer.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <initializer_list>

#include "hdf5/peek.h"

namespace stz::hdf5 {
namespace {

using UsableSize = size_t (*)(void*);

// Do two functions that the process would call belong to one object?
bool from_one_object(const void* first, const void* second) noexcept {
  Dl_info of_first, of_second;
  return first && second && dladdr(first, &of_first) && dladdr(second, &of_second) && of_first.dli_fbase == of_second.dli_fbase;
}

enum class Headers { of_glibc, of_others, unknown };

// Does malloc leave the sizes of its blocks where glibc does? Its address does not always tell: an executable that is not
// position-independent has a stub of its own under this name, and valgrind puts its allocator behind glibc's names. Without memory to
// find out it is unknown.
Headers find_headers() noexcept {
  for (const size_t size : {size_t(40), size_t(1000), size_t(9000)}) {
    void* const block = std::malloc(size);
    if (!block) return Headers::unknown;
    const uintptr_t place = reinterpret_cast<uintptr_t>(block) - block_header_bytes;
    u64 word = 0;
    bool readable = false;
    peek(&place, 1, &word, &readable);  // of another allocator there may be no memory
    std::free(block);
    const u64 needed = (size + block_header_bytes + 15) / 16 * 16, there = block_header_size(word);
    if (!readable || there < needed || there > needed + 16) return Headers::of_others;  // 16 more where they were left over
  }
  return Headers::of_glibc;
}

// What can be asked of the malloc of the process. A program may bring an allocator without malloc_usable_size, and the C library's would
// then look for its own records beside foreign blocks.
struct Allocator {
  UsableSize usable_size;  // null if it has none
  Headers headers;
};

Allocator find_allocator() noexcept {
  void* const allocate = dlsym(RTLD_DEFAULT, "malloc");
  void* const usable = dlsym(RTLD_DEFAULT, "malloc_usable_size");
  void* const of_glibc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  const Headers headers = from_one_object(usable, of_glibc) ? find_headers() : Headers::of_others;
  const bool can_be_asked = headers == Headers::of_glibc || from_one_object(allocate, usable);
  return {can_be_asked ? reinterpret_cast<UsableSize>(usable) : nullptr, headers};
}

// Looked up once, without a lock that a fork could leave held: threads that meet here find the same.
Allocator allocator() noexcept {
  static std::atomic<Headers> headers{Headers::unknown};
  static std::atomic<UsableSize> usable_size{nullptr};
  if (headers.load(std::memory_order_acquire) == Headers::unknown) {
    const Allocator found = find_allocator();
    if (found.headers == Headers::unknown) return found;
    usable_size.store(found.usable_size, std::memory_order_relaxed);
    headers.store(found.headers, std::memory_order_release);
  }
  return {usable_size.load(std::memory_order_relaxed), headers.load(std::memory_order_relaxed)};
}

void* allocate(const Library& library, size_t size) {
  return library.reachable ? library.H5allocate_memory(size, false) : std::malloc(size);
}

// More than allocators round sizes up: to 16 or 32 bytes, and to whole pages where a block has pages of its own.
size_t mark(size_t size) {
  constexpr size_t may_have_own_pages = 65536;
  const long page = sysconf(_SC_PAGESIZE);
  return 64 + (size >= may_have_own_pages && page > 0 ? size_t(page) : 0);
}

}  // namespace

size_t usable_bytes(const Library& library, void* block) noexcept {
  const UsableSize ask = allocator().usable_size;
  return ask && !library.checks_memory ? ask(block) : 0;  // blocks with guards do not begin where malloc's do
}

__attribute__((no_sanitize("address"))) u64 block_header(const void* block, size_t usable) noexcept {
  if (!usable || sizeof(size_t) != sizeof(u64) || allocator().headers != Headers::of_glibc) return 0;
  const u64 size = block_header_size(*(static_cast<const volatile u64*>(block) - 1));
  return usable == size - 8 || usable == size - 16 ? size : 0;  // of a heap, or with pages of its own
}

bool marks_show(const Library& library, size_t size, size_t usable) noexcept {
  if (!usable) return false;
  const ChunkBuffer other(library, size);
  return !other.data() || usable_bytes(library, other.data()) != usable;
}

ChunkBuffer::ChunkBuffer(const Library& library, size_t size, Kind kind)
    : library_(library), data_(allocate(library, size + (kind == marked ? mark(size) : 0))) {}

void ChunkBuffer::release(const Library& library, void* data) {
  if (!data) return;
  if (library.reachable)
    library.H5free_memory(data);
  else
    std::free(data);
}

}  // namespace stz::hdf5
