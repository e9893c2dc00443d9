#include "precision/encode_layered.h"

#include <algorithm>

#include "base/buffer.h"
#include "base/faults.h"
#include "base/threads.h"
#include "decoder/decode.h"
#include "encoder/encode.h"
#include "format/convert.h"
#include "options/option_rules.h"
#include "precision/distance.h"
#include "precision/enhance_stream.h"

namespace stz {
namespace {

struct Distances {
  double largest = 0, squares = 0;
  u64 count = 0;
  // If a number became NaN or infinite because bits are unknown, both errors are infinite.
  void add(double rounded, double up) {
    if (!(rounded < __builtin_inf())) rounded = up = __builtin_inf();
    largest = std::max(largest, up);
    squares += rounded * rounded;
    count++;
  }
  LayerError error() const { return {largest, count ? __builtin_sqrt(squares / double(count)) : 0}; }
};

// Components of a floating-point type in the host's byte order. `fill`: bits of the fill value, or null.
template <class T, class Bits>
Distances plain_distances(const u8* array, const u8* other, u64 n, const u64* fill) {
  Distances all;
  double largest_rounded = 0;
  for (u64 i = 0; i < n; i++) {
    T x, y;
    memcpy(&x, array + i * sizeof(T), sizeof(T));
    memcpy(&y, other + i * sizeof(T), sizeof(T));
    if (!(__builtin_fabs(double(x)) < __builtin_inf()) || (fill && bit_cast_to<Bits>(x) == *fill)) continue;
    const double d = __builtin_fabs(double(x) - double(y));
    if (d < largest_rounded) {
      all.squares += d * d;
      all.count++;
      continue;
    }
    all.add(d, distance_up(double(x), double(y)));
    largest_rounded = d;
  }
  return all;
}

}  // namespace

LayerError difference(const Header& h, const u8* array, const u8* other) {
  const stz_layout& layout = h.layout;
  const i32 dtype = layout.dtype;
  const u64* const fill = h.has_fill ? &h.fill : nullptr;
  const size_t width = component_size(dtype);
  const bool swap = swapped(layout);
  const u64 n = element_count(layout) * u64(components(dtype));
  if (is_floating(dtype) && !swap && width == 4) return plain_distances<float, u32>(array, other, n, fill).error();
  if (is_floating(dtype) && !swap && width == 8) return plain_distances<double, u64>(array, other, n, fill).error();
  Distances all;
  const u64 top = dtype == STZ_I64 ? u64(1) << 63 : 0;  // maps signed numbers to unsigned ones in the same order
  for (u64 i = 0; i < n; i++) {
    const u64 x = load_bits(array + i * width, width, swap), y = load_bits(other + i * width, width, swap);
    if (fill && x == *fill) continue;
    if (dtype == STZ_I64 || dtype == STZ_U64) {
      const double up = distance_up(x ^ top, y ^ top);
      all.add(up, up);
      continue;
    }
    const double number = number_of(dtype, x), of_other = number_of(dtype, y);
    if (__builtin_fabs(number) < __builtin_inf()) all.add(__builtin_fabs(number - of_other), distance_up(number, of_other));
  }
  return all.error();
}

namespace {

// Decodes every layer once and writes its errors into the header of the stream, whose contents are `h`. Errors are infinite if a valid
// sample is decoded to the fill value.
void measure_layers(const u8* data, int threads, Header& h, Bytes& stream) {
  Buffer<u8> decoded(array_bytes(h.layout));
  for (size_t taken = 0; taken < h.layers.errors.size(); taken++) {
    decode(stream.data(), stream.size(), decoded.data(), decoded.size(), threads, nullptr, taken);
    h.layers.errors[taken] = difference(h, data, decoded.data());
    if (any_became_fill_value(h, data, decoded.data())) h.layers.errors[taken] = {__builtin_inf(), __builtin_inf()};
  }
  STZ_FAULT_POINT(layer_errors, h.layers.errors.data(), h.layers.errors.size() * sizeof(LayerError));
  require(h.mode == STZ_POINTWISE_RELATIVE || h.layers.errors.back().largest <= h.bound, STZ_ERROR_INTERNAL);
  const Bytes header = write_header(h);
  require(header.size() == h.size, STZ_ERROR_INTERNAL);
  std::copy(header.begin(), header.end(), stream.begin());
}

// The cuts of layers that are useful: their errors do not exceed the numbers themselves. In ULP space this happens with numbers on both
// sides of zero, where a missing bit may change sign and exponent. Layers that decode valid samples to the fill value are not useful
// either.
std::vector<int> useful_cuts(const Header& h, const u8* data) {
  const Layers& layers = h.layers;
  Buffer<u8> zeros(array_bytes(h.layout));
  std::fill(zeros.data(), zeros.data() + zeros.size(), u8(0));
  const double largest = difference(h, data, zeros.data()).largest;
  std::vector<int> cuts;
  for (size_t taken = 0; taken < layers.refinements(); taken++)
    if (layers.errors[taken].largest <= largest) cuts.push_back(layers.unknown_bits(0, taken));
  return cuts;
}

// Searches cuts between layers that meet given error bounds. It needs trials, because only decoding tells how errors spread. Errors about
// double with each unknown bit.
class CutSearch {
 public:
  explicit CutSearch(const stz_options& options) {
    for (int i = 0; i < layer_bound_count(options); i++)
      wanted_.push_back({options.layer_bounds[i], first_cut(options, i), fewest_failing});
  }
  // The cuts of the next trial: positive and strictly decreasing.
  std::vector<int> cuts() const {
    std::vector<int> cuts;
    for (const Wanted& w : wanted_)
      if (w.cut > 0 && (cuts.empty() || w.cut < cuts.back())) cuts.push_back(w.cut);
    return cuts;
  }
  // Takes the measured errors of a trial. Returns whether all bounds are met. `better`: another trial could leave more bits unknown.
  bool judge(const Layers& layers, bool& better) {
    bool kept = true;
    better = false;
    for (Wanted& w : wanted_) {
      w.next = 0;
      if (w.cut <= 0) continue;
      const double ratio = error_with(layers, w.cut) / w.bound;
      if (!(ratio <= 1)) {
        kept = false;
        w.failing = std::min(w.failing, w.cut);
        w.cut -= std::max(1, octaves(ratio));
      } else if (const int more = octaves(1 / ratio); more > 0 && w.cut + 1 < w.failing) {
        better = true;
        w.next = std::min(w.cut + more, w.failing - 1);
      }
    }
    return kept;
  }
  void go_on() {
    for (Wanted& w : wanted_) w.cut = std::max(w.cut, w.next);
  }

