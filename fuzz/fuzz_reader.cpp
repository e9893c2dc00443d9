// Fuzz target: parts of arbitrary bytes, read as a program of the fuzzer's says: boxes with any step, levels, fewer precision layers,
// without the enhancement, verified, beyond damage, with a cache of any size, from memory, from a function that may fail, from a file.
//
// Input: a byte, the length of the program; the program; the stream. A part has the bytes of the whole that a reader of its own gives with
// the same settings, in one piece; that of the default settings has the bytes of stz_decompress. A read that goes on beyond damage loses
// no more of a part than of the whole, and says what it lost. After an error the same call may be tried again. Memory is bounded by
// the blocks that a part needs, not by what a header claims. Of arrays of more than 16 KiB one input of 8 is compared with the whole.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>

#include "streams.h"
#include "stz_reader.h"

namespace fuzz {
namespace {

constexpr uint64_t largest_whole = uint64_t(1) << 18, small_whole = uint64_t(1) << 14, largest_part = 1 << 14;

long peak_memory() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

const Bytes lost_bytes(16, 0x5a);  // in the place of a lost element

struct Settings {
  double max_error = 0;
  int enhance = 1;
  bool beyond_damage = false;
  auto operator<=>(const Settings&) const = default;
};

struct Close {
  void operator()(stz_reader* reader) const { stz_reader_close(reader); }
};
using Reader = std::unique_ptr<stz_reader, Close>;

// A stream, and where a reader takes it from.
struct Stream {
  const uint8_t* data;
  size_t size;
  int fails_after = -1;  // calls of `read`; -1: never
  static int read(void* handle, uint64_t offset, size_t size, void* out) {
    auto& stream = *static_cast<Stream*>(handle);
    promise(offset <= stream.size && size <= stream.size - offset, "a source is asked for its own bytes");
    if (stream.fails_after >= 0 && stream.fails_after-- == 0) return 1;
    if (size) memcpy(out, stream.data + offset, size);
    return 0;
  }
};

void set(stz_reader* reader, const Settings& settings) {
  promise(stz_reader_max_error(reader, settings.max_error) == STZ_OK, "errors of layers are no bad numbers");
  promise(stz_reader_enhance(reader, settings.enhance) == STZ_OK, "there are two ways to read an enhanced stream");
  promise(stz_reader_on_error(reader, settings.beyond_damage ? lost_bytes.data() : nullptr) == STZ_OK, "reads can go on beyond damage");
}

// The whole array with these settings; nothing if it cannot be read. With those of the default it is what stz_decompress gives.
bool read_whole(const Stream& stream, const stz_stream_info& info, const Settings& settings, Bytes& whole) {
  stz_reader* opened;
  whole.assign(info.array_bytes, 0);
  const bool plain = settings.max_error == 0 && settings.enhance;
  const int expected = plain ? stz_decompress(stream.data, stream.size, whole.data(), whole.size()) : 0;
  if (stz_reader_open_memory(stream.data, stream.size, 0, &opened)) {
    promise(!plain || expected, "a stream that decodes can be opened");
    return false;
  }
  const Reader reader(opened);
  set(opened, settings);
  Bytes read(info.array_bytes, 1);
  const uint64_t start[STZ_MAX_RANK] = {};
  const int error = stz_reader_read(opened, start, info.layout.shape, nullptr, read.data(), read.size(), 1);
  promise(error != STZ_ERROR_INTERNAL, "reading does not fail inside");
  if (plain && !expected) promise(!error && read == whole, "a reader gives what stz_decompress gives");
  if (!error) whole = read;
  return !error;
}

// Whether the whole array agrees with its content checks.
bool whole_verifies(const Stream& stream, const stz_stream_info& info) {
  Bytes whole(info.array_bytes);
  return stz_decompress_verified(stream.data, stream.size, whole.data(), whole.size(), 1, nullptr) == STZ_OK;
}

struct Part {
  uint64_t start[STZ_MAX_RANK] = {}, count[STZ_MAX_RANK] = {}, step[STZ_MAX_RANK] = {}, elements = 1;
};

Part choose_part(Choices& choose, const stz_layout& layout) {
  Part part;
  const uint64_t kind = choose.byte(), level_step = uint64_t(1) << kind / 4 % 16;
  for (int a = 0; a < layout.rank; a++) {
    const uint64_t extent = layout.shape[a];
    part.step[a] = kind % 4 == 0 ? 1 : kind % 4 == 1 ? level_step : 1 + choose.below(kind % 4 == 2 ? 5 : 300);
    part.start[a] = kind % 4 == 1 || !extent ? 0 : choose.below(65536) % extent;
    const uint64_t most = extent > part.start[a] ? (extent - 1 - part.start[a]) / part.step[a] + 1 : 0;
    part.count[a] = std::min<uint64_t>(most, kind % 4 == 1 ? most : 1 + choose.below(48));
    part.count[a] = std::min(part.count[a], std::max<uint64_t>(1, part.elements ? largest_part / part.elements : 1));
    part.elements *= part.count[a];
  }
  return part;
}

// Components that the whole has lost may be there in a part, which needs fewer bytes.
void compare(const stz_layout& layout, const Part& part, const Bytes& read, const Bytes& whole, bool beyond_damage) {
  const size_t element = stz_element_size(layout.dtype), width = number_size(layout.dtype);
  for (uint64_t i = 0; i < part.elements; i++) {
    uint64_t rest = i, place = 0, stride = 1;
    for (int a = layout.rank; a-- > 0; stride *= layout.shape[a]) {
      place += (part.start[a] + rest % part.count[a] * part.step[a]) * stride;
      rest /= part.count[a];
    }
    for (size_t at = 0; at < element; at += width) {
      const uint8_t* expected = &whole[place * element + at];
      const bool lost = beyond_damage && memcmp(expected, lost_bytes.data(), width) == 0;
      promise(lost || memcmp(&read[i * element + at], expected, width) == 0, "a part has the bytes of the whole");
    }
  }
}

// What a read that has gone on says of damage: boxes of the array, and no more components than the part has. Returns the number of places.
size_t damage(const stz_reader* reader, const stz_stream_info& info, uint64_t components, int error) {
  const size_t count = stz_reader_damage_count(reader);
  promise(!error || !count, "a read that failed has gone on beyond nothing");
  uint64_t lost = 0;
  for (size_t k = 0; k < count; k++) {
    stz_damage found = STZ_DAMAGE_INIT;
    promise(stz_reader_damage(reader, k, &found) == STZ_OK, "damage that is counted is told");
    promise(found.error != STZ_OK && found.error != STZ_ERROR_INTERNAL && found.level >= -1, "damage has a reason and a place");
    lost += found.lost;
    for (int a = 0; a < info.layout.rank; a++)
      promise(found.start[a] <= info.layout.shape[a] && found.extent[a] <= info.layout.shape[a] - found.start[a],
              "losses lie in the array");
  }
  promise(lost <= components, "what is lost is lost once");
  stz_damage none = STZ_DAMAGE_INIT;
  promise(stz_reader_damage(reader, count, &none) != STZ_OK, "there is no damage beyond what is counted");
  return count;
}

// Tells what a read would fetch: ranges of the stream, in ascending order.
void plan(stz_reader* reader, const Part& part, size_t stream_size) {
  uint64_t ranges[64];
  size_t count = 0;
  const int error = stz_reader_plan(reader, part.start, part.count, part.step, ranges, 32, &count);
  promise(error != STZ_ERROR_INTERNAL, "planning does not fail inside");
  if (error) return;
  uint64_t end = 0;
  for (size_t k = 0; k < std::min<size_t>(count, 32); k++) {
    promise(ranges[2 * k] >= end && ranges[2 * k] <= stream_size, "ranges ascend inside the stream");
    end = ranges[2 * k] + ranges[2 * k + 1];
  }
}

void run(stz_reader* reader, Stream& stream, const stz_stream_info& info, Choices choose, bool slow) {
  Settings settings;
  bool verify = false;
  std::map<Settings, Bytes> wholes;  // empty: cannot be read
  Bytes read;
  const size_t element = stz_element_size(info.layout.dtype);
  const bool whole_is_small = info.array_bytes <= (slow ? largest_whole : small_whole);
  int reads = whole_is_small ? 8 : 2;
  while (choose.left() && reads > 0) {
    const int what = choose.byte();
    switch (what % 8) {
      case 0:
        settings.max_error = what / 8 % 8 < info.layers ? std::max(info.layer_error[what / 8 % 8], 0.0) : std::ldexp(1.0, what / 8 - 16);
        break;
      case 1:
        settings.enhance = what / 8 % 2;
        settings.beyond_damage = what / 16 % 2;
        break;
      case 2:
        promise(stz_reader_limit(reader, uint64_t(choose.byte()) << (what / 8 % 16)) == STZ_OK, "any cache is allowed");
        continue;
      case 3:
        verify = what / 8 % 2;
        promise(stz_reader_verify(reader, verify) == STZ_OK, "readers can verify");
        continue;
      case 4:
        plan(reader, choose_part(choose, info.layout), stream.size);
        continue;
      default:
        break;
    }
    set(reader, settings);
    const auto [found, fresh] = wholes.try_emplace(settings);
    Bytes& whole = found->second;
    if (whole_is_small && fresh && !read_whole(stream, info, settings, whole)) whole.clear();
    const Part part = choose_part(choose, info.layout);
    read.assign(part.elements * element, uint8_t(what));
    const int threads = what % 64 == 7 ? 2 : 1;
    int error = stz_reader_read(reader, part.start, part.count, part.step, read.data(), read.size(), threads);
    if (error == STZ_ERROR_READ) error = stz_reader_read(reader, part.start, part.count, part.step, read.data(), read.size(), threads);
    promise(error != STZ_ERROR_INTERNAL && error != STZ_ERROR_READ, "reading a part does not fail inside");
    reads--;
    const size_t damages = damage(reader, info, part.elements * uint64_t(parts(info.layout.dtype)), error);
    promise(settings.beyond_damage || !damages, "a read goes on beyond damage only if it is asked to");
    if (whole.empty() || !part.elements) continue;
    // What verifies also needs the checks behind the blocks, which a stream may have lost or which may be no checks: as for the whole.
    promise(!error || (verify && !whole_verifies(stream, info)), "a part of a stream that can be read can be read");
    if (!error && !(verify && damages)) compare(info.layout, part, read, whole, settings.beyond_damage);
  }
  stz_reader_stats stats = STZ_READER_STATS_INIT;
  promise(stz_reader_get_stats(reader, &stats) == STZ_OK, "readers have statistics");
}

int open_file(const Stream& stream, uint64_t cache, stz_reader** reader) {
  static const int file = memfd_create("stream", 0);
  const bool written = ftruncate(file, 0) == 0 && pwrite(file, stream.data, stream.size, 7) == ssize_t(stream.size);
  promise(written, "a file in memory can be written");
  return stz_reader_open_file(file, 7, stream.size, cache, reader);
}

void read_parts(const uint8_t* data, size_t size) {
  Choices choose(data, size);
  const size_t wanted = choose.byte();
  const size_t length = std::min(wanted, choose.left());
  Choices program(data + 1, length);
  const Bytes bytes = with_this_version(data + 1 + length, size - 1 - length);
  if (bytes.empty()) return;
  Stream stream{bytes.data(), bytes.size()};
  const int kind = program.byte();
  const uint64_t cache = uint64_t(program.byte()) << (kind / 16);
  stz_source source = STZ_SOURCE_INIT;
  source.read = Stream::read;
  source.handle = &stream;
  source.size = stream.size;
  stz_reader* opened = nullptr;
  const int error = kind % 4 == 0   ? stz_reader_open_memory(stream.data, stream.size, cache, &opened)
                    : kind % 4 == 1 ? open_file(stream, cache, &opened)
                                    : stz_reader_open(&source, cache, &opened);
  promise(error != STZ_ERROR_INTERNAL && (error != 0) == (opened == nullptr), "a stream is opened, or it is not");
  if (error) return;
  const Reader reader(opened);
  inputs_accepted++;
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  promise(stz_reader_info(opened, &info) == STZ_OK, "an open stream tells what it is");
  if (kind % 4 == 3) stream.fails_after = program.below(20);
  const long before = peak_memory();
  run(opened, stream, info, program, one_of(8, data, size));
  promise(peak_memory() - before < 800 * 1024, "memory is bounded by the blocks that a part needs");
}

}  // namespace

Bytes seed_input(uint64_t number) {
  Random random(number);
  Bytes input(1 + random.below(60));
  input[0] = uint8_t(input.size() - 1);
  for (size_t i = 1; i < input.size(); i++) input[i] = uint8_t(random.bits());
  const Bytes stream = make_stream(number % 4000);
  input.insert(input.end(), stream.begin(), stream.end());
  return input;
}

void mutate_input(Bytes& input, uint64_t random_seed) {
  if (random_seed % 3) return mutate_bytes(input, random_seed);
  Random random(random_seed);
  const uint64_t program = std::min<uint64_t>(input.size(), 60);
  for (uint64_t count = 1 + random.below(4); count && program; count--) input[random.below(program)] = uint8_t(random.bits());
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1) fuzz::read_parts(data, size);
  return 0;
}
