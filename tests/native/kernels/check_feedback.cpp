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
        pitch_(rounded_up(std::max<i64>(1, rows.n[3]), 64)),
        history(size_t((slowest_ < 1 ? rows.n[1] : 1) * (slowest_ < 2 ? rows.n[2] : 1) * pitch_)),
        zeros_(size_t(pitch_)),
        shorts_(random, size_t(2 * FeedbackTask<T>::slots * pitch_)),
        even_(random, size_t(pitch_)),
        predictions_(random, size_t(std::max<i64>(2 * rows.n[3], 4 * rows.stride[2])), 0, row_slack) {
    const bool later_task = random.below(2);
    for (size_t row = 0; row + size_t(pitch_) <= history.size(); row += size_t(pitch_))
      for (i64 x = 0; x < rows.n[3]; x++)
        history[row + size_t((x % 2 ? pitch_ / 2 : 0) + x / 2)] = later_task ? i16(random.between(-2000, 2000) << random.below(5)) : i16(0);
    task.terms = 0;
    for (int axis = 2; axis >= 0; axis--)
      if (random.below(3)) task.axis[task.terms++] = axis;
    const i64 largest = random.below(4) ? 30 : 127;
    for (auto& weights : task.before)
      for (i16& w : weights) w = i16(random.between(-largest, largest));
    task.beside = i16(random.between(-largest, largest));
    task.bits = int(random.between(3, 11));
    task.unit = step / T(1 << task.bits);
    task.slowest = slowest_;
    task.pitch = pitch_;
  }
  FeedbackTask<T> with(std::vector<i16>& own_history) {
    FeedbackTask<T> t = task;
    t.history = own_history.data();
    t.zeros = zeros_.data();
    t.sums = shorts_.data();
    t.codes = t.sums + FeedbackTask<T>::slots * pitch_;
    t.even = even_.data();
    t.predictions = predictions_.data();
    return t;
  }
  static int slowest_of(const ClassRows& rows) {
    int axis = 0;
    while (axis < 3 && rows.n[axis] <= 1) axis++;
    return axis;
  }

 private:
  const int slowest_;
  const std::ptrdiff_t pitch_;

 public:
  std::vector<i16> history;
  FeedbackTask<T> task;

 private:
  std::vector<i16> zeros_;
  Guarded<i16> shorts_;
  Guarded<T> even_, predictions_;
};

// Stands for an encoder: some samples get a byte after all, some none.
template <class T>
u8 requantize(void* kept, u32 index, T, T prediction, T* reconstructed) {
  static_cast<std::vector<u32>*>(kept)->push_back(index);
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
    const bool masked = random.below(3) == 0, elsewhere = random.below(2);
    Originals<T> moved(random, c, c.memory.data());
    if (elsewhere) forget_samples(random, c, c.memory.data());
    SomeRowsAhead ahead(random);
    Guarded<u8> mask(random, n, 0, row_slack), bytes(random, n);
    for (size_t i = 0; i < n; i++) mask[i] = random.below(4) ? u8(0) : u8(1 << random.below(8));
    note("%s%s%s, %d terms, slowest %d, %s, %s", kind_name(kind), masked ? ", masked" : "", elsewhere ? ", elsewhere" : "",
         feedback.task.terms, feedback.task.slowest, text_of(c.quantizer.step).c_str(), c.text().c_str());
    std::vector<T> copy(c.memory.data(), c.memory.data() + c.memory.size());
    std::vector<i16> history = feedback.history, expected_history = history;
    std::vector<u32> kept, expected_kept;
    std::vector<u8> expected(n + 1);
    remember(c.memory, mask, bytes);
    FeedbackTask<T> task = feedback.with(history);
    task.requantize = requantize<T>;
    task.encoder = &kept;
    auto task_of = [&](T* start) { return elsewhere ? moved.in(c.task(start)) : c.task(start); };
    ClassTask<T> class_task = task_of(c.memory.data());
    if (random.below(2)) class_task.ahead = &ahead.rows;
    uniform_of<T>(tested).encode_feedback(class_task, task, masked ? mask.data() : nullptr, bytes.data());
    mask.unchanged("mask");
    bytes.changed_only("bytes", 0, i64(n));
    c.changed_only_rows();
    task = feedback.with(expected_history);
    task.requantize = requantize<T>;
    task.encoder = &expected_kept;
    uniform_of<T>(reference).encode_feedback(task_of(copy.data()), task, masked ? mask.data() : nullptr, expected.data());
    std::sort(kept.begin(), kept.end());
    std::sort(expected_kept.begin(), expected_kept.end());
    same("number of failed samples", kept.size(), expected_kept.size());
    same("failed samples", kept.data(), expected_kept.data(), kept.size());
    same("bytes", bytes.data(), expected.data(), n);
    same("samples", c.samples(c.memory.data()).data(), c.samples(copy.data()).data(), n);
    same("history", history.data(), expected_history.data(), history.size());
  }
}

template <class T>
void check_decode(const Kernels& tested, Random& random) {
  for (int l = 0; l < classes; l++) {
    const int kind = int(random.below(kinds));
    RandomClass<T> c(random, random_length(random, l), 1200, kind);
    const size_t n = c.count();
    const RandomIntegers<T> integers(random);
    integers.scale(random, c.weights);
    Feedback<T> feedback(random, c.rows, c.quantizer.step);
    Guarded<u8> bytes(random, n, 0, row_slack);
    const u64 most = random.below(4) ? random.below(40) : 255;
    for (size_t i = 0; i < n; i++) bytes[i] = random.below(20) ? u8(random.between(0, i64(most))) : byte_escape;
    const auto task_of = [&](T* start) {
      ClassTask<T> task = c.task(start);
      task.integers = integers.get();
      return task;
    };
    note("%s, %s, %d terms, slowest %d, %s, %s", integers.text(), kind_name(kind), feedback.task.terms, feedback.task.slowest,
         text_of(c.quantizer.step).c_str(), c.text().c_str());
    std::vector<T> copy(c.memory.data(), c.memory.data() + c.memory.size());
    std::vector<i16> history = feedback.history, expected_history = history;
    remember(c.memory, bytes);
    uniform_of<T>(tested).decode_feedback(task_of(c.memory.data()), feedback.with(history), bytes.data());
    bytes.unchanged("bytes");
    c.changed_only_rows();
    uniform_of<T>(reference).decode_feedback(task_of(copy.data()), feedback.with(expected_history), bytes.data());
    same("samples", c.samples(c.memory.data()).data(), c.samples(copy.data()).data(), n);
    same("history", history.data(), expected_history.data(), history.size());
  }
}

}  // namespace

void add_feedback(std::vector<Entry>& entries) {
#define FEEDBACK(uniform, T)                                                 \
  entries.push_back({CHECK_SLOT(uniform.encode_feedback), check_encode<T>}); \
  entries.push_back({CHECK_SLOT(uniform.decode_feedback), check_decode<T>});
  FEEDBACK(uniform32, float)
  FEEDBACK(uniform64, double)
}

}  // namespace check
