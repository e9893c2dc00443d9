// The coding of whole classes in place.
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
class Class {
 public:
  Class(Random& random, i64 length, i64 samples, int kind)
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
    // inside a class quantisers prove something, and codes are bytes
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

// Row lengths around the widths of vectors, and classes of so many samples.
i64 random_length(Random& random, int l) { return l <= short_lengths ? l : random.between(1, 40); }
constexpr int classes = 700;

// ---------------------------------------------------------------- encode

template <class T>
void set_range_to_avoid(Random& random, Uniform<T>& q, T typical) {
  if (random.below(3)) return;
  q.avoid_from = q.avoid_to = random.below(2) ? typical : T(0);
  if (random.below(2)) q.avoid_to += q.step * T(random.below(100));
  if (random.below(4) == 0) q.avoid_from = -T(0);
  if (q.avoid_from > q.avoid_to) std::swap(q.avoid_from, q.avoid_to);
}

template <class T>
void check_encode(const Kernels& tested, Random& random) {
  for (int l = 0; l < classes; l++) {
    const int kind = int(random.below(kinds));
    Class<T> c(random, random_length(random, l), 1200, kind);
    const size_t n = c.count();
    const bool many_fail = random.below(4) == 0;
    // samples whose codes mostly fit
    for_rows(c.rows, [&](i64 at) {
      for (i64 x = 0; x < c.rows.n[3]; x++) {
        T* sample = c.memory.data() + c.first() + at + x;
        const i64 code =
            many_fail || random.below(50) == 0 ? random_code<T>(random, 129, true) : std::clamp<i64>(i64(10 * random.normal()), -127, 127);
        *sample = sample_near(random, c.prediction(sample), c.quantizer.step, c.quantizer.step / 2, code, many_fail ? kind : int(smooth));
      }
    });
    std::vector<T> originals = c.samples(c.memory.data());
    set_range_to_avoid(random, c.quantizer, n ? originals[n / 2] : T(0));
    const bool masked = random.below(3) == 0;
    Guarded<u8> mask(random, n, 0, row_slack), bytes(random, n);
    Guarded<FailedSample<T>> failed(random, n);
    const u64 density = random.below(8);
    for (size_t i = 0; i < n; i++) mask[i] = random.below(8) < density ? u8(1 << random.below(8)) : u8(0);
    note("%s%s, %s, avoid %s to %s, %s", kind_name(kind), masked ? ", masked" : "", text_of(c.quantizer.step).c_str(),
         text_of(c.quantizer.avoid_from).c_str(), text_of(c.quantizer.avoid_to).c_str(), c.text().c_str());
    std::vector<T> copy(c.memory.data(), c.memory.data() + c.memory.size());
    remember(c.memory, mask, bytes, failed);
    const ClassTask<T> task = c.task(c.memory.data());
    const u32 failures = uniform_of<T>(tested).encode_class(task, masked ? mask.data() : nullptr, bytes.data(), failed.data());
    mask.unchanged("mask");
    bytes.changed_only("bytes", 0, i64(n));
    failed.changed_only("failed", 0, i64(n));
    c.changed_only_rows();

    // failures first: their bytes may be anything
    std::vector<FailedSample<T>> expected_failed(n + 1);
    std::vector<u8> expected(n + 1);
    const ClassTask<T> reference_task = c.task(copy.data());
    const u32 expected_failures =
        uniform_of<T>(reference).encode_class(reference_task, masked ? mask.data() : nullptr, expected.data(), expected_failed.data());
    same("number of failed samples", failures, expected_failures);
    std::sort(failed.data(), failed.data() + failures, [](const auto& a, const auto& b) { return a.index < b.index; });
    for (u32 f = 0; f < failures; f++) {
      same("index of a failed sample", failed[f].index, expected_failed[f].index);
      same("place of a failed sample", failed[f].place - task.samples, expected_failed[f].place - reference_task.samples);
      same("prediction of a failed sample", failed[f].prediction, expected_failed[f].prediction);
      same("a failed sample", *failed[f].place, originals[failed[f].index]);
      expected[failed[f].index] = bytes[failed[f].index];
    }
    same("bytes", bytes.data(), expected.data(), n);
    same("samples", c.samples(c.memory.data()).data(), c.samples(copy.data()).data(), n);
  }
}

// ---------------------------------------------------------------- decode

template <class T>
void check_decode(const Kernels& tested, Random& random) {
  for (int l = 0; l < classes; l++) {
    const int kind = int(random.below(kinds));
    Class<T> c(random, random_length(random, l), 1200, kind);
    const size_t n = c.count();
    Guarded<u8> bytes(random, n, 0, row_slack);
    if (random.below(4)) {
      const u64 most = random.below(256);
      for (size_t i = 0; i < n; i++) bytes[i] = u8(random.between(0, i64(most)));
    }
    note("%s, %s, %s", kind_name(kind), text_of(c.quantizer.step).c_str(), c.text().c_str());
    std::vector<T> copy(c.memory.data(), c.memory.data() + c.memory.size());
    remember(c.memory, bytes);
    uniform_of<T>(tested).decode_class(c.task(c.memory.data()), bytes.data());
    bytes.unchanged("bytes");
    c.changed_only_rows();
    uniform_of<T>(reference).decode_class(c.task(copy.data()), bytes.data());
    std::vector<T> actual = c.samples(c.memory.data()), expected = c.samples(copy.data());
    for (size_t i = 0; i < n; i++)
      if (bytes[i] == byte_escape) expected[i] = actual[i];
    same("samples", actual.data(), expected.data(), n);
  }
}

// ---------------------------------------------------------------- timings

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

template <class T>
void time_encode(std::vector<Timed>& add) {
  for (bool median : {false, true}) {
    auto c = std::make_shared<TimedClass<T>>(median);
    if (median) c->task.quantizer = {T(1e-2), T(1e2), T(50), T(1 << 21)};
    add.push_back({median ? "median of 6" : "taps 2 2 4 8", double(c->samples),
                   [=](const Kernels& k) { uniform_of<T>(k).encode_class(c->task, nullptr, c->bytes.data(), c->failed.data()); }});
  }
}
template <class T>
void time_decode(std::vector<Timed>& add) {
  for (bool median : {false, true}) {
    auto c = std::make_shared<TimedClass<T>>(median);
    add.push_back({median ? "median of 6" : "taps 2 2 4 8", double(c->samples),
                   [=](const Kernels& k) { uniform_of<T>(k).decode_class(c->task, c->bytes.data()); }});
  }
}

}  // namespace

void add_classes(std::vector<Entry>& entries) {
#define CLASSES(uniform, T)                                                               \
  entries.push_back({CHECK_SLOT(uniform.encode_class), check_encode<T>, time_encode<T>}); \
  entries.push_back({CHECK_SLOT(uniform.decode_class), check_decode<T>, time_decode<T>});
  CLASSES(uniform32, float)
  CLASSES(uniform64, double)
}

}  // namespace check
