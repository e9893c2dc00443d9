// Classes of samples among neighbours, for the kernels that code whole classes.
#pragma once
#include "guarded.h"
#include "quantizers.h"

namespace check {
namespace {

template <class T>
const UniformKernels<T>& uniform_of(const Kernels& k) {
  if constexpr (sizeof(T) == 4)
    return k.uniform32;
  else
    return k.uniform64;
}

constexpr i64 row_unit = 16;  // rows may be overwritten up to a multiple of it

// A class between arrays of neighbours, which are all in one piece of memory: neighbours first or last, so that it ends with samples or
// with neighbours.
template <class T>
class RandomClass {
 public:
  RandomClass(Random& random, i64 length, i64 samples, int kind)
      : rows(random_rows(random, length, samples, row_unit)),
        reach_(random.between(0, 40)),
        extent_(extent_of(rows, row_unit)),
        samples_first_(random.below(2)),
        median_(random.below(4) == 0),
        taps(median_ ? random_taps(random, 1, int(random.below(8) ? random.between(1, 8) : random.between(9, 80)), int(reach_))
                     : random_taps(random, int(random.between(1, 8)), 2, int(reach_))),
        weights(random_weights<T>(random, kind, taps.taps.size())),
        memory(random, size_t(2 * extent_ + 2 * reach_), 0, samples_first_ ? row_slack : 0) {
    fill_values(random, kind, memory.data(), memory.size());
    for (std::ptrdiff_t& o : taps.offset) o += samples_first_ ? extent_ + reach_ : -(extent_ + reach_);
    quantizer = random_quantizer<T>(random);
    // inside a class quantizers prove something, and codes are bytes
    if (!(quantizer.safe > 0)) quantizer.safe = quantizer.step / 4;
  }
  i64 first() const { return samples_first_ ? 0 : extent_ + 2 * reach_; }
  ClassTask<T> task(T* start) const { return {start + first(), rows, taps.table(), median_ ? nullptr : weights.data(), quantizer}; }
  size_t count() const { return size_t(samples_of(rows)); }
  std::string text() const { return text_of_rows(rows) + (median_ ? ", median, " : ", ") + taps.text(); }
  // What the rows hold, in raster order.
  std::vector<T> samples(const T* start) const {
    std::vector<T> all;
    for_rows(rows, [&](i64 at) { all.insert(all.end(), start + first() + at, start + first() + at + rows.n[3]); });
    return all;
  }
  T prediction(T* sample) const {
    T p[1];
    const auto& k = [] {
      if constexpr (sizeof(T) == 4)
        return reference.f32;
      else
        return reference.f64;
    }();
    if (median_)
      k.median(sample, taps.offset.data(), taps.taps[0], 1, p);
    else
      k.predict(sample, taps.table(), weights.data(), 1, p);
    return p[0];
  }
  // Only rows, and what follows each up to a multiple of 16.
  void changed_only_rows() {
    std::vector<bool> may(memory.size() + row_slack);
    for_rows(rows, [&](i64 at) { std::fill_n(may.begin() + first() + at, rounded_up(rows.n[3], row_unit), true); });
    memory.changed_only("the samples", 0, i64(memory.size()), [&](i64 element) { return may[size_t(element)]; });
  }

  const ClassRows rows;

 private:
  const i64 reach_, extent_;
  const bool samples_first_, median_;

 public:
  Taps taps;
  std::vector<T> weights;
  Guarded<T> memory;
  Uniform<T> quantizer;
};

// Steps of samples that are integers, or none: sets task.integers. What it reconstructs differs from what kernels round, so that a test
// sees who did it.
template <class T>
class RandomIntegers {
 public:
  explicit RandomIntegers(Random& random)
      : none_(random.below(2)), steps_{T(random.below(2) ? 1 : random.between(0, most_step / 2 - 1) * 2 + 1), reconstruct, &steps_} {}
  const IntegerSteps<T>* get() const { return none_ ? nullptr : &steps_; }
  // Predictions lie around the limit of rounding: scales what they are made from.
  void scale(Random& random, std::vector<T>& weights) const {
    if (none_ || random.below(2)) return;
    const T scale = std::ldexp(T(1), int(random.between(0, sizeof(T) == 4 ? 24 : 53)));
    for (T& w : weights) w *= scale;
  }
  const char* text() const { return none_ ? "uniform" : "integers"; }

