// Code streams: what the encoder writes the decoder reads, with any models, escapes, outliers and masked samples; damage is noticed or
// gives other codes, never more.
#include "decoder/code_stream_decoder.h"
#include "encoder/write/code_stream_encoder.h"
#include "predict/parameters.h"
#include "simd/kernels.h"

#include <algorithm>
#include <memory>
#include <set>

#include "unit.h"

using namespace unit;

namespace {

template <class Code>
constexpr int width_of = 8 * int(sizeof(Code));  // bits of a code, and of a sample

// A class of codes with their contexts and models.
template <class Code>
struct Codes {
  std::vector<Code> code;
  std::vector<u8> context;  // row_slack more
  Model model[contexts];
  std::vector<Outlier> outliers;
};

Model random_model(Random& random, int max_shift) {
  Model m;
  m.run_length = random.below(2);
  m.zero_run = u8(m.run_length ? random.below(zero_run_tables) : 0);
  m.value = u8(m.run_length ? random.below(value_tables) : 0);
  if (m.run_length) return m;
  m.shape = u8(random.below(shapes));
  do m.scale = u16(random.below(random.chance(0.7) ? unshifted_scales : scale_limit));
  while (m.shift() > max_shift);
  return m;
}

// How large codes are: nearly all are zero, small, or of any size; some are outliers.
template <class Code>
Codes<Code> random_codes(Random& random, size_t n, bool fit_bytes) {
  Codes<Code> c;
  const double zero = random.chance(0.3) ? 0.98 : random.chance(0.5) ? 0.5 : 0, large = random.chance(0.5) ? 0 : 0.02;
  const double outlier = random.chance(0.5)   ? 0
                         : random.chance(0.1) ? 1
                                              : 0.01,
               masked = random.chance(0.5)   ? 0
                        : random.chance(0.1) ? 1
                                             : 0.3;
  const int usual = int(random.below(fit_bytes ? 7 : random.chance(0.5) ? 9 : width_of<Code> - 3));
  const u64 used = 1 + random.below(contexts);
  for (Model& m : c.model) m = random_model(random, max_model_shift(width_of<Code>));
  for (size_t i = 0; i < n; i++) {
    const bool is_masked = random.chance(masked);
    c.context.push_back(is_masked ? no_context : u8(random.below(used)));
    Code code = 0;
    if (!is_masked && random.chance(outlier)) {
      code = outlier_code<Code>;
      c.outliers.push_back({u32(i), random.of_width(width_of<Code>)});
    } else if (!is_masked && !random.chance(zero)) {
      const int bits = random.chance(large) ? (sizeof(Code) == 4 ? 31 : 61) : usual;
      code = Code(random.signed_magnitude(bits));
    }
    c.code.push_back(code);
  }
  c.context.resize(n + row_slack, no_context);
  return c;
}

template <class Code>
void add(CodeStreamEncoder& encoder, const Codes<Code>& c) {
  encoder.add_class(c.code.data(), c.context.data(), c.code.size(), c.model, c.outliers, width_of<Code>);
}

void finish(CodeStreamEncoder& encoder, Bytes& stream) {
  encoder.encode();
  encoder.finish(0, stream);
}

bool same(const std::vector<Outlier>& a, const std::vector<Outlier>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Outlier& x, const Outlier& y) { return x.index == y.index && x.bits == y.bits; });
}

template <class Code>
void check_decoded(CodeStreamDecoder& decoder, const Codes<Code>& c) {
  const size_t n = c.code.size();
  std::vector<Code> code(n + row_slack, Code(99));
  std::vector<Outlier> outliers;
  decoder.decode_class(code.data(), c.context.data(), n, c.model, outliers, width_of<Code>);
  for (size_t i = 0; i < n; i++) CHECK(code[i] == c.code[i], "code %zu of %zu", i, n);
  CHECK(same(outliers, c.outliers), "%zu outliers of %zu", outliers.size(), c.outliers.size());
}

int lanes_of(const Bytes& stream) { return stream.size() > 4 && stream[3] & 0x80 ? 1 << stream[4] : 1; }

size_t random_size(Random& random) { return size_t(1 + random.magnitude(random.chance(0.1) ? 16 : 11)); }

