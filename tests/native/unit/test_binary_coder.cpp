// The adaptive binary coder gives back what was written, in about as many bits as the models say, and ends on bytes that end too early.
#include "coding/binary_coder.h"

#include <cmath>
#include <memory>

#include "unit.h"

using namespace unit;

namespace {

// One call of the coder: a bit or a number with a model, or raw bits.
struct Call {
  enum Kind { bit, raw, number, signed_number } kind;
  size_t model;
  u64 value;
  int width;
};

constexpr size_t models = 12;
struct Models {
  BitModel bit[models];
  NumberModel number[models];
  SignedModel signed_number[models];
};

std::vector<Call> random_calls(Random& random, size_t n) {
  double probability[models];
  int width[models];
  for (size_t m = 0; m < models; m++) {
    constexpr double often[] = {0, 1, 0.5, 0.001, 0.999, 0.1, 0.7};
    probability[m] = often[random.below(7)];
    width[m] = int(random.below(63));
  }
  std::vector<Call> calls;
  for (size_t i = 0; i < n; i++) {
    const size_t m = random.below(models);
    switch (random.below(10)) {
      case 0:
        calls.push_back({Call::raw, 0, 0, int(random.below(65))});
        calls.back().value = random.of_width(calls.back().width);
        break;
      case 1:
        calls.push_back({Call::number, m, random.magnitude(width[m]), 0});
        break;
      case 2:
        calls.push_back({Call::signed_number, m, u64(random.signed_magnitude(width[m])), 0});
        break;
      default:
        calls.push_back({Call::bit, m, u64(random.chance(probability[m])), 0});
    }
  }
  return calls;
}

Bytes encoded(const std::vector<Call>& calls) {
  auto m = std::make_unique<Models>();
  BinaryEncoder out;
  for (const Call& c : calls) {
    if (c.kind == Call::bit) out.bit(m->bit[c.model], int(c.value));
    if (c.kind == Call::raw) out.raw(c.value, c.width);
    if (c.kind == Call::number) out.number(m->number[c.model], c.value);
    if (c.kind == Call::signed_number) out.signed_number(m->signed_number[c.model], i64(c.value));
  }
  return out.finish();
}

u64 decoded(BinaryDecoder& in, Models& m, const Call& c) {
  if (c.kind == Call::bit) return u64(c.model % 2 ? in.uncertain_bit(m.bit[c.model]) : in.bit(m.bit[c.model]));
  if (c.kind == Call::raw) return in.raw(c.width);
  if (c.kind == Call::number) return in.number(m.number[c.model]);
  return u64(in.signed_number(m.signed_number[c.model]));
}

}  // namespace

TEST(everything_that_is_written_is_read) {
  Random random(1);
  for (int turn = 0; turn < 200; turn++) {
    const std::vector<Call> calls = random_calls(random, random.below(turn % 10 ? 200 : 20000));
    AtPageEnd stream(encoded(calls));
    BinaryDecoder in(stream.begin(), stream.size());
    auto m = std::make_unique<Models>();
    for (size_t i = 0; i < calls.size(); i++) CHECK(decoded(in, *m, calls[i]) == calls[i].value, "stream %d, call %zu", turn, i);
  }
}

TEST(numbers_next_to_powers_of_two) {
  std::vector<Call> calls;
  for (int k = 0; k < 63; k++)
    for (u64 v : {(u64(1) << k) - 1, u64(1) << k, (u64(1) << k) + 1})
      if (v < (u64(1) << 63) - 1) {
        calls.push_back({Call::number, 0, v, 0});
        calls.push_back({Call::signed_number, 0, v, 0});
        calls.push_back({Call::signed_number, 0, u64(-i64(v)), 0});
      }
  AtPageEnd stream(encoded(calls));
  BinaryDecoder in(stream.begin(), stream.size());
  auto m = std::make_unique<Models>();
  for (const Call& c : calls) CHECK(decoded(in, *m, c) == c.value, "%llu", (unsigned long long)c.value);
}

