// Reads a stream of codes (coding/code_stream.h). Every read is checked against the remaining bytes.
#pragma once
#include <vector>

#include "base/buffer.h"
#include "coding/code_stream.h"
#include "decoder/raw_bits.h"
#include "simd/kernels.h"

namespace stz {

class CodeStreamDecoder {
 public:
  void open(const u8* data, size_t size);  // reusable; the previous stream must be finished or is abandoned
  // Decodes the codes of a class as numbers. Fails with STZ_ERROR_CORRUPT or STZ_ERROR_TRUNCATED.
  template <class Code>
  void decode_class(Code* code, const u8* context, size_t n, const Model* models, std::vector<Outlier>& outliers, int width);
  // A class whose codes are kept as bytes (with row_slack more). Codes that do not fit are listed in raster order.
  struct ByteClass {
    CodeStreamDecoder* stream;
    const u8* context;
    size_t n;
    u8* bytes;
    std::vector<WideCode>* wide_codes;
  };
  static constexpr int most_together = 8;
  // The same for up to most_together classes with the same models, each from its own stream. `Code` limits the codes.
  template <class Code>
  static void decode_bytes(const ByteClass* classes, int count, const Model* models, int width);
  // Reads n raw bit fields of equal width, at most 8. May write row_slack more.
  void take_fields(u8* fields, size_t n, int width);
  void finish();  // fails unless everything is consumed and all states are at their end

 private:
  struct Bin {  // the codes of one context in a class
    CodeStreamDecoder* stream;
    u8* codes;
    size_t n;
    std::vector<WideCode>* wide_codes;
  };
  static void list_wide_codes(const ByteClass& c, const size_t* counts);
  u32 next(const CodeTable& t);
  static void decode_symbols(const CodeTable& t, const Bin* bins, int count);
  void finish_symbols(const CodeTable& t, RansStream& s);
  u64 escape(RawBitsReader& raw, bool& is_outlier) const;
  // The value v of a symbol that is not v itself.
  u64 large_symbol(const CodeTable& t, u32 symbol, RawBitsReader& raw, bool& is_outlier) const;
  template <class Code>
  void decode_direct(Code* bin, size_t n, const Model& m, std::vector<u64>& outliers, int width);
  template <class Code>
  bool decode_run_length(Code* bin, size_t n, const Model& m, std::vector<u64>& outliers, int width);

  template <class Code>
  void place_direct_bytes(u8* bin, size_t n, const Model& m, std::vector<WideCode>& wide_codes, int width);
  template <class Code>
  void decode_run_length_bytes(u8* bin, size_t n, const Model& m, std::vector<WideCode>& wide_codes, int width);
  template <class Place>
  size_t decode_common_tokens(size_t n, const CodeTable& zero_runs, const CodeTable& values, Place place);
  template <class Code, class Place>
  bool decode_tokens(size_t n, const Model& m, int width, Place place);

  const u8* word_ = nullptr;  // words are read upwards from here, raw bytes downwards from raw_.end()
  RawBitsReader raw_;
  u32 state_[max_lanes];
  u32 lanes_ = 1, token_ = 0;
  Buffer<u8> symbols_, bins_;
  Buffer<u64> low_bits_;
  Buffer<u32> places_;
  std::vector<WideCode> wide_codes_[contexts];  // of a class, by context; without their indices
};

inline u64 CodeStreamDecoder::large_symbol(const CodeTable& t, u32 symbol, RawBitsReader& raw, bool& is_outlier) const {
  if (int(symbol) == t.count) return escape(raw, is_outlier);
  int bits;
  const u32 base = value_symbol_base(symbol, bits);
  return base + raw.take(bits, word_) + 1;
}

}  // namespace stz
