#include "grid/stencil.h"

#include <atomic>
#include <memory>

namespace stz {
namespace {

// Taps with all combinations of signs of the given distances. The sign of the first axis changes fastest, minus first.
std::vector<Tap> signs(std::initializer_list<std::pair<int, int>> axis_distance) {
  std::vector<Tap> taps;
  for (unsigned m = 0; m < (1u << axis_distance.size()); m++) {
    Tap t{};
    unsigned k = 0;
    for (auto [axis, distance] : axis_distance) t[size_t(axis)] = (m >> k++ & 1) ? distance : -distance;
    taps.push_back(t);
  }
  return taps;
}

void append(std::vector<Tap>& to, const std::vector<Tap>& from) { to.insert(to.end(), from.begin(), from.end()); }

Stencil make_stencil(StencilId id, int mask, int active) {
  std::vector<int> odd, even;
  for (int a = 0; a < axes; a++)
    if (mask >> a & 1)
      odd.push_back(a);
    else if (active >> a & 1)
      even.push_back(a);
  Stencil s;
  s.odd = int(odd.size());
  auto group = [&](std::vector<Tap> taps, int context_weight) { s.groups.push_back({std::move(taps), context_weight}); };
  for (int a : odd) group(signs({{a, 1}}), 4);
  for (int a : odd) group(signs({{a, 3}}), 1);
  for (int a : odd) group(signs({{a, 5}}), 0);
  if (s.odd == 1)
    for (int b : even) group(signs({{odd[0], 1}, {b, 2}}), 2);
  if (s.odd == 2) group(signs({{odd[0], 1}, {odd[1], 1}}), 2);
  if (s.odd == 3) {
    for (size_t k = 0; k < 3; k++) group(signs({{odd[(k + 1) % 3], 1}, {odd[(k + 2) % 3], 1}}), 2);
    group(signs({{odd[0], 1}, {odd[1], 1}, {odd[2], 1}}), 2);
  }
  if (s.odd == 4) {
    std::vector<Tap> two, three;
    for (int a = 0; a < 4; a++)
      for (int b = a + 1; b < 4; b++) append(two, signs({{a, 1}, {b, 1}}));
    for (int a = 0; a < 4; a++) append(three, signs({{(a + 1) % 4, 1}, {(a + 2) % 4, 1}, {(a + 3) % 4, 1}}));
    group(std::move(two), 2);
    group(std::move(three), 2);
    group(signs({{0, 1}, {1, 1}, {2, 1}, {3, 1}}), 2);
  }
  if (id == stencil_standard) return s;
  if (s.odd == 1)
    for (int b : even) {
      group(signs({{odd[0], 3}, {b, 2}}), 0);
      group(signs({{odd[0], 1}, {b, 4}}), 0);
    }
  if (s.odd == 2) {
    group(signs({{odd[0], 1}, {odd[1], 3}}), 0);
    group(signs({{odd[0], 3}, {odd[1], 1}}), 0);
    for (int b : even) {
      group(signs({{odd[0], 1}, {b, 2}}), 0);
      group(signs({{odd[1], 1}, {b, 2}}), 0);
    }
  }
  if (s.odd == 3)
    for (size_t a = 0; a < 3; a++)
      for (size_t b = 0; b < 3; b++)
        if (a != b) group(signs({{odd[a], 3}, {odd[b], 1}}), 0);
  if (id == stencil_wide) return s;
  for (int a : odd) {
    group(signs({{a, 7}}), 0);
    group(signs({{a, 9}}), 0);
  }
  return s;
}

}  // namespace

const Stencil& stencil_of(StencilId id, int mask, int active) {
  static std::atomic<const Stencil*> made[stencil_count][16][16];  // never freed: no destructor may run at exit
  std::atomic<const Stencil*>& slot = made[id][mask][active];
  const Stencil* stencil = slot.load(std::memory_order_acquire);
  if (stencil) return *stencil;
  auto fresh = std::make_unique<const Stencil>(make_stencil(id, mask, active));
  if (slot.compare_exchange_strong(stencil, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *stencil;  // another thread was first
}

}  // namespace stz