// Round trips of streams with one to four classes; the numbers of lanes that occur.
template <class Code>
std::set<int> round_trips(u64 seed, int turns) {
  Random random(seed);
  std::set<int> lanes;
  CodeStreamEncoder encoder;
  CodeStreamDecoder decoder;
  for (int turn = 0; turn < turns; turn++) {
    std::vector<Codes<Code>> classes;
    for (u64 k = 1 + random.below(4); k > 0; k--) classes.push_back(random_codes<Code>(random, random_size(random), false));
    for (const Codes<Code>& c : classes) add(encoder, c);
    Bytes stream;
    finish(encoder, stream);
    bool any = false;
    for (const Codes<Code>& c : classes) any = any || std::any_of(c.code.begin(), c.code.end(), [](Code code) { return code != 0; });
    CHECK(stream.empty() == !any, "a stream of zeros is empty");
    if (!any) continue;
    lanes.insert(lanes_of(stream));
    AtPageEnd bytes(stream);
    decoder.open(bytes.begin(), bytes.size());
    for (const Codes<Code>& c : classes) check_decoded(decoder, c);
    decoder.finish();
  }
  return lanes;
}

// Streams of any lengths, encoded side by side or each by itself.
void check_side_by_side(u64 seed) {
  Random random(seed);
  CodeStreamEncoder together, alone;
  for (int turn = 0; turn < 40; turn++) {
    const int count = 1 + int(random.below(u64(CodeStreamEncoder::most)));
    std::vector<Bytes> expected(CodeStreamEncoder::most);
    for (int k = 0; k < count; k++)
      for (u64 classes = random.below(3); classes > 0; classes--) {
        const Codes<i32> c = random_codes<i32>(random, random_size(random), false);
        together.select(k);
        add(together, c);
        add(alone, c);
        if (classes == 1) finish(alone, expected[size_t(k)]);
      }
    together.encode();
    for (int k = 0; k < count; k++) {
      Bytes stream;
      together.finish(k, stream);
      CHECK(stream == expected[size_t(k)], "stream %d of %d", k, count);
    }
  }
}

}  // namespace

TEST(streams_are_encoded_alike_side_by_side) { check_side_by_side(8); }
TEST(codes_of_32_bits_come_back) { CHECK((round_trips<i32>(1, 400) == std::set<int>{1, 4, 16, 32}), "every number of lanes occurs"); }
TEST(codes_of_64_bits_come_back) { CHECK((round_trips<i64>(2, 400) == std::set<int>{1, 4, 16, 32}), "every number of lanes occurs"); }

