// The coding of whole classes in place.
#include "random_class.h"

namespace check {
namespace {

constexpr int classes = 700;

// ---------------------------------------------------------------- encode

template <class T>
void check_encode(const Kernels& tested, Random& random) {
  for (int l = 0; l < classes; l++) {
    const int kind = int(random.below(kinds));
    RandomClass<T> c(random, random_length(random, l), 1200, kind);
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
    const bool masked = random.below(3) == 0, elsewhere = random.below(2);
    Originals<T> moved(random, c, c.memory.data());
    if (elsewhere) forget_samples(random, c, c.memory.data());
    SomeRowsAhead ahead(random);
    Guarded<u8> mask(random, n, 0, row_slack), bytes(random, n);
    Guarded<FailedSample<T>> failed(random, n);
    const u64 density = random.below(8);
    for (size_t i = 0; i < n; i++) mask[i] = random.below(8) < density ? u8(1 << random.below(8)) : u8(0);
    note("%s%s%s, %s, avoid %s to %s, %s", kind_name(kind), masked ? ", masked" : "", elsewhere ? ", elsewhere" : "",
         text_of(c.quantizer.step).c_str(), text_of(c.quantizer.avoid_from).c_str(), text_of(c.quantizer.avoid_to).c_str(),
         c.text().c_str());
    std::vector<T> copy(c.memory.data(), c.memory.data() + c.memory.size());
    remember(c.memory, mask, bytes, failed);
    auto task_of = [&](T* start) { return elsewhere ? moved.in(c.task(start)) : c.task(start); };
    ClassTask<T> task = task_of(c.memory.data());
    if (random.below(2)) task.ahead = &ahead.rows;
    const u32 failures = uniform_of<T>(tested).encode_class(task, masked ? mask.data() : nullptr, bytes.data(), failed.data());
    mask.unchanged("mask");
    bytes.changed_only("bytes", 0, i64(n));
    failed.changed_only("failed", 0, i64(n));
    c.changed_only_rows();

    // failures first: their bytes may be anything
    std::vector<FailedSample<T>> expected_failed(n + 1);
    std::vector<u8> expected(n + 1);
    const ClassTask<T> reference_task = task_of(copy.data());
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
    RandomClass<T> c(random, random_length(random, l), 1200, kind);
    const size_t n = c.count();
    const RandomIntegers<T> integers(random);
    integers.scale(random, c.weights);
    Guarded<u8> bytes(random, n, 0, row_slack);
    if (random.below(4)) {
      const u64 most = random.below(256);
      for (size_t i = 0; i < n; i++) bytes[i] = u8(random.between(0, i64(most)));
    }
    const auto task_of = [&](T* start) {
      ClassTask<T> task = c.task(start);
      task.integers = integers.get();
      return task;
    };
    note("%s, %s, %s, %s", integers.text(), kind_name(kind), text_of(c.quantizer.step).c_str(), c.text().c_str());
    std::vector<T> copy(c.memory.data(), c.memory.data() + c.memory.size());
    remember(c.memory, bytes);
    uniform_of<T>(tested).decode_class(task_of(c.memory.data()), bytes.data());
    bytes.unchanged("bytes");
    c.changed_only_rows();
    uniform_of<T>(reference).decode_class(task_of(copy.data()), bytes.data());
    std::vector<T> actual = c.samples(c.memory.data()), expected = c.samples(copy.data());
    for (size_t i = 0; i < n; i++)
      if (bytes[i] == byte_escape) expected[i] = actual[i];
    same("samples", actual.data(), expected.data(), n);
  }
}

}  // namespace

void add_classes(std::vector<Entry>& entries) {
#define CLASSES(uniform, T)                                               \
  entries.push_back({CHECK_SLOT(uniform.encode_class), check_encode<T>}); \
  entries.push_back({CHECK_SLOT(uniform.decode_class), check_decode<T>});
  CLASSES(uniform32, float)
  CLASSES(uniform64, double)
}

}  // namespace check
