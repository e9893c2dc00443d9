// The elements of an array that a partial read asks for, and their places in the codec: items of the batch, a progression along each axis.
#pragma once
#include "format/frame.h"

namespace stz {

// start + i * step, 0 <= i < count, along each axis; in samples of a level.
struct Progression {
  Index start{}, count{1, 1, 1, 1}, step{1, 1, 1, 1};
  bool operator==(const Progression&) const = default;
  i64 last(size_t a) const { return start[a] + (count[a] - 1) * step[a]; }
};

// Elements start[r] + i * step[r], i < count[r], for every axis of the array; null step: 1.
struct Request {
  const u64 *start, *count, *step;
  double max_error = 0;  // of what is read, in the unit of the data; where a stream has no layers for that, all of its precision
  bool enhance = true;   // where a stream has an enhancement
  u64 step_of(int r) const { return step ? step[r] : 1; }
};

// The number of requested elements. Fails with STZ_ERROR_ARGUMENT for elements outside the array and for steps of 0.
u64 requested_elements(const stz_layout& layout, const Request& request);

// Selected samples along an axis of the codec, evenly spaced: where they begin, in samples of a level and as an offset in the output.
struct SelectedRun {
  i64 start, offset;
};

struct Selection {
  bool empty = false;       // nothing is asked for
  u64 elements = 1;         // asked for
  bool padded = false;      // some of them are outside of the valid extent
  bool none_valid = false;  // all of them are
  Progression wanted;       // along the codec's axes, in samples of level 0; of merged axes it may have more than is asked for
  Index stride{};           // bytes in the output from one to the next along them
  // Of merged axes for which a progression has more: what is asked for, as a nest of repetitions of a sample. Slowest first, the last has
  // the axis's `stride`.
  struct Repetition {
    i64 count, step;  // in samples of level 0
    i64 stride;       // bytes in the output
    bool operator==(const Repetition&) const = default;
  };
  std::array<std::vector<Repetition>, axes> nested;
  struct BatchAxis {
    u64 start, count, step;  // in the batch
    u64 items;               // between neighbours along it, items
    u64 stride;              // bytes in the output
    bool operator==(const BatchAxis&) const = default;
  };
  std::vector<BatchAxis> batch;  // slowest first
  u64 bytes = 0;                 // of the output

  // Of the runs of samples along an axis, in a level where the selection is the progression p: the samples of each, their distance, and the
  // runs that have some in [low, high).
  i64 run_count(const Progression& p, size_t a) const { return nested[a].empty() ? p.count[a] : nested[a].back().count; }
  i64 run_step(const Progression& p, size_t a) const { return nested[a].empty() ? p.step[a] : nested[a].back().step / scale(p, a); }
  std::vector<SelectedRun> runs_between(const Progression& p, size_t a, i64 low, i64 high) const;

  // Calls f(item, offset in the output) for every item; components of complex numbers are items too.
  template <class F>
  void for_items(F f) const {
    std::vector<u64> at(batch.size());
    for (;;) {
      u64 item = 0, offset = 0;
      for (size_t b = 0; b < batch.size(); b++) {
        item += (batch[b].start + at[b] * batch[b].step) * batch[b].items;
        offset += at[b] * batch[b].stride;
      }
      f(item, offset);
      size_t b = batch.size();
      while (b > 0 && ++at[b - 1] == batch[b - 1].count) at[--b] = 0;
      if (b == 0) return;
    }
  }

 private:
  // Samples of level 0 along an axis per sample of a level.
  i64 scale(const Progression& p, size_t a) const { return wanted.step[a] / p.step[a]; }
};

// Of a stream of blocks. Fails as requested_elements() does.
Selection select(const Header& h, const Request& request);

}  // namespace stz
