// Predictions in client data (stz_cd_values_add_learned): what they keep, and what damaged and hostile ones may do.
#include "coding/checksum.h"
#include "encoder/learning.h"
#include "grid/stencil.h"
#include "learned_chunks.h"
#include "stz_cd_values.h"

using namespace unit;

namespace {

using Words = std::vector<unsigned>;

Words packed(const stz_options& options, const stz_layout* layout) {
  Words words(STZ_CD_MAX_WORDS);
  size_t count = 0;
  CHECK(stz_cd_values_pack(&options, layout, words.data(), words.size(), &count, nullptr, 0) == STZ_OK);
  words.resize(count);
  return words;
}

Words with_learned(Words words, const stz_learned* learned) {
  size_t count = words.size();
  words.resize(STZ_CD_MAX_WORDS);
  CHECK(stz_cd_values_add_learned(learned, words.data(), words.size(), &count) == STZ_OK);
  words.resize(count);
  return words;
}

Memory learned_of(const Words& words) { return {stz_cd_values_learned(words.size(), words.data()), stz_learned_free}; }

Memory trained(const std::vector<Chunk>& chunks, const stz_options& options) {
  Memory learned = memory();
  for (const Chunk& one : chunks) CHECK(stz_learned_train(learned.get(), &one.layout, one.bytes.data(), &options) == STZ_OK);
  return learned;
}

}  // namespace

TEST(client_data_of_every_form_take_predictions) {
  const std::vector<Chunk> chunks = field(24);
  stz_options options = options_of(STZ_ABSOLUTE, 1e-3, nullptr);
  const Memory learned = trained({chunks.begin(), chunks.begin() + 3}, options);
  stz_layout wide = chunks[0].layout;
  wide.shape[0] = u64{1} << 40;
  stz_options layered = options, marked = options;
  layered.layer_bounds[0] = 1e-1;
  layered.layer_bounds[1] = 1e-2;
  marked.has_fill = 1;
  marked.fill = 0x7fc00000;
  const Words forms[] = {packed(options, nullptr),
                         packed(options, &chunks[0].layout),
                         packed(options, &wide),
                         packed(layered, nullptr),
                         packed(layered, &wide),
                         packed(marked, nullptr),
                         {},
                         {102, 1, 1, 3},
                         {101, 0}};
  Bytes first;
  for (const Words& words : forms) {
    const Words more = with_learned(words, learned.get());
    stz_options before = STZ_OPTIONS_INIT, after = STZ_OPTIONS_INIT;
    stz_layout layout_before, layout_after;
    CHECK(stz_cd_values_parse(words.size(), words.data(), &before, &layout_before, nullptr, 0) == STZ_OK);
    CHECK(stz_cd_values_parse(more.size(), more.data(), &after, &layout_after, nullptr, 0) == STZ_OK);
    CHECK(!memcmp(&before, &after, sizeof before) && !memcmp(&layout_before, &layout_after, sizeof layout_before));
    CHECK(with_learned(more, learned.get()) == more, "predictions are replaced");
    const Memory read = learned_of(more);
    CHECK(read && with_learned(words, read.get()) == more);
    CHECK(stz_learned_count(learned.get()) == 3 && stz_learned_count(read.get()) == 3);
    const Bytes stream = compressed(chunks[20], options_of(STZ_ABSOLUTE, 1e-3, read.get()));
    if (first.empty()) first = stream;
    CHECK(stream == first);
    CHECK(!learned_of(words));
  }
  CHECK(first != compressed(chunks[20], options));
}

TEST(memories_that_are_joined_know_what_one_would_know) {
  const std::vector<Chunk> chunks = field(3);
  const stz_options options = options_of(STZ_ABSOLUTE, 1e-3, nullptr);
  const Memory together = trained(chunks, options), joined = memory();
  for (const Chunk& one : chunks) {
    const Memory alone = trained({one}, options);
    CHECK(stz_learned_join(joined.get(), alone.get()) == STZ_OK);
  }
  const Words words = packed(options, nullptr);
  CHECK(with_learned(words, joined.get()) == with_learned(words, together.get()));
  CHECK(stz_learned_join(joined.get(), joined.get()) == STZ_ERROR_ARGUMENT);
  CHECK(stz_learned_join(joined.get(), nullptr) == STZ_ERROR_ARGUMENT && stz_learned_join(nullptr, joined.get()) == STZ_ERROR_ARGUMENT);
  stz_learned_fix(joined.get());
  CHECK(stz_learned_join(joined.get(), together.get()) == STZ_ERROR_ARGUMENT);
}

TEST(client_data_without_any_predictions_fit_every_array) {
  const Words words = with_learned(packed(options_of(STZ_ABSOLUTE, 1e-3, nullptr), nullptr), nullptr);
  const Memory none = learned_of(words);
  CHECK(none != nullptr && stz_learned_count(none.get()) == 0 && stz_learned_count(nullptr) == 0);
  for (const Chunk& one : field(6))
    CHECK(compressed(one, options_of(STZ_ABSOLUTE, 1e-3, none.get())) == compressed(one, options_of(STZ_ABSOLUTE, 1e-3, nullptr)));
}

