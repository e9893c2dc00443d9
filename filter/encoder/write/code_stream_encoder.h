// Writes a stream of codes (coding/code_stream.h).
#pragma once
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"
#include "coding/code_stream.h"
#include "encoder/write/raw_bits.h"
#include "simd/kernels.h"

namespace stz {

// Collects the codes (quantization indices) of the parity classes of up to `most` streams; then encode() and finish() of each. Reusable:
// finish() leaves a stream empty.
class CodeStreamEncoder {
 public:
  static constexpr int most = 15;
  // Gives streams of many symbols many lanes even if they are short. For precision layers: split codes have many symbols for their bytes,
  // and few lanes are slow to decode.
  void set_many_lanes(bool many_lanes) { many_lanes_ = many_lanes; }
  // Later additions go to that stream.
  void select(int stream) { s_ = &streams_[stream]; }
  // `outliers` in raster order, one entry for each outlier_code among the codes; `width` their bits.
  template <class Code>
  void add_class(const Code* code, const u8* context, size_t n, const Model* models, const std::vector<Outlier>& outliers, int width);
  // The same for codes kept as bytes; may be read row_slack elements beyond n.
  void add_bytes(const u8* bytes, const u8* context, size_t n, const Model* models, const std::vector<WideCode>& wide_codes, int width);
  // Appends n raw bit fields of the same width, at most 8; eight more may be read.
  void add_fields(const u8* fields, size_t n, int width);
  // The same for wider ones: the highest bits of all of them first, in pieces (bits_at_once).
  void add_fields(const u64* fields, size_t n, int width);
  // Encodes all streams side by side.
  void encode();
  // The bytes of an encoded stream: none if all codes were zero.
  size_t size(int stream) const;
  // Appends them.
  void finish(int stream, Bytes& out);

 private:
  struct Segment {                          // of the symbols
    const CodeTable *table, *second_table;  // of a bin in direct mode: one table; else of zero runs and of the numbers between them
    size_t from, count;
  };
  struct Tokens;
  template <class Code>
  void add_direct(const Code* bin, size_t n, const Model& m, const std::vector<u64>& outliers, int width);
  template <class Code>
  void add_run_length(const Code* bin, size_t n, const Model& m, const std::vector<u64>& outliers, int width);
  void add_direct_bytes(u8* bin, size_t n, const Model& m, const std::vector<WideCode>& wide_codes, int width);
  void add_run_length_bytes(const u8* bin, size_t n, const Model& m, const std::vector<WideCode>& wide_codes, int width);
  u8* add_segment(const CodeTable& t, size_t n);
  template <class U>
  void add_low_bits(const U* low, size_t n, int bits);
  Tokens start_tokens(const Model& m, size_t most);
  void finish_tokens(const Tokens& tokens, u64 left);

  struct Stream {
    std::vector<Segment> segments;
    std::vector<u8> symbols;  // the first symbol_count of them
    size_t symbol_count = 0;
    RawBitsWriter raw;
    u64 cost = 0;  // in 1/256 bit, to choose the lanes
    bool nonzero = false;
    // what encode() makes
    std::vector<RansSegment> to_encode;
    int log2_lanes = 0;
    u32 state[max_lanes];
    Buffer<u16> words;
    size_t word_count = 0;

    u8* add_symbols(size_t n);  // room for them
    void prepare(bool many_lanes);
  };
  bool many_lanes_ = false;
  Stream streams_[most];
  Stream* s_ = streams_;
  // of one bin or class
  Buffer<u8> bins_;
  Buffer<u64> low_bits_;
  Buffer<u32> places_, wide_places_;  // places in a bin
};

}  // namespace stz
