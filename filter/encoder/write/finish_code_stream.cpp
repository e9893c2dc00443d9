// Encodes the symbols of several code streams together as interleaved rANS, and joins the words with the raw bits.
#include <algorithm>

#include "base/faults.h"
#include "base/stages.h"
#include "encoder/write/code_stream_encoder.h"
#include "simd/kernels.h"

namespace stz {

namespace {

void reverse_copy(const u8* from, size_t n, u8* to) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8) store_le<u64>(to + n - 8 - i, __builtin_bswap64(load_le<u64>(from + i)));
  for (; i < n; i++) to[n - 1 - i] = from[i];
}

// Reverses words, and stores them as little-endian bytes.
void reverse_words(const u16* from, size_t n, u8* to) {
  typedef u16 Eight __attribute__((vector_size(16)));
  size_t i = 0;
  if constexpr (host_is_little)
    for (; i + 8 <= n; i += 8) {
      Eight v;
      memcpy(&v, from + i, 16);
      v = Eight{v[7], v[6], v[5], v[4], v[3], v[2], v[1], v[0]};
      memcpy(to + 2 * (n - 8 - i), &v, 16);
    }
  for (; i < n; i++) store_le<u16>(to + 2 * (n - 1 - i), from[i]);
}

}  // namespace

// Chooses the number of lanes and prepares buffers.
void CodeStreamEncoder::Stream::prepare(bool many_lanes, bool alone) {
  const u64 estimate = cost / (256 * 8);
  log2_lanes = estimate > (alone ? 9000 : 12000) ? 5 : estimate > (alone ? 1500 : 2500) ? 4 : estimate > (alone ? 500 : 800) ? 2 : 0;
  if (many_lanes) {
    const u64 bytes = estimate + raw.size();
    auto worthwhile = [&](u64 symbols, u64 long_stream) { return symbol_count > (bytes > long_stream ? symbols / 8 : symbols); };
    log2_lanes = std::max(log2_lanes, worthwhile(1 << 15, 4000) ? 4 : worthwhile(1 << 12, 1000) ? 2 : 0);
  }
  std::fill_n(state, 1u << log2_lanes, rans_low);
  words.resize(symbol_count + rans_slack);  // a symbol writes at most one word
  to_encode.clear();
  for (const Segment& segment : segments) {
    const CodeTable &even = *segment.table, &odd = segment.second_table ? *segment.second_table : even;
    STZ_FAULT_POINT_UP_TO(symbols, &symbols[segment.from], segment.count, u8(std::min(even.count, odd.count)));
    to_encode.push_back({{even.reciprocal, odd.reciprocal}, {even.step, odd.step}, even.count + 1, &symbols[segment.from], segment.count});
  }
}

void CodeStreamEncoder::encode() {
  STZ_STAGE(rans);
  for (Stream& s : streams_)
    if (s.nonzero) s.prepare(many_lanes_, alone_);
  for (int log2_lanes : {0, 2, 4, 5}) {
    RansOutput outputs[most];
    Stream* stream[most];
    int together = 0;
    for (Stream& s : streams_) {
      if (!s.nonzero || s.log2_lanes != log2_lanes) continue;
      stream[together] = &s;
      outputs[together++] = {s.state, s.to_encode.data(), s.to_encode.size(), s.words.data()};
    }
    if (together) kernels().rans.encode(1u << log2_lanes, outputs, together);
    for (int k = 0; k < together; k++) stream[k]->word_count = size_t(outputs[k].word - stream[k]->words.data());
  }
}

size_t CodeStreamEncoder::size(int stream) const {
  const Stream& s = streams_[stream];
  return s.nonzero ? (size_t(4) << s.log2_lanes) + (s.log2_lanes != 0) + 2 * s.word_count + s.raw.size() : 0;
}

void CodeStreamEncoder::finish(int stream, Bytes& out) {
  STZ_STAGE(rans);
  Stream& s = streams_[stream];
  if (s.nonzero) {
    const u32 lanes = 1u << s.log2_lanes;
    const size_t at = out.size();
    out.resize(at + size(stream));
    u8* o = &out[at];
    STZ_FAULT_POINT(rans, s.words.data(), s.word_count * sizeof(u16));
    STZ_FAULT_POINT(raw_bits, s.raw.data(), s.raw.size());
    store_le<u32>(o, s.state[0] | (s.log2_lanes ? 1u << 31 : 0));
    o += 4;
    if (s.log2_lanes) *o++ = u8(s.log2_lanes);
    for (u32 lane = 1; lane < lanes; lane++, o += 4) store_le<u32>(o, s.state[lane]);
    reverse_words(s.words.data(), s.word_count, o);
    reverse_copy(s.raw.data(), s.raw.size(), o + 2 * s.word_count);
  }
  s.segments.clear();
  s.symbol_count = 0;
  s.raw.clear();
  s.cost = 0;
  s.nonzero = false;
}

}  // namespace stz
