// What a caller asks for that the header does not record. Encoder only. A request does not change once it is made.
#pragma once
#include <limits>
#include <vector>

#include "encoder/plan/learned.h"
#include "format/frame.h"
#include "stz.h"
#include "stz_options.h"

namespace stz {

struct StreamRequest {
  int32_t effort = 0;                   // 0 (default) to 9: effort.h
  int layers = 1;                       // precision layers, if a representation has any
  std::vector<int> unknown_bits;        // the cuts between layers (encode.h); empty: evenly
  bool dead_zone = false;               // wide dead zones (dead_zone.h) if the quantizer allows them
  int32_t favour = STZ_FAVOUR_DEFAULT;  // stz_favour
  int32_t content_check = STZ_CONTENT_CHECK_DEFAULT;
  bool keep_zeros = false;  // +0 and -0 keep their bits
  bool keep_range = false;  // decoded elements stay between the smallest and the largest valid sample
  // decoded elements stay at or above, and at or below, if all valid samples are
  double valid_low = -std::numeric_limits<double>::infinity(), valid_high = std::numeric_limits<double>::infinity();
  double error_factor = 1;               // how far decoded elements may be from the samples, in bounds
  int threads = 1;                       // most threads; the bytes do not depend on it
  const LearnedSets* learned = nullptr;  // predictions of earlier arrays, to choose from; null or empty: all are fitted
};

// Whether zeros must be masked, as their codes may not give them exactly. Point-wise bounds, and integers with a bound below 1, lose zeros
// in the first layers only.
inline bool masks_zeros(const Header& h, const StreamRequest& request) {
  const bool with_layers = request.layers > 1 || !request.unknown_bits.empty();
  const bool are_lost = h.mode == STZ_ABSOLUTE && !(is_integer(h.layout.dtype) && h.bound < 1);
  return request.keep_zeros && h.mode != STZ_LOSSLESS && (are_lost || with_layers);
}

}  // namespace stz
