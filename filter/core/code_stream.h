// One stream of codes: interleaved rANS symbols from the front, raw bits from the back.
//
// Layout: state of lane 0 (u32; its top bit set: a byte log2(lanes) follows), states of the other lanes, 16-bit words in the order the
// decoder takes them, then the raw bits, whose first byte is the last byte of the stream. The codes of a class are sorted by context
// into queues (stable); queues are coded one after the other, each with its context's model: symbol j of a dense queue belongs to lane
// j mod lanes; so does token j of a sparse queue. States live in [2^15, 2^31) and end at 2^15 exactly, when the words and the raw bits have
// met: a second check beside the stream's CRC. The raw bits of a dense queue: the low bits of all its codes, then those of its symbols.
#pragma once
#include <vector>

#include "buffer.h"
#include "bytes.h"
#include "code_tables.h"

namespace stz {

constexpr int contexts = 16;
constexpr u8 no_context = 255;  // a masked sample: it has no code
constexpr u32 rans_low = 1u << 15;
constexpr int max_lanes = 64;

// A sample stored verbatim: where it is in its class (raster order) and its bits.
struct Verbatim {
  u32 index;
  u64 bits;
};
// A code that is no byte: its index in the class, and the code; verbatim_exception: the sample's bits.
struct Exception {
  u32 index;
  i64 code;
  u64 bits;
};
constexpr i64 verbatim_exception = INT64_MIN;
// The code that marks a verbatim sample.
template <class Code>
constexpr Code verbatim_code = Code(u64(1) << (8 * sizeof(Code) - 1));
// Codes beyond it are stored verbatim.
template <class Code>
constexpr u64 largest_code = sizeof(Code) == 4 ? 0x7fffffff : (u64(1) << 61) - 1;

// Where each code of a class goes when codes are sorted by context. A class is walked in four parts at once: runs of one context would
// otherwise wait for their own counter at every code.
class QueueLayout {
 public:
  QueueLayout(const u8* context, size_t n) {
    const size_t part = n / parts;
    size_t count[parts][256] = {};
    for (size_t i = 0; i < part; i++)
      for (size_t p = 0; p < parts; p++) count[p][context[p * part + i]]++;
    for (size_t i = parts * part; i < n; i++) count[parts - 1][context[i]]++;
    size_t at = 0;
    for (int k = 0; k < contexts; k++) {
      start_[k] = at;
      for (size_t p = 0; p < parts; p++) {
        next_[p][k] = at;
        at += count[p][k];
      }
    }
    start_[contexts] = at;
    masked_ = at != n;
  }
  size_t start(int k) const { return start_[k]; }
  size_t length(int k) const { return start_[k + 1] - start_[k]; }
  // Calls f(code number, place) for every code that has a context. Once.
  template <class F>
  void for_each(const u8* context, size_t n, F f) {
    const size_t part = n / parts;
    if (masked_) {
      for (size_t i = 0; i < part; i++)
        for (size_t p = 0; p < parts; p++)
          if (context[p * part + i] != no_context) f(p * part + i, next_[p][context[p * part + i]]++);
      for (size_t i = parts * part; i < n; i++)
        if (context[i] != no_context) f(i, next_[parts - 1][context[i]]++);
      return;
    }
    for (size_t i = 0; i < part; i++)
      for (size_t p = 0; p < parts; p++) f(p * part + i, next_[p][context[p * part + i]]++);
    for (size_t i = parts * part; i < n; i++) f(i, next_[parts - 1][context[i]]++);
  }

 private:
  static constexpr size_t parts = 4;
  size_t start_[contexts + 1], next_[parts][contexts];
  bool masked_;
};

// Collects the classes of a stream, then writes it. Reusable: finish() leaves it empty.
class CodeStreamEncoder {
 public:
  // `verbatim` in raster order, one entry for each verbatim_code among the codes; `width` their bits.
  template <class Code>
  void add_class(const Code* code, const u8* context, size_t n, const Model* models, const std::vector<Verbatim>& verbatim, int width);
  // The same for codes kept as bytes; may be read row_slack elements beyond n.
  void add_bytes(const u8* bytes, const u8* context, size_t n, const Model* models, const std::vector<Exception>& exceptions, int width);
  // Appends the stream to `out`; nothing if all codes were zero.
  void finish(Bytes& out);

