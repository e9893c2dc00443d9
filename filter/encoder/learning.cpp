#include "encoder/learning.h"

#include <algorithm>
#include <thread>

#include "base/pseudo_random.h"

namespace {

constexpr double most_loss = 0.03;  // above it all arrays are fitted

}  // namespace

stz_learned::~stz_learned() {
  if (!mutex_.try_lock()) static_cast<void>(sets_.release());  // another thread of the process before the fork was changing it
}

// How many arrays follow until the next trial.
stz::u64 stz_learned::interval() const noexcept {
  if (fitted_ == 0) return 0;
  const double cost = loss();
  const stz::u64 by_loss = cost > most_loss ? 8 : cost > 0.02 ? 3 : cost > 0.01 ? 6 : cost > 0.005 ? 12 : 24;
  stz::u64 seed = arrays_;
  const stz::u64 varied = by_loss / 2 + stz::pseudo_random(seed) % (by_loss + 1);  // data may be periodic
  return std::min(varied, arrays_);  // soon at first: the neighbours that were fitted are more alike than later arrays
}

stz_learned::Turn stz_learned::next() noexcept {
  try {
    if (fixed_) return {fixed_sets_, fixed_sets_.empty()};
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return {};
    const stz::u64 number = arrays_++;
    if (number >= next_trial_) {
      next_trial_ = number + 1 + interval();
      return {*sets_, true};
    }
    if (loss() > most_loss) return {};
    return {*sets_, false};
  } catch (...) {
    return {};
  }
}

bool stz_learned::is_unlike(double bytes) noexcept {
  const double alike = fixed_ ? 2 : 1.25;  // a memory that is fixed does not follow the data: chunks would be fitted again and again
  const auto is_alike = [&](const auto& set) { return bytes < alike * set->bytes && set->bytes < alike * bytes; };
  if (fixed_) return std::none_of(fixed_sets_.begin(), fixed_sets_.end(), is_alike);
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock && std::none_of(sets_->begin(), sets_->end(), is_alike);
}

void stz_learned::judge(double learned, double fitted) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || fixed_) return;
  learned_ = 0.5 * learned_ + std::max(learned, fitted);
  fitted_ = 0.5 * fitted_ + fitted;
  next_trial_ = std::min(next_trial_, arrays_ + interval());
}

bool stz_learned::add(std::shared_ptr<const stz::LearnedSet> set, bool waits) {
  if (!set || fixed_) return true;
  std::unique_lock lock(mutex_, std::try_to_lock);
  for (int turn = 0; waits && !lock && turn < 100000; turn++) {
    std::this_thread::yield();
    lock.try_lock();
  }
  if (!lock) return false;
  if (sets_->size() == most_sets) sets_->erase(sets_->begin());
  sets_->push_back(std::move(set));
  return true;
}

void stz_learned::fix() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  try {
    if (lock && !fixed_) fixed_sets_ = *sets_;
  } catch (...) {
    fixed_sets_.clear();  // every array is fitted: its bytes still depend on nothing else
  }
  fixed_ = true;
}
