#include "encoder/learning.h"

#include <algorithm>

// How many arrays with learned predictions follow until the next one is fitted.
stz::u64 stz_learned::interval() const noexcept {
  if (!judged_) return 0;
  const stz::u64 by_loss = loss_ > 0.04 ? 1 : loss_ > 0.02 ? 3 : loss_ > 0.01 ? 6 : loss_ > 0.005 ? 12 : 24;
  return std::min(by_loss, arrays_);  // soon at first: the neighbours that were fitted are more alike than later arrays
}

stz_learned::Turn stz_learned::next() noexcept {
  try {
    if (fixed_) return {sets_, sets_.empty()};
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return {};
    const stz::u64 number = arrays_++;
    if (number < next_fit_) return {sets_, false};
    next_fit_ = number + 1 + interval();
    return {sets_, true};
  } catch (...) {
    return {};
  }
}

bool stz_learned::is_unlike(double bytes) noexcept {
  if (fixed_) return false;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  constexpr double alike = 1.25;
  return std::none_of(sets_.begin(), sets_.end(),
                      [&](const auto& set) { return bytes < alike * set->bytes && set->bytes < alike * bytes; });
}

void stz_learned::judge(double learned, double fitted) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  const double loss = std::max(0.0, learned / fitted - 1);
  loss_ = judged_ ? 0.5 * (loss_ + loss) : loss;
  judged_ = true;
  next_fit_ = std::min(next_fit_, arrays_ + interval());
}

void stz_learned::add(std::shared_ptr<const stz::LearnedSet> set) {
  if (!set || fixed_) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  if (sets_.size() == most_sets) sets_.erase(sets_.begin());
  sets_.push_back(std::move(set));
}
