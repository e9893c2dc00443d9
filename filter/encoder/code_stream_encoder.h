// Writes a stream of codes (format/code_stream.h).
#pragma once
#include <vector>

#include "base/buffer.h"
#include "base/bytes.h"
#include "format/code_stream.h"

namespace stz {

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

}  // namespace stz
