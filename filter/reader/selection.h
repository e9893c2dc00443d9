// The elements that a partial read asks for, in the codec's terms: items of the batch, and a progression along each axis.
#pragma once
#include "format/frame.h"

namespace stz {

// Samples start + i * step, 0 <= i < count, along each axis of a level.
struct Progression {
  Index start{}, count{1, 1, 1, 1}, step{1, 1, 1, 1};
  bool operator==(const Progression&) const = default;
  i64 last(size_t a) const { return start[a] + (count[a] - 1) * step[a]; }
};

// Elements start[r] + i * step[r], i < count[r], along every axis r of the array. Null `step`: 1 everywhere.
struct Request {
  const u64 *start, *count, *step;
  // Accepted error, in the unit of the data: refinements that are not needed for it are not read. Streams without layers are read with all
  // of their precision.
  double max_error = 0;
  bool enhance = true;  // applies the enhancement, if the stream has one
  u64 step_of(int r) const { return step ? step[r] : 1; }
};

// The number of requested elements. Fails with STZ_ERROR_ARGUMENT for elements outside the array and for steps of 0.
u64 requested_elements(const stz_layout& layout, const Request& request);

// Evenly spaced selected samples along an axis of the codec: the first of them, in samples of a level, and its byte offset in the output.
struct SelectedRun {
  i64 start, offset;
};

struct Selection {
  bool empty = false;       // nothing is requested
  u64 elements = 1;         // number of requested elements
  bool padded = false;      // some are outside of the valid extent
  bool none_valid = false;  // all are outside of the valid extent
  // Along the codec's axes, in samples of level 0. Along merged axes it may have more samples than are requested.
  Progression wanted;
  Index stride{};  // bytes in the output between neighbours of the progression
  // Along merged axes whose progression has more samples than are requested, these are the requested ones: nested repetitions, slowest
  // first. The last has the axis's `stride`.
  struct Repetition {
    i64 count, step;  // in samples of level 0
    i64 stride;       // bytes in the output
    bool operator==(const Repetition&) const = default;
  };
  std::array<std::vector<Repetition>, axes> nested;
  struct BatchAxis {
    u64 start, count, step;  // indices in the batch
    u64 items;               // items between neighbours along this axis
    u64 stride;              // bytes in the output between neighbours
    bool operator==(const BatchAxis&) const = default;
  };
  std::vector<BatchAxis> batch;  // slowest first
  u64 bytes = 0;                 // size of the output

  // The selected runs along an axis, on a level where the selection is the progression p: number of samples of a run, distance between
  // them, and the runs that may have samples in [low, high).
  i64 run_count(const Progression& p, size_t a) const { return nested[a].empty() ? p.count[a] : nested[a].back().count; }
  i64 run_step(const Progression& p, size_t a) const { return nested[a].empty() ? p.step[a] : nested[a].back().step / scale(p, a); }
  std::vector<SelectedRun> runs_between(const Progression& p, size_t a, i64 low, i64 high) const;

  // Calls f(item, byte offset in the output) for every selected item. The components of complex elements are items too.
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
  // Samples of level 0 per sample of the progression's level.
  i64 scale(const Progression& p, size_t a) const { return wanted.step[a] / p.step[a]; }
};

// The selection of a request in a stream of blocks. Fails as requested_elements() does.
Selection select(const Header& h, const Request& request);

}  // namespace stz
