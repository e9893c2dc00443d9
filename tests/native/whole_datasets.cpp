// Whole datasets that several threads write and read (region/whole_read.h, intercept/whole_write.h), with functions in HDF5's place that
// hold chunks in memory, fail where they are told to, and check that only the calling thread calls them. For a build with ThreadSanitizer.
// Prints the number of checks; exits with 1 at the first result that is not that of the codec alone.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "hdf5/chunk_functions.h"
#include "intercept/whole_write.h"
#include "region/whole_read.h"
#include "stz.h"
#include "stz_cd_values.h"

extern "C" const void* stz_chunk_functions_1();

namespace {

using namespace stz;
using region::Way;
using Bytes = std::vector<unsigned char>;

std::atomic<int> checks{0};

void check(bool good, const char* what) {
  checks++;
  if (good) return;
  std::printf("wrong: %s\n", what);
  std::fflush(stdout);
  std::_Exit(1);
}

// What stands for a dataset: its number is that of a thread of the test.
struct Store {
  std::map<hdf5::hsize_t, Bytes> chunks;  // by offset along the first axis
  std::thread::id caller;
  int calls_until_failure = -1;
  u32 mask = 0;

  bool works() {
    check(std::this_thread::get_id() == caller, "only the calling thread calls HDF5");
    return calls_until_failure < 0 || calls_until_failure-- > 0;
  }
};
constexpr int callers = 3;
Store stores[callers];

hdf5::herr_t write_chunk(hdf5::hid_t dataset, hdf5::hid_t, u32, const hdf5::hsize_t* offset, size_t size, const void* bytes) {
  Store& store = stores[dataset];
  if (!store.works()) return -1;
  const auto* const from = static_cast<const unsigned char*>(bytes);
  check(store.chunks.empty() || store.chunks.rbegin()->first < offset[0], "chunks come in the order of the file");
  store.chunks[offset[0]].assign(from, from + size);
  return 0;
}

hdf5::herr_t chunk_size(hdf5::hid_t dataset, const hdf5::hsize_t* offset, hdf5::hsize_t* size) {
  Store& store = stores[dataset];
  check(std::this_thread::get_id() == store.caller, "only the calling thread calls HDF5");
  *size = store.chunks.count(offset[0]) ? store.chunks[offset[0]].size() : 0;
  return 0;
}

hdf5::herr_t read_chunk(hdf5::hid_t dataset, hdf5::hid_t, const hdf5::hsize_t* offset, u32* mask, void* bytes) {
  Store& store = stores[dataset];
  if (!store.works()) return -1;
  const Bytes& chunk = store.chunks[offset[0]];
  std::memcpy(bytes, chunk.data(), chunk.size());
  *mask = store.mask;
  return 0;
}

// A dataset of chunks that lie behind each other along the first axis, the last of which sticks out.
region::WholeDataset dataset(hdf5::hsize_t rows, hdf5::hsize_t columns, hdf5::hsize_t side) {
  region::WholeDataset whole{};
  whole.chunk.dtype = STZ_F32;
  whole.chunk.rank = 2;
  whole.element_size = sizeof(float);
  const hdf5::hsize_t extents[] = {rows, columns}, sides[] = {side, columns};
  whole.bytes = sizeof(float);
  whole.chunk_bytes = sizeof(float);
  whole.chunks = 1;
  for (int axis = 0; axis < 2; ++axis) {
    whole.extents[axis] = extents[axis];
    whole.chunk.shape[axis] = sides[axis];
    whole.grid[axis] = (extents[axis] + sides[axis] - 1) / sides[axis];
    whole.chunks *= whole.grid[axis];
    whole.bytes *= extents[axis];
    whole.chunk_bytes *= sides[axis];
  }
  const float seven = 7;
  std::memcpy(whole.padding, &seven, sizeof seven);
  stz_options options = STZ_OPTIONS_INIT;
  options.mode = STZ_ABSOLUTE;
  options.bound = 1e-3;
  check(stz_cd_values_pack(&options, &whole.chunk, whole.client_data, STZ_CD_MAX_WORDS, &whole.client_count, nullptr, 0) == STZ_OK,
        "client data");
  return whole;
}

std::vector<float> field(const region::WholeDataset& whole, int seed) {
  std::vector<float> samples(whole.bytes / sizeof(float));
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = std::sin(float(i % 977) / 50 + float(seed)) * 5 + float(i % 31) * 1e-3f;
  return samples;
}

// The stream of a chunk, by the codec alone.
Bytes stream_of(const region::WholeDataset& whole, const std::vector<float>& samples, hdf5::hsize_t first_row) {
  std::vector<float> chunk(whole.chunk_bytes / sizeof(float), 7);
  const size_t columns = whole.extents[1];
  const size_t rows = std::min<size_t>(whole.chunk.shape[0], whole.extents[0] - first_row);
  std::copy_n(samples.data() + first_row * columns, rows * columns, chunk.data());
  stz_options options = STZ_OPTIONS_INIT;
  options.mode = STZ_ABSOLUTE;
  options.bound = 1e-3;
  Bytes stream(stz_max_compressed_size(&whole.chunk));
  size_t size = 0;
  check(stz_compress(&whole.chunk, chunk.data(), &options, stream.data(), stream.size(), &size) == STZ_OK, "the codec");
  stream.resize(size);
  return stream;
}

void use(int number, const hdf5::Calls& calls, const hdf5::ChunkFunctions& functions, const region::WholeDataset& whole,
         region::Shares shares) {
  Store& store = stores[number];
  store = Store{};
  store.caller = std::this_thread::get_id();
  std::vector<float> samples = field(whole, number), found(samples.size(), -1);
  const region::Request writing{number, 0, 0, 0, 0, samples.data()}, reading{number, 0, 0, 0, 0, found.data()};
  check(intercept::write_whole(writing, calls, whole, functions, shares) == Way::threads, "written");
  check(store.chunks.size() == whole.chunks, "all chunks are there");
  for (const auto& [row, stream] : store.chunks) check(stream == stream_of(whole, samples, row), "the bytes of the codec alone");
  hdf5::hsize_t bytes = 0;
  check(read_whole(calls, reading, whole, functions, shares, bytes) == Way::threads, "read");
  for (size_t i = 0; i < samples.size(); ++i) check(std::fabs(double(samples[i]) - found[i]) <= 1e-3, "the bound");

  store.calls_until_failure = 2;
  check(read_whole(calls, reading, whole, functions, shares, bytes) == Way::failed, "a failed read");
  store.calls_until_failure = -1;
  store.mask = 1;
  check(read_whole(calls, reading, whole, functions, shares, bytes) == Way::missing, "a chunk without the filter");
  store.mask = 0;
  Bytes& damaged = store.chunks.rbegin()->second;
  damaged[damaged.size() / 2] ^= 1;
  check(read_whole(calls, reading, whole, functions, shares, bytes) == Way::failed, "a damaged chunk");
  store.chunks.erase(store.chunks.begin());
  found.assign(found.size(), -1);
  check(read_whole(calls, reading, whole, functions, shares, bytes) == Way::missing, "a missing chunk");
  for (const float each : found) check(each == -1, "the buffer is unchanged");
  store.chunks.clear();
  store.calls_until_failure = 2;
  check(intercept::write_whole(writing, calls, whole, functions, shares) == Way::failed, "a failed write");
  check(store.chunks.size() == 2, "nothing is written after a failure");
}

}  // namespace

int main() {
  hdf5::Calls calls{};
  calls.H5Dwrite_chunk = write_chunk;
  calls.H5Dget_chunk_storage_size = chunk_size;
  calls.H5Dread_chunk = read_chunk;
  const auto& functions = *static_cast<const hdf5::ChunkFunctions*>(stz_chunk_functions_1());
  const region::WholeDataset many = dataset(301, 100, 10), few = dataset(150, 200, 64);
  for (const region::Shares shares : {region::Shares{1, 1}, region::Shares{2, 1}, region::Shares{5, 1}, region::Shares{2, 2}}) {
    std::vector<std::thread> threads;
    for (int number = 0; number < callers; ++number)
      threads.emplace_back([&, number] { use(number, calls, functions, number % 2 ? few : many, shares); });
    for (std::thread& thread : threads) thread.join();
  }
  std::printf("%d checks\n", checks.load());
  return 0;
}
