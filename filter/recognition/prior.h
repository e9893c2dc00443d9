// The distance that samples may have from the originals, which were compressed first.
#pragma once
#include <algorithm>

namespace stz::recognition {

// 0: no loss. STZ_UNKNOWN_BOUND: a loss of unknown size. Copies of the plug-in pass a Prior to each other, so all members are of C types.
struct Prior {
  double absolute;  // in the unit of the data
  double relative;  // relative to each original sample

  bool any() const noexcept { return absolute > 0 || relative > 0; }
  void include(const Prior& other) noexcept {
    absolute = std::max(absolute, other.absolute);
    relative = std::max(relative, other.relative);
  }
};

}  // namespace stz::recognition
