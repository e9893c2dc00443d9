// Sorts codes by context, turns them into symbols, zero runs and raw bits, and writes them as interleaved rANS.
#include <algorithm>
#include <type_traits>

#include "base/stages.h"
#include "encoder/code_stream_encoder.h"
#include "simd/kernels.h"

namespace stz {

// Up to 56 bits at once, 64 in two steps.
inline void CodeStreamEncoder::raw(u64 v, int bits) {
  if (bits > 56) {
    raw(v & 0xffffffffu, 32);
    v >>= 32;
    bits -= 32;
  }
  accumulator_ |= v << pending_;
  pending_ += bits;
  if (raw_.size() < raw_size_ + 8) raw_.resize(2 * raw_size_ + 64);
  store_le<u64>(&raw_[raw_size_], accumulator_);
  const int bytes = pending_ / 8;
  raw_size_ += size_t(bytes);
  accumulator_ >>= 8 * bytes;
  pending_ &= 7;
}

void CodeStreamEncoder::escape(u64 v, bool is_verbatim, u64 sample, int width) {
  if (is_verbatim) {
    raw(verbatim_exponent, 6);
    raw(sample, width);
    return;
  }
  int e = floor_log2(v + 1);
  raw(u64(e), 6);
  raw(v + 1 - (u64(1) << e), e);
}

u8* CodeStreamEncoder::add_segment(const CodeTable& t, size_t n) {
  const size_t from = symbols_.size();
  symbols_.resize(from + n);
  cost_ += n * t.mean_cost;
  segments_.push_back({&t, from, n});
  return &symbols_[from];
}

// A symbol that is not v itself, and its raw bits.
inline void CodeStreamEncoder::large_symbol(const CodeTable& t, u64 v, u8& symbol) {
  const Symbol s = v <= largest_symbol_value ? dense_symbol(u32(v)) : Symbol{dense_symbols, 0};
  if (int(s.symbol) < t.count) {
    symbol = u8(s.symbol);
    raw((v - 1) & ((u64(1) << s.raw_bits) - 1), s.raw_bits);
  } else {
    symbol = u8(t.count);
    escape(v, false, 0, 0);
  }
}

void CodeStreamEncoder::token(const CodeTable& t, int symbol) {
  tokens_.push_back({&t, u8(symbol)});
  cost_ += t.cost[symbol];
}

// A run of zeros.
void CodeStreamEncoder::gap(const CodeTable& gaps, u64 length) {
  const Symbol g = length <= largest_gap_symbol_value ? gap_symbol(u32(length)) : Symbol{gap_symbols, 0};
  if (int(g.symbol) < gaps.count) {
    token(gaps, int(g.symbol));
    raw(length & ((u64(1) << g.raw_bits) - 1), g.raw_bits);
  } else {
    token(gaps, gaps.count);
    escape(length, false, 0, 0);
  }
}

// The end of a queue: the likeliest run that reaches it, without its raw bits.
void CodeStreamEncoder::end_of_gaps(const CodeTable& gaps, u64 left) {
  int best = gaps.count, bits;
  for (int s = gaps.count - 1; s >= 0 && gap_base(u32(s), bits) >= left; s--)
    if (best == gaps.count || gaps.freq[s] > gaps.freq[best]) best = s;
  token(gaps, best);
  if (best == gaps.count) escape(left, false, 0, 0);
}

// The number z - 1 of a code between runs.
void CodeStreamEncoder::value(const CodeTable& values, u64 v) {
  u8 symbol = u8(v);
  if (v >= direct_symbols || int(v) >= values.count) large_symbol(values, v, symbol);
  token(values, symbol);
}

void CodeStreamEncoder::add_dense_bytes(u8* queue, size_t n, const Model& m, const std::vector<Exception>& exceptions, int width) {
  const CodeTable& t = dense_table(m);
  const int shift = m.shift();
  const u64 low = (u64(1) << shift) - 1;
  const u32 plain = u32(std::min(t.count, direct_symbols));
  u8* symbols = add_segment(t, n);
  const ByteKernels& k = kernels().bytes;
  // Exceptions are few: all is done as if there were none, and what they are is put in on the way.
  const u32* place = exceptional_.data();
  if (!exceptions.empty()) {
    exceptional_.resize(n);
    place = exceptional_.data();
    k.find(queue, n, byte_exception, exceptional_.data());
  }
  auto number = [](const Exception& e) { return e.code == verbatim_exception ? u64(0) : zigzag(e.code); };
  const size_t words = shift > 0 && shift <= 7 ? n / 8 : 0;
  if (shift) {
    low_bits_.resize(words + 1);
    if (words) k.gather_low_bits(queue, words, shift, low_bits_.data());
    size_t next = 0;
    for (; next < exceptions.size() && place[next] < 8 * words; next++) {
      u64& eight = low_bits_[place[next] / 8];
      const int at = int(place[next] % 8) * shift;
      eight = (eight & ~(low << at)) | (number(exceptions[next]) & low) << at;
    }
    for (size_t w = 0; w < words; w++) raw(low_bits_[w], 8 * shift);
    for (size_t i = 8 * words; i < n; i++) raw((queue[i] == byte_exception ? number(exceptions[next++]) : queue[i]) & low, shift);
    if (shift <= 7) k.shift(queue, n, shift);
  }
  if (shift <= 7)
    memcpy(symbols, queue, n);
  else
    memset(symbols, 0, n);
  for (size_t e = 0; e < exceptions.size(); e++) {
    const u64 v = number(exceptions[e]) >> shift;
    symbols[place[e]] = exceptions[e].code != verbatim_exception && v < plain ? u8(v) : byte_exception;
  }
  found_.resize(n);
  const size_t found = k.find(symbols, n, u8(plain), found_.data());
  size_t next = 0;
  for (size_t f = 0; f < found; f++) {
    u8& symbol = symbols[found_[f]];
    while (next < exceptions.size() && place[next] < found_[f]) next++;
    if (next == exceptions.size() || place[next] != found_[f])
      large_symbol(t, symbol, symbol);
    else if (const Exception& e = exceptions[next]; e.code == verbatim_exception) {
      symbol = u8(t.count);
      escape(0, true, e.bits, width);
    } else
      large_symbol(t, number(e) >> shift, symbol);
  }
}

void CodeStreamEncoder::add_sparse_bytes(const u8* queue, size_t n, const Model& m, const std::vector<Exception>& exceptions, int width) {
  const CodeTable &gaps = gap_table(m), &values = value_table(m);
  const size_t from = tokens_.size();
  found_.resize(n);
  const size_t found = kernels().bytes.find(queue, n, 1, found_.data());
  size_t last = 0, next = 0;
  for (size_t f = 0; f < found; f++) {
    const size_t i = found_[f];
    gap(gaps, i - last);
    last = i + 1;
    if (queue[i] != byte_exception) {
      value(values, queue[i] - 1u);
      continue;
    }
    const Exception& e = exceptions[next++];
    if (e.code == verbatim_exception) {
      token(values, values.count);
      escape(0, true, e.bits, width);
    } else
      value(values, zigzag(e.code) - 1);
  }
  if (last < n) end_of_gaps(gaps, n - last);
  segments_.push_back({nullptr, from, tokens_.size() - from});
}

void CodeStreamEncoder::add_bytes(const u8* bytes, const u8* context, size_t n, const Model* models,
                                  const std::vector<Exception>& exceptions, int width) {
  STZ_STAGE(symbols);
  const size_t pitch = n + row_slack;
  queue_.resize((contexts + 1) * pitch);
  size_t counts[contexts];
  {
    STZ_STAGE(partition);
    kernels().bytes.sort_codes(bytes, context, n, queue_.data(), pitch, counts);
  }
  std::vector<Exception> own[contexts];
  for (const Exception& e : exceptions) own[context[e.index]].push_back(e);
  nonzero_ = nonzero_ || kernels().bytes.largest(bytes, n) != 0;
  for (int k = 0; k < contexts; k++) {
    if (!counts[k]) continue;
    u8* queue = queue_.data() + size_t(k) * pitch;
    if (models[k].sparse)
      add_sparse_bytes(queue, counts[k], models[k], own[k], width);
    else
      add_dense_bytes(queue, counts[k], models[k], own[k], width);
  }
}

template <class Code>
void CodeStreamEncoder::add_dense(const Code* queue, size_t n, const Model& m, const std::vector<u64>& verbatim, int width) {
  using U = std::make_unsigned_t<Code>;
  const CodeTable& t = dense_table(m);
  const int shift = m.shift();
  size_t stored = 0;
  u8* symbols = add_segment(t, n);
  if (shift)
    for (size_t i = 0; i < n; i++) raw(queue[i] == verbatim_code<Code> ? 0 : zigzag(queue[i]) & ((u64(1) << shift) - 1), shift);
  const u32 plain = u32(std::min(t.count, direct_symbols));
  U largest = 0;
  for (size_t i = 0; i < n; i++) {
    U v = ((U(queue[i]) << 1) ^ U(queue[i] >> (8 * sizeof(Code) - 1))) >> shift;
    largest |= v;  // an upper bound is enough
    symbols[i] = u8(v);
  }
  if (largest < plain) return;
  for (size_t i = 0; i < n; i++) {
    u64 v = zigzag(queue[i]) >> shift;
    if (v < plain) continue;
    if (queue[i] == verbatim_code<Code>) {
      symbols[i] = u8(t.count);
      escape(0, true, verbatim[stored++], width);
    } else
      large_symbol(t, v, symbols[i]);
  }
}

template <class Code>
void CodeStreamEncoder::add_sparse(const Code* queue, size_t n, const Model& m, const std::vector<u64>& verbatim, int width) {
  const CodeTable &gaps = gap_table(m), &values = value_table(m);
  size_t from = tokens_.size(), last = 0, stored = 0;
  for (size_t i = 0; i < n; i++) {
    if (queue[i] == 0) continue;
    gap(gaps, i - last);
    last = i + 1;
    if (queue[i] == verbatim_code<Code>) {
      token(values, values.count);
      escape(0, true, verbatim[stored++], width);
    } else
      value(values, zigzag(queue[i]) - 1);
  }
  if (last < n) end_of_gaps(gaps, n - last);
  segments_.push_back({nullptr, from, tokens_.size() - from});
}

template <class Code>
void CodeStreamEncoder::add_class(const Code* code, const u8* context, size_t n, const Model* models, const std::vector<Verbatim>& verbatim,
                                  int width) {
  STZ_STAGE(symbols);
  QueueLayout layout(context, n);
  Code any = 0;
  for (size_t i = 0; i < n; i++) any |= code[i];
  nonzero_ |= any != 0;
  queue_.resize((n + 1) * sizeof(Code));
  Code* queue = reinterpret_cast<Code*>(queue_.data());
  layout.for_each(context, n, [&](size_t i, size_t at) { queue[at] = code[i]; });
  std::vector<u64> samples[contexts];
  for (const Verbatim& v : verbatim) samples[context[v.index]].push_back(v.bits);
  for (int k = 0; k < contexts; k++) {
    const size_t length = layout.length(k);
    if (!length) continue;
    if (models[k].sparse)
      add_sparse(queue + layout.start(k), length, models[k], samples[k], width);
    else
      add_dense(queue + layout.start(k), length, models[k], samples[k], width);
  }
}

namespace {

void reverse_copy(const u8* from, size_t n, u8* to) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) store_le<u64>(to + n - 8 - i, __builtin_bswap64(load_le<u64>(from + i)));
  for (; i < n; i++) to[n - 1 - i] = from[i];
}

}  // namespace

