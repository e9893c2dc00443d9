// Everything of the filter that threads may do at the same time, for a build with ThreadSanitizer (tests/codec/test_threads.py): it reports
// each access of two threads to the same memory that nothing puts in order. Prints the number of checks; exits with 1 at the first
// result that is not that of one thread alone.
//
// The threads begin together, before anything has been used: what is made at its first use is made by several of them at once.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <latch>
#include <limits>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "hdf5/hdf5_abi.h"
#include "region/kept_readers.h"
#include "stz.h"
#include "stz_cd_values.h"
#include "stz_reader.h"

extern "C" const void* H5PLget_plugin_info();

namespace {

using Bytes = std::vector<unsigned char>;

constexpr int kCallers = 3;  // threads of the program; each asks for kThreads more where it can
constexpr int kThreads = 2;
std::atomic<int> checks{0};

void check(bool good, const char* what) {
  checks++;
  if (good) return;
  std::printf("failed: %s\n", what);
  std::fflush(stdout);
  std::_Exit(1);
}

// Calls work(caller) on kCallers threads at once.
void at_once(const std::function<void(int)>& work) {
  std::latch start(kCallers);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; caller++) {
    callers.emplace_back([&, caller] {
      start.arrive_and_wait();
      work(caller);
    });
  }
  for (std::thread& each : callers) each.join();
}

struct Case {
  const char* name;
  stz_layout layout;
  stz_options options;
  Bytes array;
  Bytes stream, decoded;  // as one thread makes them
};

stz_layout volume(int dtype, uint64_t z, uint64_t y, uint64_t x) {
  stz_layout layout{};
  layout.dtype = dtype;
  layout.rank = 3;
  layout.shape[0] = z, layout.shape[1] = y, layout.shape[2] = x;
  return layout;
}

// A smooth field with noise; `holes` of a thousand samples are NaN.
template <class T>
Bytes field(const stz_layout& layout, int holes) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 0.05);
  const size_t count = stz_element_size(layout.dtype) / sizeof(T) * layout.shape[0] * layout.shape[1] * layout.shape[2];
  std::vector<T> samples(count);
  for (size_t i = 0; i < count; i++) {
    const bool hole = holes && int(random() % 1000) < holes;
    samples[i] = hole ? std::numeric_limits<T>::quiet_NaN() : T(50 * std::sin(double(i) / 700) + noise(random) + 60);
  }
  Bytes bytes(count * sizeof(T));
  std::memcpy(bytes.data(), samples.data(), bytes.size());
  return bytes;
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](const char* name, const stz_layout& layout, int mode, double bound, int block, Bytes array) {
    Case each{name, layout, STZ_OPTIONS_INIT, std::move(array), {}, {}};
    each.options.mode = mode;
    each.options.bound = bound;
    each.options.block = block;
    each.options.integers = STZ_INTEGERS_BOUNDED;
    list.push_back(std::move(each));
  };
  // Just larger than a block along each axis: few samples, and eight blocks to share.
  const stz_layout large = volume(STZ_F32, 66, 66, 70), f4 = volume(STZ_F32, 34, 36, 40), f8 = volume(STZ_F64, 34, 36, 40);
  const stz_layout i4 = volume(STZ_I32, 34, 36, 40), u2 = volume(STZ_U16, 34, 36, 40), c8 = volume(STZ_C64, 34, 36, 40);
  add("float32", large, STZ_ABSOLUTE, 1e-2, STZ_BLOCK_DEFAULT, field<float>(large, 0));
  add("float32, regions", f4, STZ_ABSOLUTE, 1e-2, STZ_BLOCK_REGION, field<float>(f4, 0));
  add("float32, masked", f4, STZ_ABSOLUTE, 1e-2, STZ_BLOCK_REGION, field<float>(f4, 100));
  add("float64, point-wise", f8, STZ_POINTWISE_RELATIVE, 1e-3, STZ_BLOCK_REGION, field<double>(f8, 0));
  add("float64, lossless", f8, STZ_LOSSLESS, 0, STZ_BLOCK_REGION, field<double>(f8, 0));
  add("int32", i4, STZ_LOSSLESS, 0, STZ_BLOCK_REGION, field<int32_t>(i4, 0));
  add("uint16", u2, STZ_ABSOLUTE, 2, STZ_BLOCK_REGION, field<uint16_t>(u2, 0));
  add("complex64", c8, STZ_ABSOLUTE, 1e-2, STZ_BLOCK_REGION, field<float>(c8, 0));
  Bytes noise = field<float>(large, 0);
  std::mt19937 random(11);
  for (size_t i = 0; i < noise.size(); i++)
    if (i % 4 != 3) noise[i] = static_cast<unsigned char>(random());  // exponents stay alike
  add("float32, floating-point fields", large, STZ_LOSSLESS, 0, STZ_BLOCK_DEFAULT, std::move(noise));
  return list;
}

Bytes compress(const Case& each, int threads) {
  stz_options options = each.options;
  options.threads = threads;
  Bytes stream(stz_max_compressed_size(&each.layout));
  size_t size = 0;
  check(stz_compress(&each.layout, each.array.data(), &options, stream.data(), stream.size(), &size) == STZ_OK, each.name);
  stream.resize(size);
  return stream;
}

Bytes decompress(const Case& each, const Bytes& stream, int threads) {
  Bytes array(each.array.size());
  check(stz_decompress_threads(stream.data(), stream.size(), array.data(), array.size(), threads) == STZ_OK, each.name);
  return array;
}

