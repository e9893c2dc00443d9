// What is decided about a stream of form `blocks` before its samples are coded: their representation and its parameters. Encoder only.
#pragma once
#include <memory>

#include "base/faults.h"
#include "encoder/plan/array.h"
#include "encoder/plan/effort.h"
#include "encoder/plan/request.h"
#include "format/frame.h"

namespace stz {

// A series that falls slowly takes fewer bytes at the same bound, and has a larger mean error.
constexpr double slow_level_ratio = 0.95, equal_levels = 1;

// The ratio with which levels are coded first. Small arrays have no room for a list of bounds.
inline double first_level_ratio(const StreamRequest& request, const Header& h) {
  constexpr u64 fewest_samples = 1 << 15;
  const bool later = effort_of(request.effort).level_ratio_trials && request.layers <= 1;
  return request.favour == STZ_FAVOUR_SIZE && !later && sample_count(h.layout) >= fewest_samples ? slow_level_ratio : default_level_ratio;
}

template <class S>
struct Plan {
  Header header;               // what the stream records, except the results of coding (Sections::header)
  const S* samples = nullptr;  // all items of the batch, C order
  Buffer<S> own;               // the memory of `samples` unless it is the caller's
  std::shared_ptr<const Masks> masks;
  double unit = 1;  // half a quantization step
  i32 effort = 0;
  int layers = 1;                 // wanted precision layers
  std::vector<int> unknown_bits;  // the cuts between them (encode.h); empty: evenly
  bool dead_zone = false;         // level 0 is quantized with a wide dead zone; `unit` is smaller accordingly
  bool content_check = false;     // the CRC of each block of level 0 is wanted
  bool check_if_cheap = false;    // the CRCs are dropped again if they take too many bytes
  i32 favour = STZ_FAVOUR_DEFAULT;
  double level_ratio = default_level_ratio;  // of the bounds of a level and the next finer one, if takes_level_bounds()
  int threads = 1;
  const LearnedSets* learned = nullptr;  // as in the request
  Bytes palette;                         // the palette section

  // A plan for samples in the header's representation, with the options of the request.
  Plan(const Header& representation, const StreamRequest& request, const S* all, std::shared_ptr<const Masks> of_samples, double half_step)
      : header(representation),
        samples(all),
        masks(std::move(of_samples)),
        unit(half_step),
        effort(request.effort),
        layers(request.layers),
        unknown_bits(request.unknown_bits),
        favour(request.favour),
        level_ratio(first_level_ratio(request, header)),
        threads(request.threads),
        learned(request.learned) {
    header.form = Form::blocks;
    if (is_exact()) header.range = {};
    // A content check by default would take too long if samples must be converted to elements first, or if some are special values.
    check_if_cheap = request.content_check == STZ_CONTENT_CHECK_DEFAULT;
    content_check = check_if_cheap ? samples_are_elements<S>(header) && !specials() : request.content_check == STZ_CONTENT_CHECK_WRITE;
  }
  // A plan that owns its samples.
  Plan(const Header& representation, const StreamRequest& request, Buffer<S> made, std::shared_ptr<const Masks> of_samples,
       double half_step)
      : Plan(representation, request, made.data(), std::move(of_samples), half_step) {
    own = std::move(made);
    STZ_FAULT_POINT(samples, own.data(), own.size() * sizeof(S));
  }

  // Whether all decoded elements are those of the array.
  bool is_exact() const { return header.quantizer != QuantizerKind::uniform && header.step == 1 && layers <= 1 && unknown_bits.empty(); }
  // Whether levels may have bounds of their own.
  bool takes_level_bounds() const { return header.quantizer == QuantizerKind::uniform && !header.remainders.present && !dead_zone; }
  const u8* specials() const { return masks->specials_or_null(); }  // null: nothing is masked
  void without_layers() {
    layers = 1;
    unknown_bits.clear();
    if (is_exact()) header.range = {};
  }
};

}  // namespace stz