 private:
  struct Segment {
    const CodeTable* table;  // of a dense queue; null: tokens
    size_t from, count;
  };
  struct Token {
    const CodeTable* table;
    u8 symbol;
  };
  template <class Code>
  void add_dense(const Code* queue, size_t n, const Model& m, const std::vector<u64>& verbatim, int width);
  template <class Code>
  void add_sparse(const Code* queue, size_t n, const Model& m, const std::vector<u64>& verbatim, int width);
  void add_dense_bytes(u8* queue, size_t n, const Model& m, const std::vector<Exception>& exceptions, int width);
  void add_sparse_bytes(const u8* queue, size_t n, const Model& m, const std::vector<Exception>& exceptions, int width);
  u8* add_segment(const CodeTable& t, size_t n);
  void large_symbol(const CodeTable& t, u64 v, u8& symbol);
  void gap(const CodeTable& gaps, u64 length);
  void end_of_gaps(const CodeTable& gaps, u64 left);
  void token(const CodeTable& t, int symbol);
  void value(const CodeTable& values, u64 v);
  void raw(u64 v, int bits);
  void escape(u64 v, bool is_verbatim, u64 sample, int width);

  std::vector<Segment> segments_;
  std::vector<u8> symbols_;
  std::vector<Token> tokens_;
  Buffer<u8> queue_;
  Buffer<u64> low_bits_;
  Buffer<u32> found_, exceptional_;  // places in a queue
  Buffer<u16> words_;
  Bytes raw_;  // raw_size_ bytes of it
  size_t raw_size_ = 0;
  u64 accumulator_ = 0, cost_ = 0;  // cost in 1/256 bit, to choose the lanes
  int pending_ = 0;
  bool nonzero_ = false;
};

class CodeStreamDecoder {
 public:
  void open(const u8* data, size_t size);  // reusable: finish() or another open() ends the stream before
  // Fails with STZ_ERROR_CORRUPT or STZ_ERROR_TRUNCATED.
  template <class Code>
  void decode_class(Code* code, const u8* context, size_t n, const Model* models, std::vector<Verbatim>& verbatim, int width);
  // The same for codes kept as bytes (row_slack more): what is no byte is listed in raster order. `Code` bounds the codes.
  template <class Code>
  void decode_bytes(u8* bytes, const u8* context, size_t n, const Model* models, std::vector<Exception>& exceptions, int width);
  void finish();  // everything consumed, all states at their end

 private:
  u32 next(const CodeTable& t);
  void decode_symbols(const CodeTable& t, u8* out, size_t n);
  u64 raw(int bits);
  void raw_numbers(u64* out, size_t n, int bits);  // n times raw(bits), at most 56 bits each
  u64 escape(bool& is_verbatim);
  template <class Code>
  void decode_dense(Code* queue, size_t n, const Model& m, std::vector<u64>& verbatim, int width);
  template <class Code>
  bool decode_sparse(Code* queue, size_t n, const Model& m, std::vector<u64>& verbatim, int width);

  template <class Code>
  void decode_dense_bytes(u8* queue, size_t n, const Model& m, std::vector<Exception>& exceptions, int width);
  template <class Code>
  void decode_sparse_bytes(u8* queue, size_t n, const Model& m, std::vector<Exception>& exceptions, int width);
  template <class Code, class Place>
  bool decode_tokens(size_t n, const Model& m, int width, Place place);

  const u8 *begin_ = nullptr, *word_ = nullptr, *end_ = nullptr;  // words grow up from word_, raw bytes shrink down from end_
  u32 state_[max_lanes];
  u32 lanes_ = 1, token_ = 0;
  u64 accumulator_ = 0;
  int available_ = 0;
  Buffer<u8> symbols_, queue_;
  Buffer<u64> low_bits_;
  Buffer<u32> found_;
};

}  // namespace stz