// Random boxes with steps, in comparison with the whole array.
void read_boxes(const Case& each, stz_reader* reader, int seed, int count, int threads) {
  std::mt19937 random{unsigned(seed)};
  const size_t size = stz_element_size(each.layout.dtype);
  const uint64_t* const shape = each.layout.shape;
  for (int turn = 0; turn < count; turn++) {
    uint64_t start[3], counts[3], step[3];
    for (int axis = 0; axis < 3; axis++) {
      step[axis] = uint64_t{1} << random() % 3;
      start[axis] = random() % shape[axis];
      counts[axis] = 1 + random() % ((shape[axis] - start[axis] - 1) / step[axis] + 1);
    }
    Bytes decoded(counts[0] * counts[1] * counts[2] * size);
    check(stz_reader_read(reader, start, counts, step, decoded.data(), decoded.size(), threads) == STZ_OK, each.name);
    const unsigned char* at = decoded.data();
    bool same = true;
    for (uint64_t z = 0; z < counts[0]; z++)
      for (uint64_t y = 0; y < counts[1]; y++) {
        const uint64_t row = ((start[0] + z * step[0]) * shape[1] + start[1] + y * step[1]) * shape[2] + start[2];
        const uint64_t run = step[2] == 1 ? counts[2] : 1;
        for (uint64_t x = 0; x < counts[2]; x += run, at += run * size)
          same = same && std::memcmp(at, each.decoded.data() + (row + x * step[2]) * size, run * size) == 0;
      }
    check(same, each.name);
  }
}

stz::region::Reader open(const Bytes& stream, uint64_t cache) {
  stz_reader* reader = nullptr;
  check(stz_reader_open_memory(stream.data(), stream.size(), cache, &reader) == STZ_OK, "a reader opens");
  return stz::region::Reader(reader);
}

// The filter as HDF5 calls it, which is not there.
void filter_chunks(const Case& each) {
  const auto* const filter = static_cast<const stz::hdf5::FilterClass*>(H5PLget_plugin_info());
  unsigned words[STZ_CD_MAX_WORDS];
  stz_options options = each.options;
  options.threads = kThreads;
  size_t count = 0;
  check(stz_cd_values_pack(&options, &each.layout, words, STZ_CD_MAX_WORDS, &count, nullptr, 0) == STZ_OK, "client data");
  size_t size = each.array.size();
  void* buffer = std::malloc(size);
  std::memcpy(buffer, each.array.data(), size);
  const size_t stored = filter->filter(0, count, words, size, &size, &buffer);
  check(stored == each.stream.size() && std::memcmp(buffer, each.stream.data(), stored) == 0, each.name);
  const size_t restored = filter->filter(stz::hdf5::flag_reverse, count, words, stored, &size, &buffer);
  check(restored == each.decoded.size() && std::memcmp(buffer, each.decoded.data(), restored) == 0, each.name);
  std::free(buffer);
}

}  // namespace

int main() {
  std::vector<Case> list = cases();

  // First uses; what one thread makes is known only afterwards.
  std::vector<Bytes> streams(kCallers), arrays(kCallers);
  at_once([&](int caller) {
    streams[size_t(caller)] = compress(list[0], caller);
    arrays[size_t(caller)] = decompress(list[0], streams[size_t(caller)], caller);
  });
  for (Case& each : list) {
    each.stream = compress(each, 1);
    each.decoded = decompress(each, each.stream, 1);
  }
  for (int caller = 0; caller < kCallers; caller++)
    check(streams[size_t(caller)] == list[0].stream && arrays[size_t(caller)] == list[0].decoded, "the first use");

  at_once([&](int caller) {
    const Case& each = list[size_t(caller)];
    check(compress(each, kThreads) == each.stream, each.name);
    filter_chunks(each);
  });
  for (const Case& each : list) {
    check(compress(each, kThreads) == each.stream && decompress(each, each.stream, kThreads) == each.decoded, each.name);
    read_boxes(each, open(each.stream, 1 << 20).get(), 1, 4, kThreads);
  }

  // Readers of one stream, of the same memory; and one reader that goes from hand to hand.
  for (const Case& each : {list[1], list[2]}) {
    const stz::region::Reader shared = open(each.stream, 1 << 22);
    std::mutex mutex;
    at_once([&](int caller) {
      read_boxes(each, open(each.stream, 1 << 20).get(), 10 + caller, 4, kThreads);
      for (int turn = 0; turn < 4; turn++) {
        const std::lock_guard lock(mutex);
        read_boxes(each, shared.get(), 100 + 10 * turn + caller, 1, kThreads);
      }
    });
  }

  // Readers of a file that live on between reads, for all threads; with() gives way to another thread.
  std::string path = "/tmp/h5stz-threads-XXXXXX";
  const int file = mkstemp(path.data());
  check(file >= 0 && unlink(path.c_str()) == 0, "a temporary file");
  std::vector<off_t> places;
  for (const Case& each : list) {
    places.push_back(lseek(file, 0, SEEK_CUR));
    check(write(file, each.stream.data(), each.stream.size()) == ssize_t(each.stream.size()), "a file is written");
  }
  const timespec long_ago[] = {{1'000'000'000, 1}, {1'000'000'000, 1}};  // nothing is kept of what was changed a moment ago
  check(futimens(file, long_ago) == 0, "a file has a time");
  stz::region::KeptReaders kept;
  std::atomic<int> used{0};
  at_once([&](int caller) {
    for (int turn = 0; turn < 24; turn++) {
      const size_t which = size_t(turn + caller) % list.size();
      const Case& each = list[which];
      used += kept.with(file, uint64_t(places[which]), each.stream.size(), [&](stz_reader* reader) {
        read_boxes(each, reader, 7 * turn + caller, 1, kThreads);
        return turn % 5 != 4;  // false: it is not kept
      });
    }
  });
  check(used > 0, "kept readers are used");
  close(file);
  std::printf("%d checks\n", checks.load());
}
