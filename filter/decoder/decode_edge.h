// Reads the stream of a block in edge mode.
#pragma once
#include "base/stages.h"
#include "predict/edge_coder.h"

namespace stz {

template <class S>
class EdgeReader {
 public:
  EdgeReader(const Quantizer<S>& q, const u8* stream, size_t size) : q_(q), in_(stream, size) {}
  bool decide(EdgeBit& model, S, S) { return in_.bit(model); }
  S code(EdgeModels& m, S, RealOf<S> p) {
    if (in_.bit(m.outlier)) return sample_from_bits<S>(in_.plain(8 * sizeof(S)));
    const i64 c = code_edge_number(*this, m, 0);
    require(u64(c < 0 ? -c : c) <= largest_code<CodeOf<S>>, STZ_ERROR_CORRUPT);
    return sample_of_code(q_, p, CodeOf<S>(c));
  }
  int bit(BitModel& model, int) { return in_.bit(model); }
  u64 plain(u64, int count) { return in_.plain(count); }

 private:
  const Quantizer<S>& q_;
  BinaryDecoder in_;
};

template <class S>
void read_edge_block(const Quantizer<S>& q, const u8* stream, size_t size, BlockWork<S>& work, EdgeWork<S>& room) {
  STZ_STAGE(symbols);
  EdgeReader<S> reader(q, stream, size);
  walk_edge_block(work, room, q, reader);
}

}  // namespace stz
