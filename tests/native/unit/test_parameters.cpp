// The parameters of a level's classes: what is written is read, with all that is remembered from class to class and from level to level.
#include "predict/parameter_coding.h"

#include <cmath>
#include <memory>

#include "unit.h"

using namespace unit;

namespace {

constexpr int active = 15;  // all four axes

Model random_model(Random& random, int max_shift) {
  Model m;
  m.run_length = random.below(2);
  if (m.run_length) {
    m.zero_run = u8(random.below(zero_run_tables));
    m.value = u8(random.below(value_tables));
    return m;
  }
  m.shape = u8(random.below(shapes));
  do m.scale = u16(random.below(scale_limit));
  while (m.shift() > max_shift);
  return m;
}

FeedbackParameters random_feedback(Random& random) {
  constexpr int largest = FeedbackParameters::largest;
  FeedbackParameters f;
  f.any = true;
  f.all_codes = random.below(2);
  if (!f.all_codes) f.bits = u8(random.between(FeedbackParameters::least_bits, FeedbackParameters::most_bits));
  for (auto& before : f.before)
    for (i16& w : before) w = i16(random.between(-largest, largest));
  f.beside = i16(random.between(-largest, largest));
  return f;
}

// Parameters in the form that they are read in: what does not count is as it is there.
ClassParameters random_parameters(Random& random, int cls, const ParameterContext& of_level, const ParameterState& state) {
  const int max_shift = of_level.max_shift;
  ClassParameters p;
  p.predictor = u8(random.chance(0.7) ? 0 : 1 + random.below(2));
  p.groups = u8(stencil_of(stencil_standard, cls, active).groups.size());
  if (p.predictor == predict_linear) {
    if (state.has_coarser[cls] && state.coarser[cls].precision && random.chance(0.2)) {
      p = state.coarser[cls];
    } else if (random.chance(0.8)) {
      const bool may_be_long = __builtin_popcount(unsigned(active)) <= most_axes_of_long_stencil;
      p.stencil = u8(random.below(may_be_long ? stencil_count : int(stencil_long)));
      p.groups = u8(stencil_of(StencilId(p.stencil), cls, active).groups.size());
      p.precision = u8(random.chance(0.3) ? state.precision : random.between(1, max_precision));
      for (int g = 0; g < p.groups; g++) p.weight[g] = i32(random.signed_magnitude(int(random.below(28))));
    }
  }
  p.feedback = {};
  if (of_level.with_feedback && random.below(2)) {
    const bool same = state.has_coarser[cls] && random.chance(0.3);
    p.feedback = same ? state.coarser[cls].feedback : random_feedback(random);
  }
  p.mean = random.chance(0.8) ? int(random.between(smallest_mean, largest_mean)) : 0;
  for (int k = 0; k < contexts; k++) {
    const Model usual = state.codes.models.predicted(p.mean, k);
    p.model[k] = random.chance(0.4) && usual.shift() <= max_shift ? usual : random_model(random, max_shift);
  }
  return p;
}

bool same(const ClassParameters& a, const ClassParameters& b) {
  bool weights = true;
  for (int g = 0; g < a.groups && a.precision; g++) weights = weights && a.weight[g] == b.weight[g];
  bool models = true;
  for (int k = 0; k < contexts && a.mean; k++) models = models && a.model[k] == b.model[k];
  return weights && models && a.predictor == b.predictor && a.stencil == b.stencil && a.precision == b.precision && a.groups == b.groups &&
         a.feedback == b.feedback && a.mean == b.mean;
}

}  // namespace

TEST(parameters_of_all_classes_and_levels_come_back) {
  Random random(1);
  for (int turn = 0; turn < 200; turn++) {
    const int max_shift = max_model_shift(turn % 2 ? 32 : 64);
    const ParameterContext of_level{active, max_shift, turn % 3 > 0};
    auto writing = std::make_unique<ParameterState>(), reading = std::make_unique<ParameterState>();
    for (int level = 0; level < 4; level++) {
      auto write_models = std::make_unique<ParameterModels>(), read_models = std::make_unique<ParameterModels>();
      BinaryEncoder out;
      std::vector<ClassParameters> written;
      for (int cls = 1; cls < 16; cls++) {
        written.push_back(random_parameters(random, cls, of_level, *writing));
        write_class(out, *write_models, *writing, cls, of_level, written.back());
      }
      AtPageEnd stream(out.finish());
      BinaryDecoder in(stream.begin(), stream.size());
      for (int cls = 1; cls < 16; cls++) {
        ClassParameters got;
        read_class(in, *read_models, *reading, cls, of_level, got);
        CHECK(same(written[size_t(cls - 1)], got), "stream %d, level %d, class %d", turn, level, cls);
      }
    }
  }
}

