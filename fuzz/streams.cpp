// Streams whose every part means something, and damage to them (streams.h).
#include "streams.h"

#include <algorithm>

namespace fuzz {
namespace {

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

void choose_kind(Random& random, uint64_t number, stz_layout& layout, stz_options& options) {
  layout.dtype = STZ_F16 + int(random.below(dtypes));
  layout.byte_order = int(random.below(5) == 0);
  layout.rank = int(random.below(6));
  const uint64_t limit = random.below(8) ? 200 : random.below(8) ? 2000 : 300 + random.below(20000);
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
}

Bytes make_array(Random& random, const stz_layout& layout, const stz_options& options) {
  const size_t width = number_size(layout.dtype), numbers = size_t(elements(layout)) * size_t(parts(layout.dtype));
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
      if (is_short(layout.dtype)) {
        bits = short_bits(short_float(layout.dtype), value);
      } else if (width == 4) {
        float single = float(value);
        uint32_t narrow;
        memcpy(&narrow, &single, 4);
        bits = narrow;
      } else
        memcpy(&bits, &value, 8);
      const uint64_t infinity = is_short(layout.dtype) ? short_float(layout.dtype).beyond
                                : width == 4           ? 0x7f800000u
                                                       : uint64_t(0x7ff) << 52;
      if ((masks == 1 && random.below(10) == 0) || (masks == 2 && i % 31 < 9)) bits = infinity | (masks == 1 ? random.below(3) : 1);
    } else {
      bits = uint64_t(int64_t(value));
      if (masks && random.below(9) == 0) bits = options.fill;
    }
    if (i >= keep) bits = 0x55;
    store_number(&array[i * width], bits, width, swapped(layout));
  }
  return array;
}

}  // namespace

Bytes make_stream(uint64_t number) {
  Random random(number);
  stz_layout layout{};
  stz_options options = STZ_OPTIONS_INIT;
  choose_kind(random, number, layout, options);
  const Bytes array = make_array(random, layout, options);
  Bytes stream(stz_max_compressed_size(&layout));
  size_t size = 0;
  if (int error = stz_compress(&layout, array.data(), &options, stream.data(), stream.size(), &size)) broken(stz_error_text(error));
  stream.resize(size);
  return number % 4 == 3 ? rewritten(layout, options, stream, array.size(), random) : stream;
}

void mutate_bytes(Bytes& input, uint64_t random_seed) {
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

Bytes with_this_version(const uint8_t* data, size_t size) {
  Bytes bytes(data, data + size);
  for (size_t at = 0; at + 4 <= size; at++)
    if (memcmp(&bytes[at], "STZ", 3) == 0 && bytes[at + 3] % 16) bytes[at + 3] = STZ_FORMAT_VERSION;
  return bytes;
}

}  // namespace fuzz
