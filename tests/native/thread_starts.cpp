// How many threads a call starts, and that its result does not depend on them. Linked with --wrap (CMakeLists.txt), as the threads of
// libstdc++ must be counted. Prints the number of checks; exits with 1 at the first broken promise.
#include <errno.h>
#include <pthread.h>

#include <atomic>

#include "base/threads.h"
#include "small_cases.h"
#include "stz_reader.h"

extern "C" int __real_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

namespace {

using namespace small_cases;

std::atomic<int> starts{0}, allowed{1 << 30};

}  // namespace

extern "C" int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  if (++starts > allowed) return EAGAIN;
  return __real_pthread_create(thread, attributes, body, argument);
}

namespace {

// The threads that a call starts.
template <class Call>
int starts_of(const std::string& where, Call call) {
  starts = 0;
  check(call() == STZ_OK, where);
  return starts;
}

struct Made {
  Bytes stream, array;
};

// Compresses and decompresses with so many threads, and checks how many are started by each call.
Made round_trip(const Case& source, int threads, int expected) {
  const std::string where = source.name + ", " + std::to_string(threads) + " threads";
  Made made{Bytes(stz_max_compressed_size(&source.layout)), Bytes(source.array.size())};
  stz_options options = source.options;
  options.threads = threads;
  size_t size = 0;
  const int written = starts_of(
      where, [&] { return stz_compress(&source.layout, source.array.data(), &options, made.stream.data(), made.stream.size(), &size); });
  made.stream.resize(size);
  const int read =
      starts_of(where, [&] { return stz_decompress_threads(made.stream.data(), size, made.array.data(), made.array.size(), threads); });
  if (written != expected || read != expected) std::printf("%d and %d threads started, not %d\n", written, read, expected);
  check(written == expected, where, ", threads of compression");
  check(read == expected, where, ", threads of decompression");
  return made;
}

void check_same(const Case& source, int expected_of_8) {
  const Made one = round_trip(source, 1, 0);
  for (const int threads : {2, 3, 8}) {
    const Made made = round_trip(source, threads, std::min(threads - 1, expected_of_8));
    check(made.stream == one.stream, source.name, ", the stream depends on threads");
    check(made.array == one.array, source.name, ", the array depends on threads");
  }
}

// Reads a box of a stream.
int read_box(const Bytes& stream, std::vector<uint64_t> count, size_t element, int threads) {
  stz_reader* reader = nullptr;
  if (const int error = stz_reader_open_memory(stream.data(), stream.size(), 0, &reader)) return error;
  const std::vector<uint64_t> start(count.size()), step(count.size(), 1);
  size_t size = element;
  for (const uint64_t n : count) size *= size_t(n);
  Bytes box(size);
  const int error = stz_reader_read(reader, start.data(), count.data(), step.data(), box.data(), size, threads);
  stz_reader_close(reader);
  return error;
}

void count_for_reads(const Case& large) {
  const Made made = round_trip(large, 1, 0);
  check(starts_of("a small box", [&] { return read_box(made.stream, {16, 16, 16}, 4, 4); }) == 0, "a small box needs no thread");
  check(starts_of("a large box", [&] { return read_box(made.stream, {128, 128, 128}, 4, 4); }) == 3, "a large box has threads");
}

void count_for_checks(Case large) {
  large.options.check = STZ_CHECK_DECODE;
  large.options.threads = 2;
  Bytes stream(stz_max_compressed_size(&large.layout));
  size_t size = 0;
  const auto call = [&] { return stz_compress(&large.layout, large.array.data(), &large.options, stream.data(), stream.size(), &size); };
  check(starts_of("check", call) == 1, "encoding and its check have one team");
}

// The system has no threads, or not all of them: the call needs none.
void fail_to_start(const Case& large) {
  const Made one = round_trip(large, 1, 0);
  for (const int possible : {0, 1}) {
    allowed = possible;
    const Made made = round_trip(large, 4, possible + 1);  // it does not ask again
    check(made.stream == one.stream && made.array == one.array, large.name, ", the result without threads");
  }
  allowed = 1 << 30;
}

}  // namespace

int main() {
  stz::fewest_shared_samples = stz::fewest_worth_threads;
  Case floats = make<float>("float32", STZ_F32, {128, 128, 128}, STZ_ABSOLUTE, 1e-2);
  Case doubles = make<double>("float64", STZ_F64, {128, 128, 128}, STZ_ABSOLUTE, 1e-2);
  Case masked = make<float>("float32, masked", STZ_F32, {128, 128, 128}, STZ_ABSOLUTE, 1e-2, 1000);
  Case integers = make<int32_t>("int32", STZ_I32, {1 << 11, 1 << 10}, STZ_LOSSLESS, 0);
  Case complex = make<float>("complex64", STZ_C64, {64, 128, 128}, STZ_ABSOLUTE, 1e-2);
  for (Case* each : {&floats, &doubles, &masked, &integers, &complex}) {
    each->options.effort = 2;
    check_same(*each, 7);
  }
  for (const auto& shape : {std::vector<uint64_t>{127, 128, 128}, {64, 64, 64}, {16, 16, 16}})
    check_same(make<float>("small", STZ_F32, shape, STZ_ABSOLUTE, 1e-2), 0);
  count_for_reads(floats);
  count_for_checks(floats);
  fail_to_start(floats);
  std::printf("%d checks\n", checks);
}
