// Sets of predictions as bytes: they are coded as the parameters of a level are (predict/parameter_coding.h).
#include "encoder/plan/learned.h"

#include "coding/checksum.h"
#include "predict/parameter_coding.h"

namespace stz {
namespace {

constexpr u8 version = 1;
constexpr size_t most_sets = 64;
constexpr int largest_offset = 8;  // with it no array has too many levels

// Encoder and decoder share the same walk over a set.
struct SetWriter {
  BinaryEncoder& out;
  u64 plain(u64 value, int bits) {
    out.raw(value, bits);
    return value;
  }
  void of_class(ParameterModels& models, ParameterState& state, int cls, const ParameterContext& of_level, LearnedClass& one) {
    ClassParameters p;
    static_cast<Prediction&>(p) = one.prediction;
    write_class(out, models, state, cls, of_level, p);
  }
};
struct SetReader {
  BinaryDecoder& in;
  u64 plain(u64, int bits) { return in.raw(bits); }
  void of_class(ParameterModels& models, ParameterState& state, int cls, const ParameterContext& of_level, LearnedClass& one) {
    ClassParameters p;
    read_class(in, models, state, cls, of_level, p);
    one.prediction = p;
  }
};

template <class Coder>
void code_set(Coder c, ParameterModels& models, LearnedSet& set) {
  const auto code = [&](auto& value, int bits) { value = std::remove_reference_t<decltype(value)>(c.plain(u64(value), bits)); };
  code(set.sample, 2);
  code(set.quantizer, 2);
  code(set.transform, 3);
  code(set.late_axes, axes);
  code(set.edge_promised, 1);
  code(set.edge, 1);
  for (int& offset : set.offset) {
    code(offset, 8);
    require(offset <= largest_offset || offset == never_split, STZ_ERROR_CORRUPT);
  }
  u64 bytes = c.plain(u64(set.bytes), 48);
  set.bytes = double(bytes);
  const u64 levels = c.plain(set.level.size(), 6);
  require(levels <= max_levels, STZ_ERROR_CORRUPT);
  set.level.resize(size_t(levels));
  ParameterState state;
  for (size_t l = set.level.size(); l-- > 0;) {
    LearnedLevel& level = set.level[l];
    code(level.active_mask, axes);
    code(level.split_mask, axes);
    require((level.split_mask & ~level.active_mask) == 0, STZ_ERROR_CORRUPT);
    const ParameterContext of_level{level.active_mask, max_model_shift(8), set.quantizer != QuantizerKind::ulp};
    const ParityClasses classes = parity_classes_of(level.split_mask);
    for (int k = 0; k < classes.count; k++) {
      LearnedClass& one = level.of_class[classes.mask[k]];
      c.of_class(models, state, classes.mask[k], of_level, one);
      code(one.as_bytes, 1);
      const FeedbackParameters& feedback = one.prediction.feedback;
      require(!feedback.any || feedback.all_codes == !one.as_bytes, STZ_ERROR_CORRUPT);
    }
  }
}

}  // namespace

Bytes write_sets(const LearnedSets& sets, size_t most_bytes) {
  for (size_t from = 0;; from++) {
    BinaryEncoder out;
    ParameterModels models = fresh<ParameterModels>;
    out.raw(sets.size() - from, 8);
    for (size_t i = from; i < sets.size(); i++) {
      LearnedSet copy = *sets[i];
      code_set(SetWriter{out}, models, copy);
    }
    Bytes bytes{version};
    const Bytes coded = out.finish();
    bytes.insert(bytes.end(), coded.begin(), coded.end());
    put_le(bytes, crc32c(bytes.data(), bytes.size()));
    if (bytes.size() <= most_bytes || from == sets.size()) return bytes;
  }
}

LearnedSets read_sets(const u8* bytes, size_t size) {
  require(size > sizeof(u32) && bytes[0] == version, STZ_ERROR_CORRUPT);
  const size_t coded = size - sizeof(u32);
  require_check(crc32c(bytes, coded), bytes + coded, sizeof(u32));
  BinaryDecoder in(bytes + 1, coded - 1);
  ParameterModels models = fresh<ParameterModels>;
  LearnedSets sets;
  const u64 count = in.raw(8);
  require(count <= most_sets, STZ_ERROR_CORRUPT);
  for (u64 i = 0; i < count; i++) {
    auto set = std::make_shared<LearnedSet>();
    code_set(SetReader{in}, models, *set);
    sets.push_back(std::move(set));
  }
  return sets;
}

}  // namespace stz
