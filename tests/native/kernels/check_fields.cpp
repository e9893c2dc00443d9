// Floating-point numbers taken apart and put together.
#include "guarded.h"

namespace check {
namespace {

template <class U>
constexpr int most_low = sizeof(U) == 8 ? 54 : 8 * int(sizeof(U)) - 2;  // planes have 55 bits at most

// Numbers of all bits, or almost all of them zero.
template <class U>
void fill_numbers(Random& random, U* x, size_t n) {
  if (random.below(4)) return;  // garbage
  std::fill(x, x + n, U(0));
  if (n) x[random.below(2) ? n - 1 : random.below(n)] = U(random.next());
}

// Places in planes: all of them, or some from a multiple of 8 on; `n` grows to one unless it is the end.
template <class U>
RestPlanes random_planes(Random& random, size_t& n) {
  RestPlanes p;
  p.low = int(random.between(0, most_low<U>));
  p.zeros = int(random.below(2) ? 0 : random.between(0, p.low));
  p.first = random.below(2) ? 0 : 8 * random.below(40);
  p.all = p.first + n;
  if (random.below(3) == 0) {
    n = (n + 7) / 8 * 8;
    p.all = p.first + n + random.below(100);
  }
  note("n %zu, low %d, zeros %d, first %zu, all %zu", n, p.low, p.zeros, p.first, p.all);
  return p;
}
size_t bytes_of(const RestPlanes& p) { return (p.all * size_t(p.low + 1 - p.zeros) + 7) / 8; }

template <class U, FieldKernels<U> Kernels::*member>
struct Fields {
  static void tops(const Kernels& tested, Random& random) {
    for (int l = 0; l < lengths; l++)
      for (int repeat = 0; repeat < 4; repeat++) {
        const size_t n = size_t(length_of(l));
        const int low = int(random.between(0, most_low<U>));
        note("n %zu, low %d", n, low);
        Guarded<U> x(random, n);
        Guarded<u16> top(random, n);
        fill_numbers(random, x.data(), n);
        remember(x, top);
        std::vector<u16> expected(n + 1);
        const U any = (tested.*member).tops(x.data(), n, low, top.data());
        x.unchanged("x");
        top.changed_only("top", 0, i64(n));
        same("any", any, (reference.*member).tops(x.data(), n, low, expected.data()));
        same("top", top.data(), expected.data(), n);
      }
  }

  static void put_rests(const Kernels& tested, Random& random) {
    for (int l = 0; l < lengths; l++)
      for (int repeat = 0; repeat < 6; repeat++) {
        size_t n = size_t(length_of(l));
        const RestPlanes p = random_planes<U>(random, n);
        Guarded<U> x(random, n);
        Guarded<u8> planes(random, bytes_of(p));
        remember(x, planes);
        std::vector<u8> expected(planes.data(), planes.data() + planes.size());
        (tested.*member).put_rests(x.data(), n, p, planes.data());
        x.unchanged("x");
        planes.changed_only("planes", 0, i64(planes.size()));
        (reference.*member).put_rests(x.data(), n, p, expected.data());
        same("planes", planes.data(), expected.data(), planes.size());
      }
  }

  static void take_rests(const Kernels& tested, Random& random) {
    for (int l = 0; l < lengths; l++)
      for (int repeat = 0; repeat < 6; repeat++) {
        size_t n = size_t(length_of(l));
        const RestPlanes p = random_planes<U>(random, n);
        Guarded<u8> planes(random, bytes_of(p));
        Guarded<U> rest(random, n);
        remember(planes, rest);
        std::vector<U> expected(n + 1);
        (tested.*member).take_rests(planes.data(), n, p, rest.data());
        planes.unchanged("planes");
        rest.changed_only("rest", 0, i64(n));
        (reference.*member).take_rests(planes.data(), n, p, expected.data());
        same("rest", rest.data(), expected.data(), n);
      }
  }

  static void join(const Kernels& tested, Random& random) {
    for (int l = 0; l < lengths; l++)
      for (int repeat = 0; repeat < 6; repeat++) {
        size_t n = size_t(length_of(l));
        const RestPlanes p = random_planes<U>(random, n);
        const size_t symbols = size_t(random.between(1, 65));
        Guarded<u8> planes(random, bytes_of(p)), symbol(random, n);
        Guarded<U> top(random, symbols), x(random, n);
        for (size_t i = 0; i < n; i++) symbol[i] = u8(random.below(symbols));
        for (size_t s = 0; s < symbols; s++) top[s] = U(u64(U(top[s] << 1) >> 1) >> p.low << p.low);
        remember(planes, symbol, top, x);
        std::vector<U> expected(n + 1);
        (tested.*member).join(planes.data(), symbol.data(), top.data(), n, p, x.data());
        planes.unchanged("planes");
        symbol.unchanged("symbol");
        top.unchanged("top");
        x.changed_only("x", 0, i64(n));
        (reference.*member).join(planes.data(), symbol.data(), top.data(), n, p, expected.data());
        same("x", x.data(), expected.data(), n);
      }
  }
};

#define FIELDS(U, member)                                                                      \
  entries.push_back({CHECK_SLOT(member.tops), Fields<U, &Kernels::member>::tops});             \
  entries.push_back({CHECK_SLOT(member.put_rests), Fields<U, &Kernels::member>::put_rests});   \
  entries.push_back({CHECK_SLOT(member.take_rests), Fields<U, &Kernels::member>::take_rests}); \
  entries.push_back({CHECK_SLOT(member.join), Fields<U, &Kernels::member>::join})

}  // namespace

void add_fields(std::vector<Entry>& entries) {
  FIELDS(u8, fields8);
  FIELDS(u16, fields16);
  FIELDS(u32, fields32);
  FIELDS(u64, fields64);
}

}  // namespace check
