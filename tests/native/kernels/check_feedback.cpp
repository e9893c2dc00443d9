// The coding of whole classes with residual feedback.
#include "random_class.h"

namespace check {
namespace {

// Feedback for a class: weights, and a history of residuals from before.
template <class T>
class Feedback {
 public:
  Feedback(Random& random, const ClassRows& rows, T step)
      : slowest_(slowest_of(rows)),
        pitch_(rounded_up(std::max<i64>(1, rows.n[3]), row_unit)),
        history((slowest_ < 1 ? rows.n[1] : 1) * (slowest_ < 2 ? rows.n[2] : 1) * pitch_ + row_slack),
        zeros_(size_t(rows.n[3]) + row_slack),
        predictions_(size_t(rows.n[3]) + row_slack),
        sums_(predictions_) {
    const bool later_task = random.below(2);
    for (std::ptrdiff_t row = 0; row + pitch_ + row_slack <= std::ptrdiff_t(history.size()); row += pitch_)
      for (i64 x = 0; x < rows.n[3]; x++) history[size_t(row + x)] = later_task ? T(random.normal()) * step : T(0);
    task.terms = 0;
    for (int axis = 2; axis >= 0; axis--)
      if (random.below(3)) task.axis[task.terms++] = axis;
    for (auto& weights : task.before)
      for (T& w : weights) w = T(random.between(-64, 64)) / 64;
    task.beside = T(random.between(-64, 64)) / 64;
    task.slowest = slowest_;
    task.pitch = pitch_;
  }
  FeedbackTask<T> with(std::vector<T>& own_history) {
    FeedbackTask<T> t = task;
    t.history = own_history.data();
    t.zeros = zeros_.data();
    t.predictions = predictions_.data();
    t.sums = sums_.data();
    return t;
  }
  // Only what belongs to samples.
  static std::vector<T> used(const std::vector<T>& h, const ClassRows& rows, std::ptrdiff_t pitch) {
    std::vector<T> all;
    for (std::ptrdiff_t row = 0; row + pitch + row_slack <= std::ptrdiff_t(h.size()); row += pitch)
      all.insert(all.end(), h.begin() + row, h.begin() + row + rows.n[3]);
    return all;
  }
  static int slowest_of(const ClassRows& rows) {
    int axis = 0;
    while (axis < 3 && rows.n[axis] <= 1) axis++;
    return axis;
  }

 private:
  const int slowest_;

 public:
  const std::ptrdiff_t pitch_;
  std::vector<T> history;
  FeedbackTask<T> task;

