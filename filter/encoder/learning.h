// The memory of an encoder for arrays that resemble each other, such as the chunks of a dataset: what earlier arrays taught, and which
// arrays are fitted.
//
// Arrays take the predictions of earlier ones. Now and then one is encoded in both ways: the lengths of its streams tell what learned
// predictions cost. The less they cost, the later is the next such trial. If they cost more than 3 %,
// trials are rarer again, and all arrays between them are fitted. An array
// is also fitted if its stream is much longer or shorter than those of the arrays that taught: the data have changed.
#pragma once
#include <memory>
#include <mutex>

#include "encoder/plan/learned.h"

// The name is that of the C API. Any number of threads may use one.
struct stz_learned {
 public:
  struct Turn {
    stz::LearnedSets sets;  // to choose from; none: the array is fitted
    bool is_fitted = true;  // the array is fitted, also if there are sets
  };
  stz_learned() : sets_(std::make_unique<stz::LearnedSets>()) {}
  explicit stz_learned(stz::LearnedSets sets) : sets_(std::make_unique<stz::LearnedSets>()), fixed_(true), fixed_sets_(std::move(sets)) {}
  ~stz_learned();

  // What is to be done with the next array.
  Turn next() noexcept;
  // Whether a stream of this length, with learned predictions, is unlike those of all arrays that taught.
  bool is_unlike(double bytes) noexcept;
  // Adds what an array taught; null adds nothing. Returns false if the lock is not free. With `waits`, tries for a while.
  bool add(std::shared_ptr<const stz::LearnedSet> set, bool waits = false);
  // The lengths of an array's streams with learned predictions and with its own.
  void judge(double learned, double fitted) noexcept;
  // Nothing is learned any more.
  void fix() noexcept;
  bool is_fixed() const noexcept { return fixed_; }
  // What was learned; nobody may add to it.
  const stz::LearnedSets& sets() const noexcept { return fixed_ ? fixed_sets_ : *sets_; }

 private:
  static constexpr size_t most_sets = 16;
  double loss() const noexcept { return fitted_ > 0 ? learned_ / fitted_ - 1 : 1; }
  stz::u64 interval() const noexcept;

  // A thread that does not get the lock at once learns nothing and fits its array. In a child of a process that forked meanwhile nobody
  // ever gets it, and what it guards is never touched.
  std::mutex mutex_;
  std::unique_ptr<stz::LearnedSets> sets_;  // oldest first
  bool fixed_ = false;
  stz::LearnedSets fixed_sets_;
  double learned_ = 0, fitted_ = 0;  // bytes of the arrays that were encoded in both ways; earlier ones count less
  stz::u64 arrays_ = 0, next_trial_ = 0;
};
