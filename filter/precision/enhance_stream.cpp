#include "precision/enhance_stream.h"

#include <algorithm>
#include <cmath>

#include "base/faults.h"
#include "base/parallel.h"
#include "base/threads.h"
#include "decoder/decode_level.h"
#include "encoder/encode.h"
#include "format/convert.h"
#include "format/sample_order.h"
#include "precision/distance.h"
#include "precision/fit_enhancement.h"

namespace stz {
namespace {

constexpr u64 most_fitted = u64(1) << 17;  // samples
constexpr double decibels_per_bit = 6.0206;
// stz.h allows errors of at most 1.5 times the bound
constexpr u8 largest_promise = relaxation_units / 2;
constexpr double least_gain = 1.023;  // of the mean squared error (0.1 dB): a smaller gain is not worth the time
// Growth of a stream when the bound is halved, as a share of its size, if that is less than a bit per sample.
constexpr double share_per_bit = 0.6;

// The bytes that the lower error is worth: a plain stream with that error would be longer by this much.
double worth(double before, double after, double elements, double stream_bytes) {
  if (!(after < before) || !(after > 0)) return 0;
  return 10 * std::log10(before / after) / decibels_per_bit * std::min(elements / 8, share_per_bit * stream_bytes);
}

template <class S>
class StreamEnhancer {
 public:
  StreamEnhancer(const stz_layout& layout, const u8* data, int threads, Header h, const Bytes& stream)
      : layout_(layout), h_(std::move(h)), hierarchy_(hierarchy_of(h_)), threads_(threads), bytes_(double(stream.size())) {
    const u64 n = valid_elements(h_) * u64(components(layout.dtype));
    decoded_.resize(size_t(n));
    const u64 sections = sections_offset(h_);
    std::vector<LiteralElement> literals;
    decode_sections<S>(h_, stream.data() + sections, stream.size() - size_t(sections), decoded_.data(), kinds_, literals, threads, 0);
    load_originals(data);
  }

  // Returns false if no enhancement is worth its bytes; otherwise it is in the header.
  bool run(Header& enhanced) {
    const EnhancementShape shape(hierarchy_.level[0]);
    const EnhancementSamples samples = choose_samples(shape);
    if (samples.count() == 0) return false;
    double best = 0;
    for (const bool shared : {true, false}) {
      const FittedEnhancement fitted = fit_enhancement(shape, samples, shared);
      const double net = worth(fitted.before, fitted.after, double(decoded_.size()), bytes_) - double(record_bytes(fitted.enhancement));
      if (net <= best) continue;
      best = net;
      h_.enhancement = fitted.enhancement;
    }
    if (!h_.enhancement.any() || !measure()) return false;
    if (h_.accumulated_bound > 0) h_.accumulated_bound = std::min(h_.accumulated_bound + (relaxed_bound(h_) - h_.bound), STZ_UNKNOWN_BOUND);
    enhanced = h_;
    return true;
  }

 private:
  static size_t record_bytes(const Enhancement& e) { return write_enhancement(e).size() + 4; }

  void load_originals(const u8* data) {
    originals_.resize(decoded_.size());
    const u64 valid = valid_elements(h_), parts = u64(components(layout_.dtype));
    const size_t width = sizeof(S);
    const bool swap = swapped(layout_);
    SampleOrder(h_).for_each_run([&](u64 number, u64 element, u64 n, u64 stride) {
      for (u64 part = 0; part < parts; part++)
        for (u64 x = 0; x < n; x++)
          originals_[size_t(part * valid + number + x)] = bit_cast_to<S>(
              std::make_unsigned_t<CodeOf<S>>(load_bits(data + ((element + x * stride) * parts + part) * width, width, swap)));
    });
  }

  bool is_plain(u64 i) const { return kinds_.empty() || kinds_[size_t(i)] == special_none; }

