// Decodes classes whose codes (quantization indices) are kept as bytes, for several streams together.
#include <algorithm>

#include "base/stages.h"
#include "decoder/code_stream_decoder.h"
#include "simd/kernels.h"

namespace stz {

// Replaces the symbols of a bin in direct mode by codes.
template <class Code>
void CodeStreamDecoder::place_direct_bytes(u8* bin, size_t n, const Model& m, std::vector<WideCode>& wide_codes, int width) {
  const CodeTable& t = direct_table(m);
  const int shift = m.shift();
  const ByteKernels& kernel = kernels().bytes;
  const u32 plain = u32(std::min(t.count, plain_symbols));
  // Symbols from here on are not v itself, or their codes do not fit in a byte.
  const u32 large = shift < 8 ? std::min(plain, u32(byte_escape) >> shift) : 0;
  places_.resize(n);
  const size_t large_count = kernel.find(bin, n, u8(large), places_.data());
  Buffer<u8>& symbols = symbols_;
  symbols.resize(large_count);
  for (size_t f = 0; f < large_count; f++) symbols[f] = bin[places_[f]];
  const size_t words = shift < 8 ? n / 8 : 0;
  if (shift) {
    low_bits_.resize(n);  // eight codes per word, then one code per word
    if (words) raw_.take_many(low_bits_.data(), words, 8 * shift, word_);
    raw_.take_many(low_bits_.data() + words, n - 8 * words, shift, word_);
    if (words) kernel.spread_low_bits(low_bits_.data(), words, shift, bin);
    for (size_t i = 8 * words; i < n; i++) bin[i] = u8(u64(bin[i]) << shift | low_bits_[words + i - 8 * words]);
  }
  RawBitsReader raw = raw_;
  for (size_t f = 0; f < large_count; f++) {
    const size_t i = places_[f];
    u64 v = symbols[f], low = 0;
    if (shift && i < 8 * words)
      low = low_bits_[i / 8] >> (i % 8 * size_t(shift)) & ((u64(1) << shift) - 1);
    else if (shift)
      low = low_bits_[words + i - 8 * words];
    if (v >= plain) {
      bool is_outlier = false;
      v = large_symbol(t, u32(v), raw, is_outlier);
      if (is_outlier) {
        bin[i] = byte_escape;
        wide_codes.push_back({0, outlier_mark, raw.take(width, word_)});
        continue;
      }
      require(v <= (largest_code<Code> * 2) >> shift, STZ_ERROR_CORRUPT);
    }
    const u64 z = v << shift | low;
    require(z <= largest_code<Code> * 2, STZ_ERROR_CORRUPT);
    bin[i] = z < byte_escape ? u8(z) : byte_escape;
    if (z >= byte_escape) wide_codes.push_back({0, unzigzag(z), 0});
  }
  raw_ = raw;
}

// Lists the wide codes of a class, which are sorted by context, in raster order. `counts`: number of codes of each context.
void CodeStreamDecoder::list_wide_codes(const ByteClass& c, const size_t* counts) {
  const std::vector<WideCode>* const of_context = c.stream->wide_codes_;
  size_t taken[contexts] = {};
  Buffer<u32>& places = c.stream->places_;
  places.resize(c.n);
  const size_t wide = kernels().bytes.find(c.bytes, c.n, byte_escape, places.data());
  for (size_t f = 0; f < wide; f++) {
    const u32 i = places[f];
    const u8 k = c.context[i];
    require(k < contexts && counts[k] && taken[k] < of_context[k].size(), STZ_ERROR_CORRUPT);
    const WideCode& e = of_context[k][taken[k]++];
    c.wide_codes->push_back({i, e.code, e.bits});
  }
}

template <class Code>
void CodeStreamDecoder::decode_bytes(const ByteClass* classes, int count, const Model* models, int width) {
  STZ_STAGE(symbols);
  size_t counts[most_together][contexts];
  for (int c = 0; c < count; c++) {
    STZ_STAGE(partition);
    classes[c].stream->bins_.resize((contexts + 1) * (classes[c].n + row_slack));
    kernels().bytes.count_contexts(classes[c].context, classes[c].n, counts[c]);
  }
  bool any_wide[most_together] = {};
  for (int k = 0; k < contexts; k++) {
    Bin bins[most_together];
    int used = 0;
    for (int c = 0; c < count; c++)
      if (const size_t n = counts[c][k])
        bins[used++] = {classes[c].stream, classes[c].stream->bins_.data() + size_t(k) * (classes[c].n + row_slack), n,
                        &classes[c].stream->wide_codes_[k]};
    if (!used) continue;
    for (const Bin* b = bins; b < bins + used; b++) b->wide_codes->clear();
    if (models[k].even_bits) {
      for (const Bin* b = bins; b < bins + used; b++) {
        b->stream->take_fields(b->codes, b->n, models[k].even_bits);
        require(models[k].even_bits < 8 || kernels().bytes.largest(b->codes, b->n) < byte_escape, STZ_ERROR_CORRUPT);
      }
      continue;
    }
    if (!models[k].run_length) decode_symbols(direct_table(models[k]), bins, used);
    for (const Bin* b = bins; b < bins + used; b++)
      if (models[k].run_length)
        b->stream->decode_run_length_bytes<Code>(b->codes, b->n, models[k], *b->wide_codes, width);
      else
        b->stream->place_direct_bytes<Code>(b->codes, b->n, models[k], *b->wide_codes, width);
    for (int c = 0; c < count; c++) any_wide[c] |= counts[c][k] && !classes[c].stream->wide_codes_[k].empty();
  }
  for (int c = 0; c < count; c++) {
    {
      STZ_STAGE(partition);
      kernels().bytes.merge_contexts(classes[c].stream->bins_.data(), classes[c].n + row_slack, classes[c].context, classes[c].n,
                                     classes[c].bytes);
    }
    if (any_wide[c]) list_wide_codes(classes[c], counts[c]);
  }
}
template void CodeStreamDecoder::decode_bytes<i32>(const ByteClass*, int, const Model*, int);
template void CodeStreamDecoder::decode_bytes<i64>(const ByteClass*, int, const Model*, int);

}  // namespace stz
