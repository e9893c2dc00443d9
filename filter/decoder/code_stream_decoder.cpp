// Decodes interleaved rANS to symbols, zero runs and raw bits, and these to codes (quantization indices) in their places.
#include <algorithm>

#include "base/stages.h"
#include "decoder/code_stream_decoder.h"
#include "format/layers.h"
#include "simd/kernels.h"

namespace stz {

void CodeStreamDecoder::open(const u8* data, size_t size) {
  raw_ = RawBitsReader(data, data + size);
  lanes_ = 1;
  ByteReader in(data, size);
  state_[0] = in.get<u32>();
  if (state_[0] >> 31) {
    const int log2_lanes = in.get<u8>();  // bits 3 to 7 are reserved for other coders
    require(log2_lanes >= 1 && log2_lanes <= 6, STZ_ERROR_VERSION);
    lanes_ = 1u << log2_lanes;
    state_[0] &= 0x7fffffff;
  }
  for (u32 lane = 1; lane < lanes_; lane++) state_[lane] = in.get<u32>();
  for (u32 lane = 0; lane < lanes_; lane++) require(state_[lane] >= rans_low && state_[lane] >> 31 == 0, STZ_ERROR_CORRUPT);
  word_ = data + in.consumed();
}

u32 CodeStreamDecoder::next(const CodeTable& t) {
  u32& x = state_[token_++ & (lanes_ - 1)];
  u32 d = t.decoding()[x & (probability_total - 1)];
  x = ((d >> 8) & 4095) * (x >> probability_bits) + (d >> 20);
  if (x < rans_low) {
    require(raw_.end() - word_ >= 2, STZ_ERROR_TRUNCATED);
    x = x << 16 | load_le<u16>(word_);
    word_ += 2;
  }
  return d & 255;
}

// Decodes the symbols that the kernel left.
void CodeStreamDecoder::finish_symbols(const CodeTable& t, RansStream& s) {
  const u32* table = t.decoding();
  const u8* word = s.word;
  const u32 lanes = lanes_;
  for (size_t i = s.done; i < s.n; i++) {
    u32 &state = state_[i & (lanes - 1)], x = state, d = table[x & (probability_total - 1)];
    s.out[i] = u8(d);
    x = ((d >> 8) & 4095) * (x >> probability_bits) + (d >> 20);
    if (x < rans_low) {
      require(s.end - word >= 2, STZ_ERROR_TRUNCATED);
      x = x << 16 | load_le<u16>(word);
      word += 2;
    }
    state = x;
  }
  word_ = word;
}

// Decodes the symbols of up to most_together bins of different streams.
void CodeStreamDecoder::decode_symbols(const CodeTable& t, const Bin* bins, int count) {
  STZ_STAGE(rans);
  const u32* table = t.decoding();
  bool done[most_together] = {};
  for (int first = 0; first < count; first++) {
    if (done[first]) continue;
    const u32 lanes = bins[first].stream->lanes_;
    RansStream streams[most_together];
    CodeStreamDecoder* decoder[most_together];
    int together = 0;
    for (int b = first; b < count; b++) {
      CodeStreamDecoder* const d = bins[b].stream;
      if (d->lanes_ != lanes) continue;
      done[b] = true;
      decoder[together] = d;
      streams[together++] = {d->state_, bins[b].codes, bins[b].n, 0, d->word_, d->raw_.end()};
    }
    kernels().rans.decode(table, lanes, streams, together);
    for (int s = 0; s < together; s++) decoder[s]->finish_symbols(t, streams[s]);
  }
}

u64 CodeStreamDecoder::escape(RawBitsReader& raw, bool& is_outlier) const {
  const int e = int(raw.take(6, word_));
  is_outlier = e == outlier_exponent;
  return is_outlier ? 0 : ((u64(1) << e) | raw.take(e, word_)) - 1;
}

template <class Code>
void CodeStreamDecoder::decode_direct(Code* bin, size_t n, const Model& m, std::vector<u64>& outliers, int width) {
  using U = std::make_unsigned_t<Code>;
  const CodeTable& t = direct_table(m);
  const int shift = m.shift();
  symbols_.resize(n);
  const Bin bin_of_symbols{this, symbols_.data(), n, nullptr};
  decode_symbols(t, &bin_of_symbols, 1);
  const u8* symbols = symbols_.data();
  constexpr size_t part = 4096;  // the low bits of a part stay in the first-level cache
  low_bits_.resize(part);
  U* low = reinterpret_cast<U*>(low_bits_.data());
  if (!shift) std::fill(low, low + std::min(n, part), U(0));
  for (size_t i = 0; i < n; i += part) {
    const size_t count = std::min(part, n - i);
    if (shift) raw_.take_many(low, count, shift, word_);
    code_kernels<Code>().join(symbols + i, low, count, shift, bin + i);
  }
  places_.resize(n);
  const size_t large_count = kernels().bytes.find(symbols, n, u8(std::min(t.count, plain_symbols)), places_.data());
  RawBitsReader raw = raw_;
  for (size_t f = 0; f < large_count; f++) {
    const size_t i = places_[f];
    const u64 low_bits = zigzag(bin[i]) & ((u64(1) << shift) - 1);
    bool is_outlier = false;
    const u64 v = large_symbol(t, symbols[i], raw, is_outlier);
    if (is_outlier) {
      bin[i] = outlier_code<Code>;
      outliers.push_back(raw.take(width, word_));
      continue;
    }
    require(v <= (largest_code<Code> * 2) >> shift, STZ_ERROR_CORRUPT);
    const u64 z = v << shift | low_bits;
    require(z <= largest_code<Code> * 2, STZ_ERROR_CORRUPT);
    bin[i] = Code(unzigzag(z));
  }
  raw_ = raw;
}

namespace {

// Advances a state; a word must be available. Whether it is used is hard to predict, so there is no branch.
inline u32 next_state(u32 x, u32 entry, const u8*& word) {
  x = ((entry >> 8) & 4095) * (x >> probability_bits) + (entry >> 20);
  u32 refill = x < rans_low;
  __asm__("" : "+r"(refill), "+r"(x));
  x = x << 16 * refill | (load_le<u16>(word) & (0 - refill));
  word += 2 * refill;
  return x;
}

}  // namespace

// Decodes pairs of a zero run and a number while both are common and no read needs a check. Returns the index behind the last one.
template <class Place>
size_t CodeStreamDecoder::decode_common_tokens(size_t n, const CodeTable& zero_runs, const CodeTable& values, Place place) {
  constexpr size_t room = 32;  // bytes: two words, raw bits of a run and those that are loaded with them
  const u32 *zero_run_entries = zero_runs.decoding(), *value_entries = values.decoding();
  const u32 run_escape = u32(zero_runs.count), large = u32(std::min(values.count, plain_symbols)), lanes = lanes_;
  u32 x[max_lanes], token = token_;
  std::copy(state_, state_ + lanes, x);
  const u8* word = word_;
  RawBitsReader raw = raw_;
  size_t at = 0;
  while (raw.room(word) >= room) {
    u32 &first = x[token & (lanes - 1)], &second = x[(token + 1) & (lanes - 1)];
    const u32 run_entry = zero_run_entries[first & (probability_total - 1)], s = run_entry & 255;
    if (s == run_escape || zero_run_of.base[s] >= n - at) break;
    const u8* next_word = word;
    RawBitsReader next_raw = raw;
    const u32 before = first;
    first = next_state(first, run_entry, next_word);
    const u32 value_entry = value_entries[second & (probability_total - 1)], v = value_entry & 255;
    const size_t place_of = at + zero_run_of.base[s] + next_raw.take_unchecked(zero_run_of.raw_bits[s]);
    if (v >= large || place_of >= n) {
      first = before;
      break;
    }
    second = next_state(second, value_entry, next_word);
    place(place_of, v + 1, u64(0));
    at = place_of + 1;
    word = next_word;
    raw = next_raw;
    token += 2;
  }
  std::copy(x, x + lanes, state_);
  word_ = word;
  raw_ = raw;
  token_ = token;
  return at;
}

// Walks through the tokens of a bin in run-length mode. Calls place(index, z or 0 for an outlier, bits of the outlier). Returns whether
// there was any nonzero code.
template <class Code, class Place>
bool CodeStreamDecoder::decode_tokens(size_t n, const Model& m, int width, Place place) {
  STZ_STAGE(rans);
  const CodeTable &zero_runs = zero_run_table(m), &values = value_table(m);
  token_ = 0;
  bool any = false;
  for (size_t at = 0; at < n;) {
    const size_t skipped = decode_common_tokens(n - at, zero_runs, values, [&](size_t i, u64 z, u64 none) { place(at + i, z, none); });
    any |= skipped != 0;
    at += skipped;
    if (at == n) break;
    u32 s = next(zero_runs);
    u64 zero_run;
    bool is_outlier = false;
    if (int(s) == zero_runs.count) {
      zero_run = escape(raw_, is_outlier);
      require(!is_outlier && zero_run <= n - at, STZ_ERROR_CORRUPT);
      if (zero_run == n - at) break;
    } else {
      int bits;
      zero_run = zero_run_base(s, bits);
      if (zero_run >= n - at) break;  // the end of the bin
      zero_run += raw_.take(bits, word_);
      require(zero_run < n - at, STZ_ERROR_CORRUPT);
    }
    at += zero_run;
    any = true;
    s = next(values);
    const u64 v = int(s) == values.count || s >= plain_symbols ? large_symbol(values, s, raw_, is_outlier) : s;
    if (is_outlier) {
      const u64 sample = raw_.take(width, word_);
      place(at++, u64(0), sample);
      continue;
    }
    require(v < largest_code<Code> * 2, STZ_ERROR_CORRUPT);
    place(at++, v + 1, u64(0));
  }
  return any;
}

template <class Code>
bool CodeStreamDecoder::decode_run_length(Code* bin, size_t n, const Model& m, std::vector<u64>& outliers, int width) {
  std::fill(bin, bin + n, Code(0));
  return decode_tokens<Code>(n, m, width, [&](size_t at, u64 z, u64 sample) {
    bin[at] = z ? Code(unzigzag(z)) : outlier_code<Code>;
    if (!z) outliers.push_back(sample);
  });
}

template <class Code>
void CodeStreamDecoder::decode_run_length_bytes(u8* bin, size_t n, const Model& m, std::vector<WideCode>& wide_codes, int width) {
  memset(bin, 0, n);
  decode_tokens<Code>(n, m, width, [&](size_t at, u64 z, u64 sample) {
    bin[at] = z && z < byte_escape ? u8(z) : byte_escape;
    if (bin[at] == byte_escape) wide_codes.push_back({0, z ? unzigzag(z) : outlier_mark, sample});
  });
}

template <class Code>
void CodeStreamDecoder::decode_class(Code* code, const u8* context, size_t n, const Model* models, std::vector<Outlier>& outliers,
                                     int width) {
  STZ_STAGE(symbols);
  ContextBins layout(context, n);
  bins_.resize((n + 1) * sizeof(Code));
  Code* bin = reinterpret_cast<Code*>(bins_.data());
  std::vector<u64> samples[contexts];
  bool any = false;
  for (int k = 0; k < contexts; k++) {
    const size_t length = layout.length(k);
    if (!length) continue;
    if (models[k].run_length)
      any |= decode_run_length(bin + layout.start(k), length, models[k], samples[k], width);
    else {
      decode_direct(bin + layout.start(k), length, models[k], samples[k], width);
      any = true;
    }
  }
  if (!any || layout.start(contexts) != n) std::fill(code, code + n, Code(0));
  if (!any) return;
  layout.for_each(context, n, [&](size_t i, size_t at) { code[i] = bin[at]; });
  bool stored = false;
  for (auto& s : samples) stored |= !s.empty();
  if (!stored) return;
  size_t taken[contexts] = {};
  for (size_t i = 0; i < n; i++)
    if (code[i] == outlier_code<Code>) {
      require(context[i] != no_context && taken[context[i]] < samples[context[i]].size(), STZ_ERROR_CORRUPT);
      outliers.push_back({u32(i), samples[context[i]][taken[context[i]]++]});
    }
}

void CodeStreamDecoder::take_fields(u8* fields, size_t n, int width) {
  const size_t words = width < 8 ? n / 8 : 0;
  if (words) {
    low_bits_.resize(words);
    raw_.take_many(low_bits_.data(), words, 8 * width, word_);
    memset(fields, 0, 8 * words);
    kernels().bytes.spread_low_bits(low_bits_.data(), words, width, fields);
  }
  raw_.take_many(fields + 8 * words, n - 8 * words, width, word_);
}

void CodeStreamDecoder::finish() {
  require(word_ == raw_.end() && raw_.ends_with_zeros(), STZ_ERROR_CORRUPT);
  for (u32 lane = 0; lane < lanes_; lane++) require(state_[lane] == rans_low, STZ_ERROR_CORRUPT);
}

template void CodeStreamDecoder::decode_run_length_bytes<i32>(u8*, size_t, const Model&, std::vector<WideCode>&, int);
template void CodeStreamDecoder::decode_run_length_bytes<i64>(u8*, size_t, const Model&, std::vector<WideCode>&, int);
template void CodeStreamDecoder::decode_class(i32*, const u8*, size_t, const Model*, std::vector<Outlier>&, int);
template void CodeStreamDecoder::decode_class(i64*, const u8*, size_t, const Model*, std::vector<Outlier>&, int);

}  // namespace stz
