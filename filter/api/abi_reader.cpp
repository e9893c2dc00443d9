// The C API of stz_reader.h: sources, and readers for streams of every form.
#include "api/stream_info.h"
#include "base/guard.h"
#include "base/parallel.h"
#include "base/read_file.h"
#include "base/struct_size.h"
#include "base/threads.h"
#include "reader/array_reader.h"
#include "stz_reader.h"

namespace stz {
namespace {

class MemorySource : public Source {
 public:
  MemorySource(const u8* stream, size_t size) : Source(size), stream_(stream) {}
  const u8* memory() const override { return stream_; }

 private:
  void fetch(u64 offset, u64 size, u8* out) override { memcpy(out, stream_ + offset, size_t(size)); }
  const u8* stream_;
};

class FileSource : public Source {
 public:
  FileSource(int fd, u64 offset, u64 size) : Source(size), fd_(fd), offset_(offset) {}

 private:
  void fetch(u64 offset, u64 size, u8* out) override { require(read_file(fd_, offset_ + offset, size, out), STZ_ERROR_READ); }
  const int fd_;
  const u64 offset_;
};

class CallbackSource : public Source {
 public:
  explicit CallbackSource(const stz_source& source) : Source(source.size), source_(source) {}

 private:
  void fetch(u64 offset, u64 size, u8* out) override {
    require(source_.read(source_.handle, offset, size_t(size), out) == 0, STZ_ERROR_READ);
  }
  const stz_source source_;
};

}  // namespace
}  // namespace stz

using namespace stz;

struct stz_reader {
  const std::unique_ptr<Source> source;
  const std::unique_ptr<ArrayReader> array;
  double max_error = 0;  // see stz_reader_max_error
  bool enhance = true;   // see stz_reader_enhance
  Bytes element;         // see stz_reader_on_error; empty: damage is an error
  std::vector<stz_damage> damage;

  stz_reader(std::unique_ptr<Source> from, u64 cache_bytes) : source(std::move(from)), array(open_array(*source, cache_bytes)) {}
};

template <>
inline constexpr size_t stz::first_struct_size<stz_source> = STZ_SIZE_UP_TO(stz_source, size);
template <>
inline constexpr size_t stz::first_struct_size<stz_damage> = STZ_SIZE_UP_TO(stz_damage, extent);
template <>
inline constexpr size_t stz::first_struct_size<stz_reader_stats> = STZ_SIZE_UP_TO(stz_reader_stats, cached_bytes);

namespace {

template <class MakeSource>
int open(stz_reader** reader, u64 cache_bytes, bool valid_arguments, MakeSource make) {
  if (reader) *reader = nullptr;
  if (!reader || !valid_arguments) return STZ_ERROR_ARGUMENT;
  return guarded([&] { *reader = new stz_reader(make(), cache_bytes); });
}

bool valid_request(const stz_reader* reader, const uint64_t* start, const uint64_t* count) {
  return reader->array->header().layout.rank == 0 || (start && count);
}

// Converts a damage from indices of the request to indices of the array.
stz_damage damage_of(const Damage& found, const Request& request, int rank) {
  stz_damage damage{};
  damage.error = found.error;
  damage.level = found.level;
  damage.patch = found.patch;
  damage.block = found.block;
  damage.lost = found.lost;
  for (int r = 0; found.lost && r < rank; r++) {
    const u64 low = found.low[size_t(r)], high = found.high[size_t(r)];
    damage.start[r] = request.start[r] + low * request.step_of(r);
    damage.extent[r] = (high - 1 - low) * request.step_of(r) + 1;
  }
  return damage;
}

// Reads the intact parts and lists the damage.
void read_whole_parts(stz_reader* reader, const Request& request, u8* out, int threads) {
  const stz_layout& layout = reader->array->header().layout;
  DamageReport report(layout, request);
  reader->array->read(request, out, threads, &report);
  if (!report.any()) return;
  report.settle(reader->element.data(), out);
  for (const Damage& found : report.found()) reader->damage.push_back(damage_of(found, request, layout.rank));
  reader->source->forget_peeked();
}

// Runs a function that reads. If it fails, the kept bytes that tell where to read are dropped: they may be damaged.
template <class F>
int guarded_read(stz_reader* reader, F body) {
  const int code = guarded(body);
  if (code != STZ_OK) reader->source->forget_peeked();
  return code;
}

}  // namespace

