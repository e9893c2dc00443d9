// Fuzz target: the filter's callback as HDF5 calls it, with what it remembers of decoded chunks: programs that read, change, flush, evict,
// drop and copy chunks of several datasets, meet damaged ones and run out of memory (docs/rewriting.md).
//
// Judged after every call that stores a chunk: a sample is within the bound of what was written to it last; one that was not written has
// the bits that it had, or those that were written where the bound has not been used. What a read gives depends on the stream alone.
#include <algorithm>
#include <array>

#include "judge.h"
#include "stand_in.h"
#include "streams.h"

namespace fuzz {
namespace {

struct Dataset {
  stz_layout layout{};
  stz_options options = STZ_OPTIONS_INIT;
  unsigned words[STZ_CD_MAX_WORDS];
  size_t count = 0, bytes = 0;
};

// A number of a chunk: what was written to it last, or what it was decoded to.
struct Number {
  uint64_t bits = 0;
  bool fixed = false;  // its bound was used: it has these bits from now on
};
using Numbers = std::vector<Number>;

struct StoredChunk {
  Bytes stream;  // none: it was never written
  Numbers numbers;
  bool bound_used = false, remembered = false;
};

// A chunk in HDF5's cache.
struct CachedChunk {
  uint8_t* buffer;
  size_t dataset, chunk;
  Numbers numbers;
};

// FUZZ_TRACE=1 prints what a program does.
template <class... Values>
void trace(const char* format, Values... values) {
  static const bool wanted = getenv("FUZZ_TRACE") != nullptr;
  if (wanted) fprintf(stderr, format, values...);
}

std::string last_error() {
  char text[400] = "";
  stz_h5_last_error(text, sizeof text);
  return text;
}

class Host {
 public:
  explicit Host(Choices& choose) : choose_(choose), random_(choose.word()), most_elements_(choose.slow(8) ? 500 : 64) {}
  void run();

 private:
  static constexpr size_t chunks = 4, most_cached = 6;

  size_t width(const Dataset& d) const { return number_size(d.layout.dtype); }
  uint64_t number(const Dataset& d, const uint8_t* samples, size_t i) const {
    return load_number(samples + i * width(d), width(d), swapped(d.layout));
  }
  size_t call(unsigned flags, const Dataset& d, size_t bytes, size_t& capacity, void*& buffer) {
    return filter->filter(flags, d.count, d.words, bytes, &capacity, &buffer);
  }
  void add_dataset();
  uint64_t fresh_number(const Dataset& d, int kind, size_t i);
  uint8_t* read(const Dataset& d, const Bytes& stream);
  void open(size_t dataset, size_t chunk);
  void change(CachedChunk& cached);
  bool store(const Dataset& d, const Numbers& numbers, uint8_t* buffer, StoredChunk& chunk);
  void check(const Dataset& d, const Numbers& numbers, StoredChunk& chunk);
  uint8_t* copy_of(const uint8_t* samples, size_t bytes);
  void write_new(size_t dataset, size_t chunk);
  void copy_chunk(size_t dataset, size_t chunk);
  void read_damaged(size_t dataset, size_t chunk);
  void close(size_t place) { cached_.erase(cached_.begin() + std::ptrdiff_t(place)); }

