// Fuzz target: arbitrary bytes as a stream. Decoding must end with an array or an error code, quickly and in bounded memory.
//
// Built with STZ_FUZZING every check is accepted, so mutated streams reach the parsers behind the checks. What comes out of a damaged
// stream is not judged here (tests/stream/test_corruption.py does that, with checksums); decoding twice must give the same bytes, and so
// must reading parts of a stream that decodes.
#include <sys/resource.h>

#include <algorithm>

#include "fuzz_common.h"
#include "stz_reader.h"

namespace fuzz {
namespace {

constexpr uint64_t largest_array = uint64_t(1) << 22;

long peak_memory() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// The stream after programs have changed some elements of the array and written it again, each with what it had read.
Bytes rewritten(const stz_layout& layout, const stz_options& options, Bytes stream, size_t array_bytes, Random& random) {
  Bytes array(array_bytes);
  for (uint64_t turn = 1 + random.below(3); turn && array_bytes; turn--) {
    if (int error = stz_decompress(stream.data(), stream.size(), array.data(), array.size())) broken(stz_error_text(error));
    const uint64_t from = random.below(array_bytes), size = random.below(2) ? 9 : 1 + random.below(array_bytes);
    for (uint64_t at = from; at < std::min<uint64_t>(from + size, array_bytes); at += 1 + random.below(3)) array[at] ^= 1;
    Bytes out(stz_max_compressed_size(&layout));
    size_t length = 0;
    const int error = stz_rewrite(&layout, array.data(), &options, stream.data(), stream.size(), out.data(), out.size(), &length);
    if (error) broken(stz_error_text(error));
    out.resize(length);
    stream = out;
  }
  return stream;
}

// A small array of a random kind, compressed: a stream whose every part means something.
Bytes make_stream(uint64_t number) {
  Random random(number);
  stz_layout layout{};
  stz_options options = STZ_OPTIONS_INIT;
  layout.dtype = STZ_F16 + int(random.below(13));
  layout.byte_order = int(random.below(5) == 0);
  layout.rank = int(random.below(6));
  const uint64_t limit = random.below(3) ? 3000 : 300 + random.below(40000);
  uint64_t count = 1;
  for (int axis = 0; axis < layout.rank; axis++) {
    uint64_t numbers_left = limit / count, extent = random.below(4) ? 1 + random.below(40) : 1 + random.below(limit);
    layout.shape[axis] = std::clamp<uint64_t>(extent, 1, std::max<uint64_t>(numbers_left, 1));
    count *= layout.shape[axis];
  }
  options.integers = STZ_INTEGERS_BOUNDED;
  options.mode = int(random.below(3));
  if (!is_floating(layout.dtype) && options.mode == STZ_POINTWISE_RELATIVE) options.mode = STZ_ABSOLUTE;
  static const double bounds[] = {1e-6, 1e-3, 0.1, 1, 20};
  options.bound = bounds[random.below(5)];
  options.block = int(random.below(2));
  options.content_check = int(number % 3);
  options.has_fill = int(random.below(4) == 0);
  if (number % 3 == 1) options.layers = 2 + int(number / 3 % (STZ_MAX_LAYERS - 1));
  if (options.layers <= 1 && number % 2) options.enhance = STZ_ENHANCE_RELAXED;
  const size_t width = number_size(layout.dtype), numbers = size_t(count) * size_t(parts(layout.dtype));
  Bytes array(numbers * width);
  const int kind = int(random.below(7)), masks = int(random.below(4));
  const uint64_t keep = random.below(3) ? numbers : numbers / 2;
  for (size_t i = 0; i < numbers; i++) {
    double value = kind == 0   ? double(i % 37) * 0.25
                   : kind == 1 ? random.normal() * 30
                   : kind == 2 ? (i > numbers / 2 ? 100 : 0.001 * double(i))
                   : kind == 3 ? (random.below(20) ? 0 : 50 * random.normal())
                   : kind == 4 ? double(i) * 0.01
                   : kind == 5 ? double(i / 23 % 7) * 9.25
                               : 1e3 * random.unit();
    uint64_t bits;
    if (is_floating(layout.dtype)) {
      if (width == 2) {
        bits = half_bits(value);
      } else if (width == 4) {
        float single = float(value);
        uint32_t narrow;
        memcpy(&narrow, &single, 4);
        bits = narrow;
      } else
        memcpy(&bits, &value, 8);
      const uint64_t infinity = width == 2 ? 0x7c00 : width == 4 ? 0x7f800000u : uint64_t(0x7ff) << 52;
      if ((masks == 1 && random.below(10) == 0) || (masks == 2 && i % 31 < 9)) bits = infinity | (masks == 1 ? random.below(3) : 1);
    } else {
      bits = uint64_t(int64_t(value));
      if (masks && random.below(9) == 0) bits = options.fill;
    }
    if (i >= keep) bits = 0x55;
    store_number(&array[i * width], bits, width, swapped(layout));
  }
  Bytes stream(stz_max_compressed_size(&layout));
  size_t size = 0;
  if (int error = stz_compress(&layout, array.data(), &options, stream.data(), stream.size(), &size)) broken(stz_error_text(error));
  stream.resize(size);
  return number % 4 == 3 ? rewritten(layout, options, stream, array.size(), random) : stream;
}

// Reads some parts of a stream with errors up to `max_error`, each with what the one before it left. `array`: what the whole stream decodes
// to with these, or null.
void read_parts(const uint8_t* data, size_t size, const stz_stream_info& info, const uint8_t* array, double max_error = 0) {
  stz_reader* reader;
  Random random(size * 31 + (size ? data[size - 1] : 0));
  if (int error = stz_reader_open_memory(data, size, random.below(2) ? 1 << 20 : 0, &reader)) {
    promise(!array && error != STZ_ERROR_INTERNAL, "a stream that decodes can be opened");
    return;
  }
  promise(stz_reader_max_error(reader, max_error) == STZ_OK, "errors of layers are no bad numbers");
  const size_t element = stz_element_size(info.layout.dtype);
  const int rank = info.layout.rank;
  for (int turn = 0; turn < 3; turn++) {
    uint64_t start[STZ_MAX_RANK], count[STZ_MAX_RANK], step[STZ_MAX_RANK], elements = 1;
    for (int r = 0; r < rank; r++) {
      const uint64_t extent = info.layout.shape[r];
      step[r] = random.below(2) ? 1 : uint64_t(1) << random.below(5);
      start[r] = random.below(3) && extent ? random.below(extent) : 0;
      const uint64_t most = extent > start[r] ? (extent - 1 - start[r]) / step[r] + 1 : 0;
      count[r] = std::min<uint64_t>(most, 1 + random.below(40));
      if (elements * count[r] > 100000) count[r] = std::min<uint64_t>(count[r], 1);
      elements *= count[r];
    }
    Bytes part(elements * element + 1, uint8_t(turn));
    const int error = stz_reader_read(reader, start, count, step, part.data(), elements * element, 1 + int(random.below(2)));
    promise(error != STZ_ERROR_INTERNAL, "reading a part does not fail inside");
    if (!array || !elements) continue;
    promise(!error, "a part of a stream that decodes can be read");
    for (uint64_t i = 0; i < elements; i++) {
      uint64_t rest = i, place = 0, stride = 1;
      for (int r = rank; r-- > 0; stride *= info.layout.shape[r]) {
        place += (start[r] + rest % count[r] * step[r]) * stride;
        rest /= count[r];
      }
      promise(memcmp(&part[i * element], array + place * element, element) == 0, "a part has the bytes of the whole");
    }
  }
  stz_reader_close(reader);
}

// The same of each number of precision layers.
void read_parts_of_layers(const uint8_t* data, size_t size, const stz_stream_info& info) {
  const uint64_t start[STZ_MAX_RANK] = {};
  uint64_t step[STZ_MAX_RANK];
  std::fill(step, step + STZ_MAX_RANK, 1);
  for (int k = 0; k < info.layers; k++) {
    const double max_error = std::max(info.layer_error[k], 0.0);
    Bytes whole(info.array_bytes + 1);
    stz_reader* reader;
    int error = stz_reader_open_memory(data, size, 0, &reader);
    if (!error) {
      error = stz_reader_max_error(reader, max_error);
      if (!error) error = stz_reader_read(reader, start, info.layout.shape, step, whole.data(), info.array_bytes, 1);
      stz_reader_close(reader);
    }
    promise(error != STZ_ERROR_INTERNAL, "reading fewer layers does not fail inside");
    read_parts(data, size, info, error ? nullptr : whole.data(), max_error);
  }
}

}  // namespace

Bytes seed_input(uint64_t number) { return make_stream(number % 400); }

void mutate_input(Bytes& input, uint64_t random_seed) {
  Random random(random_seed * 2 + 1);
  const uint64_t head = std::min<uint64_t>(input.size(), 60);
  for (uint64_t count = 1 + random.below(6); count; count--) {
    if (input.empty()) return;
    const uint64_t at = random.below(3) ? random.below(input.size()) : random.below(std::min<uint64_t>(head, input.size()));
    switch (random.below(9)) {
      case 0:
      case 1:
        input[at] ^= uint8_t(1 << random.below(8));
        break;
      case 2:
      case 3:
        input[at] = uint8_t(random.bits());
        break;
      case 4:
        input[at] = uint8_t(random.below(2) ? 0 : 255);
        break;
      case 5:
        input.resize(at);
        break;
      case 6:
        input.insert(input.begin() + std::ptrdiff_t(at), uint8_t(random.bits()));
        break;
      case 7:
        input.erase(input.begin() + std::ptrdiff_t(at));
        break;
      default:
        for (uint64_t i = at; i < std::min<uint64_t>(input.size(), at + 8); i++) input[i] = uint8_t(random.bits());
    }
  }
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fuzz;
  static const uint8_t nothing = 0;
  if (!data) data = &nothing;
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  const int told = stz_info(data, size, &info);
  if (told) {
    Bytes out(64);
    promise(stz_decompress(data, size, out.data(), out.size()) != STZ_OK, "a stream that stz_info refuses is not decoded");
    return 0;
  }
  promise(info.form != nullptr && info.levels >= 1 && info.layout.rank <= STZ_MAX_RANK, "stz_info is complete");
  if (info.array_bytes > largest_array) {  // asked for by the header alone: refused because the buffer has another size
    Bytes out(64);
    promise(stz_decompress(data, size, out.data(), out.size()) != STZ_OK, "a small buffer is not enough");
    const long before = peak_memory();
    read_parts(data, size, info, nullptr);
    promise(peak_memory() - before < 1500 * 1024, "memory is bounded by the blocks that a part needs");
    return 0;
  }
  Bytes first(info.array_bytes + 1, 0), second(info.array_bytes + 1, 0xff);
  const long before = peak_memory();
  const int error = stz_decompress(data, size, first.data(), info.array_bytes);
  promise(peak_memory() - before < 700 * 1024, "memory is bounded by what the array needs");
  const int again = stz_decompress_threads(data, size, second.data(), info.array_bytes, 3);
  promise(error == again, "the same stream has the same result with several threads");
  if (!error) promise(memcmp(first.data(), second.data(), info.array_bytes) == 0, "the same stream gives the same array");
  inputs_accepted += !error;
  const int verified = stz_verify(data, size, 2, nullptr);
  promise(verified != STZ_ERROR_INTERNAL && (!error || verified), "what cannot be decoded cannot be verified");
  read_parts(data, size, info, error ? nullptr : first.data());
  if (info.layers > 1) read_parts_of_layers(data, size, info);
  return 0;
}
