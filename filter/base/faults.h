// Flips bits in memory between the stages of the codec, to test the check of streams (precision/check_stream.h). Compiled in only with
// STZ_FAULTS (CMake option H5STZ_FAULTS, preset "faults").
//
// STZ_FAULT_POINT(name, memory, bytes) marks a place where a stage has written its result and the next one has not read it yet.
// STZ_FAULT_POINT_UP_TO(name, memory, bytes, largest) flips a bit only if the byte is at most `largest` before and after: the next stage
// uses these numbers as indices, and larger ones would exceed its tables.
//
// A plan flips bits at one point. Without a plan, passes of each point are counted. In a plug-in the environment gives the plan:
// H5STZ_FAULT=NAME:NUMBER:SEED, optionally followed by :lasting.
#pragma once

#if defined(STZ_FAULTS)
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/common.h"

namespace stz {

#define STZ_FAULT_POINTS(X)                                                 \
  X(array)           /* the caller's array, between encoding and check */   \
  X(samples)         /* samples made from elements, in their own memory */  \
  X(coarse_samples)  /* samples of levels above 0 */                        \
  X(masks)           /* special values of samples */                        \
  X(literals)        /* bits of literal elements */                         \
  X(scan)            /* the largest magnitude */                            \
  X(palette)         /* distinct values */                                  \
  X(ranks)           /* ranks of samples in the palette */                  \
  X(weights)         /* weights of predictions */                           \
  X(feedback)        /* weights of residual feedback */                     \
  X(means)           /* mean indices, which choose models */                \
  X(models)          /* models of contexts */                               \
  X(histogram)       /* histogram of indices */                             \
  X(indices)         /* quantization indices of a block */                  \
  X(refined_indices) /* what a precision layer adds to them */              \
  X(activities)      /* activities of a block */                            \
  X(contexts)        /* contexts of the indices of a class */               \
  X(bins)            /* indices partitioned by context */                   \
  X(symbols)         /* symbols before entropy coding */                    \
  X(raw_bits)        /* raw bits beside symbols */                          \
  X(rans)            /* words of an entropy-coded stream */                 \
  X(edge_stream)     /* stream of a block in edge mode */                   \
  X(reconstruction)  /* a level from which finer levels are predicted */    \
  X(base_section)    /* base section before its check is added */           \
  X(level_head)      /* parameters and index of a level */                  \
  X(streams)         /* streams of a level before their checks are added */ \
  X(content_checks)  /* CRCs of decoded values */                           \
  X(header_fields)   /* numbers that scale samples, special values */       \
  X(header)          /* bytes of the header before its check is added */    \
  X(layer_errors)    /* measured errors of precision layers */              \
  X(enhancement)     /* weights of the enhancement */                       \
  X(promise)         /* by how much the enhancement exceeds the bound */    \
  X(decoded_before)  /* rewriting: decoded array of the old stream */       \
  X(changes)         /* rewriting: which elements differ from it */         \
  X(patch_elements)  /* rewriting: elements of a patch */                   \
  X(patch_origin)    /* rewriting: origin of a patch */                     \
  X(stream)          /* stream with all its checks */                       \
  X(output)          /* the same in the caller's memory */                  \
  X(decoded_indices) /* decoder: indices of a class of a block */           \
  X(decoded_samples) /* decoder: samples of a level */                      \
  X(decoded_array)   /* the array that the check compares */

enum class FaultPoint {
#define STZ_FAULT_NAME(name) name,
  STZ_FAULT_POINTS(STZ_FAULT_NAME)
#undef STZ_FAULT_NAME
      count
};
constexpr const char* fault_point_names[] = {
#define STZ_FAULT_NAME(name) #name,
    STZ_FAULT_POINTS(STZ_FAULT_NAME)
#undef STZ_FAULT_NAME
};

class Faults {
 public:
  Faults() {
    const char* text = std::getenv("H5STZ_FAULT");
    const char* const colon = text ? std::strchr(text, ':') : nullptr;
    if (!colon) return;
    for (int p = 0; p < int(FaultPoint::count); p++)
      if (std::strncmp(text, fault_point_names[p], size_t(colon - text)) == 0 && !fault_point_names[p][colon - text]) {
        char* end = nullptr;
        const u64 number = std::strtoull(colon + 1, &end, 10), seed = *end == ':' ? std::strtoull(end + 1, &end, 10) : 0;
        plan(FaultPoint(p), number, seed, std::strcmp(end, ":lasting") == 0);
      }
  }
  // Flips a bit at pass `number` of a point, counted from 0 from now on. A `lasting` plan also flips one at every later pass.
  void plan(FaultPoint point, u64 number, u64 seed, bool lasting) {
    forget();
    number_ = number;
    seed_ = seed;
    lasting_ = lasting;
    point_ = point;
  }
  void forget() {
    point_ = FaultPoint::count;
    for (auto& each : passed_) each = 0;
    flipped_ = 0;
  }
  u64 passed(FaultPoint point) const { return passed_[int(point)]; }
  u64 flipped() const { return flipped_; }

  void pass(FaultPoint point, void* memory, size_t bytes, u8 largest) {
    if (!bytes) return;
    const u64 number = passed_[int(point)]++;
    if (point != point_ || (lasting_ ? number < number_ : number != number_)) return;
    u8* const of = static_cast<u8*>(memory);
    u64 random = seed_ * 0x9e3779b97f4a7c15u + 1;
    for (int trial = 0; trial < 100; trial++) {
      random = (random ^ random >> 29) * 0xbf58476d1ce4e5b9u;
      random ^= random >> 32;
      u8& byte = of[random % bytes];
      const u8 flipped = byte ^ u8(1u << (random >> 56 & 7));
      if (byte > largest || flipped > largest) continue;
      byte = flipped;
      flipped_++;
      return;
    }
  }

 private:
  std::atomic<FaultPoint> point_ = FaultPoint::count;
  u64 number_ = 0, seed_ = 0;
  bool lasting_ = false;
  std::atomic<u64> passed_[int(FaultPoint::count)] = {}, flipped_ = 0;
};
inline Faults faults;

}  // namespace stz
#define STZ_FAULT_POINT_UP_TO(name, memory, bytes, largest) \
  ::stz::faults.pass(::stz::FaultPoint::name, const_cast<void*>(static_cast<const void*>(memory)), bytes, largest)
#else
#define STZ_FAULT_POINT_UP_TO(name, memory, bytes, largest) static_cast<void>(0)
#endif
#define STZ_FAULT_POINT(name, memory, bytes) STZ_FAULT_POINT_UP_TO(name, memory, bytes, 255)
