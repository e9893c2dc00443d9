// How far samples may be from what was compressed first.
#pragma once
#include <algorithm>

namespace stz::recognition {

// 0: the samples have lost nothing. STZ_UNKNOWN_BOUND: nobody knows how much. Copies of the plug-in pass it to each other, so all members
// are of C types.
struct Prior {
  double absolute;  // in the unit of the data
  double relative;  // to each of the samples that were compressed first

  bool any() const noexcept { return absolute > 0 || relative > 0; }
  void include(const Prior& other) noexcept {
    absolute = std::max(absolute, other.absolute);
    relative = std::max(relative, other.relative);
  }
};

}  // namespace stz::recognition
