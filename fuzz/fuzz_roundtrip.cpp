// Fuzz target: an array described by the fuzzer's bytes (arrays.h) is compressed and decompressed, and every promise of stz.h is checked.
//
// The bound is judged in quadruple precision with the error of the subtraction added exactly, independently of the core. Buffers have
// exactly the promised sizes, so that the address sanitizer sees one byte too many. Layers are judged by the errors that the stream states.
#include "arrays.h"
#include "stz_reader.h"

namespace fuzz {
namespace {

Bytes compress(const Case& c) {
  size_t capacity = stz_max_compressed_size(&c.layout), size = 0;
  if (capacity != c.array.size() + 64) broken("stz_max_compressed_size" + describe(c));
  Bytes stream(capacity);
  int error = stz_compress(&c.layout, c.array.data() ? c.array.data() : stream.data(), &c.options, stream.data(), capacity, &size);
  if (error) broken("compression failed: " + std::string(stz_error_text(error)) + describe(c));
  if (size > capacity) broken("longer than promised" + describe(c));
  stream.resize(size);
  stream.shrink_to_fit();
  return stream;
}

stz_stream_info checked_info(const Case& c, const Bytes& stream) {
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  if (int error = stz_info(stream.data(), stream.size(), &info)) broken("stz_info: " + std::string(stz_error_text(error)) + describe(c));
  bool same = info.layout.dtype == c.layout.dtype && info.layout.byte_order == c.layout.byte_order && info.layout.rank == c.layout.rank &&
              info.array_bytes == c.array.size() && info.levels >= 1 && info.level_bytes[0] <= stream.size() && info.layers >= 1;
  if (!info.content_check && info.layers == 1) same &= info.level_bytes[0] == stream.size() || info.levels == 1;
  for (int axis = 0; axis < c.layout.rank; axis++) same &= info.layout.shape[axis] == c.layout.shape[axis];
  if (info.enhanced)
    same &= c.options.enhance && info.relaxed_bound <= 1.5 * info.bound;
  else if (info.bound > 0)
    same &= info.relaxed_bound == info.bound;
  if (!same) broken("stz_info tells something else" + describe(c));
  return info;
}

void check_numbers(const Case& c, const Bound& bound, const Bytes& decoded, const char* what) {
  const size_t width = number_size(c.layout.dtype);
  for (size_t i = 0; i < c.array.size() / width; i++) {
    const uint64_t x = load_number(&c.array[i * width], width, swapped(c.layout)),
                   y = load_number(&decoded[i * width], width, swapped(c.layout));
    if (bound.kept(x, y)) continue;
    char text[200];
    snprintf(text, sizeof text, "%s, number %zu: %llx (%.17g) -> %llx (%.17g)", what, i, (unsigned long long)x, shown(c.layout.dtype, x),
             (unsigned long long)y, shown(c.layout.dtype, y));
    broken(text + describe(c));
  }
}

// What a reader gives with fewer layers, and before the enhancement, has the errors that are stated.
void check_reader(const Case& c, const Bytes& stream, const stz_stream_info& info) {
  stz_reader* reader;
  if (stz_reader_open_memory(stream.data(), stream.size(), 1 << 16, &reader)) broken("a stream cannot be opened" + describe(c));
  const uint64_t start[STZ_MAX_RANK] = {};
  Bytes decoded(c.array.size());
  for (int k = 0; k < info.layers; k++) {
    if (info.layer_error[k] < 0) continue;
    stz_reader_max_error(reader, info.layer_error[k]);
    if (stz_reader_read(reader, start, c.layout.shape, nullptr, decoded.data(), decoded.size(), 1))
      broken("layers cannot be read" + describe(c));
    Bound bound(c.layout, c.options);
    if (info.layer_error[k] > 0) bound.mode = STZ_ABSOLUTE, bound.bound = info.layer_error[k];
    if (is_floating(c.layout.dtype) && !std::isfinite(info.layer_error[k])) continue;
    check_numbers(c, bound, decoded, "fewer layers");
  }
  if (info.enhanced) {
    stz_reader_max_error(reader, 0);
    stz_reader_enhance(reader, 0);
    if (stz_reader_read(reader, start, c.layout.shape, nullptr, decoded.data(), decoded.size(), 1))
      broken("samples before the enhancement cannot be read" + describe(c));
    check_numbers(c, Bound(c.layout, c.options), decoded, "before the enhancement");
  }
  stz_reader_close(reader);
}

void check_round_trip(const Case& c, bool twice) {
  const Bytes stream = compress(c);
  const stz_stream_info info = checked_info(c, stream);
  Bytes decoded(c.array.size(), 0xA5);
  const int error = stz_decompress(stream.data(), stream.size(), decoded.data(), decoded.size());
  if (error) broken("decompression failed: " + std::string(stz_error_text(error)) + describe(c));
  Bound bound(c.layout, c.options);
  if (info.enhanced) bound.bound = info.relaxed_bound;
  check_numbers(c, bound, decoded, info.form);
  if (info.layers > 1 || info.enhanced) check_reader(c, stream, info);
  if (!twice) return;
  if (stz_verify(stream.data(), stream.size(), 1, nullptr)) broken("the content check differs" + describe(c));
  Bytes again(c.array.size(), 0x5A);
  stz_decompress_threads(stream.data(), stream.size(), again.data(), again.size(), 3);
  if (decoded != again) broken("two decodings differ" + describe(c));
  if (compress(c) != stream) broken("two compressions differ" + describe(c));
}

}  // namespace

Bytes seed_input(uint64_t number) {
  Random random(number);
  Bytes input = random_bytes(random, 64 + random.below(200));
  return input;
}

void mutate_input(Bytes& input, uint64_t random_seed) {
  Random random(random_seed);
  for (uint64_t count = random.below(4); count && !input.empty(); count--) input[random.below(input.size())] = uint8_t(random.bits());
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::check_round_trip(fuzz::make_case(data, size), size && data[size - 1] % 8 == 0);
  return 0;
}
