// The memory of an encoder for arrays that resemble each other, such as the chunks of a dataset: what earlier arrays taught, and which
// arrays are fitted.
//
// Arrays take the predictions of earlier ones. Now and then one is fitted too: its streams with both tell what learned predictions cost,
// and this decides how soon the next one is fitted. An array is also fitted if its stream is much longer or shorter than those of the
// arrays that taught: the data have changed.
#pragma once
#include <atomic>
#include <mutex>

#include "encoder/plan/learned.h"

// The name is that of the C API. Any number of threads may use one.
struct stz_learned {
 public:
  struct Turn {
    stz::LearnedSets sets;  // to choose from; none: the array is fitted
    bool is_fitted = true;  // the array is fitted, also if there are sets
  };
  // What is to be done with the next array.
  Turn next() noexcept;
  // Whether a stream of this length, with learned predictions, is unlike those of all arrays that taught.
  bool is_unlike(double bytes) noexcept;
  // What an array taught; may be null.
  void add(std::shared_ptr<const stz::LearnedSet> set);
  // The sizes of an array's streams with learned predictions and with its own.
  void judge(double learned, double fitted) noexcept;
  // Nothing is learned any more.
  void fix() noexcept { fixed_ = true; }
  bool is_fixed() const noexcept { return fixed_; }

 private:
  static constexpr size_t most_sets = 16;
  stz::u64 interval() const noexcept;

  // A thread that does not get the lock at once learns nothing and fits its array. So a child of a process that forked never waits.
  std::mutex mutex_;
  bool fixed_ = false;
  stz::LearnedSets sets_;  // oldest first
  bool judged_ = false;
  double loss_ = 0;  // the share of their bytes that learned predictions cost lately
  stz::u64 arrays_ = 0, next_fit_ = 0;
};
