// One body per kernel; compiled once per instruction set with STZ_ISA naming it (see setup.py). Nothing here may be shared between the
// variants: every function is local to this file, and no inline function of another header is called.
#include "kernels.h"

#include <type_traits>

#ifndef STZ_ISA
#define STZ_ISA baseline
#endif
#define STZ_JOIN2(a, b) a##b
#define STZ_JOIN(a, b) STZ_JOIN2(a, b)
#define STZ_TEXT2(a) #a
#define STZ_TEXT(a) STZ_TEXT2(a)

namespace stz {
namespace {

constexpr int contexts = 16;

// 64-byte vectors; the compiler lowers them to what the instruction set has.
template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(64)));
  typedef T loose __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
};
template <class T>
using Vector = typename VectorOf<T>::type;

template <class S>
inline __attribute__((always_inline)) Vector<RealOf<S>> load(const S* p) {
  using R = RealOf<S>;
  if constexpr (sizeof(S) == sizeof(R) && S(0.5) != S(0)) return *(const typename VectorOf<S>::loose*)p;
  else {
    Vector<R> v;
    for (unsigned i = 0; i < 64 / sizeof(R); i++) v[i] = R(p[i]);
    return v;
  }
}
template <class T>
inline __attribute__((always_inline)) void store(T* p, Vector<T> v) {
  *(typename VectorOf<T>::loose*)p = v;
}

template <class S>
void predict(const S* row, const TapTable& taps, const RealOf<S>* weights, int n, RealOf<S>* p) {
  using R = RealOf<S>;
  constexpr int lanes = 64 / int(sizeof(R));
  for (int x = 0; x < n; x += lanes) {
    const S* base = row + x;
    const std::ptrdiff_t* o = taps.offset;
    Vector<R> total{};
    for (int g = 0; g < taps.groups; g++) {
      int count = taps.taps[g];
      Vector<R> sum = load<S>(base + o[0]);
      for (int t = 1; t < count; t++) sum += load<S>(base + o[t]);
      o += count;
      sum *= weights[g];
      total = g ? total + sum : sum;
    }
    store<R>(p + x, total);
  }
}

template <class S>
void group_sums(const S* row, const TapTable& taps, int n, RealOf<S>* sums, std::ptrdiff_t pitch) {
  using R = RealOf<S>;
  constexpr int lanes = 64 / int(sizeof(R));
  for (int x = 0; x < n; x += lanes) {
    const S* base = row + x;
    const std::ptrdiff_t* o = taps.offset;
    for (int g = 0; g < taps.groups; g++) {
      int count = taps.taps[g];
      Vector<R> sum = load<S>(base + o[0]);
      for (int t = 1; t < count; t++) sum += load<S>(base + o[t]);
      o += count;
      store<R>(sums + g * pitch + x, sum);
    }
  }
}

template <class S>
void median(const S* row, const std::ptrdiff_t* offsets, int count, int n, RealOf<S>* p) {
  using R = RealOf<S>;
  constexpr int lanes = 64 / int(sizeof(R));
  for (int x = 0; x < n; x += lanes) {
    Vector<R> v[80];  // four odd axes have 3^4 - 1 neighbours at distance one
    for (int t = 0; t < count; t++) v[t] = load<S>(row + x + offsets[t]);
    for (int i = 0; i <= count / 2; i++)  // the smallest half, sorted
      for (int j = count - 1; j > i; j--) {
        auto swap = v[j] < v[j - 1];
        Vector<R> small = swap ? v[j] : v[j - 1], large = swap ? v[j - 1] : v[j];
        v[j - 1] = small;
        v[j] = large;
      }
    store<R>(p + x, count % 2 ? v[count / 2] : (v[count / 2 - 1] + v[count / 2]) * R(0.5));
  }
}

template <class S>
void interleave(const S* even, const S* odd, int n, S* out) {
  int half = n / 2;
  for (int i = 0; i < half; i++) {
    out[2 * i] = even[i];
    out[2 * i + 1] = odd[i];
  }
  if (n & 1) out[n - 1] = even[half];
}

// Adding it rounds a value below a quarter of it to the nearest integer (ties to even), which then sits in the low bits.
template <class T>
constexpr T magic = sizeof(T) == 4 ? T(12582912.0) : T(6755399441055744.0);
template <class T>
inline __attribute__((always_inline)) CodeOf<T> bits(T v) {
  CodeOf<T> c;
  __builtin_memcpy(&c, &v, sizeof c);
  return c;
}
template <class T>
inline __attribute__((always_inline)) T value(CodeOf<T> c) {
  T v;
  __builtin_memcpy(&v, &c, sizeof v);
  return v;
}

