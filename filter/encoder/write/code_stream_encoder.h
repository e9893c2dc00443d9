// Writes a stream of codes (coding/code_stream.h).
#pragma once
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"
#include "coding/code_stream.h"
#include "encoder/write/raw_bits.h"
#include "simd/kernels.h"

namespace stz {

// Collects the codes (quantization indices) of parity classes for up to `most` streams. encode() then encodes all of them, and finish()
// writes one. Reusable: finish() leaves its stream empty.
class CodeStreamEncoder {
 public:
  static constexpr int most = 15;
  // Gives streams with many symbols many lanes even if they have few bytes. Meant for precision layers: their split codes have many symbols
  // for their bytes, and few lanes would be slow to decode.
  void set_many_lanes(bool many_lanes) { many_lanes_ = many_lanes; }
  // Gives streams more lanes for their bytes: a decoder will have few other streams to decode at the same time.
  void set_alone(bool alone) { alone_ = alone; }
  // Selects the stream that later calls add to.
  void select(int stream) { s_ = &streams_[stream]; }
  // Adds the codes of a class. `outliers`: one entry for each outlier_code among the codes, in raster order; `width`: bits of an outlier.
  template <class Code>
  void add_class(const Code* code, const u8* context, size_t n, const Model* models, const std::vector<Outlier>& outliers, int width);
  // The same for codes that are kept as bytes. Up to row_slack elements beyond n may be read.
  void add_bytes(const u8* bytes, const u8* context, size_t n, const Model* models, const std::vector<WideCode>& wide_codes, int width);
  // Appends n raw bit fields of `width` <= 8 bits. Up to eight bytes beyond n may be read.
  void add_fields(const u8* fields, size_t n, int width);
  // The same for wider fields: pieces of up to bits_at_once bits, the highest bits of all fields first.
  void add_fields(const u64* fields, size_t n, int width);
  // Encodes all streams side by side.
  void encode();
  // The size of an encoded stream in bytes; 0 if all its codes are zero.
  size_t size(int stream) const;
  // Appends the bytes of an encoded stream to `out`.
  void finish(int stream, Bytes& out);

 private:
  struct Segment {  // of symbols
    // Direct mode: one table. Run-length mode: the tables of zero runs and of the values between them.
    const CodeTable *table, *second_table;
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
    std::vector<u8> symbols;  // only the first symbol_count are in use
    size_t symbol_count = 0;
    RawBitsWriter raw;
    u64 cost = 0;  // estimated, in 1/256 bit; decides the number of lanes
    bool nonzero = false;
    // Results of encode().
    std::vector<RansSegment> to_encode;
    int log2_lanes = 0;
    u32 state[max_lanes];
    Buffer<u16> words;
    size_t word_count = 0;

    u8* add_symbols(size_t n);  // returns room for n more symbols
    void prepare(bool many_lanes, bool alone);
  };
  bool many_lanes_ = false, alone_ = false;
  Stream streams_[most];
  Stream* s_ = streams_;
  // Scratch memory for one bin or class.
  Buffer<u8> bins_;
  Buffer<u64> low_bits_;
  Buffer<u32> places_, wide_places_;  // indices in a bin
};

}  // namespace stz
