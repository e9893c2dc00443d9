// One body per kernel. This file is compiled once per instruction set, with STZ_ISA naming it (cmake/core.cmake). The variants must not
// share code: every function is local to this file, and no inline function of another header is called.
#if !defined(__clang__)  // GCC 12 warns about the undefined operands of its own AVX-512 intrinsics.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include "simd/byte_kernels.h"
#include "simd/crc32c.h"
#include "simd/element_kernels.h"
#include "simd/enhancement_kernels.h"
#include "simd/feedback_plain.h"
#include "simd/fields.h"
#include "simd/fit_kernels.h"
#include "simd/layer_kernels.h"
#include "simd/number_kernels.h"
#include "simd/predict.h"
#include "simd/rans.h"
#include "simd/remainders.h"

#ifndef STZ_ISA
#define STZ_ISA baseline
#endif
#define STZ_JOIN2(a, b) a##b
#define STZ_JOIN(a, b) STZ_JOIN2(a, b)
#define STZ_TEXT2(a) #a
#define STZ_TEXT(a) STZ_TEXT2(a)

namespace stz {
namespace {

#if defined(STZ_512)
// Brings all lanes into the limits. If one operand is a NaN, or both are zeros, the instructions for floating-point numbers give the
// second.
template <class S>
STZ_INLINE __m512i limited(__m512i v, Limits<S> to) {
  if constexpr (!(S(0.5) > 0))
    return _mm512_min_epi64(_mm512_max_epi64(v, _mm512_set1_epi64(to.low)), _mm512_set1_epi64(to.high));
  else if constexpr (sizeof(S) == 4)
    return (__m512i)_mm512_min_ps(_mm512_set1_ps(to.high), _mm512_max_ps(_mm512_set1_ps(to.low), (__m512)v));
  else
    return (__m512i)_mm512_min_pd(_mm512_set1_pd(to.high), _mm512_max_pd(_mm512_set1_pd(to.low), (__m512d)v));
}

// Writes whole cache lines of 64 bytes: rows start anywhere, and stores across lines cost twice as much.
template <class S>
void interleave(const S* even, const S* odd, int n, S* out, bool streaming, const Limits<S>* limits) {
  constexpr int lanes = 64 / int(sizeof(S));
  const int before = int(reinterpret_cast<uintptr_t>(out) % 64 / sizeof(S));
  // The first line starts at output -before. These are the two inputs from there on, in the order of the outputs.
  const S *first = before & 1 ? odd - (before + 1) / 2 : even - before / 2,
          *second = before & 1 ? even - (before - 1) / 2 : odd - before / 2;
  S* line = out - before;
  const int end = before + n;
  for (int e = 0; e < end; e += lanes, first += lanes / 2, second += lanes / 2, line += lanes) {
    const __m512i a = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i*)first)),
                  b = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i*)second));
    const bool whole = e + lanes <= end && (e || !before);
    if constexpr (sizeof(S) == 4) {
      __m512i v = _mm512_permutex2var_epi32(a, _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23), b);
      if (limits) v = limited(v, *limits);
      if (!whole) {
        u32 on = e + lanes <= end ? 0xffff : (1u << (end - e)) - 1;
        if (!e) on &= ~((1u << before) - 1);
        _mm512_mask_store_epi32(line, __mmask16(on), v);
      } else if (streaming)
        _mm512_stream_si512((__m512i*)line, v);
      else
        _mm512_store_si512(line, v);
    } else {
      __m512i v = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b);
      if (limits) v = limited(v, *limits);
      if (!whole) {
        u32 on = e + lanes <= end ? 0xff : (1u << (end - e)) - 1;
        if (!e) on &= ~((1u << before) - 1);
        _mm512_mask_store_epi64(line, __mmask8(on), v);
      } else if (streaming)
        _mm512_stream_si512((__m512i*)line, v);
      else
        _mm512_store_si512(line, v);
    }
  }
}

