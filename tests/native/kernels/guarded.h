// Arrays for kernels to run over: what lies around them is garbage that is watched, and what lies beyond what a kernel may touch is not
// mapped, mostly. Half of the arrays end where a page ends, a quarter start where a page starts, the others lie anywhere in between, so
// that each length occurs with each alignment.
#pragma once
#include "harness.h"

namespace check {

// A run of pages with pages that nobody may touch on both sides. Made once, used again and again.
struct Arena {
  u8* base;
  size_t size;
  bool used;
  std::vector<u8> remembered;
};
Arena& take_arena(size_t bytes);
void release_arenas();  // after a fault, which leaves its arrays behind

template <class T>
class Guarded {
 public:
  // n elements; a kernel may touch so many more `before` and `after` them.
  Guarded(Random& random, size_t n, size_t before = 0, size_t after = 0)
      : arena_(take_arena((before + n + after) * sizeof(T) + watched)), n_(n) {
    u8 *first = arena_.base + before * sizeof(T), *last = arena_.base + arena_.size - (n + after) * sizeof(T);
    const u64 where = random.below(4);
    data_ = reinterpret_cast<T*>(where == 0 ? first : where == 1 ? last - random.below(64 / sizeof(T) + 1) * sizeof(T) : last);
    random.fill(arena_.base, arena_.size);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { arena_.used = false; }

  T* data() { return data_; }
  size_t size() const { return n_; }
  T& operator[](size_t i) { return data_[i]; }
  void remember() { arena_.remembered.assign(arena_.base, arena_.base + arena_.size); }
  // Nothing has changed since then but elements [from, to) of those that `may_change` allows (all by default).
  template <class F>
  void changed_only(const char* what, i64 from, i64 to, F may_change) {
    for (i64 at = 0, end = i64(arena_.size); at < end; at++) {
      if (arena_.base[at] == arena_.remembered[size_t(at)]) continue;
      const i64 byte = arena_.base + at - reinterpret_cast<u8*>(data_), element = byte >= 0 ? byte / i64(sizeof(T)) : -1;
      if (byte < from * i64(sizeof(T)) || element >= to || !may_change(element))
        wrong("writes element %lld of %s, which has %zu (%lld to %lld may be written)", (long long)element, what, n_, (long long)from,
              (long long)to);
    }
  }
  void changed_only(const char* what, i64 from, i64 to) {
    u8 *first = reinterpret_cast<u8*>(data_ + from), *last = reinterpret_cast<u8*>(data_ + to), *old = arena_.remembered.data();
    u8 *begin = std::max(first, arena_.base), *end = std::min(last, arena_.base + arena_.size);
    if (memcmp(arena_.base, old, size_t(begin - arena_.base)) == 0 &&
        memcmp(end, old + (end - arena_.base), size_t(arena_.base + arena_.size - end)) == 0)
      return;
    changed_only(what, from, to, [](i64) { return true; });
  }
  void unchanged(const char* what) { changed_only(what, 0, 0); }

 private:
  static constexpr size_t watched = 256;  // bytes at ends that have no page of their own
  Arena& arena_;
  T* data_;
  size_t n_;
};

// An input is what it was.
template <class... Arrays>
void remember(Arrays&... arrays) {
  (arrays.remember(), ...);
}

// The first n elements have the same bits.
template <class T>
void same(const char* what, const T* actual, const T* expected, size_t n) {
  if (n == 0 || memcmp(actual, expected, n * sizeof(T)) == 0) return;
  size_t i = 0;
  while (memcmp(actual + i, expected + i, sizeof(T)) == 0) i++;
  wrong("%s[%zu] of %zu is %s, not %s", what, i, n, text_of(actual[i]).c_str(), text_of(expected[i]).c_str());
}
template <class T>
void same(const char* what, T actual, T expected) {
  same(what, &actual, &expected, 1);
}

}  // namespace check
