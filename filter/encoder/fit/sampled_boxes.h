// Boxes of a level that are coded to fit its parameters, and loops over their samples. Encoder only.
#pragma once
#include <algorithm>

#include "base/parallel.h"
#include "base/pseudo_random.h"
#include "encoder/block/level_source.h"

namespace stz {

// A box of a level. Small levels are coded whole to fit their parameters: their boxes are their blocks, in order.
template <class S>
struct SampledBox {
  u64 item;
  Box place;
  BlockWork<S> work;
  Buffer<u8> context[16];                                   // of the classes that have codes
  std::vector<std::array<Buffer<u8>, 16>> refined_context;  // and of their refinements
};

// All blocks of a level.
template <class S>
std::vector<SampledBox<S>> all_blocks(const LevelSource<S>& source, size_t l);
// Boxes spread evenly over a level, with about `samples` samples in all. `smaller`: how often to halve their longest sides.
template <class S>
std::vector<SampledBox<S>> sample_boxes(const LevelSource<S>& source, size_t l, u64 samples, int smaller = 0);

constexpr int most_box_tasks = 32;  // most tasks of for_boxes: more threads have nothing to do

// Calls f(box) for all boxes, on several threads if they hold enough samples.
template <class S, class F>
void for_boxes(std::vector<SampledBox<S>>& boxes, int threads, F f) {
  struct Nothing {};
  constexpr u64 fewest_shared = 1 << 16;  // samples that are worth several threads
  u64 samples = 0;
  for (const SampledBox<S>& box : boxes) samples += u64(box.place.size[0] * box.place.size[1] * box.place.size[2] * box.place.size[3]);
  const u64 boxes_per_task = samples < fewest_shared ? boxes.size() : (boxes.size() + most_box_tasks - 1) / most_box_tasks;
  parallel_for<Nothing>((boxes.size() + boxes_per_task - 1) / boxes_per_task, threads, [&](Nothing&, u64 task) {
    for (size_t b = size_t(task * boxes_per_task); b < std::min<size_t>(boxes.size(), (task + 1) * boxes_per_task); b++) f(boxes[b]);
  });
}

// Calls visit(box, index of the box, index of the first sample, n) for runs of n <= `length` neighbours along the last axis of a class.
// Visits all runs, or some with about `want` samples in all: the runs are spread evenly, with pseudo-random places.
template <class S, class F>
void for_spread_runs(std::vector<SampledBox<S>>& boxes, int cls, int length, u64 want, u64 seed, F visit) {
  auto runs_of = [&](const BlockGeometry& g) {
    const Index to = g.counts(cls);
    return u64(to[0] * to[1] * to[2]) * u64((to[3] + length - 1) / length);
  };
  u64 runs = 0, samples = 0;
  for (const SampledBox<S>& box : boxes) {
    runs += runs_of(box.work.geometry);
    samples += box.work.geometry.samples(cls);
  }
  if (!samples) return;
  const bool all = want >= samples;
  const u64 wanted = all ? runs : std::clamp<u64>((want * runs + samples / 2) / samples, 1, runs);
  u64 before = 0, left = runs_of(boxes[0].work.geometry);
  size_t b = 0;
  u64 part = 0;
  Index to = boxes[0].work.geometry.counts(cls);
  for (u64 r = 0; r < wanted; r++) {
    // A pseudo-random place in the r-th of `wanted` equal parts.
    u64 at = r;
    if (!all) {
      const u64 from = part;
      part = (r + 1) * runs / wanted;
      at = from + (pseudo_random(seed) * std::max<u64>(1, part - from) >> 31);
    }
    while (at - before >= left) {
      before += left;
      const BlockGeometry& g = boxes[++b].work.geometry;
      left = runs_of(g);
      to = g.counts(cls);
    }
    const u32 in_row = u32(to[3] + length - 1) / u32(length);
    u32 k = u32(at - before);
    Index first;
    first[3] = k % in_row * u32(length);
    k /= in_row;
    first[2] = k % u32(to[2]);
    k /= u32(to[2]);
    first[1] = k % u32(to[1]);
    first[0] = k / u32(to[1]);
    visit(boxes[b], b, first, int(std::min<i64>(length, to[3] - first[3])));
  }
}

}  // namespace stz