template <class S>
void interleave_rows(const S* even, const S* odd, std::ptrdiff_t stride, int rows, int n, S* out, std::ptrdiff_t out_stride) {
  constexpr int lanes = 64 / int(sizeof(S));
  auto interleaved = [](__m512i a, __m512i b, bool upper) {
    if constexpr (sizeof(S) == 4) {
      const __m512i lower_half = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      return _mm512_permutex2var_epi32(a, upper ? _mm512_add_epi32(lower_half, _mm512_set1_epi32(8)) : lower_half, b);
    } else {
      const __m512i lower_half = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
      return _mm512_permutex2var_epi64(a, upper ? _mm512_add_epi64(lower_half, _mm512_set1_epi64(4)) : lower_half, b);
    }
  };
  for (; rows > 0; rows--, even += stride, odd += stride, out += out_stride)
    for (int x = 0; x < n; x += 2 * lanes) {
      const __m512i a = _mm512_loadu_si512(even + x / 2), b = _mm512_loadu_si512(odd + x / 2);
      const __m512i low = interleaved(a, b, false), high = interleaved(a, b, true);
      if (x + 2 * lanes <= n) {
        _mm512_storeu_si512(out + x, low);
        _mm512_storeu_si512(out + x + lanes, high);
        continue;
      }
      const u64 on = (u64(1) << (n - x)) - 1;  // fewer than 32 samples
      if constexpr (sizeof(S) == 4) {
        _mm512_mask_storeu_epi32(out + x, __mmask16(on), low);
        _mm512_mask_storeu_epi32(out + x + lanes, __mmask16(on >> lanes), high);
      } else {
        _mm512_mask_storeu_epi64(out + x, __mmask8(on), low);
        _mm512_mask_storeu_epi64(out + x + lanes, __mmask8(on >> lanes), high);
      }
    }
}
#else
template <class S, bool limited>
STZ_INLINE void interleave_within(const S* even, const S* odd, int n, S* out, [[maybe_unused]] Limits<S> limits) {
  using Loose = typename VectorOf<S>::loose;
  constexpr int lanes = lanes_of<S>;
  const auto several = [&](Vector<S> v) __attribute__((always_inline)) {
    if constexpr (limited) {
      v = (v < limits.low) ? Vector<S>{} + limits.low : v;
      v = (v > limits.high) ? Vector<S>{} + limits.high : v;
    }
    return v;
  };
  const auto one = [&](S v) __attribute__((always_inline)) {
    if constexpr (limited) v = v < limits.low ? limits.low : v > limits.high ? limits.high : v;
    return v;
  };
  int i = 0;
  for (; 2 * (i + lanes) <= n; i += lanes) {
    const Vector<S> e = several(*(const Loose*)(even + i)), o = several(*(const Loose*)(odd + i));
    *(Loose*)(out + 2 * i) = interleave_lanes<0, S>(e, o, Lanes<lanes>{});
    *(Loose*)(out + 2 * i + lanes) = interleave_lanes<lanes / 2, S>(e, o, Lanes<lanes>{});
  }
  for (; i < n / 2; i++) {
    out[2 * i] = one(even[i]);
    out[2 * i + 1] = one(odd[i]);
  }
  if (n & 1) out[n - 1] = one(even[n / 2]);
}
template <class S>
void interleave(const S* even, const S* odd, int n, S* out, bool, const Limits<S>* limits) {
  limits ? interleave_within<S, true>(even, odd, n, out, *limits) : interleave_within<S, false>(even, odd, n, out, {});
}

template <class S>
void interleave_rows(const S* even, const S* odd, std::ptrdiff_t stride, int rows, int n, S* out, std::ptrdiff_t out_stride) {
  for (; rows > 0; rows--, even += stride, odd += stride, out += out_stride) interleave<S>(even, odd, n, out, false, nullptr);
}
#endif