 private:
  std::vector<T> zeros_, predictions_, sums_;
};

// Stands for an encoder: some samples get a byte after all, some none.
template <class T>
u8 requantize(void* kept, u32 index, T, T prediction, bool keep, T* reconstructed) {
  if (keep) static_cast<std::vector<u32>*>(kept)->push_back(index);
  const u8 byte = index % 3 ? byte_escape : u8(index % 251);
  *reconstructed = prediction + T(index % 7);
  return byte;
}

constexpr int classes = 700;

template <class T>
void check_encode(const Kernels& tested, Random& random) {
  for (int l = 0; l < classes; l++) {
    const int kind = random.below(4) ? int(smooth) : int(random.below(kinds));
    RandomClass<T> c(random, random_length(random, l), 1200, kind);
    const size_t n = c.count();
    const bool many_fail = random.below(4) == 0;
    for_rows(c.rows, [&](i64 at) {
      for (i64 x = 0; x < c.rows.n[3]; x++) {
        T* sample = c.memory.data() + c.first() + at + x;
        const i64 code = many_fail || random.below(50) == 0 ? random_code<T>(random, 129, true) : i64(10 * random.normal());
        *sample = sample_near(random, c.prediction(sample), c.quantizer.step, c.quantizer.step / 2, code, many_fail ? kind : int(smooth));
      }
    });
    set_range_to_avoid(random, c.quantizer, n ? c.samples(c.memory.data())[n / 2] : T(0));
    Feedback<T> feedback(random, c.rows, c.quantizer.step);
    const bool masked = random.below(3) == 0;
    Guarded<u8> mask(random, n, 0, row_slack), bytes(random, n);
    for (size_t i = 0; i < n; i++) mask[i] = random.below(4) ? u8(0) : u8(1 << random.below(8));
    note("%s%s, %d terms, slowest %d, %s, %s", kind_name(kind), masked ? ", masked" : "", feedback.task.terms, feedback.task.slowest,
         text_of(c.quantizer.step).c_str(), c.text().c_str());
    std::vector<T> copy(c.memory.data(), c.memory.data() + c.memory.size()), history = feedback.history, expected_history = history;
    std::vector<u32> kept, expected_kept;
    std::vector<u8> expected(n + 1);
    remember(c.memory, mask, bytes);
    FeedbackTask<T> task = feedback.with(history);
    task.requantize = requantize<T>;
    task.encoder = &kept;
    uniform_of<T>(tested).encode_feedback(c.task(c.memory.data()), task, masked ? mask.data() : nullptr, bytes.data());
    mask.unchanged("mask");
    bytes.changed_only("bytes", 0, i64(n));
    c.changed_only_rows();
    task = feedback.with(expected_history);
    task.requantize = requantize<T>;
    task.encoder = &expected_kept;
    uniform_of<T>(reference).encode_feedback(c.task(copy.data()), task, masked ? mask.data() : nullptr, expected.data());
    std::sort(kept.begin(), kept.end());
    std::sort(expected_kept.begin(), expected_kept.end());
    same("number of failed samples", kept.size(), expected_kept.size());
    same("failed samples", kept.data(), expected_kept.data(), kept.size());
    same("bytes", bytes.data(), expected.data(), n);
    same("samples", c.samples(c.memory.data()).data(), c.samples(copy.data()).data(), n);
    const auto used = feedback.used(history, c.rows, feedback.pitch_), wanted = feedback.used(expected_history, c.rows, feedback.pitch_);
    if (n) same("history", used.data(), wanted.data(), used.size());
  }
}

template <class T>
void check_decode(const Kernels& tested, Random& random) {
  for (int l = 0; l < classes; l++) {
    const int kind = int(random.below(kinds));
    RandomClass<T> c(random, random_length(random, l), 1200, kind);
    const size_t n = c.count();
    Feedback<T> feedback(random, c.rows, c.quantizer.step);
    Guarded<u8> bytes(random, n, 0, row_slack);
    const u64 most = random.below(4) ? random.below(40) : 255;
    for (size_t i = 0; i < n; i++) bytes[i] = random.below(20) ? u8(random.between(0, i64(most))) : byte_escape;
    note("%s, %d terms, slowest %d, %s, %s", kind_name(kind), feedback.task.terms, feedback.task.slowest, text_of(c.quantizer.step).c_str(),
         c.text().c_str());
    std::vector<T> copy(c.memory.data(), c.memory.data() + c.memory.size()), history = feedback.history, expected_history = history;
    remember(c.memory, bytes);
    uniform_of<T>(tested).decode_feedback(c.task(c.memory.data()), feedback.with(history), bytes.data());
    bytes.unchanged("bytes");
    c.changed_only_rows();
    uniform_of<T>(reference).decode_feedback(c.task(copy.data()), feedback.with(expected_history), bytes.data());
    same("samples", c.samples(c.memory.data()).data(), c.samples(copy.data()).data(), n);
    const auto used = feedback.used(history, c.rows, feedback.pitch_), wanted = feedback.used(expected_history, c.rows, feedback.pitch_);
    if (n) same("history", used.data(), wanted.data(), used.size());
  }
}

// ---------------------------------------------------------------- timings

// The class of TimedClass with feedback along two axes and of both neighbours.
template <class T>
struct TimedFeedback {
  TimedClass<T> c{false};
  std::vector<T> history = std::vector<T>(16 * 32 + row_slack), zeros = std::vector<T>(32 + row_slack), predictions = zeros, sums = zeros;
  FeedbackTask<T> task() {
    FeedbackTask<T> t;
    t.terms = 2;
    t.axis[0] = 2;
    t.axis[1] = 1;
    for (auto& weights : t.before)
      for (T& w : weights) w = T(0.25);
    t.beside = T(0.25);
    t.slowest = 1;
    t.history = history.data();
    t.pitch = 32;
    t.zeros = zeros.data();
    t.predictions = predictions.data();
    t.sums = sums.data();
    t.requantize = requantize<T>;
    t.encoder = nullptr;
    return t;
  }
};
template <class T>
void time_encode(std::vector<Timed>& add) {
  auto f = std::make_shared<TimedFeedback<T>>();
  add.push_back({"taps 2 2 4 8, feedback of 2 and both", double(f->c.samples), [=](const Kernels& k) {
                   std::vector<u32> kept;
                   FeedbackTask<T> task = f->task();
                   task.encoder = &kept;
                   uniform_of<T>(k).encode_feedback(f->c.task, task, nullptr, f->c.bytes.data());
                 }});
}
template <class T>
void time_decode(std::vector<Timed>& add) {
  auto f = std::make_shared<TimedFeedback<T>>();
  add.push_back({"taps 2 2 4 8, feedback of 2 and both", double(f->c.samples),
                 [=](const Kernels& k) { uniform_of<T>(k).decode_feedback(f->c.task, f->task(), f->c.bytes.data()); }});
}

}  // namespace

void add_feedback(std::vector<Entry>& entries) {
#define FEEDBACK(uniform, T)                                                                 \
  entries.push_back({CHECK_SLOT(uniform.encode_feedback), check_encode<T>, time_encode<T>}); \
  entries.push_back({CHECK_SLOT(uniform.decode_feedback), check_decode<T>, time_decode<T>});
  FEEDBACK(uniform32, float)
  FEEDBACK(uniform64, double)
}

}  // namespace check
