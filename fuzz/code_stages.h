// Stages of fuzz_stages: streams of codes (rANS and raw bits), with models, contexts and lengths that a level may have.
#pragma once
#include <algorithm>
#include <memory>

#include "decoder/code_stream_decoder.h"
#include "decoder/join_codes.h"
#include "encoder/write/code_stream_encoder.h"
#include "fuzz_common.h"
#include "predict/parameters.h"

namespace fuzz {

using namespace stz;

// The code that f fails with, 0 if it does not. Damage may look like what is reserved for later versions; nothing else may go wrong.
template <class F>
int damage_of(F f) {
  try {
    f();
  } catch (const Failure& failure) {
    const int code = failure.code;
    promise(code == STZ_ERROR_CORRUPT || code == STZ_ERROR_TRUNCATED || code == STZ_ERROR_VERSION, "a stage fails with damage alone");
    return code;
  }
  return 0;
}

// What is left of the input, where nothing may be read beyond it.
inline Bytes rest_of(Choices& choose) {
  Bytes rest(choose.left());
  for (uint8_t& byte : rest) byte = choose.byte();
  return rest;
}

inline Model choose_model(Choices& choose, int width) {
  Model m;
  const int kind = choose.byte();
  m.run_length = kind % 3 == 0;
  if (m.run_length) {
    m.zero_run = u8(choose.below(zero_run_tables));
    m.value = u8(choose.below(value_tables));
    return m;
  }
  m.shape = u8(kind / 3 % shapes);
  m.scale = u16(choose.below(kind / 16 % 4 ? unshifted_scales : scale_limit));
  while (m.shift() > max_model_shift(width)) m.scale = u16(m.scale - 1);
  return m;
}

// A class: its contexts, with masked samples or without, and a model for each.
struct ClassOfCodes {
  size_t n;
  std::vector<u8> context;  // row_slack more
  Model model[contexts];
  ClassOfCodes(Choices& choose, int width, size_t most) : n(1 + choose.below(most)), context(n + row_slack, no_context) {
    const uint64_t used = 1 + choose.below(contexts), masked = choose.below(4);
    for (Model& m : model) m = choose_model(choose, width);
    Random random(choose.word());
    for (size_t i = 0; i < n; i++) context[i] = masked == 1 && random.below(5) == 0 ? no_context : u8(random.below(used));
  }
};

template <class Code>
void decode_codes(Choices& choose) {
  constexpr int width = 8 * int(sizeof(Code));
  const ClassOfCodes c(choose, width, 700), next(choose, width, 100);
  const Bytes stream = rest_of(choose);
  std::vector<Code> code(c.n + row_slack);
  std::vector<Outlier> outliers;
  damage_of([&] {
    CodeStreamDecoder decoder;
    decoder.open(stream.data(), stream.size());
    decoder.decode_class(code.data(), c.context.data(), c.n, c.model, outliers, width);
    size_t stored = 0;
    for (size_t i = 0; i < c.n; i++) {
      const bool outlier = code[i] == outlier_code<Code>;
      promise(outlier || u64(code[i] < 0 ? -i64(code[i]) : i64(code[i])) <= largest_code<Code>, "codes are within their limits");
      promise(!outlier || (stored < outliers.size() && outliers[stored].index == i), "outliers are listed in order");
      promise(c.context[i] != no_context || code[i] == 0, "a masked sample has no code");
      stored += outlier;
    }
    promise(stored == outliers.size(), "every outlier is listed");
    outliers.clear();
    code.assign(next.n + row_slack, 0);
    decoder.decode_class(code.data(), next.context.data(), next.n, next.model, outliers, width);
    std::vector<u8> fields(40 + row_slack);
    decoder.take_fields(fields.data(), 40, 1 + int(next.n % 8));
    decoder.finish();
  });
}

inline void check_wide_codes(const u8* bytes, size_t n, const u8* context, const std::vector<WideCode>& wide) {
  size_t next = 0;
  for (size_t i = 0; i < n; i++) {
    promise(context[i] != no_context || bytes[i] == 0, "a masked sample has no code");
    if (bytes[i] != byte_escape) continue;
    promise(next < wide.size() && wide[next].index == i, "wide codes are listed in order");
    next++;
  }
  promise(next == wide.size(), "every wide code is listed");
}

// Up to eight classes as bytes, side by side; then what a refinement adds to one of them.
inline void decode_bytes(Choices& choose) {
  const ClassOfCodes c(choose, 32, 700);
  const int count = 1 + int(choose.below(CodeStreamDecoder::most_together)), width = int(choose.below(8));
  const Bytes streams = rest_of(choose);
  struct Stream {
    CodeStreamDecoder decoder;
    Bytes bytes;
    std::vector<u8> codes;
    std::vector<WideCode> wide;
  };
  const auto stream = std::make_unique<Stream[]>(CodeStreamDecoder::most_together);
  damage_of([&] {
    CodeStreamDecoder::ByteClass classes[CodeStreamDecoder::most_together];
    for (int k = 0; k < count; k++) {
      const size_t from = streams.size() * size_t(k) / size_t(count), to = streams.size() * size_t(k + 1) / size_t(count);
      Stream& s = stream[k];
      s.bytes.assign(streams.begin() + std::ptrdiff_t(from), streams.begin() + std::ptrdiff_t(to));
      s.decoder.open(s.bytes.data(), s.bytes.size());
      const size_t n = std::max<size_t>(1, c.n >> k);
      s.codes.assign(n + row_slack, 0);
      classes[k] = {&s.decoder, c.context.data(), n, s.codes.data(), &s.wide};
    }
    CodeStreamDecoder::decode_bytes<i32>(classes, count, c.model, 32);
    for (int k = 0; k < count; k++) check_wide_codes(classes[k].bytes, classes[k].n, c.context.data(), stream[k].wide);
    if (!width) return;
    ClassCodes<i32> codes;
    codes.as_bytes = true;
    codes.bytes.resize(c.n + row_slack);
    std::copy_n(stream[0].codes.data(), c.n, codes.bytes.data());
    codes.wide_codes = stream[0].wide;
    CodeJoiner<i32> joiner;
    joiner.start(codes, c.n);
    stream[0].decoder.take_fields(joiner.fields(), joiner.nonzero(), width);
    joiner.append(width);
    joiner.complete(width / 2);
    stream[0].decoder.finish();
  });
}

template <class Code>
Code choose_code(Random& random, uint64_t zero, uint64_t usual) {
  const uint64_t way = random.below(256);
  if (way < zero) return 0;
  const int bits = int(way == 255 ? random.below(sizeof(Code) == 4 ? 31 : 61) + 1 : usual);
  const i64 size = i64(random.bits() >> (64 - bits));
  return Code(random.below(2) ? size : -size);
}

// What is written is read, as numbers and, where they fit, as bytes.
template <class Code>
void codes_come_back(Choices& choose) {
  constexpr int width = 8 * int(sizeof(Code));
  CodeStreamEncoder encoder;
  CodeStreamDecoder decoder;
  std::vector<ClassOfCodes> classes;
  std::vector<std::vector<Code>> codes;
  std::vector<std::vector<Outlier>> outliers;
  bool any = false;
  for (uint64_t count = 1 + choose.below(3); count; count--) {
    classes.emplace_back(choose, width, choose.below(8) ? 500 : 9000);
    const uint64_t zero = choose.byte(), usual = 1 + choose.below(choose.below(2) ? 8 : uint64_t(width - 4)), outlier = choose.below(300);
    Random random(choose.word());
    const ClassOfCodes& c = classes.back();
    codes.emplace_back(c.n);
    outliers.emplace_back();
    for (size_t i = 0; i < c.n; i++) {
      if (c.context[i] == no_context) continue;
      codes.back()[i] = choose_code<Code>(random, zero, usual);
      if (outlier && random.below(outlier) == 0) {
        codes.back()[i] = outlier_code<Code>;
        outliers.back().push_back({u32(i), random.bits() >> (64 - width)});
      }
      any = any || codes.back()[i] != 0;
    }
    encoder.add_class(codes.back().data(), c.context.data(), c.n, c.model, outliers.back(), width);
  }
  Bytes stream;
  encoder.encode();
  encoder.finish(0, stream);
  promise(stream.empty() != any, "a stream of zeros is empty, no other is");
  if (!any) return;
  stream.shrink_to_fit();
  const int code = damage_of([&] {
    decoder.open(stream.data(), stream.size());
    for (size_t k = 0; k < classes.size(); k++) {
      const ClassOfCodes& c = classes[k];
      std::vector<Code> read(c.n + row_slack, Code(99));
      std::vector<Outlier> read_outliers;
      decoder.decode_class(read.data(), c.context.data(), c.n, c.model, read_outliers, width);
      promise(std::equal(codes[k].begin(), codes[k].end(), read.begin()), "codes come back");
      promise(std::equal(outliers[k].begin(), outliers[k].end(), read_outliers.begin(), read_outliers.end(),
                         [](const Outlier& a, const Outlier& b) { return a.index == b.index && a.bits == b.bits; }),
              "outliers come back");
    }
    decoder.finish();
  });
  promise(code == 0, "a code stream that was written is read");
}

}  // namespace fuzz