void CodeStreamEncoder::finish(Bytes& out) {
  STZ_STAGE(rans);
  if (nonzero_) {
    u64 estimate = cost_ / (256 * 8);
    int log2_lanes = estimate > 12000 ? 5 : estimate > 2500 ? 4 : estimate > 800 ? 2 : 0;
    u32 lanes = 1u << log2_lanes, state[max_lanes];
    std::fill(state, state + lanes, rans_low);
    // words are written backwards, towards the start of the buffer; a symbol gives at most one
    size_t symbols = 0;
    for (const Segment& segment : segments_) symbols += segment.count;
    words_.resize(symbols + rans_slack);
    u16* const words_end = words_.data() + symbols + rans_slack;
    u16* word = words_end;
    const RansKernels& rans = kernels().rans;
    for (size_t k = segments_.size(); k-- > 0;) {
      const Segment& segment = segments_[k];
      if (segment.table)
        rans.encode(segment.table->reciprocal, segment.table->step, state, lanes, &symbols_[segment.from], segment.count, &word);
      else
        for (size_t j = segment.count; j-- > 0;) {
          const Token& token = tokens_[segment.from + j];
          rans.encode(token.table->reciprocal, token.table->step, state + (j & (lanes - 1)), 1, &token.symbol, 1, &word);
        }
    }
    const size_t words = size_t(words_end - word), raw_bytes = raw_size_ + (pending_ != 0);
    raw(0, 8);  // the last bits, in a byte of their own
    const size_t at = out.size();
    out.resize(at + 4 * lanes + (log2_lanes != 0) + 2 * words + raw_bytes);
    u8* o = &out[at];
    store_le<u32>(o, state[0] | (log2_lanes ? 1u << 31 : 0));
    o += 4;
    if (log2_lanes) *o++ = u8(log2_lanes);
    for (u32 lane = 1; lane < lanes; lane++, o += 4) store_le<u32>(o, state[lane]);
    if constexpr (host_is_little)
      memcpy(o, word, 2 * words);
    else
      for (size_t w = 0; w < words; w++) store_le<u16>(o + 2 * w, word[w]);
    reverse_copy(raw_.data(), raw_bytes, o + 2 * words);
  }
  segments_.clear();
  symbols_.clear();
  tokens_.clear();
  raw_size_ = 0;
  accumulator_ = cost_ = 0;
  pending_ = 0;
  nonzero_ = false;
}

template void CodeStreamEncoder::add_class(const i32*, const u8*, size_t, const Model*, const std::vector<Verbatim>&, int);
template void CodeStreamEncoder::add_class(const i64*, const u8*, size_t, const Model*, const std::vector<Verbatim>&, int);

}  // namespace stz
