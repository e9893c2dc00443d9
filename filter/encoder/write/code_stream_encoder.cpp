// Partitions codes (quantization indices) by context, and turns them into symbols, zero runs and raw bits.
#include <algorithm>
#include <type_traits>

#include "base/faults.h"
#include "base/stages.h"
#include "encoder/write/code_stream_encoder.h"
#include "format/layers.h"
#include "simd/kernels.h"

namespace stz {

namespace {

constexpr u64 longest_field = 6 + 64;  // raw bits of a symbol: an outlier has the most

void put_escape(u64 v, RawFields& raw) {
  const int e = floor_log2(v + 1);
  raw.put(u64(e), 6);
  raw.put_long(v + 1 - (u64(1) << e), e);
}

void put_outlier(u64 sample, int width, RawFields& raw) {
  raw.put(outlier_exponent, 6);
  raw.put_long(sample, width);
}

// Writes the raw bits of a symbol that is not v itself, and returns the symbol.
inline u8 put_large_symbol(const CodeTable& t, u64 v, RawFields& raw) {
  const Symbol s = v <= largest_symbol_value ? value_symbol(u32(v)) : Symbol{value_symbols, 0};
  if (int(s.symbol) >= t.count) {
    put_escape(v, raw);
    return u8(t.count);
  }
  raw.put((v - 1) & ((u64(1) << s.raw_bits) - 1), s.raw_bits);
  return u8(s.symbol);
}

}  // namespace

u8* CodeStreamEncoder::Stream::add_symbols(size_t n) {
  if (symbols.size() < symbol_count + n) symbols.resize(std::max(2 * symbols.size(), symbol_count + n));
  symbol_count += n;
  return &symbols[symbol_count - n];
}

u8* CodeStreamEncoder::add_segment(const CodeTable& t, size_t n) {
  s_->cost += n * t.mean_cost;
  s_->segments.push_back({&t, nullptr, s_->symbol_count, n});
  return s_->add_symbols(n);
}

// The tokens of a bin in run-length mode: zero runs and the numbers of the codes between them alternate.
struct CodeStreamEncoder::Tokens {
  const CodeTable &zero_runs, &values;
  u8* next;
  u64 cost;

