// Fuzz target: everything that looks at the front of arbitrary bytes, or copies parts of them, without decoding: stz_info of the whole and
// of prefixes, stz_missing_feature, stz_reader_plan, stz_drop_layers.
//
// A prefix of a stream of form "blocks" says what the whole says, or that it is too short. A header that is accepted can be written, and is
// read back as the same. What stz_drop_layers gives is a whole stream with fewer layers, which decodes as the original is read.
#include <algorithm>

#include "format/frame.h"
#include "streams.h"
#include "stz_reader.h"

namespace fuzz {
namespace {

constexpr uint64_t largest_array = uint64_t(1) << 16;

bool same_header(const stz_stream_info& a, const stz_stream_info& b) {
  bool same = a.layout.dtype == b.layout.dtype && a.layout.byte_order == b.layout.byte_order && a.layout.rank == b.layout.rank &&
              a.mode == b.mode && a.has_fill == b.has_fill && a.fill == b.fill && a.array_bytes == b.array_bytes && a.block == b.block &&
              a.levels == b.levels && a.layers == b.layers && a.bound_used == b.bound_used && a.enhanced == b.enhanced &&
              memcmp(&a.bound, &b.bound, sizeof a.bound) == 0;
  for (int axis = 0; axis < a.layout.rank; axis++) same = same && a.layout.shape[axis] == b.layout.shape[axis];
  for (int level = 0; level < a.levels; level++) same = same && a.level_bytes[level] == b.level_bytes[level];
  return same;
}

void look_at_prefix(const uint8_t* data, size_t size, const stz_stream_info& whole) {
  const Bytes prefix(data, data + size);  // ends where nothing may be read
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  const int error = stz_info(prefix.data(), prefix.size(), &info);
  promise(error != STZ_ERROR_INTERNAL && error != STZ_ERROR_MEMORY, "a prefix is looked at without trouble");
  if (!error && strncmp(whole.form, "blocks", 6) == 0) promise(same_header(info, whole), "a prefix says what the whole says");
}

void plan_reads(const uint8_t* data, size_t size, const stz_stream_info& info, Random& random) {
  stz_reader* reader;
  if (stz_reader_open_memory(data, size, 0, &reader)) return;
  for (int turn = 0; turn < 2; turn++) {
    uint64_t start[STZ_MAX_RANK], count[STZ_MAX_RANK], step[STZ_MAX_RANK], ranges[16];
    for (int a = 0; a < info.layout.rank; a++) {
      const uint64_t extent = info.layout.shape[a];
      step[a] = uint64_t(1) << random.below(6);
      start[a] = extent ? random.below(extent) : 0;
      count[a] = extent ? std::min<uint64_t>((extent - 1 - start[a]) / step[a] + 1, 1 + random.below(30)) : 0;
    }
    size_t range_count = 0;
    const int error = stz_reader_plan(reader, start, count, step, ranges, 8, &range_count);
    promise(error != STZ_ERROR_INTERNAL, "planning does not fail inside");
    for (size_t k = 0; !error && k < std::min<size_t>(range_count, 8); k++)
      promise(ranges[2 * k] <= size && (k == 0 || ranges[2 * k] >= ranges[2 * k - 2] + ranges[2 * k - 1]), "ranges ascend in the stream");
  }
  stz_reader_close(reader);
}

void drop_layers(const uint8_t* data, size_t size, const stz_stream_info& info, Random& random) {
  const int kept = int(random.below(uint64_t(info.layers) + 1));  // the last: an error that no layers have
  const double max_error = kept < info.layers ? std::max(info.layer_error[kept], 0.0) : random.unit();
  Bytes out(size);
  size_t length = 0;
  const int error = stz_drop_layers(data, size, max_error, out.data(), out.size(), &length);
  promise(error != STZ_ERROR_INTERNAL && error != STZ_ERROR_CAPACITY, "layers are dropped without trouble");
  if (error) return;
  promise(length <= size, "without layers a stream is not longer");
  const Bytes shorter(out.begin(), out.begin() + std::ptrdiff_t(length));
  stz_stream_info less = STZ_STREAM_INFO_INIT;
  promise(stz_info(shorter.data(), shorter.size(), &less) == STZ_OK, "a stream with fewer layers is a stream");
  promise(less.layers <= info.layers && less.array_bytes == info.array_bytes, "it has the same shape and no more layers");
  if (info.array_bytes > largest_array || (info.layers == 1 && random.below(8))) return;
  stz_reader* reader;
  if (stz_reader_open_memory(data, size, 0, &reader)) return;
  Bytes read(info.array_bytes, 1), decoded(info.array_bytes, 2);
  const uint64_t start[STZ_MAX_RANK] = {};
  stz_reader_max_error(reader, max_error);
  const int failed = stz_reader_read(reader, start, info.layout.shape, nullptr, read.data(), read.size(), 1);
  stz_reader_close(reader);
  if (failed) return;
  promise(stz_decompress(shorter.data(), shorter.size(), decoded.data(), decoded.size()) == STZ_OK, "a stream with fewer layers decodes");
  promise(read == decoded, "it decodes to what the original is read as");
}

// A header in the codec's own words, written and read again.
void write_again(const uint8_t* data, size_t size) {
  try {
    const stz::Header header = stz::read_header(data, size);
    if (header.form == stz::Form::patched) return;  // its offsets are those of streams that are not there
    const stz::Bytes written = stz::write_header(header);
    const stz::Header again = stz::read_header(written.data(), written.size());
    const stz::Bytes twice = stz::write_header(again);
    promise(written == twice, "a header that was written is read as what it was");
  } catch (const stz::Failure& failure) {
    promise(failure.code != STZ_ERROR_INTERNAL, "headers do not fail inside");
  }
}

void look(const uint8_t* data, size_t size) {
  Random random(size * 31 + data[size - 1] * 7 + data[size / 2]);
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  const int error = stz_info(data, size, &info);
  promise(error != STZ_ERROR_INTERNAL, "stz_info does not fail inside");
  char text[128];
  const int capacity = int(random.below(sizeof text) + 1);
  const int asked = stz_missing_feature(data, size, text, size_t(capacity));
  promise(asked || memchr(text, 0, size_t(capacity)), "a text ends");
  write_again(data, size);
  if (error) return;
  inputs_accepted++;
  promise(info.form && info.levels >= 1 && info.levels <= STZ_MAX_LEVELS && info.layers >= 1 && info.layers <= STZ_MAX_LAYERS &&
              info.layout.rank >= 0 && info.layout.rank <= STZ_MAX_RANK && stz_element_size(info.layout.dtype),
          "stz_info is complete");
  for (int level = 1; level < info.levels; level++)
    promise(info.level_bytes[level] <= info.level_bytes[level - 1], "coarser levels are shorter prefixes");
  for (int turn = 0; turn < 3; turn++) look_at_prefix(data, random.below(random.below(2) ? std::min<size_t>(size, 80) : size), info);
  plan_reads(data, size, info, random);
  drop_layers(data, size, info, random);
}

}  // namespace

Bytes seed_input(uint64_t number) { return make_stream(number % 4000); }
void mutate_input(Bytes& input, uint64_t random_seed) { mutate_bytes(input, random_seed); }

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size) fuzz::look(fuzz::with_this_version(data, size).data(), size);
  return 0;
}