// The same codes kept as bytes give the same stream, and are read from it.
TEST(codes_as_bytes_are_coded_alike) {
  Random random(3);
  size_t escapes = 0;
  for (int turn = 0; turn < 400; turn++) {
    Codes<i32> c = random_codes<i32>(random, random_size(random), true);
    const size_t n = c.code.size();
    std::vector<u8> bytes(n + row_slack, 0);
    std::vector<WideCode> wide_codes;
    size_t outlier = 0;
    for (size_t i = 0; i < n; i++) {
      const bool stored = c.code[i] == outlier_code<i32>;
      if (stored || zigzag(c.code[i]) > 2 * largest_byte_code) {
        bytes[i] = byte_escape;
        wide_codes.push_back({u32(i), stored ? outlier_mark : c.code[i], stored ? c.outliers[outlier].bits : 0});
        outlier += stored;
      } else {
        bytes[i] = u8(zigzag(c.code[i]));
      }
    }
    escapes += wide_codes.size();
    CodeStreamEncoder encoder;
    Bytes of_numbers, of_bytes;
    add(encoder, c);
    finish(encoder, of_numbers);
    encoder.add_bytes(bytes.data(), c.context.data(), n, c.model, wide_codes, width_of<i32>);
    finish(encoder, of_bytes);
    CHECK(of_numbers == of_bytes, "case %d", turn);
    if (of_bytes.empty()) continue;
    // the first codes of it in streams of their own, side by side with all of them
    struct Stream {
      size_t n;
      std::unique_ptr<AtPageEnd> bytes;
      CodeStreamDecoder decoder;
      std::vector<u8> got;
      std::vector<WideCode> got_wide;
    } streams[CodeStreamDecoder::most_together];
    CodeStreamDecoder::ByteClass classes[CodeStreamDecoder::most_together];
    int count = 0;
    for (int k = 0; k <= turn % CodeStreamDecoder::most_together; k++) {
      Stream& s = streams[count];
      s.n = n >> k;
      auto later = [&](const WideCode& e) { return e.index >= s.n; };
      encoder.add_bytes(bytes.data(), c.context.data(), s.n, c.model,
                        {wide_codes.begin(), std::find_if(wide_codes.begin(), wide_codes.end(), later)}, width_of<i32>);
      Bytes of_first;
      encoder.encode();
      encoder.finish(0, of_first);
      if (of_first.empty()) continue;
      s.bytes = std::make_unique<AtPageEnd>(of_first);
      s.decoder.open(s.bytes->begin(), s.bytes->size());
      s.got.resize(s.n + row_slack);
      classes[count++] = {&s.decoder, c.context.data(), s.n, s.got.data(), &s.got_wide};
    }
    CodeStreamDecoder::decode_bytes<i32>(classes, count, c.model, width_of<i32>);
    for (int k = 0; k < count; k++) {
      Stream& s = streams[k];
      s.decoder.finish();
      CHECK(std::equal(bytes.begin(), bytes.begin() + std::ptrdiff_t(s.n), s.got.begin()), "case %d, stream %d", turn, k);
      for (size_t e = 0; e < s.got_wide.size(); e++) {
        const WideCode &a = wide_codes[e], &b = s.got_wide[e];
        CHECK(a.index == b.index && a.code == b.code && (a.code != outlier_mark || a.bits == b.bits), "case %d, %zu", turn, e);
      }
      CHECK(s.got_wide.size() == wide_codes.size() || wide_codes[s.got_wide.size()].index >= s.n, "case %d, stream %d", turn, k);
    }
  }
  CHECK(escapes > 1000);
}

// Also the numbers of lanes that the encoder never chooses: a bin in direct mode without raw bits, written here.
TEST(every_number_of_lanes_is_read) {
  Random random(4);
  for (int log2_lanes = 0; log2_lanes <= 6; log2_lanes++)
    for (size_t n : {size_t(1), size_t(63), size_t(64), size_t(65), size_t(1000), size_t(4096), size_t(9001)}) {
      const u32 lanes = 1u << log2_lanes;
      Codes<i32> c;
      c.code.resize(n);
      c.context.assign(n + row_slack, 0);
      c.model[0].scale = 20;
      const CodeTable& table = direct_table(c.model[0]);
      std::vector<u8> symbols(n + row_slack);
      for (size_t i = 0; i < n; i++) {
        symbols[i] = u8(random.below(u64(std::min(table.count, plain_symbols))));
        c.code[i] = i32(unzigzag(symbols[i]));
      }
      std::vector<u32> state(lanes, rans_low);
      std::vector<u16> words(n + rans_slack);
      const RansSegment segment{{table.reciprocal, table.reciprocal}, {table.step, table.step}, table.count + 1, symbols.data(), n};
      RansOutput output{state.data(), &segment, 1, words.data()};
      kernels().rans.encode(lanes, &output, 1);
      Bytes stream;
      put_le<u32>(stream, state[0] | (log2_lanes ? 1u << 31 : 0));
      if (log2_lanes) stream.push_back(u8(log2_lanes));
      for (u32 lane = 1; lane < lanes; lane++) put_le<u32>(stream, state[lane]);
      while (output.word != words.data()) put_le<u16>(stream, *--output.word);
      AtPageEnd bytes(stream);
      CodeStreamDecoder decoder;
      decoder.open(bytes.begin(), bytes.size());
      check_decoded(decoder, c);
      decoder.finish();
    }
  for (u8 log2_lanes : {u8(0), u8(7), u8(200)}) {
    Bytes stream;
    put_le<u32>(stream, rans_low | 1u << 31);
    stream.push_back(log2_lanes);
    stream.resize(2000);
    AtPageEnd bytes(stream);
    CodeStreamDecoder decoder;
    CHECK(is_damage(failure_of([&] { decoder.open(bytes.begin(), bytes.size()); })), "2^%d lanes", log2_lanes);
  }
}

