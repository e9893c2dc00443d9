// How much memory the functions of the C API take for streams that may claim anything: tests/stream/test_claimed_memory.py.
// Standard input: streams, each behind its length (8 bytes, little-endian). For each and every operation one line on standard output:
//   number of the stream, operation, error code, most bytes allocated at one time, bytes of the array that the stream claims
// Operations: info; decode (into an array that is not counted, and left out where that would be larger than the first argument); plan and
// read of the last element through a reader; everything: the plan of the whole array.
// Linked with --wrap (CMakeLists.txt): what libstdc++ allocates counts too. Each operation begins without memory that the thread has kept.
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/memory_pool.h"
#include "stz.h"
#include "stz_reader.h"

extern "C" {
void* __real_malloc(size_t);
void* __real_calloc(size_t, size_t);
void* __real_realloc(void*, size_t);
void* __real_aligned_alloc(size_t, size_t);
void __real_free(void*);
}

namespace {

size_t live = 0, peak = 0;

void* taken(void* block) {
  if (block) peak = std::max(peak, live += malloc_usable_size(block));
  return block;
}

}  // namespace

extern "C" {

void* __wrap_malloc(size_t size) { return taken(__real_malloc(size)); }
void* __wrap_calloc(size_t count, size_t size) { return taken(__real_calloc(count, size)); }
void* __wrap_aligned_alloc(size_t alignment, size_t size) { return taken(__real_aligned_alloc(alignment, size)); }
void* __wrap_realloc(void* block, size_t size) {
  if (block) live -= malloc_usable_size(block);
  return taken(__real_realloc(block, size));
}
void __wrap_free(void* block) {
  if (block) live -= malloc_usable_size(block);
  __real_free(block);
}

}  // extern "C"

namespace {

struct Uncounted {
  void* const data;
  explicit Uncounted(size_t size) : data(__real_malloc(size + 1)) {}
  ~Uncounted() { __real_free(data); }
};

// With the last element of the array, or all of it.
int with_reader(const unsigned char* stream, size_t size, bool everything, bool read) {
  stz_reader* reader = nullptr;
  if (const int error = stz_reader_open_memory(stream, size, 0, &reader)) return error;
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  int error = stz_reader_info(reader, &info);
  uint64_t start[STZ_MAX_RANK] = {}, count[STZ_MAX_RANK];
  for (int axis = 0; axis < info.layout.rank; axis++) {
    start[axis] = everything || !info.layout.shape[axis] ? 0 : info.layout.shape[axis] - 1;
    count[axis] = everything ? info.layout.shape[axis] : std::min<uint64_t>(info.layout.shape[axis], 1);
  }
  unsigned char element[16];
  size_t ranges = 0;
  if (!error && read && info.array_bytes)
    error = stz_reader_read(reader, start, count, nullptr, element, stz_element_size(info.layout.dtype), 1);
  else if (!error)
    error = stz_reader_plan(reader, start, count, nullptr, nullptr, 0, &ranges);
  stz_reader_close(reader);
  return error;
}

}  // namespace

int main(int, char** arguments) {
  const unsigned long long largest = std::strtoull(arguments[1], nullptr, 10);
  unsigned char length[8];
  for (int number = 0; std::fread(length, 1, 8, stdin) == 8; number++) {
    size_t size = 0;
    for (int k = 8; k-- > 0;) size = size << 8 | length[k];
    const Uncounted given(size);
    const auto* const stream = static_cast<const unsigned char*>(given.data);
    if (std::fread(given.data, 1, size, stdin) != size) return 1;
    stz_stream_info info = STZ_STREAM_INFO_INIT;
    unsigned long long claimed = stz_info(stream, size, &info) ? 0 : info.array_bytes;
    const auto run = [&](const char* name, auto operation) {
      stz::drop_kept_memory();
      const size_t before = peak = live;
      const int error = operation();
      std::printf("%d %s %d %zu %llu\n", number, name, error, peak - before, claimed);
    };
    run("info", [&] {
      stz_stream_info again = STZ_STREAM_INFO_INIT;
      return stz_info(stream, size, &again);
    });
    if (claimed <= largest) {
      const Uncounted array(claimed);
      run("decode", [&] { return stz_decompress(stream, size, array.data, claimed); });
    }
    run("plan", [&] { return with_reader(stream, size, false, false); });
    run("read", [&] { return with_reader(stream, size, false, true); });
    run("everything", [&] { return with_reader(stream, size, true, false); });
  }
}
