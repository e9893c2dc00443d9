#include "masks/scattered_mask.h"

#include "base/made_once.h"

namespace stz {

const BitPatterns& bit_patterns() {
  static std::atomic<BitPatterns*> patterns;
  return made_once(patterns, [] { return std::make_unique<BitPatterns>(); });
}

}  // namespace stz