namespace {

// What comes of decoding a class from other bytes: the code of the failure. Codes are within their limits in any case.
template <class Code>
int decode_damaged(AtPageEnd& bytes, const Codes<Code>& c) {
  const size_t n = c.code.size();
  std::vector<Code> code(n + row_slack);
  std::vector<Outlier> outliers;
  return failure_of([&] {
    CodeStreamDecoder decoder;
    decoder.open(bytes.begin(), bytes.size());
    decoder.decode_class(code.data(), c.context.data(), n, c.model, outliers, width_of<Code>);
    size_t stored = 0;
    for (size_t i = 0; i < n; i++) {
      const bool outlier = code[i] == outlier_code<Code>;
      CHECK(outlier || u64(code[i] < 0 ? -i64(code[i]) : i64(code[i])) <= largest_code<Code>);
      CHECK(!outlier || (stored < outliers.size() && outliers[stored].index == i));
      CHECK(c.context[i] != no_context || code[i] == 0, "a masked sample has no code");
      stored += outlier;
    }
    CHECK(stored == outliers.size());
    decoder.finish();
  });
}

template <class Code>
void check_damage(u64 seed) {
  Random random(seed);
  int cuts = 0, noticed_cuts = 0, changes = 0, noticed_changes = 0;
  for (int turn = 0; turn < 60; turn++) {
    const Codes<Code> c = random_codes<Code>(random, 1 + random.below(turn % 10 ? 300 : 20000), false);
    CodeStreamEncoder encoder;
    Bytes stream;
    add(encoder, c);
    finish(encoder, stream);
    if (stream.empty()) continue;
    const size_t step = 1 + stream.size() / 200;
    for (size_t size = 0; size < stream.size(); size += step, cuts++) {
      AtPageEnd cut(stream.data(), size);
      const int code = decode_damaged(cut, c);
      CHECK(code == 0 || is_damage(code), "%d", code);
      noticed_cuts += code != 0;
    }
    for (int change = 0; change < 60; change++, changes++) {
      AtPageEnd damaged(stream);
      damaged.begin()[random.below(stream.size())] ^= u8(1 + random.below(255));
      const int code = decode_damaged(damaged, c);
      CHECK(code == 0 || is_damage(code), "%d", code);
      noticed_changes += code != 0;
    }
  }
  // Sections have checksums. That a code stream has to end as it does is a second check: raw bits at its end may happen to fit.
  CHECK(noticed_cuts > 0.99 * cuts, "%d of %d", noticed_cuts, cuts);
  CHECK(noticed_changes > 0.4 * changes, "%d of %d", noticed_changes, changes);
}

}  // namespace

TEST(streams_of_32_bits_that_are_cut_or_damaged) { check_damage<i32>(5); }
TEST(streams_of_64_bits_that_are_cut_or_damaged) { check_damage<i64>(6); }

TEST(codes_take_about_as_many_bits_as_their_model_says) {
  Random random(7);
  Codes<i32> c;
  const size_t n = 100000;
  c.context.assign(n + row_slack, 3);
  for (Model& m : c.model) m.scale = 24;  // a Laplace scale of two codes
  for (size_t i = 0; i < n; i++) {
    i32 magnitude = 0;
    while (random.chance(0.6)) magnitude++;
    c.code.push_back(random.below(2) ? magnitude : -magnitude);
  }
  CodeStreamEncoder encoder;
  Bytes stream;
  add(encoder, c);
  finish(encoder, stream);
  const CodeTable& table = direct_table(c.model[3]);
  double bits = 0;
  for (i32 code : c.code) {
    const Symbol s = value_symbol(u32(zigzag(code)));
    bits += table.cost[std::min(int(s.symbol), table.count)] / 256.0 + s.raw_bits;
  }
  CHECK(std::abs(8.0 * double(stream.size()) - bits) < 0.01 * bits + 8 * 150, "%zu bytes, %g bits by the model", stream.size(), bits);
}