 private:
  static constexpr i64 most_step = i64(1) << (sizeof(T) == 4 ? 16 : 45);
  static T reconstruct(const void* steps, T prediction, int code) {
    return std::isfinite(prediction) ? std::ldexp(prediction, -3) + T(code) * static_cast<const IntegerSteps<T>*>(steps)->step : T(code);
  }
  const bool none_;
  const IntegerSteps<T> steps_;
};

// Row lengths around the widths of vectors, and classes of so many samples; rows of 64 are a case of their own.
i64 random_length(Random& random, int l) { return l <= short_lengths ? l : random.below(6) ? random.between(1, 40) : 64; }

// The samples of a class where an encoder may find them before they are in place: every second element of rows somewhere else.
template <class T>
class Originals {
 public:
  Originals(Random& random, const RandomClass<T>& c, const T* start)
      : row_(2 * c.rows.n[3] + random.between(0, 9)),
        plane_(c.rows.n[2] * row_ + random.between(0, 9)),
        space_(c.rows.n[1] * plane_ + random.between(0, 9)),
        memory_(random, size_t(c.rows.n[0] * space_), 0, row_slack) {
    const std::vector<T> samples = c.samples(start);
    size_t next = 0;
    for_rows(rows_of(c.rows), [&](i64 at) {
      for (i64 x = 0; x < c.rows.n[3]; x++) memory_[size_t(at + 2 * x)] = samples[next++];
    });
  }
  ClassTask<T> in(ClassTask<T> task) {
    task.originals = memory_.data();
    task.original_stride[0] = space_;
    task.original_stride[1] = plane_;
    task.original_stride[2] = row_;
    return task;
  }

 private:
  ClassRows rows_of(const ClassRows& rows) const { return {{rows.n[0], rows.n[1], rows.n[2], rows.n[3]}, {space_, plane_, row_}}; }
  const i64 row_, plane_, space_;
  Guarded<T> memory_;
};

// Overwrites the samples of a class.
template <class T>
void forget_samples(Random& random, const RandomClass<T>& c, T* start) {
  for_rows(c.rows, [&](i64 at) {
    for (i64 x = 0; x < c.rows.n[3]; x++) start[c.first() + at + x] = T(random.normal());
  });
}

// Rows that are to be asked for: as many as say so, of which the kernel reads nothing.
struct SomeRowsAhead {
  explicit SomeRowsAhead(Random& random)
      : memory(4096),
        rows{memory.data() + random.below(64), random.between(64, 900), random.between(0, 4), int(random.between(1, 300)),
             int(random.between(1, 20))} {}
  std::vector<char> memory;
  RowsAhead rows;
};

template <class T>
void set_range_to_avoid(Random& random, Uniform<T>& q, T typical) {
  if (random.below(3)) return;
  q.avoid_from = q.avoid_to = random.below(2) ? typical : T(0);
  if (random.below(2)) q.avoid_to += q.step * T(random.below(100));
  if (random.below(4) == 0) q.avoid_from = -T(0);
  if (q.avoid_from > q.avoid_to) std::swap(q.avoid_from, q.avoid_to);
}

// A class of 16 x 16 x 32 samples as in blocks: predicted from four groups, or as the median of six.
template <class T>
struct TimedClass {
  static constexpr i64 pitch = 48, samples = 16 * 16 * 32, extent = 16 * 16 * pitch, reach = 2 * 16 * pitch;
  std::vector<T> memory = std::vector<T>(2 * extent + 2 * reach + row_slack), weights;
  std::vector<u8> bytes = std::vector<u8>(samples + row_slack);
  std::vector<FailedSample<T>> failed = std::vector<FailedSample<T>>(samples);
  Taps taps;
  ClassTask<T> task;
  explicit TimedClass(bool median) {
    Random random(5);
    fill_values(random, smooth, memory.data(), memory.size());
    taps = median ? random_taps(random, 1, 6, 1) : random_taps(random, 4, 2, 1);
    if (!median) taps.taps = {2, 2, 4, 8};
    taps.offset.clear();
    for (int t = 0; t < (median ? 6 : 16); t++)
      taps.offset.push_back(extent + reach + random.between(-1, 1) * 16 * pitch + random.between(-1, 1) * pitch + random.between(-1, 1));
    weights = {T(0.5), T(-0.1), T(0.05), T(0.01)};
    const T step = 1;
    task = {memory.data(),
            {{1, 16, 16, 32}, {extent, 16 * pitch, pitch}},
            taps.table(),
            median ? nullptr : weights.data(),
            {1 / step, step, step / 2, T(1 << 21)}};
    for (i64 i = 0; i < extent; i++) memory[size_t(i)] = T(20 * random.normal());
    for (T& v : weights) v *= T(1e-6);  // samples are near their predictions again and again
    for (u8& b : bytes) b = u8(random.below(20));
  }
};

}  // namespace
}  // namespace check