TEST(client_data_have_room_for_some_predictions) {
  const std::vector<Chunk> chunks = field(40);
  const stz_options options = options_of(STZ_ABSOLUTE, 1e-3, nullptr);
  const Words words = packed(options, &chunks[0].layout), more = with_learned(words, trained(chunks, options).get());
  CHECK(more.size() > 120 && more.size() <= STZ_CD_MAX_WORDS, "%zu words", more.size());
  Words small = words;
  size_t count = words.size();
  CHECK(stz_cd_values_add_learned(nullptr, small.data(), count, &count) == STZ_ERROR_CAPACITY);
  CHECK(count > words.size() && small == words);
  count = small.size();
  CHECK(stz_cd_values_add_learned(nullptr, nullptr, 0, &count) == STZ_ERROR_ARGUMENT);
  CHECK(stz_cd_values_add_learned(nullptr, small.data(), small.size(), nullptr) == STZ_ERROR_ARGUMENT);
  CHECK(!learned_of({101, 9, 9}) && !stz_cd_values_learned(3, nullptr));
}

namespace {

// Changes some of what a set says to anything that can be written.
void spoil(Random& random, stz::LearnedSet& set) {
  if (random.below(4) == 0)
    for (int& offset : set.offset) offset = random.below(3) ? int(random.below(9)) : stz::never_split;
  if (random.below(4) == 0) set.edge = !set.edge;
  if (random.below(4) == 0) set.bytes = double(random.below(100000));
  for (stz::LearnedLevel& level : set.level) {
    const stz::ParityClasses classes = stz::parity_classes_of(level.split_mask);
    for (int k = 0; k < classes.count; k++) {
      stz::LearnedClass& one = level.of_class[classes.mask[k]];
      stz::Prediction& p = one.prediction;
      if (random.below(3) == 0) {
        p.predictor = stz::predict_linear;
        p.stencil = u8(random.below(2));
        p.precision = u8(1 + random.below(stz::max_precision));
        p.groups = u8(stz::stencil_of(stz::StencilId(p.stencil), classes.mask[k], level.active_mask).groups.size());
        for (int g = 0; g < p.groups; g++) p.weight[g] = i32(random.between(-stz::largest_weight, stz::largest_weight) >> random.below(28));
      } else if (random.below(3) == 0) {
        p = {};
        p.predictor = u8(1 + random.below(2));
      }
      one.as_bytes = random.below(2) != 0;
      p.feedback = {};
      p.feedback.any = random.below(2) != 0;
      if (!p.feedback.any) continue;
      p.feedback.all_codes = !one.as_bytes;
      p.feedback.bits = u8(3 + random.below(9));
      for (auto& before : p.feedback.before)
        for (size_t axis = 0; axis < 3; axis++)
          if (level.active_mask >> (2 - axis) & 1) before[axis] = i16(random.between(-127, 127));
      p.feedback.beside = i16(random.between(-127, 127));
    }
  }
}

}  // namespace

// Whatever the predictions are: every sample keeps its bound.
TEST(predictions_of_hostile_client_data_keep_the_bound) {
  Random random(11);
  const std::vector<Chunk> chunks = field(12);
  for (const int32_t mode : {STZ_ABSOLUTE, STZ_LOSSLESS}) {  // with other quantizers
    const stz_options plain = options_of(mode, 1e-3, nullptr);
    const Memory sound = trained({chunks.begin(), chunks.begin() + 3}, plain);
    size_t others = 0;
    for (u64 turn = 0; turn < turns(300); turn++) {
      stz::LearnedSets sets;
      for (const auto& set : sound->sets()) {
        auto copy = std::make_shared<stz::LearnedSet>(*set);
        spoil(random, *copy);
        sets.push_back(std::move(copy));
      }
      const stz_learned spoilt(sets);
      const Memory learned = learned_of(with_learned(packed(plain, nullptr), &spoilt));
      CHECK(learned && !learned->sets().empty());
      const Chunk& one = chunks[size_t(random.below(chunks.size()))];
      const stz_options options = options_of(mode, 1e-3, learned.get());
      const Bytes stream = compressed(one, options);
      check_bound<float>(one, stream, options);
      others += stream != compressed(one, plain);
    }
    CHECK(others > turns(300) / 6, "mode %d: %zu streams differ", mode, others);
  }
}

TEST(damaged_predictions_are_not_read) {
  const std::vector<Chunk> chunks = field(3);
  const stz_options plain = options_of(STZ_ABSOLUTE, 1e-3, nullptr);
  const Bytes bytes = stz::write_sets(trained(chunks, plain)->sets(), 4000);
  const auto fails = [](const Bytes& given) {
    try {
      stz::read_sets(given.data(), given.size());
    } catch (const stz::Failure&) {
      return true;
    }
    return false;
  };
  CHECK(!fails(bytes));
  for (size_t i = 0; i < bytes.size(); i++) {
    Bytes damaged = bytes;
    damaged[i] ^= 0x10;
    CHECK(fails(damaged), "byte %zu", i);
    CHECK(fails(Bytes(bytes.begin(), bytes.begin() + std::ptrdiff_t(i))), "%zu bytes", i);
  }
  // With a check that is right: no crash, and no endless loop.
  Random random(12);
  for (u64 turn = 0; turn < turns(20000); turn++) {
    Bytes damaged = bytes;
    const size_t coded = damaged.size() - 4;
    for (u64 k = 1 + random.below(4); k > 0; k--) damaged[size_t(1 + random.below(coded - 1))] = u8(random.below(256));
    const u32 check = stz::crc32c(damaged.data(), coded);
    for (size_t i = 0; i < 4; i++) damaged[coded + i] = u8(check >> 8 * i);
    fails(damaged);
  }
}
