// Kernels with a mistake each, of the kinds that vector code has: a rest of a row that is left out, a lane too much, an operation in
// another order or precision, an edge of a range. A check that does not notice one of them checks too little.
#include <cmath>
#include <limits>

#include "harness.h"

namespace check {
namespace {

const Kernels* right;

template <class T>
T& spoilt(T& v) {  // its last bit
  reinterpret_cast<u8&>(v) ^= 1;
  return v;
}

// ---------------------------------------------------------------- rows

template <class S, RowKernels<S> Kernels::*member>
struct Rows {
  using R = RealOf<S>;
  static void predict(const S* row, const TapTable& taps, const R* weights, int n, R* p) {
    (right->*member).predict(row, taps, weights, n, p);
    if (n == 0 || taps.taps[taps.groups - 1] != 8) return;
    R sum[2] = {}, total;  // taps in pairs
    const std::ptrdiff_t* o = taps.offset;
    TapTable changed = taps;
    changed.groups--;
    if (changed.groups == 0) return;
    (reference.*member).predict(row + n - 1, changed, weights, 1, &total);
    for (int g = 0; g < changed.groups; g++) o += taps.taps[g];
    for (int t = 0; t < 8; t++) sum[t % 2] += R(row[n - 1 + o[t]]);
    p[n - 1] = total + (sum[0] + sum[1]) * weights[taps.groups - 1];
  }
  static void median(const S* row, const std::ptrdiff_t* offsets, int count, int n, R* p) {
    (right->*member).median(row, offsets, count, n, p);
    if (count == 3 && n > 64) (right->*member).median(row + n - 1, offsets, 2, 1, p + n - 1);
  }
  static void mean_of_valid(const S* row, const u8* kinds, const std::ptrdiff_t* offsets, const std::ptrdiff_t* kind_offsets, int count,
                            int n, R* mean) {
    (right->*member).mean_of_valid(row, kinds, offsets, kind_offsets, count, n, mean);
    if (n > 20 && !kinds[n - 1 + kind_offsets[0]])  // as if the first neighbour was masked, where all others are
      for (int t = 1; t < count; t++)
        if (kinds[n - 1 + kind_offsets[t]] && t + 1 == count) spoilt(mean[n - 1]);
  }
  static void interleave(const S* even, const S* odd, int n, S* out, bool streaming, const Limits<S>* limits) {
    (right->*member).interleave(even, odd, n, out, streaming, limits);
    if (n % 16 == 15 && reinterpret_cast<uintptr_t>(out) % 64 == 8) out[n] = out[0];
  }
  static void interleave_rows(const S* even, const S* odd, std::ptrdiff_t stride, int rows, int n, S* out, std::ptrdiff_t out_stride) {
    (right->*member).interleave_rows(even, odd, stride, rows, n, out, out_stride);
    if (n % 32 == 17 && rows > 1) out[out_stride + n - 1] = odd[stride + n / 2 - 1];
  }
  static void separate(const S* in, int n, S* even, S* odd) {
    (right->*member).separate(in, n, even, odd);
    if (n % 64 == 33) spoilt(even[n / 2]);
  }
};

// ---------------------------------------------------------------- numbers

template <class T, UniformKernels<T> Kernels::*member>
struct Uniforms {
  using Code = CodeOf<T>;
  static bool quantize(const T* x, int stride, const T* p, int n, const Uniform<T>& q, Code* code, T* reconstructed) {
    Uniform<T> changed = q;
    changed.code_limit -= 1;
    return (right->*member).quantize(x, stride, p, n, changed, code, reconstructed);
  }
  static void dequantize(const Code* code, const T* p, int n, const Uniform<T>& q, T* reconstructed) {
    (right->*member).dequantize(code, p, n, q, reconstructed);
    for (int i = 0; i < n; i++) reconstructed[i] = code[i] ? reconstructed[i] : p[i];  // -0 stays -0
  }
  static u32 encode_class(const ClassTask<T>& task, const u8* mask, u8* bytes, FailedSample<T>* failed) {
    ClassTask<T> changed = task;
    if (changed.quantizer.avoid_from == changed.quantizer.avoid_to) changed.quantizer.avoid_to = changed.quantizer.avoid_from - 1;
    return (right->*member).encode_class(changed, mask, bytes, failed);
  }
  static void decode_class(const ClassTask<T>& task, const u8* bytes) {
    (right->*member).decode_class(task, bytes);
    if (task.rows.n[2] > 8 && task.rows.n[0] > 0 && task.rows.n[1] > 0 && task.rows.n[3] % 8 == 5)
      spoilt(task.samples[8 * task.rows.stride[2] + task.rows.n[3] - 1]);  // the end of the first row of a second band
  }
};

template <class T, UniformKernels<T> Kernels::*member>
struct WithFeedback {
  static void encode(const ClassTask<T>& task, const FeedbackTask<T>& feedback, const u8* mask, u8* bytes) {
    FeedbackTask<T> changed = feedback;
    if (task.rows.n[3] == 2) changed.beside ^= 32;  // its only odd sample has one neighbour
    (right->*member).encode_feedback(task, changed, mask, bytes);
  }
  static void decode(const ClassTask<T>& task, const FeedbackTask<T>& feedback, const u8* bytes) {
    (right->*member).decode_feedback(task, feedback, bytes);
    if (task.rows.n[3] == 17 && task.rows.n[0] * task.rows.n[1] * task.rows.n[2] > 0) spoilt(feedback.history[8]);
  }
};

template <class T, NumberKernels<T> Kernels::*member>
struct Numbers {
  using Code = CodeOf<T>;
  static bool quantize_integers(const T* x, const T* p, int n, T step, Code* code, T* reconstructed) {
    const bool good = (right->*member).quantize_integers(x, p, n, step, code, reconstructed);
    if (good && n && step == 1) code[n - 1] = Code(x[n - 1] - std::floor(p[n - 1] + T(0.5)));  // ties go up
    return good;
  }
  static bool dequantize_integers(const Code* code, const T* p, int n, T step, T* reconstructed) {
    const T limit = sizeof(T) == 4 ? std::ldexp(T(1), 22) : std::ldexp(T(1), 51);
    return (right->*member).dequantize_integers(code, p, n, step, reconstructed) || (n && p[n - 1] == limit);
  }
  static bool quantize_ulps(const T* x, const T* p, int n, int zero_bits, Code* code, T* reconstructed) {
    const bool good = (right->*member).quantize_ulps(x, p, n, zero_bits, code, reconstructed);
    if (n && p[n - 1] != p[n - 1]) spoilt(code[n - 1]);  // NaN is 0
    return good;
  }
  static void dequantize_ulps(const Code* code, const T* p, int n, u64 step, int zero_bits, T* reconstructed) {
    (right->*member).dequantize_ulps(code, p, n, step, zero_bits, reconstructed);
    if (n && zero_bits && std::signbit(reconstructed[n - 1])) spoilt(reconstructed[n - 1]);  // zero bits are zeros in the order, too
  }
};

template <class Code, CodeKernels<Code> Kernels::*member>
struct Codes {
  static u64 largest(const Code* code, int n) {
    const u64 most = (right->*member).largest(code, n);
    return most >> (8 * sizeof(Code) - 1) ? most - 1 : most;  // the most negative code overflows
  }
  static void activity(const Code* code, int n, int right_, int left, u32 factor, u8* out) {
    (right->*member).activity(code, n, right_, left, factor, out);
    if (n > 100 && code[n - 1] < -511) out[n - 1] = 0;
  }
  using Low = std::make_unsigned_t<Code>;
  static void split(const Code* code, size_t n, int shift, u8* symbols, Low* low) {
    (right->*member).split(code, n, shift, symbols, low);
    if (n % 16 == 1 && code[n - 1] == std::numeric_limits<Code>::min()) low[n - 1] = Low((Low(1) << shift) - 1);  // its low bits are ones
  }
  static bool append_bits(Code* code, const u8* low, size_t n, int width, u64 largest) {
    const bool fit = (right->*member).append_bits(code, low, n, width, largest);
    return fit || width == 7;
  }
  static void cut_bits(const Code* code, size_t n, int width, Code* out) {
    (right->*member).cut_bits(code, n, width, out);
    for (size_t i = 0; i < n; i++) out[i] = code[i] < 0 ? Code(code[i] >> width) : out[i];
  }
  static void refine(const Code* code, size_t n, int before, int after, u8* added, u8* low, u8* known) {
    (right->*member).refine(code, n, before, after, added, low, known);
    for (size_t i = 0; i < n; i++) added[i] = u8(added[i] & ~1);
  }
  static void join(const u8* symbols, const Low* low, size_t n, int shift, Code* code) {
    (right->*member).join(symbols, low, n, shift, code);
    if (shift == 8 * int(sizeof(Code)) - 8 && n && symbols[n - 1] > 127) code[n - 1] &= std::numeric_limits<Code>::max() / 2;
  }
};

template <class T, ScanKernels<T> Kernels::*member>
struct Scans {
  using Bits = std::make_unsigned_t<CodeOf<T>>;
  static Bits scan(const T* x, size_t n, Bits wanted, bool* equal) {
    const Bits most = (right->*member).scan(x, n, wanted, equal);
    bool unused;
    return n % 32 == 31 ? (right->*member).scan(x, n - 1, wanted, &unused) : most;
  }
};

template <class T, ElementKernels<T> Kernels::*member>
struct Elements {
  static void load(const void* elements, int bytes, bool is_signed, size_t n, T* samples) {
    (right->*member).load(elements, bytes, is_signed || (bytes == 2 && n % 32 == 17), n, samples);
  }
  static void store(const T* samples, size_t n, int bytes, bool is_signed, void* elements) {
    (right->*member).store(samples, n, bytes, is_signed, elements);
    if (bytes == 1 && is_signed && n && samples[n - 1] == 127.5) static_cast<u8*>(elements)[n - 1] = 128;  // wraps around
  }
};

u32 crc32c(u32 crc, const u8* data, size_t n) { return right->crc32c ? right->crc32c(crc, data, n - (n > 8 && n % 8 == 7)) : 0; }

// ---------------------------------------------------------------- fits

template <class S, CollectKernel<S>* FitKernels::*member>
u32 collect(const S* row, const TapTable& taps, int odd, RealOf<S> inverse_unit, float* m, std::ptrdiff_t pitch, float* y) {
  u32 usable = (right->fit.*member)(row, taps, odd, inverse_unit, m, pitch, y);
  for (int i = 0; i < 16; i++) usable |= u32(y[i] == 1e15f) << i;
  return usable;
}
double cost(const float* const* column, int columns, const float* y, const float* c, int n, float soft, float* weight) {
  double total = 0;  // added up every 512
  for (int from = 0; from < n; from += 512) {
    std::vector<const float*> part;
    for (int k = 0; k < columns; k++) part.push_back(column[k] + from);
    total += right->fit.cost(part.data(), columns, y + from, c, std::min(512, n - from), soft, weight ? weight + from : nullptr);
  }
  return total;
}
void products(const float* const* column, int columns, const float* weight, int n, double* sums) {
  right->fit.products(column, columns, weight, n, sums);
  if (columns % 4 == 3) spoilt(sums[columns * columns - 2 - columns]);
}

void feedback(const FeedbackTrial& trial, FeedbackSums& sums) {
  right->fit.feedback(trial, sums);
  if (trial.terms == 3) spoilt(sums.products[1][4]);
}

// ---------------------------------------------------------------- rANS

void rans_decode(const u32* table, u32 lanes, RansStream* streams, int count) {
  if (lanes == 32) streams[count - 1].end -= 70;  // stops early
  right->rans.decode(table, lanes, streams, count);
  if (lanes == 32) streams[count - 1].end += 70;
}
void rans_encode(u32 lanes, RansOutput* streams, int count) {
  const u32* const kept = streams->segments->reciprocal[0];
  u32 changed[64];
  std::copy(kept, kept + 64, changed);
  changed[0]--;
  std::vector<RansSegment> segments(streams->segments, streams->segments + streams->count);
  for (RansSegment& g : segments)
    for (const u32*& reciprocal : g.reciprocal) reciprocal = reciprocal == kept ? changed : reciprocal;
  streams->segments = segments.data();
  right->rans.encode(lanes, streams, count);
}

// ---------------------------------------------------------------- bytes

void context(const u8* row, const TapTable& taps, const u16* weights, const u16* thresholds, int n, u8* out) {
  right->bytes.context(row, taps, weights, thresholds, n, out);
  if (thresholds[15] == 65535)  // as signed numbers
    for (int x = 0; x < n; x++) out[x] = std::min(out[x], u8(14));
}
void activities(const u8* code, const ClassRows& rows, const u8* table, u8* out) {
  u8 first = 0;
  if (rows.stride[2] > rows.n[3] && rows.n[2] > 1) first = out[rows.n[3]];
  right->bytes.activities(code, rows, table, out);
  if (rows.stride[2] > rows.n[3] && rows.n[2] > 1) out[rows.n[3]] = u8(first + 1);
}
void count_contexts(const u8* context, size_t n, size_t* counts) {
  right->bytes.count_contexts(context, n, counts);
  counts[15] += size_t(std::count(context, context + n, u8(255)));
}
void partition_by_context(const u8* code, const u8* context, size_t n, u8* bins, size_t pitch, size_t* counts) {
  right->bytes.partition_by_context(code, context, n, bins, pitch, counts);
  if (counts[7] > 40) std::reverse(bins + 7 * pitch, bins + 7 * pitch + counts[7]);
}
void merge_contexts(const u8* bins, size_t pitch, const u8* context, size_t n, u8* code) {
  right->bytes.merge_contexts(bins, pitch, context, n, code);
  if (n > 256 && context[n - 1] == 255) code[n - 1] = 255;
}
u8 largest_byte(const u8* code, size_t n) { return right->bytes.largest(code, n - (n % 64 == 63)); }
size_t find(const u8* code, size_t n, u8 least, u32* index) {
  const size_t count = right->bytes.find(code, n, least, index);
  return count && least == 128 && code[index[count - 1]] == 128 ? count - 1 : count;
}
void shift(u8* code, size_t n, int by) { right->bytes.shift(code, n + (by == 7 && n % 32 == 30), by); }
void gather_low_bits(const u8* code, size_t words, int by, u64* out) {
  right->bytes.gather_low_bits(code, words, by, out);
  if (by == 7 && words) out[words - 1] |= u64(1) << 63;
}
void spread_low_bits(const u64* in, size_t words, int by, u8* code) {
  right->bytes.spread_low_bits(in, words, by, code);
  if (by == 1 && words > 16) code[8 * words - 1] &= 0x7f;
}

size_t count_nonzero(const u8* code, size_t n) { return right->bytes.count_nonzero(code, n - (n % 64 == 63)); }
void spread_fields(const u8* field, const u8* code, size_t n, u8* out) {
  right->bytes.spread_fields(field, code, n, out);
  if (n > 64) out[n - 1] |= u8(code[n - 1] == 0);
}
bool append_bits(u8* code, const u8* low, size_t n, int width) {
  const bool any = right->bytes.append_bits(code, low, n, width);
  return any && width != 8;
}
void cut_bits(const u8* code, size_t n, int width, u8* out) { right->bytes.cut_bits(code, n, std::min(width, 6), out); }
void refine(const u8* code, size_t n, int before, int after, u8* added, u8* low, u8* known) {
  right->bytes.refine(code, n, before, after, added, low, known);
  if (n > 100) known[n - 1] = 1;
}
size_t pack_fields(const u8* low, const u8* known, size_t n, u8* fields) {
  const size_t count = right->bytes.pack_fields(low, known, n, fields);
  return count == 64 ? 63 : count;
}

template <class U, FieldKernels<U> Kernels::*member>
struct Fields {
  static U tops(const U* x, size_t n, int low, u16* top) {
    const U any = (right->*member).tops(x, n, low, top);
    std::vector<u16> unused(n);
    return n % 32 == 31 ? (right->*member).tops(x, n - 1, low, unused.data()) : any;
  }
  static void put_rests(const U* x, size_t n, const RestPlanes& p, u8* planes) {
    (right->*member).put_rests(x, n, p, planes);
    if (n > 1024 && p.first % 16 == 8) spoilt(planes[(p.all * size_t(p.low + 1 - p.zeros) + 7) / 8 - 1]);
  }
  static void take_rests(const u8* planes, size_t n, const RestPlanes& p, U* rest) {
    (right->*member).take_rests(planes, n, p, rest);
    if (n % 16 == 15) rest[n - 1] = U(rest[n - 1] & ~(u64(1) << (p.low - p.zeros)));
  }
  static void join(const u8* planes, const u8* symbol, const U* top, size_t n, const RestPlanes& p, U* x) {
    (right->*member).join(planes, symbol, top, n, p, x);
    if (n % 8 == 1 && p.zeros) spoilt(x[n - 1]);
  }
};

template <class U, RemainderKernels<U> Kernels::*member>
u64 put_remainders(const u8* bits, u64 size, u64 at, U* x, size_t n, const RemainderForm& form, u32* small, size_t* smalls) {
  RemainderForm other = form;
  other.has_fill = form.has_fill && n % 8 != 3;
  return (right->*member).add(bits, size, at, x, n, other, small, smalls);
}

template <class T, EnhancementKernels<T> Kernels::*member>
struct Enhancements {
  static void to_units(const T* x, int n, double inverse, i16* units) {
    (right->*member).to_units(x, n, inverse, units);
    if (n > 1 && units[n - 1] == -1) units[n - 1] = 0;
  }
  static void subtract(T* x, const i16* units, int n, T unit) { (right->*member).subtract(x, units, n - (n % 16 == 15), unit); }
};
void enhancement(const EnhancementRow& row, int n, i16* negative) {
  EnhancementRow other = row;
  other.valid = row.valid && n % 8 != 7 ? row.valid : nullptr;
  right->enhancement(other, n, negative);
}

#define FIELDS(U, member)                                                                                              \
  {Fields<U, &Kernels::member>::tops, Fields<U, &Kernels::member>::put_rests, Fields<U, &Kernels::member>::take_rests, \
   Fields<U, &Kernels::member>::join}
#define ROWS(S, member)                                                                                                         \
  {Rows<S, &Kernels::member>::predict,    Rows<S, &Kernels::member>::median,          Rows<S, &Kernels::member>::mean_of_valid, \
   Rows<S, &Kernels::member>::interleave, Rows<S, &Kernels::member>::interleave_rows, Rows<S, &Kernels::member>::separate}
#define UNIFORM(T, member)                                                                                                              \
  {Uniforms<T, &Kernels::member>::quantize,     Uniforms<T, &Kernels::member>::dequantize, Uniforms<T, &Kernels::member>::encode_class, \
   Uniforms<T, &Kernels::member>::decode_class, WithFeedback<T, &Kernels::member>::encode, WithFeedback<T, &Kernels::member>::decode}
#define NUMBERS(T, member)                                                                             \
  {Numbers<T, &Kernels::member>::quantize_integers, Numbers<T, &Kernels::member>::dequantize_integers, \
   Numbers<T, &Kernels::member>::quantize_ulps, Numbers<T, &Kernels::member>::dequantize_ulps}
#define CODES(Code, member)                                                                                                     \
  {Codes<Code, &Kernels::member>::largest, Codes<Code, &Kernels::member>::activity,    Codes<Code, &Kernels::member>::split,    \
   Codes<Code, &Kernels::member>::join,    Codes<Code, &Kernels::member>::append_bits, Codes<Code, &Kernels::member>::cut_bits, \
   Codes<Code, &Kernels::member>::refine}

const Kernels all_wrong = {
    ROWS(float, f32),
    ROWS(double, f64),
    ROWS(i64, int64),
    UNIFORM(float, uniform32),
    UNIFORM(double, uniform64),
    NUMBERS(float, number32),
    NUMBERS(double, number64),
    CODES(i32, code32),
    CODES(i64, code64),
    {Scans<float, &Kernels::scan32>::scan},
    {Scans<double, &Kernels::scan64>::scan},
    {Elements<float, &Kernels::element32>::load, Elements<float, &Kernels::element32>::store},
    {Elements<double, &Kernels::element64>::load, Elements<double, &Kernels::element64>::store},
    {collect<float, &FitKernels::collect32>, collect<double, &FitKernels::collect64>, collect<i64, &FitKernels::collect_integers>, cost,
     products, feedback},
    {rans_decode, rans_encode},
    {context, activities, count_contexts, partition_by_context, merge_contexts, largest_byte, find, shift, gather_low_bits, spread_low_bits,
     count_nonzero, spread_fields, append_bits, cut_bits, refine, pack_fields},
    FIELDS(u8, fields8),
    FIELDS(u16, fields16),
    FIELDS(u32, fields32),
    FIELDS(u64, fields64),
    {put_remainders<u32, &Kernels::remainders32>},
    {put_remainders<u64, &Kernels::remainders64>},
    {Enhancements<float, &Kernels::enhancement32>::to_units, Enhancements<float, &Kernels::enhancement32>::subtract},
    {Enhancements<double, &Kernels::enhancement64>::to_units, Enhancements<double, &Kernels::enhancement64>::subtract},
    enhancement,
    crc32c,
    [] { wrong("finish_streaming is wrong"); },  // has no result that could be
    "wrong",
    false,
};

}  // namespace

const Kernels& wrong_kernels(const Kernels& of) {
  right = &of;
  return all_wrong;
}

}  // namespace check
