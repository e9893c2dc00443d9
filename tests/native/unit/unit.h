// Unit tests of single parts of the codec, in one program. TEST(name) registers a function under the name of its file; CHECK ends it with
// what was expected. Random cases are the same in every run and on every machine.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace unit {

using namespace stz;

struct Test {
  const char *file, *name;
  void (*run)();
};
std::vector<Test>& tests();
struct Registered {
  Registered(const char* file, const char* name, void (*run)()) { tests().push_back({file, name, run}); }
};

struct Failed {
  std::string what;
};
[[noreturn]] __attribute__((format(printf, 4, 5))) void failed(const char* file, int line, const char* condition, const char* format, ...);

// How often a long test does the same with other samples: under a sanitizer, where each time takes ten times as long, a quarter as often.
constexpr u64 turns(u64 usual) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return usual / 4;
#else
  return usual;
#endif
}

#define TEST(name)                                                        \
  static void name();                                                     \
  static const unit::Registered registered_##name(__FILE__, #name, name); \
  static void name()
// CHECK(condition) or CHECK(condition, "format", ...): what tells the case.
#define CHECK(condition, ...)                                                        \
  do {                                                                               \
    if (!(condition)) unit::failed(__FILE__, __LINE__, #condition, " " __VA_ARGS__); \
  } while (0)

// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(u64 seed) : state_(seed) {}
  u64 bits() {
    u64 z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  u64 below(u64 n) { return bits() % n; }
  i64 between(i64 low, i64 high) { return low + i64(below(u64(high - low) + 1)); }
  bool chance(double p) { return double(bits() >> 11) * 0x1p-53 < p; }
  u64 of_width(int width) { return width == 0 ? 0 : bits() >> (64 - width); }
  // Any magnitude is as likely: a number of so many bits at most.
  u64 magnitude(int most_bits) { return of_width(int(below(u64(most_bits) + 1))); }
  i64 signed_magnitude(int most_bits) { return i64(magnitude(most_bits)) * (below(2) ? 1 : -1); }

 private:
  u64 state_;
};

// Bytes that end where nothing may be read: a step beyond them ends the program. Mappings are kept for the next ones.
class AtPageEnd {
 public:
  AtPageEnd(const u8* data, size_t size) : size_(size) {
    std::vector<Mapping>& unused = unused_mappings();
    if (!unused.empty() && unused.back().size >= size) {
      mapping_ = unused.back();
      unused.pop_back();
    } else {
      mapping_ = map(size);
    }
    if (size) memcpy(begin(), data, size);
  }
  explicit AtPageEnd(const Bytes& bytes) : AtPageEnd(bytes.data(), bytes.size()) {}
  AtPageEnd(const AtPageEnd&) = delete;
  AtPageEnd& operator=(const AtPageEnd&) = delete;
  ~AtPageEnd() { unused_mappings().push_back(mapping_); }
  u8* begin() { return mapping_.end - size_; }
  size_t size() const { return size_; }

 private:
  struct Mapping {
    u8* end;
    size_t size;
  };
  static Mapping map(size_t size) {
    const size_t page = size_t(sysconf(_SC_PAGESIZE)), usable = (size / page + 16) * page;
    void* base = mmap(nullptr, usable + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) failed(__FILE__, __LINE__, "mmap", " no memory");
    u8* end = static_cast<u8*>(base) + usable;
    mprotect(end, page, PROT_NONE);
    return {end, usable};
  }
  static std::vector<Mapping>& unused_mappings() {
    static std::vector<Mapping> mappings;
    return mappings;
  }

  size_t size_;
  Mapping mapping_;
};

// The code that f fails with, 0 if it does not.
template <class F>
int failure_of(F f) {
  try {
    f();
  } catch (const Failure& failure) {
    return failure.code;
  }
  return 0;
}
// What damaged bytes may give. They may look like what is reserved for later versions.
inline bool is_damage(int code) { return code == STZ_ERROR_CORRUPT || code == STZ_ERROR_TRUNCATED || code == STZ_ERROR_VERSION; }

}  // namespace unit
