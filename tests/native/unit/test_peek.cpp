// Looking at memory that may not be there: never a signal, and no answer but for what is there.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "hdf5/peek.h"
#include "unit.h"

namespace {

using namespace unit;
using hdf5::holds;
using hdf5::peek;

// Pages of which the second is unmapped again.
struct Pages {
  size_t page = size_t(sysconf(_SC_PAGESIZE));
  u8* begin;

  Pages() {
    void* const mapped = mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mapped != MAP_FAILED);
    begin = static_cast<u8*>(mapped);
    memset(begin, 7, 3 * page);
    CHECK(munmap(begin + page, page) == 0);
  }
  ~Pages() { munmap(begin, 3 * page); }
  uintptr_t address(size_t offset) const { return reinterpret_cast<uintptr_t>(begin) + offset; }
};

}  // namespace

TEST(memory_that_is_there_is_compared) {
  for (size_t size : {size_t(1), size_t(7), size_t(8), size_t(4096), size_t(16384), size_t(100001)}) {
    Bytes there(size), expected(size);
    for (size_t i = 0; i < size; ++i) there[i] = expected[i] = u8(i * 31);
    const auto address = reinterpret_cast<uintptr_t>(there.data());
    CHECK(holds(address, expected.data(), size));
    there[size - 1] ^= 1;
    CHECK(!holds(address, expected.data(), size));
    CHECK(holds(address, expected.data(), size - 1));
  }
}

TEST(memory_that_is_not_there_holds_nothing) {
  const Pages pages;
  const Bytes sevens(3 * pages.page, 7);
  CHECK(holds(pages.address(0), sevens.data(), pages.page));
  CHECK(!holds(pages.address(0), sevens.data(), pages.page + 1));
  CHECK(!holds(pages.address(pages.page), sevens.data(), 1));
  CHECK(!holds(pages.address(pages.page), sevens.data(), 2 * pages.page));
  CHECK(holds(pages.address(2 * pages.page), sevens.data(), pages.page));
  CHECK(!holds(0, sevens.data(), 1));
}

TEST(words_are_read_where_they_are) {
  const Pages pages;
  constexpr size_t number = 1000;
  uintptr_t addresses[number];
  u64 words[number];
  bool readable[number];
  for (size_t k = 0; k < number; ++k) addresses[k] = pages.address(k % 3 == 1 ? pages.page + k : k % 3 * pages.page + k);
  for (size_t count : {size_t(0), size_t(1), size_t(2), number}) {
    CHECK(peek(addresses, count, words, readable));
    for (size_t k = 0; k < count; ++k) {
      CHECK(readable[k] == (k % 3 != 1), "word %zu", k);
      if (readable[k]) CHECK(words[k] == 0x0707070707070707, "word %zu", k);
    }
  }
}