template <class S>
void separate(const S* in, int n, S* even, S* odd) {
  using Loose = typename VectorOf<S>::loose;
  constexpr int lanes = lanes_of<S>;
  int i = 0;
  for (; 2 * (i + lanes) <= n; i += lanes) {
    const Vector<S> a = *(const Loose*)(in + 2 * i), b = *(const Loose*)(in + 2 * i + lanes);
    *(Loose*)(even + i) = alternate_lanes<0, S>(a, b, Lanes<lanes>{});
    *(Loose*)(odd + i) = alternate_lanes<1, S>(a, b, Lanes<lanes>{});
  }
  for (; i < n / 2; i++) {
    even[i] = in[2 * i];
    odd[i] = in[2 * i + 1];
  }
  if (n & 1) even[n / 2] = in[n - 1];
}

template <class T, int stride>
bool quantize_stride(const T* __restrict x, const T* __restrict p, int n, const Uniform<T>& q, CodeOf<T>* __restrict code,
                     T* __restrict reconstructed) {
  using Code = CodeOf<T>;
  using Word = typename std::make_unsigned<Code>::type;  // out-of-range values may wrap around; their codes are not used
  const T inverse = q.inverse, step = q.step, safe = q.safe, limit = q.code_limit, dead_zone = q.dead_zone;
  Code bad = 0;
  for (int i = 0; i < n; i++) {
    T v = x[stride * i], steps = (v - p[i]) * inverse;
    steps = __builtin_fabs(steps) < dead_zone ? T(0) : steps;
    T u = steps + magic<T>, c = u - magic<T>, r = p[i] + c * step;
    T error = __builtin_fabs(v - r), size = __builtin_fabs(c);
    bad |= Code(!(error <= safe)) | Code(!(size <= limit));
    code[i] = Code(Word(bits(u)) - Word(bits(magic<T>)));
    reconstructed[i] = r;
  }
  return !bad;
}

template <class T>
bool quantize(const T* x, int stride, const T* p, int n, const Uniform<T>& q, CodeOf<T>* code, T* reconstructed) {
  return stride == 1 ? quantize_stride<T, 1>(x, p, n, q, code, reconstructed) : quantize_stride<T, 2>(x, p, n, q, code, reconstructed);
}

template <class T>
void dequantize(const CodeOf<T>* __restrict code, const T* __restrict p, int n, const Uniform<T>& q, T* __restrict reconstructed) {
  const T step = q.step;
  for (int i = 0; i < n; i++) reconstructed[i] = p[i] + (value<T>(code[i] + bits(magic<T>)) - magic<T>)*step;
}

template <class Code>
u64 largest(const Code* code, int n) {
  using U = typename std::conditional<sizeof(Code) == 4, u32, u64>::type;
  U m = 0;
  for (int i = 0; i < n; i++) {
    U a = code[i] < 0 ? U(0) - U(code[i]) : U(code[i]);
    m = a > m ? a : m;
  }
  return m;
}

template <class Code>
void activity(const Code* __restrict code, int n, int right, int left, u32 factor, u8* __restrict out) {
  using U = typename std::conditional<sizeof(Code) == 4, u32, u64>::type;
  if (right >= int(8 * sizeof(U))) {  // C++ does not define such a shift: every code becomes 0
    __builtin_memset(out, 0, size_t(n));
    return;
  }
  for (int i = 0; i < n; i++) {
    U a = code[i] < 0 ? U(0) - U(code[i]) : U(code[i]);
    a >>= right;
    a = a > 511 ? 511 : a;
    u32 m = ((u32(a) << left) * factor) >> 12;
    out[i] = u8(m > 255 ? 255 : m);
  }
}