  // About `most_fitted` samples, one at a pseudo-random place in each of as many equal stretches.
  EnhancementSamples choose_samples(const EnhancementShape& shape) const {
    Header probe = h_;
    probe.enhancement.shift = most_weight_shift;
    probe.enhancement.weights.assign(shape.weights(false), 0);
    Enhancer<S> enhancer(probe, hierarchy_);
    const Level& level = hierarchy_.level[0];
    const u64 in_item = level.samples(), step = std::max<u64>(1, decoded_.size() / most_fitted);
    EnhancementSamples chosen;
    chosen.features = shape.direction.size() * enhancement_clips;
    std::vector<i16> features(chosen.features);
    for (u64 item = 0; item < hierarchy_.batch; item++) {
      const u64 first = item * in_item;
      const GridPart<const S> grid = whole_grid<const S>(decoded_.data() + first, level);
      enhancer.load(grid, kinds_.empty() ? nullptr : kinds_.data() + first, grid.box, threads_);
      for (u64 k = 0; k * step < in_item; k++) {
        const u64 at = k * step + (k * 0x9e3779b97f4a7c15u >> 32) % step;
        if (at >= in_item || !is_plain(first + at)) continue;
        Index c;
        u64 rest = at;
        int odd = 0;
        for (size_t a = axes; a-- > 0; rest /= u64(level.n[a])) {
          c[a] = i64(rest % u64(level.n[a]));
          odd += level.split[a] && c[a] & 1;
        }
        const double missing = (double(originals_[size_t(first + at)]) - double(decoded_[size_t(first + at)])) / h_.half_step;
        if (odd == 0 || !(std::fabs(missing) < 2)) continue;
        enhancer.features(c, features.data());
        chosen.feature.insert(chosen.feature.end(), features.begin(), features.end());
        chosen.missing.push_back(float(missing));
        chosen.set.push_back(u8(odd));
      }
    }
    return chosen;
  }

  // Enhances all samples as a decoder does. Returns false if the measured gain is too small, or if a valid sample becomes the fill value.
  bool measure() {
    double before = 0, after = 0, largest = 0, largest_rounded = 0, unit = 1 / h_.bound;
    const Limits<S> range = limits_of<S>(h_);
    const auto add = [&](double& sum, u64 i) {
      const double d = (double(originals_[size_t(i)]) - double(range(decoded_[size_t(i)]))) * unit;
      sum += d * d;
      return std::fabs(d);
    };
    for (u64 i = 0; i < decoded_.size(); i++)
      if (is_plain(i)) add(before, i);
    const Level& level = hierarchy_.level[0];
    Enhancer<S> enhancer(h_, hierarchy_);
    for (u64 item = 0; item < hierarchy_.batch; item++) {
      const u64 first = item * level.samples();
      const GridPart<S> grid = whole_grid(decoded_.data() + first, level);
      enhancer.run(grid, kinds_.empty() ? nullptr : kinds_.data() + first, grid, threads_);
    }
    for (u64 i = 0; i < decoded_.size(); i++) {
      if (!is_plain(i)) continue;
      if (h_.has_fill && bits_of<S>(h_, decoded_[size_t(i)]) == h_.fill) return false;
      const double d = add(after, i);
      if (!(d >= largest_rounded)) continue;
      largest_rounded = d;
      largest = std::max(largest, distance_up(double(originals_[size_t(i)]), double(decoded_[size_t(i)])));
    }
    Enhancement& e = h_.enhancement;
    while (!(relaxed_bound(h_) >= largest)) {
      if (e.promise >= largest_promise) return false;
      e.promise++;
    }
    return after * least_gain <= before && worth(before, after, double(decoded_.size()), bytes_) > double(record_bytes(e));
  }

  const stz_layout& layout_;
  Header h_;
  const Hierarchy hierarchy_;
  const int threads_;
  const double bytes_;  // size of the plain stream
  Buffer<S> decoded_, originals_;
  std::vector<u8> kinds_;
};

template <class S>
void try_enhancement(const stz_layout& layout, const u8* data, int threads, const Header& plain, Bytes& stream) {
  Header h;
  if (!StreamEnhancer<S>(layout, data, threads, plain, stream).run(h)) return;
  STZ_FAULT_POINT(enhancement, h.enhancement.weights.data(), h.enhancement.weights.size());
  STZ_FAULT_POINT(promise, &h.enhancement.promise, 1);
  const Bytes front = write_header(h);
  const size_t size = front.size() + stream.size() - plain.size;
  if (front.size() > max_header_size || size > array_bytes(layout) + 32) return;
  Bytes out = front;
  out.insert(out.end(), stream.begin() + i64(plain.size), stream.end());
  stream = std::move(out);
}

}  // namespace

void enhance_stream(const stz_layout& layout, const u8* data, const stz_options& options, Bytes& stream) {
  Header h = read_header(stream.data(), stream.size());
  if (!can_be_enhanced(h) || hierarchy_of(h).base_level == 0) return;
  h.range = range_with_enhancement(layout, data, options);  // errors are larger now
  if (h.sample == SampleType::f32)
    try_enhancement<float>(layout, data, thread_count(options.threads), h, stream);
  else
    try_enhancement<double>(layout, data, thread_count(options.threads), h, stream);
}

}  // namespace stz