  void put(const CodeTable& t, u8 symbol) {
    *next++ = symbol;
    cost += t.cost[symbol];
  }
  void zero_run(u64 length, RawFields& raw) {
    const Symbol g = length <= largest_zero_run_symbol_value ? zero_run_symbol(u32(length)) : Symbol{zero_run_symbols, 0};
    if (int(g.symbol) < zero_runs.count) {
      put(zero_runs, u8(g.symbol));
      raw.put(length & ((u64(1) << g.raw_bits) - 1), g.raw_bits);
    } else {
      put(zero_runs, u8(zero_runs.count));
      put_escape(length, raw);
    }
  }
  // The number z - 1 of a code.
  void value(u64 v, RawFields& raw) {
    u8 symbol = u8(v);
    if (v >= plain_symbols || int(v) >= values.count) symbol = put_large_symbol(values, v, raw);
    put(values, symbol);
  }
  void outlier(u64 sample, int width, RawFields& raw) {
    put(values, u8(values.count));
    put_outlier(sample, width, raw);
  }
};

// Starts a bin in run-length mode with room for up to `most_codes` nonzero codes.
CodeStreamEncoder::Tokens CodeStreamEncoder::start_tokens(const Model& m, size_t most_codes) {
  const CodeTable &zero_runs = zero_run_table(m), &values = value_table(m);
  s_->segments.push_back({&zero_runs, &values, s_->symbol_count, 0});
  return {zero_runs, values, s_->add_symbols(2 * most_codes + 1), s_->cost};
}

// Ends a bin. If zeros are left, writes the most frequent symbol whose runs reach the end, without its raw bits.
void CodeStreamEncoder::finish_tokens(const Tokens& tokens, u64 left) {
  Tokens all = tokens;
  if (left) {
    const CodeTable& zero_runs = all.zero_runs;
    int best = zero_runs.count, bits;
    for (int s = zero_runs.count - 1; s >= 0 && zero_run_base(u32(s), bits) >= left; s--)
      if (best == zero_runs.count || zero_runs.freq[s] > zero_runs.freq[best]) best = s;
    all.put(zero_runs, u8(best));
    if (best == zero_runs.count) s_->raw.put_each(1, longest_field, [&](size_t, RawFields& raw) { put_escape(left, raw); });
  }
  Segment& segment = s_->segments.back();
  segment.count = size_t(all.next - &s_->symbols[segment.from]);
  s_->symbol_count = segment.from + segment.count;
  s_->cost = all.cost;
}

void CodeStreamEncoder::add_direct_bytes(u8* bin, size_t n, const Model& m, const std::vector<WideCode>& wide_codes, int width) {
  const CodeTable& t = direct_table(m);
  const int shift = m.shift();
  const u64 low = (u64(1) << shift) - 1;
  const u32 plain = u32(std::min(t.count, plain_symbols));
  u8* symbols = add_segment(t, n);
  const ByteKernels& k = kernels().bytes;
  // Wide codes are rare: everything is done as if there were none, and they are patched in.
  const u32* place = wide_places_.data();
  if (!wide_codes.empty()) {
    wide_places_.resize(n);
    place = wide_places_.data();
    k.find(bin, n, byte_escape, wide_places_.data());
  }
  auto number = [](const WideCode& e) { return e.code == outlier_mark ? u64(0) : zigzag(e.code); };
  const size_t words = shift > 0 && shift <= 7 ? n / 8 : 0;
  if (shift) {
    low_bits_.resize(words + 1);
    if (words) k.gather_low_bits(bin, words, shift, low_bits_.data());
    size_t next = 0;
    for (; next < wide_codes.size() && place[next] < 8 * words; next++) {
      u64& eight = low_bits_[place[next] / 8];
      const int at = int(place[next] % 8) * shift;
      eight = (eight & ~(low << at)) | (number(wide_codes[next]) & low) << at;
    }
    s_->raw.put_each(words, u64(8 * shift), [&](size_t w, RawFields& raw) { raw.put(low_bits_[w], 8 * shift); });
    s_->raw.put_each(n - 8 * words, u64(shift), [&](size_t i, RawFields& raw) {
      const u8 byte = bin[8 * words + i];
      raw.put((byte == byte_escape ? number(wide_codes[next++]) : byte) & low, shift);
    });
    if (shift <= 7) k.shift(bin, n, shift);
  }
  if (shift <= 7)
    memcpy(symbols, bin, n);
  else
    memset(symbols, 0, n);
  for (size_t e = 0; e < wide_codes.size(); e++) {
    const u64 v = number(wide_codes[e]) >> shift;
    symbols[place[e]] = wide_codes[e].code != outlier_mark && v < plain ? u8(v) : byte_escape;
  }
  places_.resize(n);
  const size_t place_count = k.find(symbols, n, u8(plain), places_.data());
  size_t next = 0;
  s_->raw.put_each(place_count, longest_field, [&](size_t f, RawFields& raw) {
    u8& symbol = symbols[places_[f]];
    while (next < wide_codes.size() && place[next] < places_[f]) next++;
    if (next == wide_codes.size() || place[next] != places_[f])
      symbol = put_large_symbol(t, symbol, raw);
    else if (const WideCode& e = wide_codes[next]; e.code == outlier_mark) {
      symbol = u8(t.count);
      put_outlier(e.bits, width, raw);
    } else
      symbol = put_large_symbol(t, number(e) >> shift, raw);
  });
}

void CodeStreamEncoder::add_run_length_bytes(const u8* bin, size_t n, const Model& m, const std::vector<WideCode>& wide_codes, int width) {
  places_.resize(n);
  const size_t place_count = kernels().bytes.find(bin, n, 1, places_.data());
  Tokens tokens = start_tokens(m, place_count);
  size_t last = 0, next = 0;
  s_->raw.put_each(place_count, 2 * longest_field, [&](size_t f, RawFields& raw) {
    const size_t i = places_[f];
    tokens.zero_run(i - last, raw);
    last = i + 1;
    if (bin[i] != byte_escape) {
      tokens.value(bin[i] - 1u, raw);
      return;
    }
    const WideCode& e = wide_codes[next++];
    if (e.code == outlier_mark)
      tokens.outlier(e.bits, width, raw);
    else
      tokens.value(zigzag(e.code) - 1, raw);
  });
  finish_tokens(tokens, n - last);
}

void CodeStreamEncoder::add_bytes(const u8* bytes, const u8* context, size_t n, const Model* models,
                                  const std::vector<WideCode>& wide_codes, int width) {
  STZ_STAGE(symbols);
  const size_t pitch = n + row_slack;
  bins_.resize((contexts + 1) * pitch);
  size_t counts[contexts];
  {
    STZ_STAGE(partition);
    kernels().bytes.partition_by_context(bytes, context, n, bins_.data(), pitch, counts);
  }
  STZ_FAULT_POINT_UP_TO(bins, bins_.data(), bins_.size(), byte_escape - 1);
  std::vector<WideCode> wide_of_context[contexts];
  for (const WideCode& e : wide_codes) wide_of_context[context[e.index]].push_back(e);
  s_->nonzero = s_->nonzero || kernels().bytes.largest(bytes, n) != 0;
  for (int k = 0; k < contexts; k++) {
    if (!counts[k]) continue;
    u8* bin = bins_.data() + size_t(k) * pitch;
    if (models[k].even_bits)
      add_fields(bin, counts[k], models[k].even_bits);
    else if (models[k].run_length)
      add_run_length_bytes(bin, counts[k], models[k], wide_of_context[k], width);
    else
      add_direct_bytes(bin, counts[k], models[k], wide_of_context[k], width);
  }
}

// Adds the low bits of n codes, several per field.
template <class U>
void CodeStreamEncoder::add_low_bits(const U* low, size_t n, int bits) {
  size_t i = 0;
  auto put_groups = [&](auto fixed) {
    constexpr size_t group = fixed.value;
    s_->raw.put_each(n / group, u64(group) * u64(bits), [&](size_t g, RawFields& raw) {
      u64 field = 0;
      for (size_t k = 0; k < group; k++) field |= u64(low[g * group + k]) << (int(k) * bits);
      raw.put(field, int(group) * bits);
    });
    i = n / group * group;
  };
  if (bits <= 14)
    put_groups(std::integral_constant<size_t, 4>());
  else if (bits <= 28)
    put_groups(std::integral_constant<size_t, 2>());
  s_->raw.put_each(n - i, u64(bits), [&](size_t k, RawFields& raw) { raw.put(u64(low[i + k]), bits); });
}

template <class Code>
void CodeStreamEncoder::add_direct(const Code* bin, size_t n, const Model& m, const std::vector<u64>& outliers, int width) {
  using U = std::make_unsigned_t<Code>;
  const CodeTable& t = direct_table(m);
  const int shift = m.shift();
  u8* symbols = add_segment(t, n);
  constexpr size_t part = 4096;  // the low bits of a part stay in the first-level cache
  low_bits_.resize(part);
  U* low = reinterpret_cast<U*>(low_bits_.data());
  for (size_t i = 0; i < n; i += part) {
    const size_t count = std::min(part, n - i);
    code_kernels<Code>().split(bin + i, count, shift, symbols + i, low);
    if (shift) add_low_bits(low, count, shift);
  }
  places_.resize(n);
  const size_t place_count = kernels().bytes.find(symbols, n, u8(std::min(t.count, plain_symbols)), places_.data());
  size_t stored = 0;
  s_->raw.put_each(place_count, longest_field, [&](size_t f, RawFields& raw) {
    const size_t i = places_[f];
    if (symbols[i] < 255)
      symbols[i] = put_large_symbol(t, symbols[i], raw);
    else if (bin[i] != outlier_code<Code>)
      symbols[i] = put_large_symbol(t, zigzag(bin[i]) >> shift, raw);
    else {
      symbols[i] = u8(t.count);
      put_outlier(outliers[stored++], width, raw);
    }
  });
}

template <class Code>
void CodeStreamEncoder::add_run_length(const Code* bin, size_t n, const Model& m, const std::vector<u64>& outliers, int width) {
  Tokens tokens = start_tokens(m, n);
  size_t last = 0, stored = 0;
  s_->raw.put_each(n, 2 * longest_field, [&](size_t i, RawFields& raw) {
    if (bin[i] == 0) return;
    tokens.zero_run(i - last, raw);
    last = i + 1;
    if (bin[i] == outlier_code<Code>)
      tokens.outlier(outliers[stored++], width, raw);
    else
      tokens.value(zigzag(bin[i]) - 1, raw);
  });
  finish_tokens(tokens, n - last);
}

template <class Code>
void CodeStreamEncoder::add_class(const Code* code, const u8* context, size_t n, const Model* models, const std::vector<Outlier>& outliers,
                                  int width) {
  STZ_STAGE(symbols);
  ContextBins layout(context, n);
  Code any = 0;
  for (size_t i = 0; i < n; i++) any |= code[i];
  s_->nonzero |= any != 0;
  bins_.resize((n + 1) * sizeof(Code));
  Code* bin = reinterpret_cast<Code*>(bins_.data());
  layout.for_each(context, n, [&](size_t i, size_t at) { bin[at] = code[i]; });
  std::vector<u64> samples[contexts];
  for (const Outlier& v : outliers) samples[context[v.index]].push_back(v.bits);
  for (int k = 0; k < contexts; k++) {
    const size_t length = layout.length(k);
    if (!length) continue;
    if (models[k].run_length)
      add_run_length(bin + layout.start(k), length, models[k], samples[k], width);
    else
      add_direct(bin + layout.start(k), length, models[k], samples[k], width);
  }
}

void CodeStreamEncoder::add_fields(const u8* fields, size_t n, int width) {
  s_->nonzero = s_->nonzero || kernels().bytes.largest(fields, n) != 0;
  const size_t words = width < 8 ? n / 8 : 0;
  low_bits_.resize(words + 1);
  if (words) kernels().bytes.gather_low_bits(fields, words, width, low_bits_.data());
  s_->raw.put_each(words, u64(8 * width), [&](size_t w, RawFields& raw) { raw.put(low_bits_[w], 8 * width); });
  s_->raw.put_each(n - 8 * words, u64(width), [&](size_t i, RawFields& raw) { raw.put(fields[8 * words + i], width); });
}

void CodeStreamEncoder::add_fields(const u64* fields, size_t n, int width) {
  Buffer<u8> piece(n + row_slack);
  for (int left = width; left > 0;) {
    const int of_piece = std::min(left, bits_at_once);
    left -= of_piece;
    for (size_t i = 0; i < n; i++) piece[i] = u8(fields[i] >> left & ((1u << of_piece) - 1));
    add_fields(piece.data(), n, of_piece);
  }
}

template void CodeStreamEncoder::add_class(const i32*, const u8*, size_t, const Model*, const std::vector<Outlier>&, int);
template void CodeStreamEncoder::add_class(const i64*, const u8*, size_t, const Model*, const std::vector<Outlier>&, int);

}  // namespace stz