template <class T>
std::make_unsigned_t<CodeOf<T>> scan(const T* x, size_t n, std::make_unsigned_t<CodeOf<T>> wanted, bool* equal) {
  using Bits = std::make_unsigned_t<CodeOf<T>>;
  using Loose = typename VectorOf<Bits>::loose;
  constexpr size_t lanes = size_t(lanes_of<T>);
  constexpr Bits without_sign = Bits(~Bits(0)) >> 1;
  Vector<Bits> largest[4]{}, same[4]{};
  size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
    for (size_t v = 0; v < 4; v++) {
      const Vector<Bits> b = *(const Loose*)(x + i + v * lanes), a = b & without_sign;
      largest[v] = a > largest[v] ? a : largest[v];
      same[v] |= (Vector<Bits>)(b == wanted);
    }
  Bits most = 0, any = 0;
  for (int v = 0; v < 4; v++)
    for (size_t k = 0; k < lanes; k++) {
      most = largest[v][k] > most ? largest[v][k] : most;
      any |= same[v][k];
    }
  for (; i < n; i++) {
    Bits b;
    __builtin_memcpy(&b, x + i, sizeof b);
    const Bits a = b & without_sign;
    most = a > most ? a : most;
    any |= b == wanted;
  }
  *equal = any != 0;
  return most;
}

#if defined(STZ_512)
constexpr bool can_stream = true;
void finish_streaming() { _mm_sfence(); }
#else
constexpr bool can_stream = false;
void finish_streaming() {}
#endif

template <class S>
constexpr RowKernels<S> row_table() {
  return {predict<S>, median<S>, mean_of_valid<S>, interleave<S>, interleave_rows<S>, separate<S>};
}
template <class T>
constexpr UniformKernels<T> uniform_table() {
  return {quantize<T>, dequantize<T>, encode_class<T>, decode_class<T>, encode_feedback<T>, decode_feedback<T>};
}
template <class T>
constexpr NumberKernels<T> number_table() {
  return {quantize_integers<T>, dequantize_integers<T>, quantize_ulps<T>, dequantize_ulps<T>};
}
template <class U>
constexpr FieldKernels<U> field_table() {
  return {take_tops<U>, put_rests<U>, take_rests<U>, join_fields<U>};
}
template <class Code>
constexpr CodeKernels<Code> code_table() {
  return {largest<Code>, activity<Code>, split<Code>, join<Code>, append_bits<Code>, cut_bits<Code>, refine_numbers<Code>};
}

}  // namespace

extern const CpuFeatures STZ_JOIN(features_, STZ_ISA);
const CpuFeatures STZ_JOIN(features_, STZ_ISA) = STZ_COMPILED_CPU_FEATURES;

extern const Kernels STZ_JOIN(kernels_, STZ_ISA);
const Kernels STZ_JOIN(kernels_, STZ_ISA) = {
    row_table<float>(),
    row_table<double>(),
    row_table<i64>(),
    uniform_table<float>(),
    uniform_table<double>(),
    number_table<float>(),
    number_table<double>(),
    code_table<i32>(),
    code_table<i64>(),
    {scan<float>},
    {scan<double>},
    {load_integers<float>, store_integers<float>},
    {load_integers<double>, store_integers<double>},
    {fit::collect<float>, fit::collect<double>, fit::collect<i64>, fit::cost, fit::products, fit::feedback},
    {rans_decode, rans_encode},
    {context, activities, count_contexts, partition_by_context, merge_contexts, largest_byte, find_bytes, shift_bytes, gather_low_bits,
     spread_low_bits, count_nonzero, spread_fields, append_bits, cut_bits, refine_bytes, pack_fields},
    field_table<u8>(),
    field_table<u16>(),
    field_table<u32>(),
    field_table<u64>(),
    {put_remainders<u32>},
    {put_remainders<u64>},
    {to_units<float>, subtract_units<float>},
    {to_units<double>, subtract_units<double>},
    enhancement,
    crc_kernel,
    finish_streaming,
    STZ_TEXT(STZ_ISA),
    can_stream,
};

}  // namespace stz
