// Flips bits in memory between the stages of the codec (base/faults.h) and looks at what becomes of the stream: without and with
// STZ_CHECK_DECODE. A decoder in which nothing flips judges. With the check, whatever is returned has to keep every promise, or an error is
// returned; without it, the table says how many flips go unnoticed.
//
// faults [TRIALS [SEED [CASE]]]: so many flips at each point of each case. The table goes to the standard output, a line for each point.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/faults.h"
#include "stz.h"

namespace {

using namespace stz;
using Memory = std::vector<u8>;

struct Case {
  std::string name;
  stz_layout layout;
  Memory array;
  stz_options options;
  Memory previous;  // the stream that the array came out of; empty: none
  Memory before;    // what that decodes to
};

// ---- Arrays ----

u64 pseudo_random(u64& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

stz_layout layout_of(i32 dtype, std::vector<u64> shape) {
  stz_layout layout{dtype, STZ_LITTLE, i32(shape.size()), 0, {}};
  std::copy(shape.begin(), shape.end(), layout.shape);
  return layout;
}

u64 elements_of(const stz_layout& layout) {
  u64 n = 1;
  for (int a = 0; a < layout.rank; a++) n *= layout.shape[a];
  return n;
}

// Elements of type T from a function of the index along three axes.
template <class T>
Memory made(const stz_layout& layout, const std::function<double(double, double, double)>& value) {
  const u64 ny = layout.shape[1], nx = layout.shape[2];
  Memory array(elements_of(layout) * sizeof(T));
  for (u64 i = 0; i < elements_of(layout); i++) {
    const T v = T(value(double(i / (ny * nx)), double(i / nx % ny), double(i % nx)));
    memcpy(&array[i * sizeof(T)], &v, sizeof v);
  }
  return array;
}

double smooth(double z, double y, double x) {
  return 10 * std::sin(z / 5) * std::cos(y / 7) + std::sqrt(x + 1) + 0.02 * std::sin(17 * x + 5 * y);
}

template <class T>
void put(Memory& array, size_t at, T value) {
  memcpy(&array[at * sizeof(T)], &value, sizeof value);
}

stz_options options_of(i32 mode, double bound) {
  stz_options options = STZ_OPTIONS_INIT;
  options.mode = mode;
  options.bound = bound;
  options.effort = 1;  // but for what takes trials: palettes, edge mode, residual feedback
  return options;
}

Memory compressed(const stz_layout& layout, const Memory& array, const stz_options& options) {
  Memory out(stz_max_compressed_size(&layout));
  size_t size = 0;
  if (stz_compress(&layout, array.data(), &options, out.data(), out.size(), &size)) std::abort();
  out.resize(size);
  return out;
}

// The array after a rewrite of a part, the stream before it, and what that decodes to.
Case rewritten(std::string name, const stz_layout& layout, Memory array, const stz_options& options, u64 changed) {
  Case c{std::move(name), layout, array, options, {}, {}};
  c.previous = compressed(layout, array, options);
  c.before.resize(array.size());
  if (stz_decompress(c.previous.data(), c.previous.size(), c.before.data(), c.before.size())) std::abort();
  c.array = c.before;
  for (u64 i = 0; i < changed; i++) put(c.array, size_t(300 + i), float(40 + std::sin(double(i) / 9)));
  return c;
}

// Values without a common step, so that they are stored in a palette.
double uneven(double k) { return k * k * k * 7919 + std::fmod(k * 2654435.0, 4093); }

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  const stz_layout f4 = layout_of(STZ_F32, {20, 24, 28}), f8 = layout_of(STZ_F64, {20, 24, 28}), large = layout_of(STZ_F32, {32, 40, 48});
  const Memory plain = made<float>(f4, smooth);
  cases.push_back({"float32", f4, plain, options_of(STZ_ABSOLUTE, 1e-3), {}, {}});
  cases.push_back({"large float32", large, made<float>(large, smooth), options_of(STZ_ABSOLUTE, 1e-2), {}, {}});
  cases.push_back({"float64, tight bound", f8, made<double>(f8, smooth), options_of(STZ_ABSOLUTE, 1e-9), {}, {}});
  cases.push_back({"pointwise relative",
                   f8,
                   made<double>(f8, [](double z, double y, double x) { return std::exp(smooth(z, y, x)); }),
                   options_of(STZ_POINTWISE_RELATIVE, 1e-4),
                   {},
                   {}});
  cases.push_back({"lossless float32", f4, plain, options_of(STZ_LOSSLESS, 0), {}, {}});
  Case masked{"masked", f4, plain, options_of(STZ_ABSOLUTE, 1e-3), {}, {}};
  u64 random = 5;
  for (size_t i = 0; i < 2000; i++) put(masked.array, i, -9999.0f);
  for (int i = 0; i < 500; i++) put(masked.array, pseudo_random(random) % 13000, u32(0x7fc00000 + i % 7));
  masked.options.has_fill = 1;
  masked.options.fill = bit_cast_to<u32>(-9999.0f);
  cases.push_back(masked);
  const stz_layout i2 = layout_of(STZ_I16, {20, 24, 28}), i8 = layout_of(STZ_I64, {20, 24, 28}), u4 = layout_of(STZ_U32, {20, 24, 28});
  cases.push_back({"int16",
                   i2,
                   made<int16_t>(i2, [](double z, double y, double x) { return 100 * smooth(z, y, x); }),
                   options_of(STZ_ABSOLUTE, 4),
                   {},
                   {}});
  cases.back().options.integers = STZ_INTEGERS_BOUNDED;
  cases.push_back({"int64, lossless",
                   i8,
                   made<i64>(i8, [](double z, double y, double x) { return 1e15 * smooth(z, y, x); }),
                   options_of(STZ_LOSSLESS, 0),
                   {},
                   {}});
  cases.push_back({"palette",
                   u4,
                   made<u32>(u4, [](double z, double y, double x) { return uneven(std::floor(9 * std::fabs(smooth(z, y, x)))); }),
                   options_of(STZ_LOSSLESS, 0),
                   {},
                   {}});
  cases.back().options.effort = 5;
  u64 grains = 9;
  cases.push_back({"floating-point fields",
                   f4,
                   made<float>(f4,
                               [&](double, double, double) {
                                 const u64 mantissa = pseudo_random(grains), exponent = pseudo_random(grains);
                                 return exponent % 7 == 0 ? 0 : std::ldexp(double(mantissa) + 0.3, -int(exponent % 5));
                               }),
                   options_of(STZ_LOSSLESS, 0),
                   {},
                   {}});
  const stz_layout plane = layout_of(STZ_F32, {1, 90, 80});
  cases.push_back(
      {"edge mode",
       plane,
       made<float>(plane, [](double, double y, double x) { return 100 * std::fmod(std::floor((3 * y + x) / 37), 7) + y * x / 32; }),
       options_of(STZ_ABSOLUTE, 0.5),
       {},
       {}});
  cases.back().options.effort = 5;
  const stz_layout walked = layout_of(STZ_F64, {1, 60, 61});  // its differences along both axes are noise: residual feedback
  std::vector<double> row(61);
  double left = 0;
  u64 noise = 3;
  cases.push_back({"walk",
                   walked,
                   made<double>(walked,
                                [&](double, double, double x) {
                                  left = (x > 0 ? left : 0) + double(pseudo_random(noise) % 1024) - 511;
                                  return row[size_t(x)] += left;
                                }),
                   options_of(STZ_ABSOLUTE, 300),
                   {},
                   {}});
  cases.back().options.effort = 5;
  Case layers{"layers", f4, plain, options_of(STZ_ABSOLUTE, 1e-5), {}, {}};
  layers.options.layers = 3;
  cases.push_back(layers);
  Case enhanced{"enhancement", large, made<float>(large, smooth), options_of(STZ_ABSOLUTE, 0.05), {}, {}};
  enhanced.options.enhance = STZ_ENHANCE_BOTH;
  cases.push_back(enhanced);
  cases.push_back(rewritten("patched", f4, plain, options_of(STZ_ABSOLUTE, 1e-3), 900));
  cases.push_back(rewritten("mostly rewritten", f4, plain, options_of(STZ_ABSOLUTE, 1e-3), 11000));
  Case growing{"growing", f4, plain, options_of(STZ_ABSOLUTE, 1e-3), {}, {}};
  std::fill(growing.array.begin() + i64(growing.array.size() / 2), growing.array.end(), u8(0));
  growing.options.append_axis = 1;
  cases.push_back(growing);
  const stz_layout small = layout_of(STZ_F32, {1, 3, 4});
  cases.push_back({"raw", small, made<float>(small, smooth), options_of(STZ_ABSOLUTE, 1e-3), {}, {}});
  return cases;
}

// ---- The judge: what is promised, from the arrays alone ----

bool is_exact(const stz_options& o, i32 dtype) {
  return o.mode == STZ_LOSSLESS || (dtype >= STZ_I8 && dtype <= STZ_U64 && o.integers == STZ_INTEGERS_LOSSLESS);
}

template <class T>
bool number_kept(T x, T y, const stz_options& o, long double bound) {
  if (!std::isfinite((long double)x) || !std::isfinite((long double)y)) return false;
  const long double error = std::fabs((long double)x - (long double)y);
  if (o.mode == STZ_ABSOLUTE) return error <= bound;
  return x != 0 && std::signbit((long double)x) == std::signbit((long double)y) && error <= bound * std::fabs((long double)x);
}

template <class T>
bool all_kept(const Case& c, const Memory& array, const Memory& decoded, long double bound) {
  for (size_t at = 0; at < array.size(); at += sizeof(T)) {
    T x, y;
    memcpy(&x, &array[at], sizeof x);
    memcpy(&y, &decoded[at], sizeof y);
    if (memcmp(&x, &y, sizeof x) == 0) continue;
    const bool old = !c.before.empty() && memcmp(&array[at], &c.before[at], sizeof x) == 0;
    const bool fill = c.options.has_fill && memcmp(&x, &c.options.fill, sizeof x) == 0;
    if (old || fill || is_exact(c.options, c.layout.dtype) || !number_kept(x, y, c.options, bound)) return false;
  }
  return true;
}

bool kept(const Case& c, const Memory& array, const Memory& decoded, long double bound) {
  switch (c.layout.dtype) {
    case STZ_F32:
      return all_kept<float>(c, array, decoded, bound);
    case STZ_F64:
      return all_kept<double>(c, array, decoded, bound);
    case STZ_I16:
      return all_kept<int16_t>(c, array, decoded, bound);
    case STZ_U32:
      return all_kept<u32>(c, array, decoded, bound);
    default:
      return all_kept<i64>(c, array, decoded, bound);
  }
}

// What a reader of the first layers is told of their errors.
bool layers_are_as_stated(const Case& c, const Memory& array, const Memory& stream, const stz_stream_info& info) {
  if (c.layout.dtype != STZ_F32 || info.layers < 2 || info.patches) return true;
  Memory shorter(stream.size()), decoded(array.size());
  for (int taken = 0; taken + 1 < info.layers; taken++) {
    size_t size = 0;
    if (stz_drop_layers(stream.data(), stream.size(), info.layer_error[taken], shorter.data(), shorter.size(), &size)) return false;
    if (stz_decompress(shorter.data(), size, decoded.data(), decoded.size())) return false;
    if (!all_kept<float>({"", c.layout, {}, options_of(STZ_ABSOLUTE, 0), {}, {}}, array, decoded, info.layer_error[taken])) return false;
  }
  return true;
}

// content: a promise is broken, which only who compares with the content check finds out.
enum class Outcome { kept, unreadable, content, broken };

// What a reader finds. `array`: the caller's memory when the stream was returned.
Outcome outcome_of(const Case& c, const Memory& array, const Memory& stream) {
  stz_stream_info info = STZ_STREAM_INFO_INIT;
  if (stz_info(stream.data(), stream.size(), &info)) return Outcome::unreadable;
  Memory decoded(array.size());
  if (stz_decompress(stream.data(), stream.size(), decoded.data(), decoded.size())) return Outcome::unreadable;
  const bool agrees = stz_verify(stream.data(), stream.size(), 1, nullptr) == STZ_OK;
  const bool as_asked = info.mode == STZ_LOSSLESS || (info.mode == c.options.mode && info.bound == c.options.bound);
  const long double bound = info.enhanced ? (long double)info.relaxed_bound : (long double)c.options.bound;
  const bool as_stated = as_asked && !(info.enhanced && !(info.relaxed_bound <= 1.5 * c.options.bound));
  if (as_stated && agrees && kept(c, array, decoded, bound) && layers_are_as_stated(c, array, stream, info)) return Outcome::kept;
  return agrees ? Outcome::broken : Outcome::content;
}

// ---- Trials ----

int compress(const Case& c, Memory& array, i32 check, Memory& stream) {
  stz_options options = c.options;
  options.check = check;
  stream.resize(stz_max_compressed_size(&c.layout));
  size_t size = 0;
  const int error = c.previous.empty() ? stz_compress(&c.layout, array.data(), &options, stream.data(), stream.size(), &size)
                                       : stz_rewrite(&c.layout, array.data(), &options, c.previous.data(), c.previous.size(), stream.data(),
                                                     stream.size(), &size);
  stream.resize(size);
  return error;
}

struct Tally {
  u64 flips = 0;
  u64 kept = 0, errors = 0, unreadable = 0, content = 0, broken = 0;  // without a check
  u64 at_once = 0, again = 0, refused = 0, wrong = 0;                 // with one
};
using Tallies = Tally[int(FaultPoint::count)];

void without_check(const Case& c, Tally& tally) {
  Memory array = c.array, stream;
  const int error = compress(c, array, STZ_CHECK_NONE, stream);
  faults.forget();
  if (error) {
    tally.errors++;
    return;
  }
  const Outcome outcome = outcome_of(c, array, stream);
  u64 Tally::*const field[] = {&Tally::kept, &Tally::unreadable, &Tally::content, &Tally::broken};
  (tally.*field[int(outcome)])++;
}

void with_check(const Case& c, FaultPoint point, u64 number, u64 seed, bool lasting, Tally& tally) {
  Memory array = c.array, stream;
  const int error = compress(c, array, STZ_CHECK_DECODE, stream);
  const bool twice = faults.passed(FaultPoint::output) > 1;
  faults.forget();
  if (error) {
    tally.refused++;
    return;
  }
  const Outcome outcome = outcome_of(c, array, stream);
  if (outcome == Outcome::kept) {
    (twice ? tally.again : tally.at_once)++;
    return;
  }
  tally.wrong++;
  fprintf(stderr, "%s: bit flip at %s, passing %llu, seed %llu%s: %s although it was checked\n", c.name.c_str(),
          fault_point_names[int(point)], (unsigned long long)number, (unsigned long long)seed, lasting ? ", lasting" : "",
          outcome == Outcome::unreadable ? "the stream cannot be read" : "a promise is broken");
}

// Points that are passed while the case is compressed and checked, and how often.
std::vector<u64> passings(const Case& c, i32 check) {
  faults.forget();
  Memory array = c.array, stream;
  const int error = compress(c, array, check, stream);
  if (error) {
    fprintf(stderr, "%s: error %d although nothing flipped: %s\n", c.name.c_str(), error, stz_error_text(error));
    std::exit(1);
  }
  std::vector<u64> passed;
  for (int p = 0; p < int(FaultPoint::count); p++) passed.push_back(faults.passed(FaultPoint(p)));
  if (faults.passed(FaultPoint::output) != 1 || outcome_of(c, array, stream) != Outcome::kept) {
    fprintf(stderr, "%s: compressed twice, or not as promised, although nothing flipped\n", c.name.c_str());
    std::exit(1);
  }
  return passed;
}

void run_case(const Case& c, u64 trials, u64 seed, Tallies& tallies) {
  const std::vector<u64> plain = passings(c, STZ_CHECK_NONE), checked = passings(c, STZ_CHECK_DECODE);
  u64 random = seed;
  for (int p = 0; p < int(FaultPoint::count); p++) {
    Tally& tally = tallies[p];
    for (u64 t = 0; t < trials && checked[size_t(p)]; t++) {
      const u64 bit = pseudo_random(random), place = pseudo_random(random);
      const bool lasting = t % 4 == 3;
      faults.plan(FaultPoint(p), place % checked[size_t(p)], bit, lasting);
      tally.flips++;
      with_check(c, FaultPoint(p), place % checked[size_t(p)], bit, lasting, tally);
      if (!plain[size_t(p)]) continue;
      faults.plan(FaultPoint(p), place % plain[size_t(p)], bit, lasting);
      without_check(c, tally);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const u64 trials = count > 1 ? strtoull(arguments[1], nullptr, 10) : 4, seed = count > 2 ? strtoull(arguments[2], nullptr, 10) : 1;
  Tallies tallies;
  for (const Case& c : all_cases())
    if (count <= 3 || c.name == arguments[3]) run_case(c, trials, seed, tallies);
  Tally sum;
  printf("%-18s %6s | without: %6s %6s %10s %8s %6s | with: %7s %6s %6s %6s\n", "point", "flips", "kept", "error", "unreadable", "content",
         "wrong", "at once", "again", "error", "wrong");
  const auto print = [](const char* name, const Tally& t) {
    printf("%-18s %6llu |          %6llu %6llu %10llu %8llu %6llu |       %7llu %6llu %6llu %6llu\n", name, (unsigned long long)t.flips,
           (unsigned long long)t.kept, (unsigned long long)t.errors, (unsigned long long)t.unreadable, (unsigned long long)t.content,
           (unsigned long long)t.broken, (unsigned long long)t.at_once, (unsigned long long)t.again, (unsigned long long)t.refused,
           (unsigned long long)t.wrong);
  };
  for (int p = 0; p < int(FaultPoint::count); p++) {
    const Tally& t = tallies[p];
    print(fault_point_names[p], t);
    for (auto field : {&Tally::flips, &Tally::kept, &Tally::errors, &Tally::unreadable, &Tally::content, &Tally::broken, &Tally::at_once,
                       &Tally::again, &Tally::refused, &Tally::wrong})
      sum.*field += t.*field;
  }
  print("all", sum);
  return sum.wrong ? 1 : 0;
}