TEST(numbers_above_a_limit_fail) {
  for (u64 limit : {u64(0), u64(1), u64(6), u64(7), u64(1000000)})
    for (u64 value : {limit, limit + 1}) {
      NumberModel written, read;
      BinaryEncoder out;
      out.number(written, value);
      AtPageEnd stream(out.finish());
      u64 got = 0;
      const int code = failure_of([&] { got = BinaryDecoder(stream.begin(), stream.size()).number(read, limit); });
      CHECK(value > limit ? code == STZ_ERROR_CORRUPT : code == 0 && got == value, "%d", code);
    }
}

// The size is what the models say that the bits cost, but for the last bytes and what the limited precision of the range loses.
TEST(the_size_is_that_of_the_models) {
  Random random(2);
  for (double p : {0.001, 0.03, 0.5, 0.9, 0.9999}) {
    BitModel coded, model;
    BinaryEncoder out;
    double bits = 0, entropy = 0;
    for (int i = 0; i < 200000; i++) {
      const int bit = random.chance(p);
      out.bit(coded, bit);
      bits -= std::log2(bit ? model.one() / 65536.0 : 1 - model.one() / 65536.0);
      entropy -= bit ? std::log2(p) : std::log2(1 - p);
      model.learn(bit);
    }
    const double size = 8.0 * double(out.finish().size());
    CHECK(size < 1.02 * bits + 100 && size > 0.998 * bits - 40, "p %g: %g bits, %g by the models", p, size, bits);
    CHECK(bits < 1.1 * entropy + 500, "p %g: %g bits, an entropy of %g", p, bits, entropy);
  }
}

TEST(streams_cut_anywhere_end_in_an_error_or_at_the_end_of_the_calls) {
  Random random(3);
  for (int turn = 0; turn < 60; turn++) {
    const std::vector<Call> calls = random_calls(random, 150);
    const Bytes whole = encoded(calls);
    for (size_t size = 0; size < whole.size(); size++) {
      AtPageEnd cut(whole.data(), size);
      auto m = std::make_unique<Models>();
      size_t right = 0;
      const int code = failure_of([&] {
        BinaryDecoder in(cut.begin(), size);
        for (const Call& c : calls) right += decoded(in, *m, c) == c.value;
      });
      CHECK(code == 0 || is_damage(code), "%d", code);
      // what is not there is read as zeros, of which the encoder leaves no more than four out
      CHECK(code != 0 || right < calls.size() || size + 4 >= whole.size(), "%zu of %zu bytes are enough", size, whole.size());
    }
  }
}

TEST(damaged_streams_are_decoded_to_something_or_fail) {
  Random random(4);
  const std::vector<Call> calls = random_calls(random, 2000);
  const Bytes whole = encoded(calls);
  for (int turn = 0; turn < 500; turn++) {
    AtPageEnd damaged(whole);
    for (u64 k = random.below(4) + 1; k > 0; k--) damaged.begin()[random.below(whole.size())] = u8(random.bits());
    auto m = std::make_unique<Models>();
    const int code = failure_of([&] {
      BinaryDecoder in(damaged.begin(), damaged.size());
      for (const Call& c : calls) decoded(in, *m, c);
    });
    CHECK(code == 0 || is_damage(code), "%d", code);
  }
}

// Bytes that cost least for each decision: the decoder stays below the upper end of its range, and every model learns zeros.
TEST(no_bytes_hold_more_decisions_than_promised) {
  for (size_t size : {size_t(0), size_t(4), size_t(5), size_t(40), size_t(300)}) {
    Bytes bytes(size, 0xff);
    if (size > 3) bytes[3] = 0xfe;
    AtPageEnd stream(bytes);
    BitModel model;
    u64 decisions = 0;
    const int code = failure_of([&] {
      BinaryDecoder in(stream.begin(), stream.size());
      for (;; decisions++) in.bit(model);
    });
    CHECK(code == STZ_ERROR_TRUNCATED, "%d", code);
    CHECK(decisions <= most_decisions(size), "%llu in %zu bytes", (unsigned long long)decisions, size);
    CHECK(size < 40 || decisions > most_decisions(size) / 2, "%llu in %zu bytes", (unsigned long long)decisions, size);
  }
  CHECK(most_decisions(~u64(0)) == ~u64(0));
}