  Choices& choose_;
  Random random_;
  const uint64_t most_elements_;  // of a chunk
  std::vector<Dataset> datasets_;
  std::vector<std::array<StoredChunk, chunks>> stored_;
  std::vector<CachedChunk> cached_;
};

void Host::add_dataset() {
  Dataset d;
  d.layout.dtype = choose_.below(3) ? STZ_F32 : STZ_F16 + int(choose_.below(dtypes));
  d.layout.byte_order = choose_.below(8) == 1;
  d.layout.rank = 1 + int(choose_.below(3));
  uint64_t count = 1;
  for (int axis = 0; axis < d.layout.rank; axis++) {
    const uint64_t most = std::max<uint64_t>(1, most_elements_ / count);
    d.layout.shape[axis] = std::min(most, 1 + (d.layout.rank == 1 ? choose_.below(1500) : choose_.below(40)));
    count *= d.layout.shape[axis];
  }
  if (!datasets_.empty() && choose_.below(2)) d.layout = datasets_[0].layout;  // the same with another bound, perhaps
  static constexpr double bounds[] = {1e-2, 1e-4, 0.3, 20};
  d.options.mode = choose_.below(4) ? STZ_ABSOLUTE : int(choose_.below(3));
  d.options.integers = STZ_INTEGERS_BOUNDED;
  if (!is_floating(d.layout.dtype) && d.options.mode == STZ_POINTWISE_RELATIVE) d.options.mode = STZ_ABSOLUTE;
  if (d.options.mode) d.options.bound = bounds[choose_.below(4)];
  if (choose_.below(8) == 1) d.options.append_axis = 1;
  if (choose_.below(8) == 1) d.options.layers = 2;
  if (choose_.below(4) == 1 && d.layout.dtype < STZ_C64) d.options.has_fill = 1, d.options.fill = bits_of_number(d.layout.dtype, -9999);
  const int error = stz_cd_values_pack(&d.options, &d.layout, d.words, STZ_CD_MAX_WORDS, &d.count, nullptr, 0);
  if (error) broken(std::string("client data: ") + stz_error_text(error));
  d.bytes = size_t(elements(d.layout)) * stz_element_size(d.layout.dtype);
  trace("dataset: dtype %d, %d axes, %zu bytes, mode %d, bound %g, fill %d, append axis %d, layers %d\n", d.layout.dtype, d.layout.rank,
        d.bytes, d.options.mode, d.options.bound, d.options.has_fill, d.options.append_axis, d.options.layers);
  datasets_.push_back(d);
  stored_.emplace_back();
}

uint64_t Host::fresh_number(const Dataset& d, int kind, size_t i) {
  const int dtype = d.layout.dtype;
  switch (kind % 8) {
    case 0:
      return bits_of_number(dtype, kind / 8);
    case 1:
      return bits_of_number(dtype, random_.below(30) ? 0 : 100 * random_.unit());
    case 2:
      return random_.bits() & all_bits(dtype);
    case 3:
      if (random_.below(8) == 0) return is_floating(dtype) ? infinity_bits(dtype) | random_.below(2) : d.options.fill;
      [[fallthrough]];
    case 4:
      return bits_of_number(dtype, double(i % 37) / 4 + kind);
    default:
      return bits_of_number(dtype, 20 * std::sin(kind + double(i) / 90) + 0.2 * random_.unit());
  }
}

uint8_t* Host::copy_of(const uint8_t* samples, size_t bytes) {
  auto* const buffer = static_cast<uint8_t*>(stand_in.allocate(bytes));
  if (buffer) memcpy(buffer, samples, bytes);
  return buffer;
}

// Decodes a chunk as HDF5 does. Reads see nothing of what is remembered.
uint8_t* Host::read(const Dataset& d, const Bytes& stream) {
  void* buffer = copy_of(stream.data(), stream.size());
  if (!buffer) return nullptr;
  size_t capacity = stream.size();
  const bool may_fail = stand_in.fails_after >= 0;
  const size_t size = call(stz::hdf5::flag_reverse, d, stream.size(), capacity, buffer);
  if (!size) {
    if (!may_fail) broken("a chunk that was stored is not decoded: " + last_error());
    promise(memcmp(buffer, stream.data(), stream.size()) == 0, "a read that fails leaves the chunk as it was");
    stand_in.release(buffer);
    return nullptr;
  }
  trace("  decoded to %p\n", buffer);
  promise(size == d.bytes, "a chunk has its size");
  Bytes expected(d.bytes);
  promise(stz_decompress(stream.data(), stream.size(), expected.data(), expected.size()) == STZ_OK, "a stored chunk is a stream");
  promise(memcmp(expected.data(), buffer, d.bytes) == 0, "what a read gives depends on the stream alone");
  return static_cast<uint8_t*>(buffer);
}

void Host::open(size_t dataset, size_t chunk) {
  StoredChunk& stored = stored_[dataset][chunk];
  if (stored.stream.empty() || cached_.size() == most_cached) return;
  if (std::any_of(cached_.begin(), cached_.end(), [&](const CachedChunk& c) { return c.dataset == dataset && c.chunk == chunk; })) return;
  uint8_t* const buffer = read(datasets_[dataset], stored.stream);
  if (!buffer) return;
  stored.remembered = true;
  cached_.push_back({buffer, dataset, chunk, stored.numbers});
}

void Host::change(CachedChunk& cached) {
  const Dataset& d = datasets_[cached.dataset];
  trace("change chunk %zu of dataset %zu at %p\n", cached.chunk, cached.dataset, static_cast<void*>(cached.buffer));
  const uint64_t parts_of = uint64_t(parts(d.layout.dtype)), count = cached.numbers.size() / parts_of;  // elements: programs write these
  const uint64_t way = choose_.below(6), kind = choose_.byte();
  uint64_t from = choose_.below(65536) % count, to = std::min(count, from + 1 + (way ? choose_.below(count) : 0)), step = 1;
  if (way == 1) from = 0, to = count - 1;  // all but one
  if (way == 2) from = 1, to = count;
  if (way == 3) step = 1 + choose_.below(9);
  for (uint64_t element = from; element < to; element += step)
    for (uint64_t i = element * parts_of; i < (element + 1) * parts_of; i++) {
      cached.numbers[i] = {fresh_number(d, int(kind), i), false};
      store_number(cached.buffer + i * width(d), cached.numbers[i].bits, width(d), swapped(d.layout));
    }
}

// Compresses the chunk in `buffer`, which is the filter's from then on. False if there is no memory.
bool Host::store(const Dataset& d, const Numbers& numbers, uint8_t* buffer, StoredChunk& chunk) {
  void* out = buffer;
  size_t capacity = d.bytes;
  const bool may_fail = stand_in.fails_after >= 0;
  const size_t size = call(0, d, d.bytes, capacity, out);
  if (!size) {
    if (!may_fail) broken("a chunk is not stored: " + last_error());
    promise(out == buffer, "a chunk that is not stored stays where it was");
    for (size_t i = 0; i < numbers.size(); i++) promise(number(d, buffer, i) == numbers[i].bits, "a chunk that is not stored stays");
    stand_in.release(buffer);
    return false;
  }
  promise(size <= capacity, "a stream fits its buffer");
  chunk.stream.assign(static_cast<uint8_t*>(out), static_cast<uint8_t*>(out) + size);
  stand_in.release(out);
  check(d, numbers, chunk);
  return true;
}

void Host::check(const Dataset& d, const Numbers& numbers, StoredChunk& chunk) {
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  promise(stz_info(chunk.stream.data(), chunk.stream.size(), &info) == STZ_OK, "a stored chunk is a stream");
  Bytes decoded(d.bytes);
  promise(stz_decompress(chunk.stream.data(), chunk.stream.size(), decoded.data(), decoded.size()) == STZ_OK, "a stored chunk decodes");
  const Bound bound(d.layout, d.options);
  chunk.bound_used = info.bound_used;
  trace("  stored as %s, %zu bytes, mode %d, bound %g, bound used %d, layers %d\n", info.form, chunk.stream.size(), info.mode, info.bound,
        info.bound_used, info.layers);
  chunk.remembered = false;
  chunk.numbers.resize(numbers.size());
  for (size_t i = 0; i < numbers.size(); i++) {
    const uint64_t x = numbers[i].bits, y = number(d, decoded.data(), i);
    const bool kept = numbers[i].fixed || !info.bound_used ? x == y : bound.kept(x, y);
    if (!kept) {
      char text[200];
      snprintf(text, sizeof text, "number %zu of %zu, %s: %llx (%.17g) became %llx (%.17g), form %s", i, numbers.size(),
               numbers[i].fixed ? "not written" : "written", (unsigned long long)x, shown(d.layout.dtype, x), (unsigned long long)y,
               shown(d.layout.dtype, y), info.form);
      broken(text);
    }
    chunk.numbers[i] = {y, info.bound_used != 0};
  }
}

void Host::write_new(size_t dataset, size_t chunk) {
  const Dataset& d = datasets_[dataset];
  const int kind = int(choose_.byte());
  Numbers numbers(d.bytes / width(d));
  auto* const buffer = static_cast<uint8_t*>(stand_in.allocate(d.bytes));
  if (!buffer) return;
  for (size_t i = 0; i < numbers.size(); i++) {
    numbers[i].bits = fresh_number(d, kind, i);
    store_number(buffer + i * width(d), numbers[i].bits, width(d), swapped(d.layout));
  }
  StoredChunk stored;
  if (!store(d, numbers, buffer, stored)) return;
  cached_.erase(std::remove_if(cached_.begin(), cached_.end(),
                               [&](const CachedChunk& c) {
                                 const bool same = c.dataset == dataset && c.chunk == chunk;
                                 if (same) stand_in.release(c.buffer);
                                 return same;
                               }),
                cached_.end());
  stored_[dataset][chunk] = stored;
}

// A program reads a chunk and writes its samples elsewhere: in a dataset of the same options the very samples, in others new values.
void Host::copy_chunk(size_t dataset, size_t chunk) {
  const size_t to = choose_.below(datasets_.size());
  const Dataset &from_set = datasets_[dataset], &to_set = datasets_[to];
  const StoredChunk& stored = stored_[dataset][chunk];
  if (stored.stream.empty() || memcmp(&from_set.layout, &to_set.layout, sizeof from_set.layout) != 0) return;
  uint8_t* const decoded = read(from_set, stored.stream);
  if (!decoded) return;
  const bool dropped = choose_.below(2);
  uint8_t* const copy = copy_of(decoded, from_set.bytes);
  if (dropped || !copy) stand_in.release(decoded);
  if (!copy) return;
  Numbers numbers = stored.numbers;
  for (Number& n : numbers) n.fixed = n.fixed && to == dataset;
  StoredChunk result;
  const bool done = store(to_set, numbers, copy, result);
  if (!dropped) stand_in.release(decoded);
  const size_t place = choose_.below(chunks);
  if (done && std::none_of(cached_.begin(), cached_.end(), [&](const CachedChunk& c) { return c.dataset == to && c.chunk == place; }))
    stored_[to][place] = result;
}

void Host::read_damaged(size_t dataset, size_t chunk) {
  const Dataset& d = datasets_[dataset];
  Bytes stream = stored_[dataset][chunk].stream;
  mutate_bytes(stream, choose_.word());
  if (choose_.below(4) == 0 && datasets_.size() > 1) stream = stored_[1 - dataset % 2][chunk].stream;  // of another dataset
  if (stream.empty()) return;
  void* buffer = copy_of(stream.data(), stream.size());
  if (!buffer) return;
  size_t capacity = stream.size();
  const size_t size = call(stz::hdf5::flag_reverse, d, stream.size(), capacity, buffer);
  promise(size == 0 || size == d.bytes, "what a damaged chunk decodes to has the size of a chunk");
  if (!size) promise(memcmp(buffer, stream.data(), stream.size()) == 0, "a chunk that is refused stays as it was");
  stand_in.release(buffer);
}

void Host::run() {
  add_dataset();
  add_dataset();
  for (int step = 0; step < 16 && choose_.left(); step++) {
    const int what = choose_.byte();
    const size_t dataset = size_t(what / 16 % 2), chunk = size_t(what / 32 % chunks);
    const size_t place = cached_.empty() ? 0 : size_t(what / 16) % cached_.size();
    trace("step %d: action %d, dataset %zu, chunk %zu, place %zu of %zu\n", step, what % 16, dataset, chunk, place, cached_.size());
    switch (what % 16) {
      case 0:
      case 1:
        write_new(dataset, chunk);
        break;
      case 2:
      case 3:
      case 4:
        open(dataset, chunk);
        break;
      case 5:
        copy_chunk(dataset, chunk);
        break;
      case 6:
        read_damaged(dataset, chunk);
        break;
      case 7:
        stand_in.fails_after = int(choose_.below(6));
        break;
      case 8:
        if (!cached_.empty()) stand_in.release(cached_[place].buffer), close(place);
        break;
      case 9:
      case 10:
        if (cached_.empty()) break;
        if (uint8_t* const copy = copy_of(cached_[place].buffer, datasets_[cached_[place].dataset].bytes))  // a flush
          store(datasets_[cached_[place].dataset], cached_[place].numbers, copy, stored_[cached_[place].dataset][cached_[place].chunk]);
        break;
      case 11:
      case 12:
        if (cached_.empty()) break;
        store(datasets_[cached_[place].dataset], cached_[place].numbers, cached_[place].buffer,  // it leaves the cache
              stored_[cached_[place].dataset][cached_[place].chunk]);
        close(place);
        break;
      default:
        if (!cached_.empty()) change(cached_[place]);
        break;
    }
    if (what % 16 != 7) stand_in.fails_after = -1;
  }
  for (const CachedChunk& cached : cached_) stand_in.release(cached.buffer);
}

void run_program(const uint8_t* data, size_t size) {
  Choices choose(data, size);
  const int settings = choose.byte();
  settings % 4 == 1 ? setenv("H5STZ_REWRITE_MEMORY", "0", 1) : unsetenv("H5STZ_REWRITE_MEMORY");
  stz_h5_forget();
  stand_in.reuses = settings / 4 % 2;
  stand_in.fails_after = -1;
  stand_in.errors.clear();
  {
    Host host(choose);
    host.run();
  }
  promise(stand_in.blocks.empty(), "the filter keeps no buffers");
  stand_in.forget_memory();
}

}  // namespace

Bytes seed_input(uint64_t number) {
  Random random(number);
  Bytes input = random_bytes(random, 60 + random.below(200));
  return input;
}

void mutate_input(Bytes& input, uint64_t random_seed) { replace_bytes(input, random_seed); }

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::run_program(data, size);
  return 0;
}