extern "C" {

int stz_reader_open(const stz_source* source, uint64_t cache_bytes, stz_reader** reader) {
  return open(reader, cache_bytes, source != nullptr, [&] {
    stz_source given;
    const int code = take_input(source, given);
    require(code == STZ_OK, code);
    require(given.read != nullptr, STZ_ERROR_ARGUMENT);
    return std::make_unique<CallbackSource>(given);
  });
}

int stz_reader_open_memory(const void* stream, size_t size, uint64_t cache_bytes, stz_reader** reader) {
  return open(reader, cache_bytes, stream != nullptr, [&] { return std::make_unique<MemorySource>(static_cast<const u8*>(stream), size); });
}

int stz_reader_open_file(int fd, uint64_t offset, uint64_t size, uint64_t cache_bytes, stz_reader** reader) {
  const bool valid_range = fd >= 0 && offset <= INT64_MAX && size <= INT64_MAX - offset;
  return open(reader, cache_bytes, valid_range, [&] { return std::make_unique<FileSource>(fd, offset, size); });
}

void stz_reader_close(stz_reader* reader) { delete reader; }

int stz_reader_info(const stz_reader* reader, stz_stream_info* info) {
  if (!reader || !info || !valid_struct_size(info)) return STZ_ERROR_ARGUMENT;
  return guarded([&] { give_output(stream_info(reader->array->header(), reader->array->levels_header(), nullptr, 0), info); });
}

int stz_reader_read(stz_reader* reader, const uint64_t* start, const uint64_t* count, const uint64_t* step, void* out, size_t out_size,
                    int threads) {
  if (!reader || !valid_request(reader, start, count) || (!out && out_size)) return STZ_ERROR_ARGUMENT;
  reader->damage.clear();
  return guarded_read(reader, [&] {
    const Request request{start, count, step, reader->max_error, reader->enhance};
    const stz_layout& layout = reader->array->header().layout;
    require(out_size == requested_elements(layout, request) * element_size(layout.dtype), STZ_ERROR_CAPACITY);
    const int useful = useful_threads(thread_count(threads), sample_count(layout));
    const Team team(useful);
    if (reader->element.empty())
      reader->array->read(request, static_cast<u8*>(out), useful, nullptr);
    else
      read_whole_parts(reader, request, static_cast<u8*>(out), useful);
  });
}

int stz_reader_on_error(stz_reader* reader, const void* element) {
  if (!reader) return STZ_ERROR_ARGUMENT;
  return guarded([&] {
    const u8* bytes = static_cast<const u8*>(element);
    reader->element = element ? Bytes(bytes, bytes + element_size(reader->array->header().layout.dtype)) : Bytes();
  });
}

size_t stz_reader_damage_count(const stz_reader* reader) { return reader ? reader->damage.size() : 0; }

int stz_reader_damage(const stz_reader* reader, size_t index, stz_damage* damage) {
  if (!reader || !damage || !valid_struct_size(damage) || index >= reader->damage.size()) return STZ_ERROR_ARGUMENT;
  give_output(reader->damage[index], damage);
  return STZ_OK;
}

int stz_reader_verify(stz_reader* reader, int verify) {
  if (!reader) return STZ_ERROR_ARGUMENT;
  if (verify != 0 && verify != 1) return STZ_ERROR_OPTION;
  return guarded([&] { reader->array->verify(verify != 0); });
}

int stz_reader_max_error(stz_reader* reader, double max_error) {
  if (!reader) return STZ_ERROR_ARGUMENT;
  if (!(max_error >= 0)) return STZ_ERROR_BOUND;
  reader->max_error = max_error;
  return STZ_OK;
}

int stz_reader_enhance(stz_reader* reader, int enhance) {
  if (!reader) return STZ_ERROR_ARGUMENT;
  if (enhance != 0 && enhance != 1) return STZ_ERROR_OPTION;
  reader->enhance = enhance != 0;
  return STZ_OK;
}

int stz_reader_plan(stz_reader* reader, const uint64_t* start, const uint64_t* count, const uint64_t* step, uint64_t* ranges,
                    size_t capacity, size_t* range_count) {
  if (range_count) *range_count = 0;
  if (!reader || !valid_request(reader, start, count) || (!ranges && capacity) || !range_count) return STZ_ERROR_ARGUMENT;
  return guarded_read(reader, [&] {
    const std::vector<ByteRange> plan = reader->array->plan({start, count, step, reader->max_error, reader->enhance});
    *range_count = plan.size();
    for (size_t i = 0; i < std::min(capacity, plan.size()); i++) {
      ranges[2 * i] = plan[i].offset;
      ranges[2 * i + 1] = plan[i].size;
    }
  });
}

int stz_reader_get_stats(const stz_reader* reader, stz_reader_stats* stats) {
  if (!reader || !stats || !valid_struct_size(stats)) return STZ_ERROR_ARGUMENT;
  stz_reader_stats full{};
  full.bytes_read = reader->source->bytes_read();
  full.blocks_decoded = reader->array->blocks_decoded();
  full.blocks_present = reader->array->blocks_present();
  full.cached_bytes = reader->array->cached_bytes();
  give_output(full, stats);
  return STZ_OK;
}

int stz_reader_limit(stz_reader* reader, uint64_t cache_bytes) {
  if (!reader) return STZ_ERROR_ARGUMENT;
  return guarded([&] { reader->array->limit(cache_bytes); });
}

}  // extern "C"