TEST(whatever_is_read_is_within_its_limits) {
  Random random(2);
  int read_whole = 0;
  for (int turn = 0; turn < 20000; turn++) {
    Bytes bytes(random.below(200));
    const bool mostly_zero = random.below(2);
    for (u8& b : bytes) b = mostly_zero && random.chance(0.8) ? 0xff : u8(random.bits());
    AtPageEnd junk(bytes);
    const int max_shift = max_model_shift(turn % 2 ? 32 : 64);
    const ParameterContext of_level{active, max_shift, turn % 3 > 0};
    auto state = std::make_unique<ParameterState>();
    auto models = std::make_unique<ParameterModels>();
    const int code = failure_of([&] {
      BinaryDecoder in(junk.begin(), junk.size());
      for (int cls = 1; cls < 16; cls++) {
        ClassParameters p;
        read_class(in, *models, *state, cls, of_level, p);
        CHECK(p.predictor < predictor_count && p.stencil < stencil_count && p.precision <= max_precision && p.groups <= max_groups);
        for (const auto& before : p.feedback.before)
          for (int w : before) CHECK(w >= -FeedbackParameters::largest && w <= FeedbackParameters::largest);
        CHECK(of_level.with_feedback || p.feedback == FeedbackParameters{});
        CHECK(p.mean == 0 || (p.mean >= smallest_mean && p.mean <= largest_mean));
        for (int k = 0; k < contexts && p.mean; k++) {
          const Model& m = p.model[k];
          CHECK(m.run_length ? m.zero_run < zero_run_tables && m.value < value_tables : m.scale < scale_limit && m.shape < shapes);
          CHECK(m.shift() <= max_shift);
        }
        read_whole += cls == 15;
      }
    });
    CHECK(code == 0 || is_damage(code), "%d", code);
  }
  CHECK(read_whole > 100, "%d", read_whole);
}

TEST(the_index_of_a_mean_is_that_of_its_logarithm) {
  Random random(3);
  CHECK(mean_index(0, 5) == 0 && mean_index(5, 0) == 0);
  for (int turn = 0; turn < 100000; turn++) {
    const u64 sum = 1 + random.magnitude(62), count = 1 + random.magnitude(40);
    const double exact = 4 * (std::log2(double(sum)) - std::log2(double(count))) + 81;
    const double inside = std::fmin(std::fmax(exact, smallest_mean), largest_mean);
    CHECK(std::fabs(mean_index(sum, count) - inside) < 0.52, "%llu / %llu", (unsigned long long)sum, (unsigned long long)count);
  }
}

TEST(weights_of_a_prediction_add_up_to_one) {
  Random random(4);
  const Level level{{32, 32, 32, 32}, {true, true, true, true}, {32, 32, 32, 32}};
  const BlockGeometry g = block_geometry(level, {{}, level.n}, stencil_long);
  const ParameterState none;
  for (int turn = 0; turn < 300; turn++) {
    const int cls = int(random.between(1, 15));
    ClassParameters p = random_parameters(random, cls, {active, 24, true}, none);
    for (i32& w : p.weight) w %= 1 << 16;
    const LaidOut taps = lay_out(g, g.values, cls, stencil_of(StencilId(p.stencil), cls, active));
    double weights[max_groups], sum = 0, most = 1;
    effective_weights(p, taps, weights);
    for (int group = 0; group < taps.groups; group++) {
      sum += weights[group] * taps.taps[size_t(group)];
      most = std::fmax(most, std::fabs(weights[group]));
    }
    CHECK(std::fabs(sum - 1) < 1e-12 * most, "%g", sum);
  }
}
