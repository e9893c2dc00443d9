// Writes the stream of a block in edge mode.
#pragma once
#include "base/stages.h"
#include "predict/edge_coder.h"

namespace stz {

template <class S>
class EdgeWriter {
 public:
  explicit EdgeWriter(const Quantizer<S>& q) : q_(q), uniform_(std::is_floating_point_v<S> && q.kind == QuantizerKind::uniform) {
    const double bound = std::min(q.bound, q.level_bound);
    if (uniform_ && bound > 1e-30 && bound < 1e30 && !(q.avoid_from <= q.avoid_to)) safe_ = S(bound * (1 - 1e-6));
  }
  bool decide(EdgeBit& model, S original, S candidate) {
    const bool taken = serves(original, candidate);
    out_.bit(model, taken);
    return taken;
  }
  S code(EdgeModels& m, S original, RealOf<S> p) {
    CodeOf<S> c = 0;
    S value;
    const bool coded = quantize(q_, original, p, c, value);
    out_.bit(m.outlier, !coded);
    if (coded) {
      code_edge_number(*this, m, c);
      return value;
    }
    out_.plain(sample_bits(original), 8 * sizeof(S));
    return original;
  }
  int bit(BitModel& model, int b) {
    out_.bit(model, b);
    return b;
  }
  u64 plain(u64 v, int count) {
    out_.plain(v, count);
    return v;
  }
  Bytes finish() { return out_.finish(); }

 private:
  // Whether a candidate is within the bound of this level. Finer levels have wider bounds and can then copy good samples.
  bool serves(S x, S v) const {
    if constexpr (std::is_floating_point_v<S>)
      if (uniform_) {
        if (__builtin_fabs(x - v) <= safe_) return true;
        if (!within(double(x), double(v), q_.level_bound)) return false;
      }
    return keeps_bound(q_, x, v);
  }

  const Quantizer<S>& q_;
  const bool uniform_;
  S safe_ = -1;  // any distance up to here is within the bound, whatever the rounding
  BinaryEncoder out_;
};

// Codes a block and returns its stream. The block must hold its samples, and class 0 as it will be decoded.
template <class S>
Bytes write_edge_block(const Quantizer<S>& q, BlockWork<S>& work, EdgeWork<S>& room) {
  STZ_STAGE(symbols);
  EdgeWriter<S> writer(q);
  walk_edge_block(work, room, q, writer);
  return writer.finish();
}

}  // namespace stz
