// Structures that grow (base/struct_size.h), seen from a library of a later version than the caller's, which no released version is yet.
#include "base/struct_size.h"

#include <cstdio>
#include <cstdlib>

struct Version1 {
  size_t struct_size;
  int32_t first, second;
};

// The library's; `third` came with version 2, `fourth` with version 3.
struct Version3 {
  size_t struct_size;
  int32_t first, second;
  uint64_t third;
  uint64_t fourth;
};

template <>
inline constexpr size_t stz::first_struct_size<Version3> = STZ_SIZE_UP_TO(Version3, second);

namespace {

void check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "test_struct_size: %s\n", what);
  std::exit(1);
}

// A caller's structure in an allocation of exactly its size, so that a sanitizer or valgrind sees an access beyond it.
template <class Caller>
class Exact {
 public:
  explicit Exact(const Caller& value) : bytes_(std::malloc(sizeof value)) { memcpy(bytes_, &value, sizeof value); }
  ~Exact() { std::free(bytes_); }
  Version3* as_the_library_sees_it() { return static_cast<Version3*>(bytes_); }
  Caller value() const {
    Caller copy;
    memcpy(&copy, bytes_, sizeof copy);
    return copy;
  }

 private:
  void* bytes_;
};

void check_inputs() {
  Version3 full{9, 9, 9, 9, 9};
  Exact<Version1> old({sizeof(Version1), 1, 2});
  check(stz::take_input(old.as_the_library_sees_it(), full) == STZ_OK, "an old caller is served");
  check(full.struct_size == sizeof full && full.first == 1 && full.second == 2, "known fields are taken");
  check(full.third == 0 && full.fourth == 0, "fields that the caller does not have take their defaults");

  Exact<Version3> current({offsetof(Version3, fourth), 1, 2, 3, 4});  // of version 2: `fourth` is not its
  check(stz::take_input(current.as_the_library_sees_it(), full) == STZ_OK && full.third == 3 && full.fourth == 0,
        "a caller between the versions is served");

  for (const size_t size : {size_t{0}, sizeof(size_t), sizeof(Version1) - 1, size_t{STZ_MAX_STRUCT_SIZE} + 1, ~size_t{0}}) {
    Exact<size_t> wrong(size);
    check(stz::take_input(wrong.as_the_library_sees_it(), full) == STZ_ERROR_ARGUMENT, "an impossible size is refused");
  }
}

void check_outputs() {
  const Version3 full{sizeof full, 1, 2, 3, 4};
  Exact<Version1> old({sizeof(Version1), 7, 7});
  stz::give_output(full, old.as_the_library_sees_it());
  check(old.value().struct_size == sizeof(Version1) && old.value().first == 1 && old.value().second == 2, "an old caller gets its fields");

  Exact<Version3> between({offsetof(Version3, fourth), 7, 7, 7, 7});
  stz::give_output(full, between.as_the_library_sees_it());
  check(between.value().third == 3 && between.value().fourth == 7, "nothing is written beyond the caller's size");
}

}  // namespace

int main() {
  check_inputs();
  check_outputs();
  return 0;
}
