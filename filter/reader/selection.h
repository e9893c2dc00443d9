// Which elements of an array a partial read asks for, and where they are for the codec: items of the batch, a progression along each axis.
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
  u64 step_of(int r) const { return step ? step[r] : 1; }
};

struct Selection {
  bool empty = false;       // nothing is asked for
  u64 elements = 1;         // asked for
  bool padded = false;      // some of them are outside of the valid extent
  bool none_valid = false;  // all of them are
  Progression wanted;       // along the codec's axes, in samples of level 0
  Index stride{};           // bytes in the output from one to the next along them
  struct BatchAxis {
    u64 start, count, step;  // in the batch
    u64 items;               // between neighbours along it, items
    u64 stride;              // bytes in the output
    bool operator==(const BatchAxis&) const = default;
  };
  std::vector<BatchAxis> batch;  // slowest first
  u64 bytes = 0;                 // of the output

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
};

// Fails with STZ_ERROR_ARGUMENT for what is not inside of the array and for steps of 0.
Selection select(const Header& h, const Request& request);

}  // namespace stz