template <class T, int stride>
bool quantize_stride(const T* __restrict x, const T* __restrict p, int n, const Uniform<T>& q, CodeOf<T>* __restrict code,
                     T* __restrict reconstructed) {
  using Code = CodeOf<T>;
  const T inverse = q.inverse, step = q.step, safe = q.safe, limit = q.code_limit;
  Code bad = 0;
  for (int i = 0; i < n; i++) {
    T v = x[stride * i], u = (v - p[i]) * inverse + magic<T>, c = u - magic<T>, r = p[i] + c * step;
    T error = __builtin_fabs(v - r), size = __builtin_fabs(c);
    bad |= Code(!(error <= safe)) | Code(!(size <= limit));
    code[i] = bits(u) - bits(magic<T>);
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
  for (int i = 0; i < n; i++) reconstructed[i] = p[i] + (value<T>(code[i] + bits(magic<T>)) - magic<T>) * step;
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
void magnitude(const Code* __restrict code, int n, int right, int left, u32 factor, u8* __restrict out) {
  using U = typename std::conditional<sizeof(Code) == 4, u32, u64>::type;
  for (int i = 0; i < n; i++) {
    U a = code[i] < 0 ? U(0) - U(code[i]) : U(code[i]);
    a >>= right;
    a = a > 511 ? 511 : a;
    u32 m = ((u32(a) << left) * factor) >> 12;
    out[i] = u8(m > 255 ? 255 : m);
  }
}

// Bytes are summed as two sets of 16-bit lanes, the even and the odd ones: no unpacking.
void context(const u8* row, const TapTable& taps, const u16* weights, const u16* thresholds, int n, u8* out) {
  typedef u16 Words __attribute__((vector_size(64)));
  typedef u16 LooseWords __attribute__((vector_size(64), aligned(1), may_alias));
  for (int x = 0; x < n; x += 64) {
    Words even_total{}, odd_total{};
    const std::ptrdiff_t* o = taps.offset;
    for (int g = 0; g < taps.groups; g++) {
      int count = taps.taps[g];
      if (u16 w = weights[g]) {
        Words even{}, odd{};
        for (int t = 0; t < count; t++) {
          Words v = *(const LooseWords*)(row + x + o[t]);
          even += v & 255;
          odd += v >> 8;
        }
        even_total += even * w;
        odd_total += odd * w;
      }
      o += count;
    }
    Words even{}, odd{};
    for (int k = 1; k < contexts; k++) {
      even -= (Words)(even_total >= thresholds[k]);
      odd -= (Words)(odd_total >= thresholds[k]);
    }
    *(LooseWords*)(out + x) = even | odd << 8;
  }
}

double horizontal(Vector<float> v) {
  double t = 0;
  for (unsigned i = 0; i < 16; i++) t += double(v[i]);
  return t;
}

double residuals(const float* m, std::ptrdiff_t pitch, const float* y, const float* c, int groups, int n, float* residual) {
  double total = 0;
  Vector<float> lanes{};
  for (int k = 0; k < n; k += 16) {
    Vector<float> r = load<float>(y + k);
    for (int g = 0; g < groups; g++) r -= load<float>(m + g * pitch + k) * c[g];
    r = r < 0 ? -r : r;
    store<float>(residual + k, r);
    // log2 from the exponent and a cubic in the mantissa
    typedef i32 Ints __attribute__((vector_size(64)));
    Vector<float> u = r + 1.0f;
    Ints b = (Ints)u;
    Vector<float> e = __builtin_convertvector((b >> 23) - 127, Vector<float>);
    Vector<float> f = (Vector<float>)((b & 0x7fffff) | 0x3f800000) - 1.0f;
    lanes += e + f * (1.4254f + f * (-0.6017f + f * 0.1763f));
    if ((k & 1023) == 1008) {
      total += horizontal(lanes);
      lanes = Vector<float>{};
    }
  }
  return total + horizontal(lanes);
}

void normal_equations(const float* m, std::ptrdiff_t pitch, const float* y, const float* w, int groups, int n, float* scratch, double* a,
                      double* b) {
  for (int g = 0; g < groups; g++) {
    const float* mg = m + g * pitch;
    for (int k = 0; k < n; k += 16) store<float>(scratch + k, load<float>(w + k) * load<float>(mg + k));
    int h = g;
    for (; h + 3 < groups; h += 4) {
      Vector<float> t0{}, t1{}, t2{}, t3{};
      const float *p0 = m + h * pitch, *p1 = p0 + pitch, *p2 = p1 + pitch, *p3 = p2 + pitch;
      for (int k = 0; k < n; k += 16) {
        Vector<float> v = load<float>(scratch + k);
        t0 += v * load<float>(p0 + k);
        t1 += v * load<float>(p1 + k);
        t2 += v * load<float>(p2 + k);
        t3 += v * load<float>(p3 + k);
      }
      a[g * groups + h] = horizontal(t0);
      a[g * groups + h + 1] = horizontal(t1);
      a[g * groups + h + 2] = horizontal(t2);
      a[g * groups + h + 3] = horizontal(t3);
    }
    for (; h < groups; h++) {
      Vector<float> t{};
      for (int k = 0; k < n; k += 16) t += load<float>(scratch + k) * load<float>(m + h * pitch + k);
      a[g * groups + h] = horizontal(t);
    }
    Vector<float> t{};
    for (int k = 0; k < n; k += 16) t += load<float>(scratch + k) * load<float>(y + k);
    b[g] = horizontal(t);
  }
}

template <class S>
constexpr RowKernels<S> row_table() {
  return {predict<S>, group_sums<S>, median<S>, interleave<S>};
}
template <class T>
constexpr UniformKernels<T> uniform_table() {
  return {quantize<T>, dequantize<T>};
}
template <class Code>
constexpr CodeKernels<Code> code_table() {
  return {largest<Code>, magnitude<Code>};
}

}  // namespace

extern const Kernels STZ_JOIN(kernels_, STZ_ISA);
const Kernels STZ_JOIN(kernels_, STZ_ISA) = {
    row_table<float>(),      row_table<double>(), row_table<i64>(),  uniform_table<float>(), uniform_table<double>(),
    code_table<i32>(),       code_table<i64>(),   {residuals, normal_equations}, context, STZ_TEXT(STZ_ISA),
};

}  // namespace stz
