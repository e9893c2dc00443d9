// The C API of stz_reader.h: sources, and readers of streams of every form.
#include "api/stream_info.h"
#include "base/guard.h"
#include "base/read_file.h"
#include "base/struct_size.h"
#include "base/threads.h"
#include "format/convert.h"
#include "reader/part_reader.h"
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
  std::unique_ptr<Source> source;
  Header header{};
  std::unique_ptr<PartReader> blocks{};  // form blocks
  Bytes payload{};                       // of the other forms: the array or its only element, once it is needed
  u64 limit = 0;

  stz_reader(std::unique_ptr<Source> from, u64 cache_bytes) : source(std::move(from)), limit(cache_bytes) {
    Bytes head;
    for (u64 wanted = 512;; wanted *= 8) {  // headers are shorter, or a little longer
      const u64 have = head.size(), size = std::min(wanted, source->size());
      head.resize(size_t(size));
      source->peek(have, size - have, head.data() + have);
      try {
        header = read_header(head.data(), head.size());
        break;
      } catch (const Failure& failure) {
        if (failure.code != STZ_ERROR_TRUNCATED || size == source->size() || wanted > 4096) throw;
      }
    }
    if (header.form == Form::blocks) {
      blocks = make_part_reader(header, *source, cache_bytes);
      return;
    }
    require_plain_size(header, source->size());
    if (header.form == Form::constant) load_payload();
  }

  // The payload of a stream without blocks; its check covers all of the stream.
  void load_payload() {
    Bytes stream(size_t(source->size()));
    source->read(0, stream.size(), stream.data());
    checked_payload(header, stream.data(), stream.size());
    stream.resize(stream.size() - 4);
    stream.erase(stream.begin(), stream.begin() + std::ptrdiff_t(header.size));
    payload = std::move(stream);
  }

  void read(const Request& request, u8* out, size_t out_size, int threads) {
    const Selection selection = select(header, request);
    const size_t element = element_size(header.layout.dtype);
    require(out_size == selection.elements * element, STZ_ERROR_CAPACITY);
    if (selection.empty) return;
    if (blocks) {
      if (selection.padded) {
        const size_t width = component_size(header.layout.dtype);
        for (size_t at = 0; at < out_size; at += width) store_bits(out + at, header.padding, width, swapped(header.layout));
      }
      if (!selection.none_valid) blocks->read(selection, out, threads);
      return;
    }
    if (payload.empty()) load_payload();
    if (header.form == Form::constant)
      for (size_t at = 0; at < out_size; at += element) memcpy(out + at, payload.data(), element);
    else
      copy_elements(request, out, element);
    if (payload.size() > limit) Bytes().swap(payload);
  }

  // From the array in `payload`.
  void copy_elements(const Request& request, u8* out, size_t element) const {
    const int rank = header.layout.rank;
    u64 at[STZ_MAX_RANK] = {}, stride[STZ_MAX_RANK + 1];
    stride[rank] = element;
    for (int r = rank - 1; r >= 0; r--) stride[r] = stride[r + 1] * header.layout.shape[r];
    for (;;) {
      u64 from = 0;
      for (int r = 0; r < rank; r++) from += (request.start[r] + at[r] * request.step_of(r)) * stride[r + 1];
      const u64 n = rank ? request.count[rank - 1] : 1, step = rank ? request.step_of(rank - 1) * element : 0;
      for (u64 x = 0; x < n; x++, out += element) memcpy(out, payload.data() + from + x * step, element);
      int r = rank - 1;
      while (r > 0 && ++at[r - 1] == request.count[r - 1]) at[--r] = 0;
      if (r <= 0) return;
    }
  }

  u64 cached() const { return blocks ? blocks->cached_bytes() : payload.size(); }
};

template <>
inline constexpr size_t stz::first_struct_size<stz_source> = STZ_SIZE_UP_TO(stz_source, size);
template <>
inline constexpr size_t stz::first_struct_size<stz_reader_stats> = STZ_SIZE_UP_TO(stz_reader_stats, cached_bytes);

namespace {

template <class MakeSource>
int open(stz_reader** reader, u64 cache_bytes, bool valid_arguments, MakeSource make) {
  if (reader) *reader = nullptr;
  if (!reader || !valid_arguments) return STZ_ERROR_ARGUMENT;
  return guarded([&] { *reader = new stz_reader(make(), cache_bytes); });
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
  return guarded([&] { give_output(stream_info(reader->header), info); });
}

int stz_reader_read(stz_reader* reader, const uint64_t* start, const uint64_t* count, const uint64_t* step, void* out, size_t out_size,
                    int threads) {
  if (!reader || (reader->header.layout.rank && (!start || !count)) || (!out && out_size)) return STZ_ERROR_ARGUMENT;
  return guarded([&] { reader->read({start, count, step}, static_cast<u8*>(out), out_size, thread_count(threads)); });
}

int stz_reader_plan(stz_reader* reader, const uint64_t* start, const uint64_t* count, const uint64_t* step, uint64_t* ranges,
                    size_t capacity, size_t* range_count) {
  if (range_count) *range_count = 0;
  if (!reader || (reader->header.layout.rank && (!start || !count)) || (!ranges && capacity) || !range_count) return STZ_ERROR_ARGUMENT;
  return guarded([&] {
    const Selection selection = select(reader->header, {start, count, step});
    std::vector<ByteRange> plan;
    if (reader->blocks) {
      if (!selection.empty && !selection.none_valid) plan = reader->blocks->plan(selection);
    } else if (!selection.empty && reader->payload.empty())
      plan = reader->source->not_cached({{0, reader->source->size()}});
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
  if (const PartReader* blocks = reader->blocks.get()) {
    full.blocks_decoded = blocks->blocks_decoded();
    full.blocks_present = blocks->blocks_present();
  }
  full.cached_bytes = reader->cached();
  give_output(full, stats);
  return STZ_OK;
}

int stz_reader_limit(stz_reader* reader, uint64_t cache_bytes) {
  if (!reader) return STZ_ERROR_ARGUMENT;
  return guarded([&] {
    reader->limit = cache_bytes;
    if (reader->blocks)
      reader->blocks->limit(cache_bytes);
    else if (reader->payload.size() > cache_bytes)
      Bytes().swap(reader->payload);
  });
}

}  // extern "C"