 private:
  static constexpr int fewest_failing = 60, most_cut = 50;
  struct Wanted {
    double bound;
    int cut, failing;  // failing: the smallest cut known to fail
    int next = 0;
  };
  static int octaves(double ratio) {
    int n = 0;
    for (; ratio >= 2 && n < most_cut; ratio /= 2) n++;
    return n;
  }
  // Measured: with an absolute bound, errors are three to five times the half step of the known bits.
  static int first_cut(const stz_options& options, int i) {
    if (options.mode != STZ_ABSOLUTE || options.bound <= 0) return 4;
    return std::max(1, std::min(most_cut, octaves(options.layer_bounds[i] / (4 * options.bound))));
  }
  static double error_with(const Layers& layers, int cut) {
    for (size_t taken = 0; taken < layers.errors.size(); taken++)
      if (layers.unknown_bits(0, taken) <= cut) return layers.errors[taken].largest;
    return layers.errors.back().largest;
  }
  std::vector<Wanted> wanted_;
};

// Encodes with layers that meet options.layer_bounds, with as many unknown bits as a few trials find.
Bytes encode_with_layer_bounds(const stz_layout& layout, const u8* data, const stz_options& options) {
  constexpr int most_trials = 6;
  CutSearch search(options);
  Bytes best;
  for (int trial = 0; trial < most_trials; trial++) {
    const std::vector<int> cuts = search.cuts();
    if (cuts.empty()) break;
    Bytes stream = encode(layout, data, options, cuts);
    Header h = read_header(stream.data(), stream.size());
    if (!h.layers.any()) break;
    measure_layers(data, thread_count(options.threads), h, stream);
    bool better = false;
    if (search.judge(h.layers, better)) {
      best = std::move(stream);
      if (!better) break;
      search.go_on();
    } else if (!best.empty()) {
      break;
    }
  }
  return best.empty() ? encode(layout, data, options) : best;
}

}  // namespace

Bytes encode_layered(const stz_layout& layout, const u8* data, const stz_options& given) {
  stz_options options = given;
  const bool has_layer_bounds = layer_bound_count(options) > 0;
  if (options.layers > 1 || has_layer_bounds) options.learned = nullptr;
  if (has_layer_bounds) {
    options.layers = 0;
    return encode_with_layer_bounds(layout, data, options);
  }
  Bytes stream = encode_whole(layout, data, options);
  if (options.enhance & STZ_ENHANCE_RELAXED) enhance_stream(layout, data, options, stream);
  if (options.layers < 2) return stream;
  Header h = read_header(stream.data(), stream.size());
  if (!h.layers.any()) {  // the smallest stream has no layers, although others had
    options.layers = 1;
    return encode(layout, data, options);
  }
  options.layers = 1;
  while (h.layers.any()) {  // each stream has fewer layers than the one before; those that are left may have become useless
    measure_layers(data, thread_count(options.threads), h, stream);
    const std::vector<int> cuts = useful_cuts(h, data);
    if (cuts.size() == h.layers.refinements()) break;
    stream = encode(layout, data, options, cuts);
    h = read_header(stream.data(), stream.size());
  }
  return stream;
}

}  // namespace stz
