// The filter as HDF5 calls it: datasets, and hosts that read, flush and evict their chunks, with an allocator of their own where a test
// asks for one (stand_in_hdf5.cpp).
#pragma once
#include <dlfcn.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "hdf5/hdf5_abi.h"
#include "stz.h"
#include "stz_cd_values.h"
#include "stz_learned.h"
#include "unit.h"

extern "C" const void* H5PLget_plugin_info();
extern "C" void stz_h5_forget();

namespace unit {

using hdf5::FilterClass;
using hdf5::flag_reverse;

inline const auto* const filter = static_cast<const FilterClass*>(H5PLget_plugin_info());

// Chunks of float32, and what their dataset says of them.
struct Dataset {
  stz_layout layout{};
  stz_options options = STZ_OPTIONS_INIT;
  unsigned words[STZ_CD_MAX_WORDS];
  size_t count = 0;

  Dataset(u64 z, u64 y, u64 x, double bound, int mode = STZ_ABSOLUTE) {
    layout.dtype = STZ_F32;
    layout.rank = 3;
    layout.shape[0] = z, layout.shape[1] = y, layout.shape[2] = x;
    options.mode = mode;
    options.bound = bound;
    options.learn = STZ_LEARN_NO;  // chunks are compared with those of stz_compress
    CHECK(stz_cd_values_pack(&options, &layout, words, STZ_CD_MAX_WORDS, &count, nullptr, 0) == STZ_OK);
  }
  size_t samples() const { return size_t(layout.shape[0] * layout.shape[1] * layout.shape[2]); }
  size_t bytes() const { return 4 * samples(); }
  size_t plane() const { return size_t(layout.shape[1] * layout.shape[2]); }
};

using Samples = std::vector<float>;

inline void make_field(const Dataset& dataset, u64 seed, Samples& samples) {
  Random random(seed);
  const double phase = double(random.below(1000));
  for (size_t i = 0; i < samples.size(); ++i)
    samples[i] =
        float(20 * std::sin(phase + double(i) / 90) + 5 * std::cos(double(i % dataset.plane()) / 17) + double(random.below(1000)) / 5e3);
}
inline Samples field(const Dataset& dataset, u64 seed) {
  Samples samples(dataset.samples());
  make_field(dataset, seed, samples);
  return samples;
}

inline Samples decoded(const Dataset& dataset, const Bytes& stream) {
  Samples samples(dataset.samples());
  CHECK(stz_decompress(stream.data(), stream.size(), samples.data(), dataset.bytes()) == STZ_OK);
  return samples;
}

inline stz_stream_info info_of(const Bytes& stream) {
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  CHECK(stz_info(stream.data(), stream.size(), &info) == STZ_OK);
  return info;
}

// What HDF5 does with the chunks of its cache.
class Host {
 public:
  Host() = default;
  explicit Host(const char* stand_in) {
    void* const handle = dlopen((std::string(STAND_INS "/lib") + stand_in + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    CHECK(handle, "%s", dlerror());
    const auto look_up = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      CHECK(function, "%s", name);
    };
    look_up("call_filter", call_);
    look_up("H5allocate_memory", allocate_);
    look_up("H5free_memory", free_);
    look_up("bytes_in_use", bytes_in_use);
    look_up("count_wrong_frees", count_wrong_frees);
    look_up("fail_once", fail_once);
  }

  // Of the latest chunk that was read, decoded.
  float* read(const Dataset& dataset, const Bytes& stream) const {
    size_t capacity = stream.size();
    void* buffer = copy(stream.data(), stream.size());
    const size_t bytes = run(flag_reverse, dataset, stream.size(), &capacity, &buffer);
    CHECK(bytes == dataset.bytes());
    return static_cast<float*>(buffer);
  }
  // The cache has no room left for the chunk.
  Bytes evict(const Dataset& dataset, float* chunk) const {
    void* buffer = chunk;
    size_t capacity = dataset.bytes();
    const size_t size = run(0, dataset, dataset.bytes(), &capacity, &buffer);
    CHECK(size > 0);
    const Bytes stream(static_cast<u8*>(buffer), static_cast<u8*>(buffer) + size);
    drop(buffer);
    return stream;
  }
  // The chunk stays.
  Bytes flush(const Dataset& dataset, const float* chunk) const {
    return evict(dataset, static_cast<float*>(copy(chunk, dataset.bytes())));
  }
  // A chunk of which every sample is written.
  Bytes write(const Dataset& dataset, const Samples& samples) const { return flush(dataset, samples.data()); }
  void drop(void* buffer) const { free_ ? (void)free_(buffer) : std::free(buffer); }
  void* allocate(size_t bytes) const { return allocate_ ? allocate_(bytes, false) : std::malloc(bytes); }

  size_t run(unsigned flags, const Dataset& dataset, size_t bytes, size_t* capacity, void** buffer) const {
    return call_ ? call_(filter, flags, dataset.count, dataset.words, bytes, capacity, buffer)
                 : filter->filter(flags, dataset.count, dataset.words, bytes, capacity, buffer);
  }

  size_t (*bytes_in_use)() = nullptr;
  long (*count_wrong_frees)() = nullptr;
  void (*fail_once)() = nullptr;

 private:
  void* copy(const void* data, size_t bytes) const {
    void* const buffer = allocate(bytes);
    memcpy(buffer, data, bytes);
    return buffer;
  }
  size_t (*call_)(const FilterClass*, unsigned, size_t, const unsigned*, size_t, size_t*, void**) = nullptr;
  void* (*allocate_)(size_t, bool) = nullptr;
  int (*free_)(void*) = nullptr;
};

inline void empty_memory(const char* mib = nullptr) {
  mib ? setenv("H5STZ_REWRITE_MEMORY", mib, 1) : unsetenv("H5STZ_REWRITE_MEMORY");
  stz_h5_forget();
}

// What is stored of new samples where nothing is remembered.
inline Bytes stored_alone(const Dataset& dataset, const Samples& samples) {
  stz_options options = dataset.options;
  CHECK(stz_find_missing_value(&dataset.layout, samples.data(), &options) == STZ_OK);
  Bytes stream(stz_max_compressed_size(&dataset.layout));
  size_t size = 0;
  CHECK(stz_compress(&dataset.layout, samples.data(), &options, stream.data(), stream.size(), &size) == STZ_OK);
  stream.resize(size);
  return stream;
}

// New samples, where the memory for streams has so many MiB: without any, nothing can show that they are new, and they are stored exactly.
inline bool is_new(const char* mib, const Dataset& dataset, const Bytes& stream, const Samples& samples) {
  if (stream == stored_alone(dataset, samples)) return true;
  return mib && std::string(mib) == "0" && memcmp(decoded(dataset, stream).data(), samples.data(), dataset.bytes()) == 0;
}

// Writes new samples to the part [from, to) of a chunk in the cache.
inline void overwrite(float* chunk, const Samples& samples, size_t from, size_t to) {
  memcpy(chunk + from, samples.data() + from, 4 * (to - from));
}

// After the part [from, to) was written: the bound holds there, and everything else has the bits that it had.
inline void check_rewritten(const Dataset& dataset, const Bytes& stream, const Samples& before, const Samples& written, size_t from,
                            size_t to) {
  const Samples after = decoded(dataset, stream);
  for (size_t i = 0; i < after.size(); ++i) {
    const bool is_written = from <= i && i < to;
    if (is_written)
      CHECK(std::abs(double(written[i]) - double(after[i])) <= dataset.options.bound, "sample %zu", i);
    else
      CHECK(memcmp(&before[i], &after[i], 4) == 0, "sample %zu: %g became %g", i, double(before[i]), double(after[i]));
  }
}

inline const Dataset volume(16, 20, 24, 1e-2), small(4, 16, 16, 1e-2);

}  // namespace unit
